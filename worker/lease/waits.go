package lease

import (
	"slices"
	"time"

	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// waitSteps is how finely the ends of waits are told apart: a message counts as waiting for its retry for up to
	// that part of the wait too long, or a second. So few groups stand for any number of messages.
	waitSteps = 32
	// maxWaits bounds the groups of a worker whose waits are all of different lengths.
	maxWaits = 512
)

// waits are the messages that a worker gave back and that wait for their retry, in groups that end together, the first
// to end first. They are replaced, never changed.
type waits []wait

type wait struct {
	until, oldest time.Time
	messages      int64
}

// with returns w with a message more that waits for so long from now on, sent at the given instant; without those that
// no longer wait.
func (w waits) with(now time.Time, again time.Duration, sent time.Time) waits {
	w = slices.Clone(w.after(now))
	if again <= 0 {
		return w
	}
	step := max(time.Second, (again / waitSteps).Truncate(time.Second))
	until := now.Add(again + step - 1).Truncate(step)
	i, found := slices.BinarySearchFunc(w, until, func(x wait, until time.Time) int { return x.until.Compare(until) })
	switch {
	case found:
	case len(w) < maxWaits:
		w = slices.Insert(w, i, wait{until: until})
	default:
		i = min(i, len(w)-1)
	}
	w[i].messages++
	if !sent.IsZero() && (w[i].oldest.IsZero() || sent.Before(w[i].oldest)) {
		w[i].oldest = sent
	}
	return w
}

// after returns the groups that still wait.
func (w waits) after(now time.Time) waits {
	i := 0
	for i < len(w) && !w[i].until.After(now) {
		i++
	}
	return w[i:]
}

// retries are the messages that wait for their retry, as a report tells them.
func (l *Lease) retries(now time.Time) *protocol.Retries {
	waiting := l.waits.after(now)
	if len(waiting) == 0 {
		return l.noRetries
	}
	r := &protocol.Retries{}
	for _, x := range waiting {
		r.Messages += x.messages
		if !x.oldest.IsZero() {
			r.OldestSeconds = max(r.OldestSeconds, now.Sub(x.oldest).Seconds())
		}
	}
	return r
}
