// Package arrivals answers questions about the measured arrivals of a fleet, as [muster.Arrivals] has them: how many to
// expect next ([Expected], [Growth]), how high their rate may be at most ([Bound]), at which rate a stream comes that
// has just begun ([OfStream]), how many slots they keep busy ([Load], [SureLoad], [LoadOver]), and how many messages
// come at the busiest times ([Within], [Typical]), also under a forecast ([ForecastRate], [ForecastBusiest]).
//
//	most := arrivals.Bound(o.Arrivals, mean, true)
//	burst := arrivals.Within(arrivals.Typical(o.Arrivals.Busiest), 90)
//
// All functions are pure. What follows for the number of workers is the caller's to say: see package planning.
package arrivals

import (
	"cmp"
	"math"

	"github.com/muster-scale/muster"
)

// Bound returns an upper bound of the arrival rate in messages per second, as if one more had come, and with chance one
// deviation more than that:
//
//	(n + 1 + z sqrt(n)) / w,   z = 1 with chance, else 0
//
// for n messages in a window of w seconds. The smallest bound of all windows counts. Windows of more than an hour count
// where they are at most twelve times as long as the work, whose mean duration in seconds is given: by the hour alone,
// work of an hour would seem to keep a worker busy although nothing comes.
func Bound(a muster.Arrivals, work float64, chance bool) float64 {
	watched := cmp.Or(a.WatchedSeconds, hour)
	z, least := 0.0, math.Inf(1)
	if chance {
		z = 1
	}
	for _, w := range []struct{ over, rate float64 }{{minute, a.Minute}, {fiveMinutes, a.FiveMinutes},
		{twentyMinutes, a.TwentyMinutes}, {hour, a.Hour}, {4 * hour, a.FourHours}, {12 * hour, a.TwelveHours}} {
		switch {
		case w.over <= hour:
			w.over = math.Min(w.over, watched)
		case watched < hour || w.over > 12*work || w.rate == 0: // 0 may be unknown
			continue
		}
		n := w.rate * w.over
		least = math.Min(least, (n+1+z*math.Sqrt(n))/w.over)
	}
	return least
}

// OfStream returns at which rate, in messages a second, a stream comes of which these messages wait, oldest first,
// while nobody receives any. It compares the two halves of the last minute, or of the time since the first message:
//
//	2 (n - sqrt(n)) / w
//
// n is the smaller number of messages in a half, w the whole time. A burst is in one half, so its rate is 0. Only a
// burst of the last ten seconds may pass for a stream, because ages come in steps of five. Before two polls, poll
// seconds each, the rate is 0. The oldest tenth of the messages does not count: one message from long before would make
// a burst of a stream.
func OfStream(waiting []muster.Waiting, poll float64) float64 {
	const most, stragglers = 60, 0.1
	left := 0.0
	for _, g := range waiting {
		left += g.Messages
	}
	for skip := stragglers * left; len(waiting) > 0 && waiting[0].Messages <= skip; waiting = waiting[1:] {
		skip -= waiting[0].Messages
	}
	if len(waiting) == 0 || waiting[0].AgeSeconds < 2*poll {
		return 0
	}
	over, young, old := math.Min(waiting[0].AgeSeconds, most), 0.0, 0.0
	for _, g := range waiting {
		switch {
		case g.AgeSeconds <= over/2:
			young += g.Messages
		case g.AgeSeconds <= over:
			old += g.Messages
		}
	}
	n := math.Min(young, old)
	return math.Max(0, 2*(n-math.Sqrt(n))/over)
}

// Within returns how many messages arrived within so many seconds at the busiest times, interpolated linearly between
// two measured windows. Beyond the longest window it returns the number of that window.
func Within(all []muster.Busiest, seconds float64) float64 {
	var before muster.Busiest
	for _, b := range all {
		if b.OverSeconds >= seconds {
			return before.Messages +
				(b.Messages-before.Messages)*(seconds-before.OverSeconds)/(b.OverSeconds-before.OverSeconds)
		}
		before = b
	}
	return before.Messages
}

