package series

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// SeasonLength is the time that a [Season] covers: four weeks.
const SeasonLength = 28 * 24 * time.Hour

const (
	// cameStep is the width in seconds of a [Came], quarter that of a number in a Season. perDay and perQuarter are how
	// many of the smaller fit into the larger.
	cameStep   = 300
	quarter    = 900
	perDay     = 86400 / quarter
	perQuarter = quarter / cameStep
	// longestGap is the longest span between two readings over which arrivals are taken to have come evenly. The
	// times of arrivals within a longer span are unknown.
	longestGap = 2 * cameStep * time.Second
	// maxCame bounds the messages of one quarter of an hour: the bits that are left beside one mark for each of its
	// three cameSteps, see seasonDay.
	maxCame = 1<<(32-perQuarter) - 1
)

// CameWithin is the span of a [Came].
const CameWithin = cameStep * time.Second

// Came is the number of messages that came within [CameWithin], five minutes. Zero Messages means that the queue was
// read and none came.
type Came struct {
	// From is the Unix second at which the five minutes begin, a multiple of 300.
	From int64 `json:"from_unix_s"`
	// Messages is 0 to 536,870,911.
	Messages int64 `json:"messages"`
}

// CameIn splits n messages, which came evenly between the readings at since and at, into five-minute records in order.
// The records are whole numbers that add up to n. If the two readings are more than ten minutes apart, the times are
// unknown and the result is empty. counted is true if the reading at the instant at succeeded; only then do zero
// messages make a record.
func CameIn(since, at time.Time, n float64, counted bool) []Came {
	last := at.Unix() / cameStep * cameStep
	messages := int64(math.Round(min(max(0, n), maxCame)))
	switch {
	case at.Unix() < cameStep:
		return nil
	case messages == 0 && counted:
		return []Came{{From: last}}
	case messages == 0 || at.Sub(since) > longestGap:
		return nil
	}
	since = minTime(since, at)
	span := at.Sub(since).Milliseconds()
	var all []Came
	before := int64(0)
	for from := since.Unix() / cameStep * cameStep; from <= last; from += cameStep {
		until := messages
		if from < last {
			until = messages * time.Unix(from+cameStep, 0).Sub(since).Milliseconds() / max(1, span)
		}
		all = append(all, Came{from, until - before})
		before = until
	}
	return all
}

// minTime returns the earlier of two times.
func minTime(a, b time.Time) time.Time {
	if a.After(b) {
		return b
	}
	return a
}

// ValidCame tells whether the records are within their bounds, in order and without repeats. Recorded history is
// checked with it.
func ValidCame(all []Came) bool {
	for i, c := range all {
		if c.From <= 0 || c.From%cameStep != 0 || c.Messages < 0 || c.Messages > maxCame || i > 0 &&
			all[i-1].From >= c.From {
			return false
		}
	}
	return true
}

// MergeCame returns the sum of two lists of records, in order. Neither argument is changed.
func MergeCame(a, b []Came) []Came {
	if len(a) == 0 {
		return b
	}
	all := append(append(make([]Came, 0, len(a)+len(b)), a...), b...)
	slices.SortStableFunc(all, func(x, y Came) int { return cmp.Compare(x.From, y.From) })
	out := all[:0]
	for _, c := range all {
		if n := len(out); n > 0 && out[n-1].From == c.From {
			out[n-1].Messages = min(maxCame, out[n-1].Messages+c.Messages)
			continue
		}
		out = append(out, c)
	}
	return out
}

// Season keeps the number of messages in each quarter of an hour for up to four weeks: 384 bytes a day, 11 kB in all.
// Its state does not depend on the order of additions. The zero Season is empty.
//
// Season is a value: [Season.Add] returns a new one, which shares the days that did not change.
type Season struct {
	days []*seasonDay // in order; never changed in place
}

// seasonDay is one day in UTC. The lower 29 bits of each quarter count messages. The upper three bits are marks: one
// for each five minutes of the quarter in which the queue was read. A quarter without all three marks is unknown, so
// that a stopped controller does not read as a quiet night.
type seasonDay struct {
	day      int64 // days since 1970
	quarters [perDay]uint32
}

// Add returns s with the given records added. If any of them is invalid, it returns s unchanged.
func (s Season) Add(all []Came) Season {
	if len(all) == 0 || !ValidCame(all) {
		return s
	}
	days := slices.Clone(s.days)
	var own *seasonDay
	for _, c := range all {
		day := c.From / 86400
		if own == nil || own.day != day {
			i, found := slices.BinarySearchFunc(days, day,
				func(d *seasonDay, day int64) int { return cmp.Compare(d.day, day) })
			own = &seasonDay{day: day}
			if found {
				*own = *days[i]
				days[i] = own
			} else {
				days = slices.Insert(days, i, own)
			}
		}
		q := &own.quarters[c.From%86400/quarter]
		mark := uint32(maxCame+1) << (c.From % quarter / cameStep)
		*q = (*q|mark)&^maxCame | uint32(min(maxCame, int64(*q&maxCame)+c.Messages))
	}
	oldest := days[len(days)-1].day - int64(SeasonLength/(24*time.Hour))
	for days[0].day < oldest {
		days = days[1:]
	}
	return Season{days}
}

// Days returns the number of days with at least one record.
func (s Season) Days() int { return len(s.days) }

// unknown stands for a quarter of an hour without a complete count.
const unknown = -1.0

// before returns the messages of each quarter of an hour in the SeasonLength before the quarter now, which is counted
// since 1970. The last element is the quarter right before now. Quarters without a complete count are unknown.
func (s Season) before(now int64) []float64 {
	all := make([]float64, int64(SeasonLength/time.Second)/quarter)
	for i := range all {
		all[i] = unknown
	}
	first := now - int64(len(all))
	for _, d := range s.days {
		for k, q := range d.quarters {
			if i := d.day*perDay + int64(k) - first; i >= 0 && i < int64(len(all)) &&
				q>>(32-perQuarter) == 1<<perQuarter-1 {
				all[i] = float64(q & maxCame)
			}
		}
	}
	return all
}
