package sim

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/internal/laws"
	"github.com/muster-scale/muster/sim/world"
)

// A fleet with rare polls and late reports pays for its workers from the launch to the end of the work and the way of
// one report and its answer. Without an idle stop from the controller it also paid for the wait until the next poll,
// and for the way of a stop request.
func TestAWorkerGoesSoonAfterItsLastMessageAlsoWherePollsAreRare(t *testing.T) {
	const (
		boot, service, way = 10 * time.Second, 5 * time.Second, 2 * time.Second
		poll, messages     = 2 * time.Minute, 40
	)
	s, err := controller.NewSettings(controller.Settings{
		Fleet: "f", Queues: []string{"q"}, Objective: muster.Objective{Latency: 30 * time.Minute, Quantile: 0.99},
		Spec: policy.Spec{Name: "deadline", Processing: service}, BootPrior: boot,
		Limits: muster.Limits{Max: 5, LaunchesPerHour: 1000}, Poll: poll,
	})
	if err != nil {
		t.Fatal(err)
	}
	res := ran(t, Options{
		Settings: s, World: world.World{Boot: world.Draw{Mean: boot}, Report: world.Draw{Mean: way}},
		Trace: laws.Poisson(1, messages, 0, time.Hour, service, laws.Deterministic()),
	})
	// A launch costs its boot, its way to the first report and its answer, a second without a message, and the way of
	// the last report and its answer. Reports come each second.
	perLaunch := (boot + 4*way + 4*time.Second).Seconds()
	most := messages*service.Seconds() + float64(res.Launches)*perLaunch
	if res.Launches < messages/2 || res.WorkerSeconds > most || res.InTimeRatio < 1 {
		t.Errorf("%d launches cost %.0f worker-seconds with %.3f in time, want at most %.0f, and all in time",
			res.Launches, res.WorkerSeconds, res.InTimeRatio, most)
	}
}
