package contest

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
)

// A peer that acts at its own period alone is polled less often, which must not change its decisions.
func TestAPeerThatIsLookedAtAsOftenAsItActsDoesTheSame(t *testing.T) {
	s, ok := trace.FindScenario("step-1to10x")
	if !ok {
		t.Fatal("the scenario is gone")
	}
	e := Scenario(s)
	e.Trace = func(seed uint64) (trace.Trace, error) {
		return trace.Generate("step:rate=0.3,to=1.5,at=10m,duration=40m,service=10s,cv=0.5", seed)
	}
	p, err := Prepare(e, 1)
	if err != nil {
		t.Fatal(err)
	}
	seldom := 0
	for _, c := range All() {
		if !c.Peer || c.peer.Period == 0 {
			continue
		}
		each := c
		each.peer.Period = 0
		if c.pace(e) == time.Second {
			continue // it acts each second
		}
		seldom++
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			run := func(c Contender) scoring.Result {
				r, err := p.Run(context.Background(), c, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			a, b := run(c), run(each)
			if a.Steps*5 > b.Steps*3 {
				t.Errorf("it was polled %d times, and %d times when polled each second; want three fifths at most",
					a.Steps,
					b.Steps)
			}
			// Signals are noticed up to one poll later, which moves a launch, but not the result.
			if math.Abs(a.WorkerSeconds/b.WorkerSeconds-1) > 0.08 || math.Abs(a.InTimeRatio-b.InTimeRatio) > 0.03 {
				t.Errorf("found %.0f worker-seconds and %.4f in time, polled each second %.0f and %.4f",
					a.WorkerSeconds, a.InTimeRatio, b.WorkerSeconds, b.InTimeRatio)
			}
		})
	}
	if seldom < 10 {
		t.Errorf("found %d peers that act less than once a second, want most of them", seldom)
	}
}

func TestAUsersPaceIsKept(t *testing.T) {
	nomad, err := Find("nomad")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name       string
		c          Contender
		poll, want time.Duration
	}{
		{"a peer, by default", nomad, 0, longestPoll},
		{"a peer, with slower polls", nomad, 20 * time.Second, 20 * time.Second},
		{"ours, by default", Ours(nomad.spec, 0, 0), 0, time.Second},
		{"ours, as asked for", Ours(nomad.spec, 0, 0), 3 * time.Second, 3 * time.Second},
		{"ours, as configured", Ours(nomad.spec, 0, 2*time.Second), 3 * time.Second, 2 * time.Second},
	} {
		if got := x.c.pace(Event{Poll: x.poll}); got != x.want {
			t.Errorf("%s: found %s, want %s", x.name, got, x.want)
		}
	}
}
