package sim

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// noon is the start of the runs of this file.
var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// reserve is a request at noon for workers in service from begin to end, both after noon.
func reserve(workers int, begin, end time.Duration) Instruction {
	return Instruction{At: 5 * time.Second, Request: override.Request{Add: override.Override{Kind: override.Reserve,
		Workers: workers, Begin: noon.Add(begin), End: noon.Add(end)}}}
}

// TestABurstThatIsSoonerThanABootIsInTimeOnlyWithAReservation sends 40 messages at 14:00, whose objective is half a
// boot.
func TestABurstThatIsSoonerThanABootIsInTimeOnlyWithAReservation(t *testing.T) {
	const begin = 2 * time.Hour
	// One message at noon lets the controller measure a boot.
	messages := []trace.Message{{Arrival: time.Second, Service: 10 * time.Second}}
	for range 40 {
		messages = append(messages, trace.Message{Arrival: begin, Service: 10 * time.Second})
	}
	o := Options{Settings: fleet(t, policy.Spec{Name: "exact"}, 30*time.Second, 0, 50), Trace: trace.Of("burst",
		messages...), World: world.World{Boot: world.Draw{Mean: time.Minute, CV: 0.2}, IdleStop: 10 * time.Second,
		Start: noon, Tail: time.Hour}, Seed: 1}
	without := ran(t, o)
	var launched []time.Duration
	live := 0
	o.Instructions = []Instruction{reserve(40, begin, begin+30*time.Minute)}
	readyAt := 0
	o.Stepped = func(v View) {
		for range max(0, v.Live-live) {
			launched = append(launched, v.At)
		}
		if live = v.Live; v.At < begin {
			readyAt = v.Ready
		}
	}
	with := ran(t, o)
	if without.InTime != 0 || with.InTime < 40 {
		t.Errorf("in time: %d without the reservation, %d with it; want 0 and 40", without.InTime, with.InTime)
	}
	if readyAt < 40 {
		t.Errorf("%d workers were in service just before 14:00, want 40", readyAt)
	}
	slices.Sort(launched)
	if early := launched[len(launched)-40]; begin-early > 4*time.Minute || begin-early < time.Minute {
		t.Errorf("launching began %s before 14:00, want about one slow boot", begin-early)
	}
	// It is used up by the burst, so nothing stays for the rest of the half hour.
	if limit := 40 * (4 * time.Minute).Seconds(); with.WorkerSeconds > limit {
		t.Errorf("it cost %.0f worker-seconds, want at most %.0f", with.WorkerSeconds, limit)
	}
	if again := ran(t, o); again.WorkerSeconds != with.WorkerSeconds || again.Steps != with.Steps {
		t.Error("the same run with the same seed differs")
	}
}

// TestInAnyRunWithInstructionsTheMaximumAndTheLaunchesOfAnHourHold draws reservations, pauses, limits and holds, with
// launches that fail and a controller that crashes.
func TestInAnyRunWithInstructionsTheMaximumAndTheLaunchesOfAnHourHold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := func(least, most int, name string) int { return rapid.IntRange(least, most).Draw(rt, name) }
		s := fleet(t, policy.Spec{Name: "exact", PricePerHour: 1, BudgetPerHour: float64(n(1, 20, "budget"))},
			time.Minute, 0, n(1, 15, "max"))
		s.Limits.LaunchesPerHour = n(1, 30, "launches")
		minutes := func(name string, least, most int) time.Duration {
			return time.Duration(n(least, most, name)) * time.Minute
		}
		o := Options{Settings: s, Trace: batch(n(1, 60, "messages"), minutes("sent", 1, 60), 20*time.Second),
			World: world.World{Boot: world.Draw{Mean: 30 * time.Second}, IdleStop: 10 * time.Second, Start: noon,
				Tail: 2 * time.Hour}, Seed: uint64(n(1, 99, "seed"))}
		if n(0, 2, "crashes") == 0 {
			o.World.ControllerCrashes, o.World.ControllerDown = 10, 10*time.Second
		}
		for range n(1, 5, "instructions") {
			x := Instruction{At: minutes("at", 1, 40)}
			x.Add.Kind = rapid.SampledFrom(override.Kinds()).Draw(rt, "kind")
			x.Add.Begin = noon.Add(x.At + minutes("begin", 0, 30))
			x.Add.End = x.Add.Begin.Add(minutes("length", 1, 40))
			v := n(1, 20, "number")
			switch x.Add.Kind {
			case override.Reserve:
				x.Add.Workers = v
			case override.Limits:
				x.Add.Max = &v
			}
			o.Instructions = append(o.Instructions, x)
		}
		paid := policy.Affordable(s.Spec.BudgetPerHour, 1)
		o.Stepped = func(v View) {
			d, limits := v.Outcome.Decision, v.Outcome.Observation.Limits
			if v.Live > s.Limits.Max || d.Desired > limits.Max || d.Desired > max(paid, d.Previous) {
				rt.Fatalf("at %s: %d members, desired %d, allowed are %d, the budget pays for %d: %s", v.At, v.Live,
					d.Desired, limits.Max, paid, d.Sentence())
			}
			if v.Outcome.Observation.Launches.LastHour > s.Limits.LaunchesPerHour {
				rt.Fatalf("at %s: %d launches within an hour", v.At, v.Outcome.Observation.Launches.LastHour)
			}
		}
		if res, err := Run(o); err != nil || len(res.Faults) > 0 {
			rt.Fatalf("%v, %q", err, res.Faults)
		}
	})
}
