package rules

import (
	"fmt"
	"math"
	"slices"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// NothingWaits says that no message can be received now, and how many wait for their retry, so that a fleet whose work
// fails does not read as one that has none.
func NothingWaits(o muster.Observation) string {
	retrying := o.Progress.Value().Retrying
	switch {
	case !retrying.Known || retrying.Value == 0:
		return "nothing waits"
	case retrying.Value == 1:
		return "no message can be received now, 1 waits for its retry"
	}
	return fmt.Sprintf("no message can be received now, %s wait for their retry", render.Number(retrying.Value))
}

// Retries says how many messages wait for their retry, behind a sentence about others; empty where none does or that is
// not known.
func Retries(o muster.Observation) string {
	retrying := o.Progress.Value().Retrying
	n := math.Round(retrying.Value)
	switch {
	case !retrying.Known || n < 1:
		return ""
	case n == 1:
		return "; 1 message waits for its retry"
	}
	return fmt.Sprintf("; %s messages wait for their retry", render.Number(n))
}

// WithoutRetries returns the observation with the messages in flight that workers hold alone, as far as the queues
// themselves count them. What waits for its retry is in flight too, but it takes no slot, and no worker can receive it
// yet.
func WithoutRetries(o muster.Observation) muster.Observation {
	o.Queues = slices.Clone(o.Queues)
	for i := range o.Queues {
		if q := &o.Queues[i]; q.Retrying.Known {
			q.InFlight.Value = math.Max(0, q.InFlight.Value-q.Retrying.Value)
		}
	}
	return o
}

// Failing says how many attempts failed in the last minutes, of how many; empty when none did. What is said of the
// future holds if the work succeeds.
func Failing(o muster.Observation) string {
	w := o.Progress.Value()
	failed := math.Round(w.Failed)
	if failed < 1 {
		return ""
	}
	all := math.Max(failed, math.Round(w.Failed+w.Finished))
	minutes := int(muster.FailedOver.Minutes())
	return fmt.Sprintf("; %s of %s attempts failed in the last %d minutes", render.Number(failed), render.Number(all),
		minutes)
}
