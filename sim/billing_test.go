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
