package learning

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
)

// lately are the messages that ended in the last seconds: their number, for how many seconds they took workers, and how
// many of them took long. It changes with each record, and what is older counts less, by a factor
// of e each [muster.LatelyOver].
type lately struct {
	at               time.Time
	n, seconds, long float64
	// perSecond is how many messages ended a second, slots how many slots they kept busy: means over the time between
	// records, which count less with age as the others do.
	perSecond, slots float64
}

// longMedians is how many medians a message takes that counts as long.
const longMedians = 2

// spend returns the seconds with which durations measured just now count in the pace of work, and adds them to lately.
// Those that hang count with [muster.HangsBeyond] times the 99th percentile of the hours before, and not with the hour
// that they may have hung for. The rest of their time is spread evenly over all messages, so that a pace like that of
// the hours has their mean. It must be called before the durations are added to those hours.
func (m *Memory) spend(at time.Time, h series.Durations) (seconds float64) {
	var usual muster.Estimate
	if m.processing, usual = m.processing.At(at); usual.Count < muster.ManyDurations {
		return h.SumSeconds
	}
	seconds = series.SecondsUpTo(h, muster.HangsBeyond*usual.P99Seconds) + float64(h.Count)*m.processing.Hung()
	long := series.CountAbove(h, longMedians*usual.P50Seconds)
	left, before, elapsed := m.lately.left(at), m.lately, Every.Seconds()
	if !before.at.IsZero() {
		elapsed = math.Max(1, at.Sub(before.at).Seconds())
	}
	m.lately = lately{at, left*before.n + float64(h.Count), left*before.seconds + seconds,
		left*before.long + float64(long), left*before.perSecond + (1-left)*float64(h.Count)/elapsed,
		left*before.slots + (1-left)*seconds/elapsed}
	return seconds
}

// left returns the share of l that still counts at now.
func (l lately) left(now time.Time) float64 {
	return math.Exp(-math.Max(0, now.Sub(l.at).Seconds()) / muster.LatelyOver.Seconds())
}

// addTo returns p with what ended in the last seconds before now. Less than one message is none.
func (l lately) addTo(p muster.Pace, now time.Time) muster.Pace {
	if left := l.left(now); left*l.n >= 1 {
		p.LatelyFinished, p.LatelySeconds, p.LatelyLong = left*l.n, left*l.seconds, left*l.long
	}
	return p
}

// LatelyBusy returns how many messages ended a second within the last seconds and how many slots that kept busy, as of
// the newest record. Both are 0 if that is older than three records should be, or if too few durations were measured.
func (m *Memory) LatelyBusy(now time.Time) (perSecond, slots float64) {
	if now.Sub(m.lately.at) > 3*Every {
		return 0, 0
	}
	return m.lately.perSecond, m.lately.slots
}
