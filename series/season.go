package series

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// SeasonLength is how far back a [Season] reaches: four weeks.
const SeasonLength = 28 * 24 * time.Hour

const (
	cameStep   = 300 // seconds; what is recorded is told apart by so much
	quarter    = 900 // seconds; a season keeps quarters of an hour
	perDay     = 86400 / quarter
	perQuarter = quarter / cameStep
	// longestGap is the longest span over which arrivals are taken to have come evenly: over a longer one nobody
	// looked.
	longestGap = 2 * cameStep * time.Second
	// mostCame bounds the messages of one quarter of an hour.
	mostCame = 1<<(32-perQuarter) - 1
)

// Came is how many messages came within five minutes. Zero says that somebody looked and none came.
type Came struct {
	// From is the Unix time in seconds at which the five minutes begin, a multiple of 300.
	From int64 `json:"from_unix_s"`
	// Messages is 0 to 536,870,911.
	Messages int64 `json:"messages"`
}

// CameIn returns how many of n messages, which came evenly from since to at, came in which five minutes, in order:
// whole messages, which add up to n. Over more than ten minutes nobody looked, so that nothing is known. Where counted
// is true somebody looked at the instant at, whether or not a message came.
func CameIn(since, at time.Time, n float64, counted bool) []Came {
	last := at.Unix() / cameStep * cameStep
	messages := int64(math.Round(min(max(0, n), mostCame)))
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

func minTime(a, b time.Time) time.Time {
	if a.After(b) {
		return b
	}
	return a
}

// ValidCame tells whether all are within their bounds, in order and without repeats.
func ValidCame(all []Came) bool {
	for i, c := range all {
		if c.From <= 0 || c.From%cameStep != 0 || c.Messages < 0 || c.Messages > mostCame || i > 0 &&
			all[i-1].From >= c.From {
			return false
		}
	}
	return true
}

// MergeCame adds up what came, in order. Neither argument is changed.
func MergeCame(a, b []Came) []Came {
	if len(a) == 0 {
		return b
	}
	all := append(append(make([]Came, 0, len(a)+len(b)), a...), b...)
	slices.SortStableFunc(all, func(x, y Came) int { return cmp.Compare(x.From, y.From) })
	out := all[:0]
	for _, c := range all {
		if n := len(out); n > 0 && out[n-1].From == c.From {
			out[n-1].Messages = min(mostCame, out[n-1].Messages+c.Messages)
			continue
		}
		out = append(out, c)
	}
	return out
}

// Season keeps how many messages came in each quarter of an hour, for up to four weeks: 384 bytes a day, 11 kB in all.
// It is the same in whatever order it was filled. The zero Season is empty.
//
// Season is a value: [Season.Add] returns a new one, which shares the days that did not change.
type Season struct {
	days []*seasonDay // in order
}

// seasonDay is a day in UTC. Of each number the lowest bits count messages; the others tell in which five minutes of
// the quarter somebody looked.
type seasonDay struct {
	day      int64 // since 1970
	quarters [perDay]uint32
}

// Add returns s with what came. What is invalid is left out.
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
		mark := uint32(mostCame+1) << (c.From % quarter / cameStep)
		*q = (*q|mark)&^mostCame | uint32(min(mostCame, int64(*q&mostCame)+c.Messages))
	}
	oldest := days[len(days)-1].day - int64(SeasonLength/(24*time.Hour))
	for days[0].day < oldest {
		days = days[1:]
	}
	return Season{days}
}

// Days returns how many days s holds anything of.
func (s Season) Days() int { return len(s.days) }

// unknown is a quarter of an hour during which nobody looked all the time.
const unknown = -1.0

// before returns what came in each quarter of an hour before the given one, which counts since 1970, back to
// SeasonLength: the last one is the one right before it.
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
				all[i] = float64(q & mostCame)
			}
		}
	}
	return all
}
