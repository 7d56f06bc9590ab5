package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// A batch an hour, with a warm pool of three that boot in 15 s, and others in 90 s. Once both are learned, the third
// batch is served from the pool as far as that goes, later than it would be without, and by others as soon as they must
// be ordered.
func TestWorkersOfAWarmPoolAreLaunchedByTheirOwnBootTime(t *testing.T) {
	const latency, work = 300 * time.Second, 25 * time.Second
	w := world.World{Boot: world.Draw{Mean: 90 * time.Second}, Wakes: true,
		Warm: world.WarmPool{Size: 3, Boot: world.Draw{Mean: 15 * time.Second}, Refill: 2 * time.Minute}}
	var last muster.Observation
	var first, explained string
	o := Options{Settings: timely(t, latency, work, 90*time.Second, 1), Trace: batches(3, 50, time.Hour, work),
		World: w}
	o.Stepped = func(v View) {
		last = v.Outcome.Observation
		for _, e := range v.Outcome.Effects {
			if order, ok := e.(controller.SetDesired); ok && order.Warm > 0 {
				text := v.Outcome.Decision.Sentence()
				if first == "" {
					first = text
				}
				if order.Warm < len(order.Launch) {
					explained = text
				}
			}
		}
	}
	res := ran(t, o)
	if res.InTime != 150 {
		t.Errorf("%d of 150 messages were in time", res.InTime)
	}
	if b := last.Boot; !b.Known || b.Prior || b.MeanSeconds < 90 || b.MeanSeconds > 92 {
		t.Errorf("cold boots were learned as %+v, want 90 s", b)
	}
	if last.Pool == nil || last.Pool.Ready != 3 || last.Pool.Boot.MeanSeconds < 15 || last.Pool.Boot.MeanSeconds > 17 {
		t.Errorf("the pool was learned as %+v, want 3 that boot in 15 s", last.Pool)
	}
	if !strings.Contains(explained, "3 from the warm pool in about ") ||
		!strings.Contains(explained, " cold in about 1m3") {
		t.Errorf("the launches are explained as %q (the first as %q), want how many come from the pool and when",
			explained, first)
	}
	w.Warm = world.WarmPool{}
	o.Stepped, o.World = nil, w
	without := ran(t, o)
	if res.WorkerSeconds > without.WorkerSeconds {
		t.Errorf("with a pool it took %v worker-seconds and without %v, want no more", res.WorkerSeconds,
			without.WorkerSeconds)
	}
	t.Logf("%v worker-seconds with a pool, %v without", res.WorkerSeconds, without.WorkerSeconds)
}

// batches are so many of n messages, every so often.
func batches(times, n int, every, work time.Duration) trace.Trace {
	var all []trace.Message
	for k := range times * n {
		all = append(all, trace.Message{Arrival: time.Minute + time.Duration(k/n)*every, Service: work})
	}
	return trace.Of("batches", all...)
}
