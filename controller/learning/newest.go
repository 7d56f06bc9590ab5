package learning

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
)

// newest keeps the processing durations of the last minutes apart, in windows of several lengths, shortest first. They
// tell when the work itself has changed, as after a new version of a program: the hours before then say nothing about
// what comes.
type newest [3]series.Window

// newNewest returns the windows without a duration.
func newNewest() newest {
	return newest{{Length: 5 * time.Minute}, {Length: 20 * time.Minute}, {Length: time.Hour}}
}

const (
	// enoughNew is how many durations of a window can tell a change.
	enoughNew = 100
	// shorter and longer are the shares of the usual durations below and above which those of a window are others.
	shorter, longer = 0.7, 1.4
	// newOver is how many of the usual 95th percentiles a window must cover. Of work that has begun together, the short
	// messages end first.
	newOver = 5
)

// add returns n with more durations.
func (n newest) add(at time.Time, h series.Durations) newest {
	for i, w := range n {
		n[i] = w.Add(at, h)
	}
	return n
}

// instead returns the estimate that replaces usual, that of hours: the one of the shortest window with at least 100
// durations whose median, mean and 95th percentile are all below 0.7 times the usual ones, or whose median and mean are
// both above 1.4 times the usual ones; longer work soon is among the longest that are usual. Usual must have at least
// twice as many durations. It returns usual where there is none: a mix that changes does not move all of them.
func (n *newest) instead(usual muster.Estimate, now time.Time) muster.Estimate {
	if usual.Count < 2*enoughNew {
		return usual
	}
	for i := range n {
		var e muster.Estimate
		n[i], e = n[i].At(now)
		if e.Count < enoughNew || 2*e.Count > usual.Count || n[i].Length.Seconds() < newOver*usual.P95Seconds {
			continue
		}
		median, mean := e.P50Seconds/usual.P50Seconds, e.MeanSeconds/usual.MeanSeconds
		if max(median, mean, e.P95Seconds/usual.P95Seconds) < shorter || min(median, mean) > longer {
			return e
		}
	}
	return usual
}
