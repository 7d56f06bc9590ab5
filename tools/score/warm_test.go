package main

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// Three workers may be launched, one of them from a pool: it is there 10 s after the first message, the others after 60
// s.
func TestWhoLaunchesAllAtTheFirstMessage(t *testing.T) {
	at := func(arrival, service int) trace.Message {
		return trace.Message{Arrival: time.Duration(arrival) * time.Second,
			Service: time.Duration(service) * time.Second}
	}
	for _, x := range []struct {
		name    string
		of      []trace.Message
		latency time.Duration
		pool    int
		want    float64
	}{
		{"the pool's worker is in time", []trace.Message{at(5, 2)}, 12 * time.Second, 1, 1},
		{"by no second more", []trace.Message{at(5, 3)}, 12 * time.Second, 1, 0},
		{"it works one after the other", []trace.Message{at(0, 2), at(0, 2)}, 12 * time.Second, 1, 0.5},
		{"without a pool all are late until 60 s", []trace.Message{at(0, 2), at(30, 2), at(49, 1), at(60, 2)},
			12 * time.Second, 0, 0.5},
		{"then three work at once", []trace.Message{at(0, 1), at(70, 9), at(70, 9), at(70, 9), at(70, 9)},
			10 * time.Second, 1, 0.6},
	} {
		e := contest.Event{Objective: muster.Objective{Latency: x.latency}, Limits: muster.Limits{Max: 3},
			World: world.World{Boot: world.Draw{Mean: time.Minute},
				Warm: world.WarmPool{Size: x.pool, Boot: world.Draw{Mean: 10 * time.Second}}}}
		if got, err := earliest(trace.Of("t", x.of...), e); err != nil || got != x.want {
			t.Errorf("%s: found %v in time, %v; want %v", x.name, got, err, x.want)
		}
	}
}
