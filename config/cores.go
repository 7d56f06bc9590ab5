package config

import (
	"fmt"

	"github.com/muster-scale/muster/internal/render"
)

// CoreRemarks returns a remark for each fleet of local processes whose max exceeds the number of cores of this machine,
// sorted by place. Whether that matters depends on the work, so it is no fault. A cores below 1 means that the number
// is unknown; then there are no remarks.
func (c *Config) CoreRemarks(cores int) []Fault {
	s := c.source
	if s == nil || cores < 1 {
		return nil
	}
	return s.Remarks(func() {
		for i, f := range c.Fleets {
			if !f.Local() || f.Limits.Max <= cores {
				continue
			}
			s.Fault(fmt.Sprintf("fleets[%d].max", i),
				fmt.Sprintf("found max %d on a machine with %s, which all local workers share: work that computes "+
					"takes longer as soon as more than %d workers are busy, and more of them get no more done; "+
					"work that mostly waits for a network or for other machines is not affected",
					f.Limits.Max, render.Plural(cores, "core"), cores),
				fmt.Sprintf("muster simulate --cores %d shows the effect", cores))
		}
	})
}
