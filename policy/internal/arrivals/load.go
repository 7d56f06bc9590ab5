package arrivals

import (
	"cmp"
	"math"

	"github.com/muster-scale/muster"
)

// The windows of rates, in seconds.
const (
	minute, fiveMinutes, twentyMinutes, hour = 60, 300, 1200, 3600
)

// Load returns how many slots the arrivals keep busy: rate times work, the mean duration in seconds. The rate is that
// of a window at least as long as the work: five minutes, 20 minutes or an hour. In a shorter window, one message of
// two hours would look like 24 busy slots.
func Load(a muster.Arrivals, work float64) float64 {
	rate, _ := rateFor(a, work)
	return rate * math.Min(work, hour)
}

// SureLoad is Load less one deviation of chance, sqrt(n) of n messages in the window. The few messages of one burst are
// no load.
func SureLoad(a muster.Arrivals, work float64) float64 {
	rate, over := rateFor(a, work)
	over = math.Min(over, cmp.Or(a.WatchedSeconds, hour))
	n := rate * over
	return math.Max(0, n-math.Sqrt(n)) / over * math.Min(work, hour)
}

// SteadyLoad is the least SureLoad over the windows up to an hour that are at least as long as the work. A burst is
// load for the minutes in which it comes, and little for an hour.
func SteadyLoad(a muster.Arrivals, work float64) float64 {
	least, watched := math.Inf(1), cmp.Or(a.WatchedSeconds, hour)
	work = math.Min(work, hour)
	for _, w := range []struct{ over, rate float64 }{{fiveMinutes, a.FiveMinutes}, {twentyMinutes, a.TwentyMinutes},
		{hour, a.Hour}} {
		if w.over >= work {
			n := w.rate * math.Min(w.over, watched)
			least = math.Min(least, math.Max(0, n-math.Sqrt(n))/math.Min(w.over, watched))
		}
	}
	return least * work
}

// rateFor returns the rate over the window for work of so many seconds, and how long that is in seconds.
func rateFor(a muster.Arrivals, work float64) (rate, over float64) {
	switch {
	case work <= fiveMinutes:
		return a.FiveMinutes, fiveMinutes
	case work <= twentyMinutes:
		return a.TwentyMinutes, twentyMinutes
	}
	return a.Hour, hour
}

// LoadOver is Load over so many seconds: by the rate of the longest window within them. Below five minutes it is the
// larger one of the last minute and of Load, which shows a rise later. In the first minute, as much counts as has been
// watched of it.
func LoadOver(a muster.Arrivals, work, seconds float64) float64 {
	load := Load(a, work)
	switch {
	case seconds >= 12*hour && a.TwelveHours > 0:
		load = a.TwelveHours * math.Min(work, 12*hour)
	case seconds >= 4*hour && a.FourHours > 0:
		load = a.FourHours * math.Min(work, 4*hour)
	case seconds >= hour:
		load = a.Hour * math.Min(work, hour)
	case seconds >= twentyMinutes && work <= twentyMinutes:
		load = a.TwentyMinutes * work
	case seconds < fiveMinutes && work <= minute:
		load = math.Max(load, a.Minute*work)
	}
	return load * math.Min(1, a.WatchedSeconds/minute)
}
