package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

// A contest gives several lanes their turns, round after round, on a machine that may have other load. A lane
// has 32 clients that repeat a step; the turns of a round follow each other within seconds, so that a ratio within one
// round compares the systems and not the moments. 15 rounds give a median and a range.

const (
	// clients is how many clients work at the same time in every lane.
	clients = 32
	// rounds is how often every lane has its turn; a ratio is taken within one round, so that what else the machine
	// does hits both sides alike.
	rounds = 15
	// turn is how long one turn takes.
	turn = 600 * time.Millisecond
	// bodyBytes is the size of a message body.
	bodyBytes = 512
)

// step is one client's unit of work. It returns how many cycles it completed: one, or as many as a batch holds.
type step func() (cycles int, err error)

// lane is one contestant: a system under test with its clients, and what was measured of it over all rounds.
type lane struct {
	name string
	// cycle says what one cycle is.
	cycle string
	steps []step // one for each client
	close func() error
	// server is the process that serves the lane; 0 if the clients' process does.
	server int

	// here and there are the processor time of the clients' process and of the server's, over all rounds.
	here, there time.Duration
	cycles      int
	rates       []float64 // cycles per second, by round
	latencies   []time.Duration
}

// race gives every lane its turn, round after round. A short round before them warms up caches and connections, and is
// not counted.
func race(lanes []*lane) error {
	for round := range rounds + 1 {
		for _, l := range lanes {
			// The first round is the warm-up.
			length := turn
			if round == 0 {
				length = turn / 4
			}
			if err := l.turn(length, round > 0); err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
		}
	}
	return nil
}

// turn lets all clients of the lane work for a time, and adds the results to the lane if counts is true. A client
// finishes the step that it has begun, so the real length is measured.
func (l *lane) turn(length time.Duration, counts bool) error {
	runtime.GC() // the garbage of the lane before must not slow this one
	here, there, err := l.processor()
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	var latencies []time.Duration
	cycles := 0
	begin := time.Now()
	// All clients begin at the same time and stop after the step in which their time is over.
	for _, do := range l.steps {
		all.Go(func() {
			mine, took, failed := work(do, begin.Add(length))
			mu.Lock()
			defer mu.Unlock()
			cycles += mine
			latencies = append(latencies, took...)
			// One failed client spoils the round, so the race ends with its error.
			if failed != nil {
				err = failed
			}
		})
	}
	all.Wait()
	took := time.Since(begin)
	if err != nil || !counts {
		return err
	}
	hereAfter, thereAfter, err := l.processor()
	l.here, l.there, l.cycles = l.here+hereAfter-here, l.there+thereAfter-there, l.cycles+cycles
	// The real time counts: it is a little longer than the turn.
	l.rates = append(l.rates, float64(cycles)/took.Seconds())
	l.latencies = append(l.latencies, latencies...)
	return err
}

// processor is the processor time so far, of this process and of the lane's server.
func (l *lane) processor() (here, there time.Duration, err error) {
	// Clients and server are measured apart, where they are different processes.
	if here, err = processorTime(os.Getpid()); err == nil && l.server != 0 {
		there, err = processorTime(l.server)
	}
	return here, there, err
}

// perCycle is the processor time of one cycle, of the clients and of their server.
func (l *lane) perCycle() (here, there time.Duration) {
	n := time.Duration(max(1, l.cycles))
	return l.here / n, l.there / n
}

// work repeats the step of one client until the end of the turn, and returns the cycles and the duration of each step.
func work(do step, end time.Time) (cycles int, took []time.Duration, err error) {
	// One reading of the clock per step: the end of a step is the begin of the next.
	for at := time.Now(); at.Before(end); {
		n, err := do()
		if err != nil {
			return cycles, took, err
		}
		now := time.Now()
		cycles += n
		took = append(took, now.Sub(at))
		at = now
	}
	return cycles, took, nil
}

// rate is the median of the cycles per second over the rounds.
func (l *lane) rate() float64 { return quantile(append([]float64{}, l.rates...), 0.5) }

// ratio compares two lanes round by round, and returns the median, the smallest and the largest ratio. Whatever slowed
// the machine in a round slowed both.
func ratio(l, peer *lane) (median, least, most float64) {
	// Both lanes have one rate per round, in the same order.
	ratios := make([]float64, len(l.rates))
	for i := range ratios {
		ratios[i] = l.rates[i] / peer.rates[i]
	}
	median = quantile(ratios, 0.5)
	return median, ratios[0], ratios[len(ratios)-1]
}
