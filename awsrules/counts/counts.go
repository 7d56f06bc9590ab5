// Package counts is the published behaviour of the counts of an SQS queue, which their names call approximate: they are
// late, and they are wrong.
//
// AWS promises that the counts are right at the earliest a minute after the last message was sent, and no bound before
// that. So a model states how late they are and how wrong:
//
//	var past counts.Past[int]      // the true counts, as they change
//	past.Add(now, backlog)
//	...
//	seen, ok := past.At(now - stale)
//	shown := counts.Roughly(seen, 0.1, uniform)
//
// The package has no queues, clock or random numbers. Package sim/cloud/queues shows the queues of an account by the
// actions of SQS, and package sim shows the queue of a simulated fleet to its controller. Both read the past by [Past]
// and make errors by [Roughly]. An instant is in nanoseconds since any fixed one.
//
// Source: SQS API reference, GetQueueAttributes.
package counts

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// Roughly returns the count that an approximate source shows for n: with an error of up to largest, 0 to 1, in
// proportion to n. uniform in [0, 1) chooses the error; 0.5 is none. It is never below 0.
func Roughly(n int, largest, uniform float64) int {
	return int(max(0, math.Round(float64(n)*(1+largest*(2*uniform-1)))))
}

// Past keeps values with their instants, so that an observer can be shown old ones. The zero value is empty. It is not
// safe for concurrent use.
type Past[T any] struct {
	all []dated[T] // ascending by instant
}

type dated[T any] struct {
	at int64
	v  T
}

// Add adds a value, at an instant not before that of the last one. A second value of the same instant replaces the
// first.
func (p *Past[T]) Add(at int64, v T) {
	if n := len(p.all); n > 0 && p.all[n-1].at == at {
		p.all[n-1].v = v
		return
	}
	p.all = append(p.all, dated[T]{at, v})
}

// At returns the newest value that is not after an instant; false when all are.
func (p *Past[T]) At(at int64) (v T, ok bool) {
	k := p.after(at)
	if k == 0 {
		return v, false
	}
	return p.all[k-1].v, true
}

// First returns the oldest value that is kept; false when there is none.
func (p *Past[T]) First() (v T, ok bool) {
	if len(p.all) == 0 {
		return v, false
	}
	return p.all[0].v, true
}

// Forget drops values that At does not need for the instant at and later ones, and the oldest ones beyond most; 0 is no
// bound.
func (p *Past[T]) Forget(at int64, most int) {
	drop := 0
	for drop+1 < len(p.all) && p.all[drop+1].at <= at { // mostly one: so no search
		drop++
	}
	if most > 0 {
		drop = max(drop, len(p.all)-most)
	}
	p.all = p.all[drop:] // Add moves the rest when there is no room, not each call
}

// Values returns the values, oldest first.
func (p *Past[T]) Values() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, d := range p.all {
			if !yield(d.v) {
				return
			}
		}
	}
}

// after returns the index of the first value after an instant.
func (p *Past[T]) after(at int64) int {
	k, found := slices.BinarySearchFunc(p.all, at, func(d dated[T], at int64) int { return cmp.Compare(d.at, at) })
	if found {
		k++
	}
	return k
}
