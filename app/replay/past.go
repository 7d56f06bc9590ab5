package replay

import (
	"fmt"
	"time"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/sim/trace/recorded"
	"github.com/muster-scale/muster/sim/variants"
)

// silent is the share of a window in which sizes may be unknown for worker-hours to be known. A controller that begins
// or is started anew leaves such a gap.
const silent = 0.02

// asItWas returns the row of what really happened in a window of the given length, and notes on what of it is unknown.
// The history has neither the times from sent to finished nor the number of launches.
func asItWas(past recorded.Past, window time.Duration, present config.Fleet) (row Run, unknown []string) {
	row = Run{Name: "as it was", Kind: variants.Recorded}
	switch {
	case past.Ended == 0:
		unknown = append(unknown, "the share in time as it was is unknown: no worker reported it")
	case past.Other || past.Objective != present.Objective:
		unknown = append(unknown, "the share in time as it was is unknown: another objective held")
	default:
		row.InTime = new(past.InTime / past.Ended)
	}
	if past.Sized.Seconds() < (1-silent)*window.Seconds() {
		return row, append(unknown, fmt.Sprintf("the worker-hours as they were are unknown: sizes were recorded in %s "+
			"of %s", render.Rounded(past.Sized), render.Rounded(window)))
	}
	row.WorkerHours = new(past.MemberSeconds / 3600)
	row.PeakWorkers, row.ScaleEvents = new(past.Peak), new(past.Changes)
	if price := present.Policy.PricePerHour; price > 0 {
		row.Cost = new(*row.WorkerHours * price)
	}
	return row, unknown
}
