package sim

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/world"
)

// The workers of a silent fleet report nothing: sizes rise and fall by the counts of the queue, and the fleet's
// own service ends members, none of which holds a message.
func TestASilentFleetIsSizedByItsService(t *testing.T) {
	const work, boot, n = 20 * time.Second, 30 * time.Second, 60
	for _, row := range []struct {
		name  string
		world world.World
		spec  policy.Spec
	}{
		{"backlog per worker", world.World{}, policy.Spec{Name: "backlog-per-worker", Acceptable: 3}},
		{"deadline", world.World{}, policy.Spec{Name: "deadline", Processing: work}},
		{"counts are late", world.World{Stale: 5 * time.Second, CountsOnly: true}, policy.Spec{Name: "deadline",
			Processing: work}},
		{"members crash, and are replaced", world.World{Crashes: 30, Visibility: time.Minute, Tail: 10 * time.Minute},
			policy.Spec{Name: "backlog-per-worker", Acceptable: 3}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := fleet(t, row.spec, 5*time.Minute, 1, 40)
			s.Unreported = true
			w := row.world
			w.Silent, w.Boot, w.Wakes = true, world.Draw{Mean: boot}, true
			if w.Tail == 0 {
				w.Tail = 30 * time.Minute
			}
			res := ran(t, Options{Settings: s, Trace: batch(n, time.Minute, work), World: w})
			if res.Unfinished != 0 || res.Messages != n || res.Dead != 0 {
				t.Errorf("%d of %d messages are not finished, %d are dead", res.Unfinished, res.Messages, res.Dead)
			}
			// All were needed for minutes; then one or two are, for half an hour.
			if most := float64(res.PeakWorkers)*600 + 2*1800; res.PeakWorkers < 5 || res.WorkerSeconds > most {
				t.Errorf("%d members at the peak and %.0f worker-seconds, want 5 or more and at most %.0f",
					res.PeakWorkers, res.WorkerSeconds, most)
			}
		})
	}
}