// Typical returns the busy times in which half of all messages came. The largest of all would be the wrong measure of
// the next one: many a first message comes alone. A quantile of half and below has no smaller share.
func Typical(all []muster.Busiest) []muster.Busiest {
	usual := make([]muster.Busiest, len(all))
	for i, b := range all {
		usual[i] = muster.Busiest{OverSeconds: b.OverSeconds, Messages: cmp.Or(b.Rooms[0], b.Messages)}
	}
	return usual
}

// Expected returns how many messages to expect within so many seconds. It takes the highest of the recent rates whose
// window is at least a third of that time. Of several rates chance makes one the highest, so each counts less one
// deviation, sqrt(n) of n messages, except that over the whole watched time. Otherwise two single messages within a
// minute would look like two each minute.
//
// Two exceptions hold. If arrivals have been watched for a short time only, a third of the asked time counts as
// watched: the first seconds say little about a whole boot. With growth, a rate that grows steadily grows on: see
// [Growth], also for stream.
func Expected(a muster.Arrivals, seconds float64, growth bool, stream float64) float64 {
	watched := cmp.Or(a.WatchedSeconds, hour)
	expected := 0.0
	for _, w := range []struct{ over, rate float64 }{{10, a.TenSeconds}, {60, a.Minute}, {300, a.FiveMinutes},
		{1200, a.TwentyMinutes}, {hour, a.Hour}} {
		seen := math.Min(w.over, watched)
		if w.over < seconds/3 && w.over < hour {
			continue
		}
		n := w.rate * seen
		sure := n
		if seen < watched {
			sure = math.Max(0, n-math.Sqrt(n))
		}
		expected = math.Max(expected, sure*seconds/math.Max(seen, seconds/3))
	}
	if rate, rise := Growth(a, stream); growth && rise > 0 {
		expected = math.Max(expected, (rate+rise*seconds/2)*seconds)
	}
	return expected
}

// Growth returns by how much the arrival rate certainly grows each second, in messages per second squared, and the rate
// now; both are 0 if it may not grow.
//
// It compares each window from a minute on with the next longer one and takes the smallest growth, less two deviations
// of chance. A ramp grows alike over all windows; of a burst that is over, or a step long ago, at least one pair shows
// nothing. 90 s is the shortest watched time that tells, and windows less than 1.4 times as long as the one before add
// nothing.
//
// The rate now follows from the last minute. The last ten seconds only show whether the growth is over. As a rate they
// would be that of the top of a burst, and a boot of half an hour would be planned with it. The last minute may
// be one burst as well. So where its rate exceeds that of five minutes, it counts up to stream: the rate in messages a
// second at which messages are known to come one after the other. These are the ones that wait, as [OfStream] has them,
// and those that were finished lately.
func Growth(a muster.Arrivals, stream float64) (rate, rise float64) {
	const enough, apart = 90, 1.4
	watched := cmp.Or(a.WatchedSeconds, 3600)
	if watched < enough || a.TenSeconds < a.Minute/2 {
		return 0, 0
	}
	rise = math.Inf(1)
	late, over := a.Minute, 1.0*minute
	for _, w := range []struct{ over, rate float64 }{{300, a.FiveMinutes}, {1200, a.TwentyMinutes}, {3600, a.Hour}} {
		longer := math.Min(w.over, watched)
		if longer < apart*over {
			break
		}
		chance := 2 * math.Sqrt(late/over+w.rate/longer)
		rise = math.Min(rise, (late-w.rate-chance)*2/(longer-over))
		late, over = w.rate, longer
	}
	if rise <= 0 {
		return 0, 0
	}
	return math.Min(a.Minute, math.Max(a.FiveMinutes, stream)) + rise*minute/2, rise
}
