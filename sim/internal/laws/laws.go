// Package laws has what queueing theory says exactly, for the tests of both simulators.
//
// A test holds a simulator to a law in two steps, because a simulated mean alone wanders too much: at a load of 0.9 a
// mean wait is known to 1 % only after tens of millions of messages.
//
//  1. A recursion of a few lines, such as [FreeAt.Serve], computes the wait of every message of a stream. Over many
//     messages its mean is that of the closed formula ([ErlangC], [Pollaczek]), so the recursion is right.
//  2. The simulator gives the messages of the same stream the waits of the recursion, to the nanosecond, so the
//     simulator is right.
//
// [NewStream] makes messages of a Poisson process whose service times follow a [Law], [Poisson] makes a trace of them,
// and [Follow] puts a stream through a recursion. Only tests import this package.
package laws

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"github.com/muster-scale/muster/sim/trace"
)

// Law is a distribution of service times.
type Law struct {
	Name string
	// CV is its coefficient of variation.
	CV   float64
	draw func(r *rand.Rand) float64 // of mean 1
}

// Deterministic is the law by which every service takes the mean.
func Deterministic() Law { return Law{"deterministic", 0, func(*rand.Rand) float64 { return 1 }} }

// Exponential is the exponential law.
func Exponential() Law { return Law{"exponential", 1, (*rand.Rand).ExpFloat64} }

// Lognormal is the lognormal law of the given coefficient of variation.
func Lognormal(cv float64) Law {
	v := math.Log1p(cv * cv)
	return Law{fmt.Sprintf("lognormal cv %g", cv), cv,
		func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()*math.Sqrt(v) - v/2) }}
}

// Stream reads the messages of a Poisson process.
type Stream struct {
	// Left is how many messages are still to come.
	Left      int
	r         *rand.Rand
	at        time.Duration
	gap, mean time.Duration
	law       Law
}

// NewStream returns a stream of n messages that begins at the time from. The mean time between two messages is gap, and
// their service times follow the law l with the given mean.
func NewStream(seed uint64, n int, from, gap, mean time.Duration, l Law) *Stream {
	return &Stream{r: rand.New(rand.NewPCG(seed, 77)), Left: n, at: from, gap: gap, mean: mean, law: l}
}

// Next implements [trace.Reader].
func (s *Stream) Next() (trace.Message, error) {
	if s.Left == 0 {
		return trace.Message{}, io.EOF
	}
	s.Left--
	s.at += time.Duration(s.r.ExpFloat64() * float64(s.gap))
	return trace.Message{Arrival: s.at, Service: time.Duration(s.law.draw(s.r) * float64(s.mean))}, nil
}

// Poisson returns a trace of the messages of [NewStream], named after the law.
func Poisson(seed uint64, n int, from, gap, mean time.Duration, l Law) trace.Trace {
	return trace.Trace{Name: l.Name, Open: func() (trace.Reader, error) {
		return NewStream(seed, n, from, gap, mean, l), nil
	}}
}

// ErlangC returns the mean wait in an M/M/k queue: C(k, a) / (k mu - lambda) with the offered load a = lambda / mu and
// Erlang's probability C of a wait, by the recursion for B. The load is that of one worker, below 1.
func ErlangC(k int, load float64, service time.Duration) time.Duration {
	a := load * float64(k)
	b := 1.0
	for n := 1; n <= k; n++ {
		b = a * b / (float64(n) + a*b)
	}
	c := b / (1 - load*(1-b))
	return time.Duration(c / (float64(k) * (1 - load)) * float64(service))
}

// Pollaczek returns the mean wait in an M/G/1 queue: load / (1 - load) x (1 + cv^2) / 2 services.
func Pollaczek(load, cv float64, service time.Duration) time.Duration {
	return time.Duration(load / (1 - load) * (1 + cv*cv) / 2 * float64(service))
}

// FreeAt has the times at which k workers become free, ascending: the state of the recursion of Kiefer and Wolfowitz.
// Its zero elements are workers that are free from the start.
type FreeAt []time.Duration

// Serve gives a message to the worker that is free first, and returns how long the message waits.
func (f FreeAt) Serve(m trace.Message) (wait time.Duration) {
	start := max(m.Arrival, f[0])
	end := start + m.Service
	i := 1
	for ; i < len(f) && f[i] < end; i++ {
		f[i-1] = f[i]
	}
	f[i-1] = end
	return start - m.Arrival
}

// Path is what came of a stream: its own moments, and the waits by a recursion. A formula that is given the moments of
// the stream, rather than those that it was drawn with, has that part of the chance taken out.
type Path struct {
	n                        int
	last                     time.Duration
	services, squares, waits float64 // sums, in nanoseconds
}

// Follow puts the messages of a stream through a recursion, which returns the wait of each.
func Follow(s *Stream, serve func(trace.Message) time.Duration) Path {
	p := Path{n: s.Left}
	begin := s.at
	for range p.n {
		m, _ := s.Next()
		p.last = m.Arrival - begin
		p.services += float64(m.Service)
		p.squares += float64(m.Service) * float64(m.Service)
		p.waits += float64(serve(m))
	}
	return p
}

// Mean returns the mean service in nanoseconds.
func (p Path) Mean() float64 { return p.services / float64(p.n) }

// Service returns the mean service.
func (p Path) Service() time.Duration { return time.Duration(p.Mean()) }

// CV returns the coefficient of variation of the services.
func (p Path) CV() float64 { return math.Sqrt(max(0, p.squares/float64(p.n)/(p.Mean()*p.Mean())-1)) }

// Load returns the load of one of k workers.
func (p Path) Load(k int) float64 { return p.services / float64(p.last) / float64(k) }

// MeanWait returns the mean wait in seconds.
func (p Path) MeanWait() float64 { return p.waits / float64(p.n) / 1e9 }
