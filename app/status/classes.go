package status

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// Classes describes the classes of messages on one line; empty for a fleet without classes.
func Classes(o muster.Observation) string {
	all := make([]string, 0, len(o.Classes))
	for _, c := range o.Classes {
		all = append(all, fmt.Sprintf("%s %s %% taking %s", cmp.Or(c.Name, "(none)"),
			render.Number(math.Round(1000*c.Share)/10), render.Seconds(c.Processing.MeanSeconds)))
	}
	return strings.Join(all, ", ")
}

// Crowds says how the processing time depends on the messages in progress, for members that share a machine. It is
// empty unless at least two such numbers were measured.
func Crowds(o muster.Observation) string {
	if o.Sharing == nil || len(o.Sharing.Crowds) < 2 {
		return ""
	}
	all := make([]string, 0, len(o.Sharing.Crowds))
	for _, c := range o.Sharing.Crowds {
		all = append(all, fmt.Sprintf("%s with %s", render.Seconds(c.MeanSeconds),
			render.Number(math.Round(10*c.Busy)/10)))
	}
	return strings.Join(all, ", ") + fmt.Sprintf(" (on %s)", render.Plural(o.Sharing.Cores, "core"))
}
