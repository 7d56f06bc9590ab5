package policy

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

func TestAPromptFleetBeginsAtOnceAndAnotherWaitsForCompany(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	look := func(waiting float64, active, lastHour int, perMinute float64) muster.Observation {
		return muster.Observation{
			Fleet: "f", At: at, Poll: time.Second, Objective: muster.Objective{Latency: 30 * time.Second, Quantile: 0.99},
			Limits:   muster.Limits{Max: 9, LaunchesPerHour: 60},
			Queues:   []muster.QueueObservation{{Queue: "q", Backlog: muster.Measured(at, waiting), InFlight: muster.Measured(at, 0), OldestAge: muster.Measured(at, 0)}},
			Capacity: muster.Capacity{Known: true, Desired: active, Idle: active, Slots: active, SlotsPerWorker: 1}, Processing: lasting(0.01, 300), Boot: lasting(0.02, 300),
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
		{"more than one worker finishes in time: the others come at the last moment", look(10000, 0, 0, 10000), 1, 0},
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
