package lease

import (
	"slices"
	"time"

	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// waitSteps is the resolution of the waits: a message may count as waiting too long by a 32nd of its wait, or by a
	// second. So a few groups represent any number of messages.
	waitSteps = 32
	// maxWaits bounds the groups when all waits differ.
	maxWaits = 512
)

// waits are the messages of a worker that wait for their retry, grouped by the end of the wait, ascending. They are
// replaced, never changed.
type waits []wait

type wait struct {
	until, oldest time.Time
	messages      int64
}

// with returns w with another message, sent at sent, that waits for again from now on. It drops ended waits.
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

// after returns the groups that still wait at now.
func (w waits) after(now time.Time) waits {
	i := 0
	for i < len(w) && !w[i].until.After(now) {
		i++
	}
	return w[i:]
}

// retries returns the waiting messages in the form of a report.
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
