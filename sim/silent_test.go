package sim

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/internal/laws"
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

// A silent fleet under deadline keeps its objective where the mean is stated, and finds its size where nothing is. It
// once stayed at one worker while thousands of messages waited.
func TestASilentFleetFindsItsSize(t *testing.T) {
	const work, objective = 5 * time.Second, 5 * time.Minute
	for _, row := range []struct {
		name           string
		stated         time.Duration
		inTime, mostBy float64 // the least share in time, and the most cost over the work
	}{
		{"the mean is stated", work, 0.99, 1.2},
		{"twice the mean is stated", 2 * work, 0.99, 1.4},
		{"nothing is stated", 0, 0.75, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := fleet(t, policy.Spec{Name: "deadline", Processing: row.stated}, objective, 0, 60)
			s.Unreported = true
			const n = 5000
			res := ran(t, Options{Settings: s, Seed: 3, Trace: laws.Poisson(3, n, 0, time.Second, work,
				laws.Exponential()), World: world.World{Silent: true, CountsOnly: true, Stale: time.Second,
				Boot: world.Draw{Mean: 90 * time.Second}, API: world.Draw{Mean: time.Second / 2}}})
			if res.InTimeRatio < row.inTime {
				t.Errorf("found %.1f %% in time, want %.0f %% or more", 100*res.InTimeRatio, 100*row.inTime)
			}
			if cost := res.WorkerSeconds / res.BusySeconds; cost > row.mostBy {
				t.Errorf("found a cost of %.2f times the work, want %.1f at most", cost, row.mostBy)
			}
		})
	}
}
