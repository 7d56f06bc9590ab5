package simulation_test

import (
	"context"
	"testing"
	"time"

	"github.com/muster-scale/muster/app/simulation"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/trace"
)

func TestAChangedFleetIsReplayedAsItIsChanged(t *testing.T) {
	c, err := config.Parse("muster.yaml", []byte(`
version: 1
fleets:
  - name: photos
    queue: photos
    objective: {latency: 1m}
    max: 10
    price: 0.5
    workers: {command: ["true"], boot: 20s}
`), func(string) (string, bool) { return "", false }, kinds.Table().Config())
	if err != nil {
		t.Fatal(err)
	}
	load, err := trace.Load("steady:rate=1,duration=20m,service=6s", trace.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	run := func(f config.Fleet) (inTime, cost, peak float64) {
		e, who, _, err := simulation.OfFleet(f, load, simulation.Circumstances{Boot: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if e.World.Boot.Mean != 5*time.Second || e.BootPrior != 20*time.Second {
			t.Errorf("the true boot takes %s and the stated one %s, want 5 s and 20 s", e.World.Boot.Mean, e.BootPrior)
		}
		p, err := contest.Prepare(e, 1)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Run(context.Background(), who, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r.InTimeRatio, r.Cost, float64(r.PeakWorkers)
	}
	inTime, cost, peak := run(c.Fleets[0])
	if inTime < 0.95 || cost <= 0 || peak < 6 || peak > 10 {
		t.Fatalf("%v are in time for %v with %v workers, want most, for some workers", inTime, cost, peak)
	}
	changed := c.Fleets[0]
	changed.Limits.Max = 3
	late, cheaper, few := run(changed)
	if late > inTime/2 || few != 3 || cheaper >= cost {
		t.Errorf("with at most 3 workers %v are in time for %v with %v workers", late, cheaper, few)
	}
}
