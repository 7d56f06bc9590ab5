package durations

import (
	"math"

	"github.com/muster-scale/muster"
)

// Attempts returns how long a message keeps slots busy, over the work of the attempt that succeeds:
//
//	min(2, 1 + f x / (max(n, f) m))
//
// In the last minutes f attempts failed and took x seconds each, and n messages finished; m is the mean duration. The
// result is 1 while x or m is unknown, or fewer than fewAttempts have ended, and at most mostAttempts.
func Attempts(o muster.Observation) float64 {
	w, e := o.Progress.Value(), o.Processing
	if !w.Failing.Known || w.Failed == 0 || w.Failed+w.Finished < fewAttempts || !e.Known || e.MeanSeconds <= 0 {
		return 1
	}
	return math.Min(mostAttempts, 1+w.Failed*w.Failing.MeanSeconds/(math.Max(w.Finished, w.Failed)*e.MeanSeconds))
}

// fewAttempts is the number of attempts below which their failures say nothing of the next ones. mostAttempts bounds
// what is concluded from others: some may have failed after hours.
const fewAttempts, mostAttempts = 10, 2

// Behind tells whether more of the past hour's messages were late than the quantile permits, beyond those that fail.
// Failing attempts then take the time that a plan has for other messages, and count as a part of the work.
func Behind(o muster.Observation) bool {
	w := o.Progress.Value()
	return w.InTime.Known && w.InTime.Value+w.FailingShare() < o.Objective.Quantile
}
