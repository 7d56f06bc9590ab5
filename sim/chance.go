package sim

import (
	"math/rand/v2"
	"time"
)

// chance holds the random streams of a run, one for each purpose: the k-th boot takes as long under every policy,
// whatever else is drawn in between.
type chance struct {
	boot, launch, life, way, source, api, message, routing, trees *rand.Rand
}

func newChance(seed uint64) chance {
	stream := func(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, purpose)) }
	return chance{
		boot: stream(1), launch: stream(2), life: stream(3), way: stream(4), source: stream(5), api: stream(6),
		message: stream(7), routing: stream(8),
		trees: stream(9),
	}
}

// hit tells whether something of the given probability happens. What cannot happen draws nothing.
func hit(r *rand.Rand, probability float64) bool {
	return probability > 0 && r.Float64() < probability
}

// wait draws how long it takes until something happens that happens perHour times an hour on average.
func wait(r *rand.Rand, perHour float64) time.Duration {
	hours := r.ExpFloat64() / perHour
	return time.Duration(min(hours, 1e5) * float64(time.Hour))
}
