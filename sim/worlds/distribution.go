package worlds

import (
	"fmt"
	"strings"
)

// Quantity is one quantity that is drawn for a world, with its distribution in a few words. The comment on [Draw] is
// complete.
type Quantity struct{ Name, Distribution string }

// Quantities returns the quantities that are drawn for a world, in the order of [Draw].
func Quantities() []Quantity {
	var shapes []string
	for _, s := range Shapes() {
		shapes = append(shapes, string(s))
	}
	return []Quantity{
		{
			"work",
			fmt.Sprintf(
				"mean %s to %s, log-uniform; constant in a fifth of the worlds, else lognormal with a variation up "+
					"to 6; two classes in a seventh; in four of ten the mean "+
					"rises, falls or swings by 1.5 to 8, or rises with the queue",
				short(shortestWork),
				short(longestWork),
			),
		},
		{"boots", fmt.Sprintf("%g s to %s, log-uniform", shortestBoot, short(longestBoot))},
		{
			"objective",
			fmt.Sprintf(
				"%g to %g times the 99th percentile of the work plus the boot, log-uniform; for 95, 99 or 99.9 %%",
				leastRoom,
				mostRoom,
			),
		},
		{
			"load",
			fmt.Sprintf(
				"%g to %g busy workers, log-uniform; at most %d messages in at most %.0f days, with polls "+
					"and reports as rare as that allows; 1 to 64 slots",
				leastLoad,
				mostLoad,
				mostMessages,
				longest/86400,
			),
		},
		{"arrivals", strings.Join(shapes, ", ")},
		{
			"faults",
			"failing messages in three of ten; failing launches, spot interruptions and crashes in a tenth each; " +
				"slow polls, old, rough and bare counts; a maximum that binds in a sixth",
		},
		{
			"reports",
			fmt.Sprintf(
				"%s to %s late, log-uniform; in three of ten worlds %s to %s; answers as late again",
				short(soonestReport),
				short(latestReport),
				short(soonestLate),
				short(latestLate),
			),
		},
		{
			"stated",
			"of the mean nothing in four of ten, else the true one, half or double; of the boot the true one in half",
		},
	}
}
