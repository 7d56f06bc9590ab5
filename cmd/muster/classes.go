package main

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/muster-scale/muster"
)

// classesLine says what is known of the classes of messages, in one line; empty for a fleet without classes.
func classesLine(o muster.Observation) string {
	all := make([]string, 0, len(o.Classes))
	for _, c := range o.Classes {
		all = append(all, fmt.Sprintf("%s %s %% taking %s", cmp.Or(c.Name, "(none)"), muster.Number(math.Round(1000*c.Share)/10), muster.Seconds(c.Processing.MeanSeconds)))
	}
	return strings.Join(all, ", ")
}
