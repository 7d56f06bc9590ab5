package planning

import (
	"math"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/durations"
)

func TestAPromptFleetBeginsAtOnceAndAnotherWaitsForCompany(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	look := func(waiting float64, active, lastHour int, perMinute float64) muster.Observation {
		return muster.Observation{
			Fleet: "f", At: at, Poll: time.Second,
			Objective: muster.Objective{Latency: 30 * time.Second, Quantile: 0.99},
			Limits:    muster.Limits{Max: 9, LaunchesPerHour: 60},
			Queues: []muster.QueueObservation{{Queue: "q", Backlog: muster.Measured(at, waiting),
				InFlight: muster.Measured(at, 0), OldestAge: muster.Measured(at, 0)}},
			Capacity:   muster.Capacity{Known: true, Desired: active, Idle: active, Slots: active, SlotsPerWorker: 1},
			Processing: lasting(0.01, 300), Boot: lasting(0.02, 300),
			Arrivals: muster.Arrivals{Known: true, Minute: perMinute / 60, FiveMinutes: perMinute / 300},
			Launches: muster.Launches{LastHour: lastHour},
		}
	}
	for _, row := range []struct {
		name          string
		o             muster.Observation
		prompt, other int
	}{
		{"one message, nobody there: a prompt fleet launches", look(1, 0, 0, 1), 1, 0},
		{"many messages that one worker finishes: one is enough", look(100, 0, 0, 100), 1, 0},
		{"more than one worker finishes in half of the objective: a prompt fleet launches the others",
			look(10000, 0, 0, 10000), 7, 0},
		{"nothing waits and a message came: the worker stays", look(0, 1, 1, 1), 1, 0},
		{"nothing waits and nothing came for a while: it goes", look(0, 1, 1, 0.49), 0, 0},
		{"nothing waits, many are there: one stays", look(0, 5, 5, 30), 1, 0},
		{"three quarters of the launches are used up: all stay", look(0, 5, 45, 30), 5, 5},
		{"one fewer is not three quarters", look(0, 5, 44, 30), 1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, way := range []struct {
				prompt bool
				want   int
			}{{true, row.prompt}, {false, row.other}} {
				if d := (Deadline{Prompt: way.prompt}).Decide(row.o, nil); d.Desired != way.want {
					t.Errorf("prompt %v: desired %d, want %d: %s", way.prompt, d.Desired, way.want, d.Sentence())
				}
			}
		})
	}
}

// A prompt fleet plans with half of its objective, as long as that leaves a launch in time.
func TestAPromptFleetKeepsAMargin(t *testing.T) {
	for _, row := range []struct {
		name             string
		boot, work, late float64
		d                Deadline
		want             float64
	}{
		{"there is time", 1, 2, 0, Deadline{Prompt: true}, 0.5},
		{"a boot and a message take a third of the objective", 10, 10, 0, Deadline{Prompt: true}, 2.0 / 3},
		{"they take more than half", 20, 20, 0, Deadline{Prompt: true}, 1},
		{"counts are late", 5, 5, 10, Deadline{Prompt: true}, 2.0 / 3},
		{"a dial is given", 1, 2, 0, Deadline{Prompt: true, Scale: 0.9}, 0.9},
		{"it has a price", 1, 2, 0, Deadline{}, 0},
	} {
		o := s0(10, 0)
		o.Objective.Latency = time.Minute
		o.Boot, o.Processing = lasting(row.boot, 1e6), lasting(row.work, 1e6)
		o.Queues[0].LateSeconds = row.late
		w, known := durations.Of(o)
		if !known {
			t.Fatal("how long the work takes is not known")
		}
		if got := row.d.dial(o, w); math.Abs(got-row.want) > 0.02 {
			t.Errorf("%s: plans with %.3f of the objective, want %.3f", row.name, got, row.want)
		}
	}
}
