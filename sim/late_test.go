package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// counted runs a story and returns how many messages were finished and failed, and how many the controller counted.
func counted(t *testing.T, o Options) (res scoring.Result, finished, failed int64) {
	t.Helper()
	o.Stepped = func(v View) {
		finished += v.Outcome.Finished
		failed += v.Outcome.Failed
	}
	res = ran(t, o)
	return res, finished, failed
}

// Workers report again when an answer is late, and the controller counts what they finished once.
func TestEveryMessageCountsOnceHoweverLateReportsAre(t *testing.T) {
	tr, err := trace.Generate("poisson:rate=2,service=3s,duration=20m", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		name  string
		world world.World
	}{
		{"prompt", world.World{}},
		{"100 ms late", world.World{Report: world.Draw{Mean: 100 * time.Millisecond}}},
		{"8 s late", world.World{Report: world.Draw{Mean: 8 * time.Second}}},
		{"30 s late", world.World{Report: world.Draw{Mean: 30 * time.Second}}},
		{"overtaking one another", world.World{Report: world.Draw{Mean: 8 * time.Second, CV: 2}}},
		{"lost", world.World{Report: world.Draw{Mean: time.Second}, LoseReports: 0.3}},
		{"repeated and late", world.World{Report: world.Draw{Mean: 8 * time.Second, CV: 1}, RepeatReports: 0.5}},
		{"lost, repeated and late", world.World{Report: world.Draw{Mean: 8 * time.Second, CV: 1}, LoseReports: 0.2,
			RepeatReports: 0.2}},
	} {
		for _, slots := range []int{1, 8} {
			t.Run(fmt.Sprintf("%s, %d slots", w.name, slots), func(t *testing.T) {
				lossy := w.world
				lossy.Boot, lossy.Slots = world.Draw{Mean: 20 * time.Second}, slots
				res, finished, failed := counted(t, Options{
					Settings: fleet(t, policy.Spec{Name: "deadline"}, time.Minute, 0, 50), Trace: tr, World: lossy,
				})
				if done := res.Messages - res.Unfinished - res.Dead; finished != done || failed != 0 {
					t.Errorf("the controller counted %d finished and %d failed messages, %d were finished and none "+
						"failed", finished, failed, done)
				}
			})
		}
	}
}

// Where reports and their answers take half a minute each, workers that are not needed are still asked to go, known to
// be idle, and ended; and an idle worker that is needed again takes messages.
func TestLateReportsCostLittle(t *testing.T) {
	tr, err := trace.Generate("poisson:rate=2,service=3s,duration=20m", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, slots := range []int{1, 8} {
		run := func(way time.Duration) scoring.Result {
			return ran(t, Options{
				Settings: fleet(t, policy.Spec{Name: "deadline"}, time.Minute, 0, 50), Trace: tr,
				World: world.World{Report: world.Draw{Mean: way}, Boot: world.Draw{Mean: 20 * time.Second},
					Slots: slots},
			})
		}
		prompt := run(0)
		for _, x := range []struct {
			way  time.Duration
			most float64 // worker-seconds over those with prompt reports
		}{{3 * time.Second, 1.3}, {8 * time.Second, 1.5}, {30 * time.Second, 2.5}} {
			late := run(x.way)
			ratio := late.WorkerSeconds / prompt.WorkerSeconds
			t.Logf("%d slots, %s late: %.4f in time, %.2f of the worker-seconds", slots, x.way, late.InTimeRatio, ratio)
			if late.InTimeRatio < 0.95 || ratio > x.most {
				t.Errorf("%d slots, reports %s late: %.4f are in time for %.2f of the worker-seconds, want 0.95 and "+
					"at most %g", slots, x.way, late.InTimeRatio, ratio, x.most)
			}
		}
	}
}
