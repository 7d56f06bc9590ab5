package config

import (
	"fmt"

	"github.com/muster-scale/muster/internal/render"
)

// CoreRemarks says of a valid configuration, with places, which fleets of processes on this machine may have more
// workers than it has cores; sorted by place. They are remarks and no faults, because it depends on the work whether
// that matters.
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
					"work that mostly waits, for a network or for other machines, does not mind",
					f.Limits.Max, render.Plural(cores, "core"), cores),
				fmt.Sprintf("muster simulate --cores %d shows what it comes to", cores))
		}
	})
}
