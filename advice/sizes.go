package advice

import (
	"math"
	"time"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/series"
)

const (
	// farAbove is how many times the largest measured size a maximum may be. An advised one is spare times that size.
	farAbove = 5
	spare    = 2
	// mostMax is the largest maximum that a configuration may have.
	mostMax = 10_000
	// metMax is how long a recommendation must have been above the maximum to count.
	metMax = time.Minute
)

// late returns the measured share of messages in time, and whether enough was measured. missed is true if it is below
// the objective.
func late(s Stated, m Measured) (inTime float64, missed, known bool) {
	if m.Ended < smallestSamples {
		return 0, false, false
	}
	inTime = m.InTime / m.Ended
	return inTime, inTime < s.Objective.Quantile, true
}

// minimum finds a fleet whose first messages after a quiet time are late, because no worker is there and a boot takes
// too long.
func minimum(s Stated, m Measured) (*Advice, *Unjudged) {
	inTime, missed, known := late(s, m)
	switch {
	case !known:
		return unjudged("workers that report when messages were sent, and a window with more of them",
			"the share of messages in time is known for %d, %d are needed", int64(m.Ended), smallestSamples)
	case s.Limits.Min > 0 || !missed || s.Limits.Max < 1:
		return nil, nil
	case m.Boots.Count < fewBoots || m.Processing.Count < smallestSamples:
		return unjudged("a window with more launches and messages", "%d boots and %d durations were measured, %d "+
			"and %d "+
			"are needed", m.Boots.Count, m.Processing.Count, fewBoots, smallestSamples)
	}
	takes := mean(m.Boots) + time.Duration(series.Quantile(m.Processing, 0.5)*float64(time.Second))
	if takes <= s.Objective.Latency {
		return nil, nil
	}
	n := int(math.Ceil(m.MeanBusy / float64(s.Slots*s.Batch)))
	n = min(max(1, n), s.Limits.Max)
	return whole(Min, 0, n, "%s of %d messages were in time, and a message that finds no worker takes %s with the "+
		"boot, "+
		"longer than %s", share(inTime), int64(m.Ended), render.Rounded(takes), Text(s.Objective.Latency)).
		resting(m, int64(m.Ended), smallestSamples), nil
}

// maximum compares the maximum with the sizes that were needed.
func maximum(s Stated, m Measured) (*Advice, *Unjudged) {
	if m.Covered < time.Hour || m.PeakSize < 1 {
		return unjudged("a window of at least an hour with messages", "decisions were recorded for %s, and the "+
			"largest "+
			"size was %d", render.Rounded(m.Covered), m.PeakSize)
	}
	minutes := int64(m.Covered / time.Minute)
	if inTime, missed, known := late(s, m); m.PeakSize > s.Limits.Max && m.AtMax >= metMax {
		switch {
		case !known:
			return unjudged("workers that report when messages were sent", "the policy recommended up to %d "+
				"workers, and "+
				"whether messages were late is unknown", m.PeakSize)
		case missed:
			n := min(m.PeakSize, max(4, 4*s.Limits.Max), mostMax)
			if room, known := coresFor(s, m); s.Local && known && room < n {
				if n = room; n <= s.Limits.Max {
					return unjudged("a machine with more cores, or a fleet elsewhere", "the policy recommended up "+
						"to %d "+
						"workers, and this machine has cores for %d", m.PeakSize, room)
				}
			}
			return whole(Max, s.Limits.Max, n, "for %s the policy recommended more than the maximum, up to %d, and "+
				"%s of "+
				"%d messages were in time", render.Rounded(m.AtMax), m.PeakSize, share(inTime), int64(m.Ended)).
				resting(m, minutes, 60), nil
		}
		return nil, nil
	}
	n := max(spare*m.PeakSize, s.Limits.Min, 1)
	if s.Limits.Max > max(n, farAbove*m.PeakSize) && m.Covered >= 24*time.Hour {
		return whole(Max, s.Limits.Max, n, "no more than %s were needed in %s; a lower maximum bounds what a "+
			"mistake can "+
			"cost", render.Plural(m.PeakSize, "worker"), render.Rounded(m.Covered)).resting(m, minutes, 24*6), nil
	}
	return nil, nil
}

// price says what a price would add.
func price(s Stated, _ Measured) (*Advice, *Unjudged) {
	if s.Price > 0 || s.Local {
		return nil, nil
	}
	return unjudged("price: what one worker costs in an hour", "the fleet states no price, so its cost is in "+
		"worker-hours")
}
