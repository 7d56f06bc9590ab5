package sim

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// shifted is a story in which the share of messages that take 30 s instead of 1 s jumps from 5 % to 50 %.
func shifted(t *testing.T, seed uint64, classes bool) scoring.Result {
	t.Helper()
	tr, err := trace.Generate("bimodal:service=1s,to=30s,share=0.05,rate=4,duration=80m,at=40m,then=0.5", seed)
	if err != nil {
		t.Fatal(err)
	}
	return ran(t, Options{Settings: timely(t, 2*time.Minute, 3*time.Second, time.Minute, 1), Trace: tr, Seed: seed,
		World: world.World{Boot: world.Draw{Mean: time.Minute}, Classes: classes}})
}

// Source: mission S2, whose thumbnails are joined by photos that take four times as long, until the latency is missed.
func TestClassesShowAShiftOfTheMixSooner(t *testing.T) {
	sum := 0.0 // of what more is in time with classes
	for seed := uint64(1); seed <= 2; seed++ {
		without, with := shifted(t, seed, false), shifted(t, seed, true)
		share := func(r scoring.Result) float64 { return r.InTimeRatio }
		hours := func(r scoring.Result) float64 { return r.WorkerSeconds / 3600 }
		t.Logf("seed %d: %.4f in time for %.1f worker-hours without classes, %.4f for %.1f with", seed, share(without),
			hours(without), share(with), hours(with))
		sum += share(with) - share(without)
		if share(with) < 0.98 || hours(with) > 1.05*hours(without) {
			t.Errorf("seed %d: %.4f are in time for %.1f worker-hours; without classes %.4f for %.1f", seed,
				share(with), hours(with), share(without), hours(without))
		}
	}
	if sum < 0.1 {
		t.Errorf("with classes %.4f more are in time over both seeds, want 0.1 at least", sum)
	}
}

// What workers report by class changes nothing where there is but one.
func TestOneClassIsAsNone(t *testing.T) {
	tr, err := trace.Generate("bimodal:service=1s,to=30s,share=0,rate=2,duration=20m", 1)
	if err != nil {
		t.Fatal(err)
	}
	run := func(classes bool) scoring.Result {
		return ran(t, Options{Settings: timely(t, time.Minute, time.Second, 30*time.Second, 1), Trace: tr,
			World: world.World{Boot: world.Draw{Mean: 30 * time.Second}, Classes: classes}})
	}
	if a, b := run(false), run(true); a.InTime != b.InTime || a.Launches != b.Launches ||
		a.ScaleEvents != b.ScaleEvents {
		t.Errorf("found %+v, want %+v", b, a)
	}
}
