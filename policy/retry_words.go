package policy

import (
	"fmt"
	"math"

	"github.com/muster-scale/muster"
)

// nothingWaits says that no message can be received now, and how many wait for their retry, so that a fleet whose work
// fails does not read as one that has none.
func nothingWaits(o muster.Observation) string {
	retrying := o.Progress.Value().Retrying
	switch {
	case !retrying.Known || retrying.Value == 0:
		return "nothing waits"
	case retrying.Value == 1:
		return "no message can be received now, 1 waits for its retry"
	}
	return fmt.Sprintf("no message can be received now, %s wait for their retry", muster.Number(retrying.Value))
}

// failing says how many attempts failed in the last minutes, of how many; empty when none did. What is said of the
// future holds if the work succeeds.
func failing(o muster.Observation) string {
	w := o.Progress.Value()
	failed := math.Round(w.Failed)
	if failed < 1 {
		return ""
	}
	all := math.Max(failed, math.Round(w.Failed+w.Finished))
	minutes := int(muster.FailedOver.Minutes())
	return fmt.Sprintf("; %s of %s attempts failed in the last %d minutes", muster.Number(failed), muster.Number(all), minutes)
}
