package series

import (
	"slices"
	"time"
)

// Long counts events by time like [Counts], but for as long as a message may wait, in little memory: at most longSteps
// steps of equal width. It knows neither rates nor busy times.
//
// The zero Long keeps nothing; set Length. Long is a value: [Long.Add] returns a new one.
type Long struct {
	// Length is how far back it counts, at least. It must not change once something was added.
	Length time.Duration
	// ended are the steps before the newest one, oldest first; replaced, never changed. newest is the step that still
	// grows.
	ended  []longStep
	newest longStep
}

// longStep counts what happened in the step of the given number: steps are numbered since 1970. Steps in which nothing
// happened are left out.
type longStep struct {
	number int64
	n      float64
}

// longSteps is how many steps Length has; one more is kept, because the oldest is partly beyond it.
const longSteps = 256

// width returns the width of a step.
func (l Long) width() time.Duration { return max(l.Length/longSteps, time.Second) }

// Reach returns the greatest age at which an event still counts; 0 where nothing is kept.
func (l Long) Reach() time.Duration {
	if l.Length == 0 {
		return 0
	}
	return l.Length + l.width()
}

// Add returns l with n more events, spread evenly from one instant to the other; all count at the later one if the
// earlier one is after it. Events from before the newest step count there.
func (l Long) Add(from, to time.Time, n float64) Long {
	if l.Length == 0 || n == 0 {
		return l
	}
	width := int64(l.width())
	end := to.UnixNano()
	begin := min(end, max(from.UnixNano(), end-int64(l.Reach())))
	if from.Unix() < 0 {
		begin = end // the zero time, and what no clock shows
	}
	last := end / width
	for number := begin / width; number <= last; number++ {
		share := 1.0
		if begin < end {
			share = float64(min(end, (number+1)*width)-max(begin, number*width)) / float64(end-begin)
		}
		if part := n * share; part > 0 {
			l = l.with(longStep{number, part})
		}
	}
	return l
}

// with returns l with a step added.
func (l Long) with(s longStep) Long {
	switch {
	case l.newest.n == 0:
		l.newest = s
	case s.number <= l.newest.number:
		l.newest.n += s.n
	default:
		oldest := s.number - longSteps - 1
		kept, _ := slices.BinarySearchFunc(l.ended, oldest, func(x longStep, number int64) int {
			return int(x.number - number)
		})
		l.ended = append(slices.Clone(l.ended[kept:]), l.newest)
		l.newest = s
	}
	return l
}

// Newest calls yield with the steps of the last Length, newest first, like [Counts.Newest].
func (l Long) Newest(now time.Time, yield func(n float64, began time.Duration) bool) {
	width := l.width()
	began := func(s longStep) time.Duration { return now.Sub(time.Unix(0, s.number*int64(width))) }
	if l.newest.n == 0 || began(l.newest)-width > l.Length || !yield(l.newest.n, began(l.newest)) {
		return
	}
	for _, s := range slices.Backward(l.ended) {
		if began(s)-width > l.Length || !yield(s.n, began(s)) {
			return
		}
	}
}
