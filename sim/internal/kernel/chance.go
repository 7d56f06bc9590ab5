package kernel

import (
	"math/rand/v2"
	"time"
)

// Streams are the random streams of a run, one for each purpose. A policy that launches more or polls less draws other
// numbers from one stream and none from the others. So the k-th boot takes as long under every policy, and results of
// two policies with the same seed can be compared.
type Streams struct {
	// Boot draws boot times, Launch the faults of a launch, Life the times until crashes and interruptions.
	Boot, Launch, Life *rand.Rand
	// Reports draws the delays and losses of reports and answers, Source the faults of measurements, listings and
	// wake-ups, API those of orders, Trees those of readings of trees.
	Reports, Source, API, Trees *rand.Rand
	// Message chooses the messages that always fail, Routing the worker that gets a message.
	Message, Routing *rand.Rand
}

// NewStreams returns the streams of a seed.
func NewStreams(seed uint64) Streams {
	stream := func(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, purpose)) }
	return Streams{
		Boot: stream(1), Launch: stream(2), Life: stream(3), Reports: stream(4), Source: stream(5), API: stream(6),
		Message: stream(7), Routing: stream(8), Trees: stream(9),
	}
}

// Hit tells whether something of the given probability happens. What cannot happen draws no number, so a fault that is
// switched off does not change the others.
func Hit(r *rand.Rand, probability float64) bool {
	return probability > 0 && r.Float64() < probability
}

// Luck is a number drawn for one message. That of a child follows from that of its parent and its place among the
// children, so the same messages of a tree fail whatever the order in which a policy lets them be sent.
type Luck uint64

// Child returns the luck of the k-th child, from 0 on.
func (l Luck) Child(k int) Luck { return Luck(rand.NewPCG(uint64(l), uint64(k)).Uint64()) }

// Hit tells whether something of the given probability happens to the message.
func (l Luck) Hit(probability float64) bool {
	const bits = 53 // those of a float64's fraction
	return float64(l&(1<<bits-1))/(1<<bits) < probability
}

// Wait draws the time until the next event of a Poisson process with perHour events an hour, which is more than 0. It
// is at most 100,000 hours.
func Wait(r *rand.Rand, perHour float64) time.Duration {
	hours := r.ExpFloat64() / perHour
	return time.Duration(min(hours, 1e5) * float64(time.Hour))
}
