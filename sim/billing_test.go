package sim

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// A worker that is paid for by the hour is of use until its hour ends: to let it go before, and launch another in the
// same hour, pays for both.
func TestAnIdleWorkerThatIsPaidByTheHourStaysUntilItsHourEnds(t *testing.T) {
	tr, err := trace.Generate("sparse:load=0.3,duration=6h", 1)
	if err != nil {
		t.Fatal(err)
	}
	run := func(idle, margin time.Duration) scoring.Result {
		return ran(t, Options{Settings: fleet(t, policy.Spec{Name: "exact"}, 2*time.Minute, 0, 50), Trace: tr,
			World: world.World{Boot: world.Draw{Mean: 90 * time.Second}, BillStep: time.Hour, IdleStop: idle,
				BillMargin: margin}})
	}
	early, margin := run(30*time.Second, 0), run(0, 2*time.Minute)
	hours := func(r scoring.Result) float64 { return r.WorkerSeconds / 3600 }
	t.Logf("%.0f worker-hours and %d launches when idle workers leave after 30 s, %.0f and %d when their hour ends",
		hours(early), early.Launches, hours(margin), margin.Launches)
	if hours(margin) > hours(early)/4 || margin.InTimeRatio < 0.99 {
		t.Errorf("found %.0f worker-hours with %.4f in time, and %.0f without a margin; want less than a quarter of "+
			"that", hours(margin), margin.InTimeRatio, hours(early))
	}
	if margin.Launches < 5 {
		t.Errorf("%d launches in six hours: no worker left when an hour ended", margin.Launches)
	}
}

// A run with a length ends then and not before: its minimum is paid for, and its idle workers are gone.
func TestARunIsAsLongAsItsLength(t *testing.T) {
	run := func(least int, length time.Duration) scoring.Result {
		return ran(t, Options{Settings: fleet(t, policy.Spec{Name: "deadline"}, time.Minute, least, 5),
			Trace: steady(3, time.Second, 10*time.Second),
			World: world.World{Boot: world.Draw{Mean: 20 * time.Second}, Length: length}})
	}
	short, long, none := run(2, 0), run(2, 10*time.Hour), run(0, 10*time.Hour)
	if short.Seconds > 3600 || short.WorkerSeconds > 3*3600 {
		t.Errorf("without a length: found a run of %v s and %v worker-seconds", short.Seconds, short.WorkerSeconds)
	}
	if long.Seconds < 36_000 || long.Seconds > 36_010 || long.WorkerSeconds < 2*36_000-60 ||
		long.WorkerSeconds > 2*36_000+3600 {
		t.Errorf("a minimum of 2 in 10 h: found a run of %v s and %v worker-seconds", long.Seconds, long.WorkerSeconds)
	}
	if none.Seconds < 36_000 || none.WorkerSeconds > 3*3600 || none.Steps > 5000 {
		t.Errorf("no minimum in 10 h: found a run of %v s, %v worker-seconds and %d steps", none.Seconds,
			none.WorkerSeconds, none.Steps)
	}
}
