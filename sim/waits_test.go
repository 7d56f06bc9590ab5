package sim

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// A source that only counts, as SQS, does not tell how long a message has waited. The controller knows it from what
// came when, for as long as the message may wait: also if nothing else comes for days, and if counts are rough.
func TestAMessageThatMayWaitForDaysIsNotForgotten(t *testing.T) {
	of := func(at time.Duration) trace.Message { return trace.Message{Arrival: at, Service: 30 * time.Second} }
	var all []trace.Message
	for k := range 10 {
		all = append(all, of(time.Duration(k)*10*time.Second)) // these tell how long the work takes
	}
	for k := range 40 {
		all = append(all, of(time.Hour+time.Duration(k)*time.Second))
	}
	all = append(all, of(90*time.Hour))
	for _, objective := range []time.Duration{20 * time.Hour, 50 * time.Hour} {
		for _, w := range []struct {
			name  string
			world world.World
		}{
			{"ages are known", world.World{}},
			{"counts alone", world.World{CountsOnly: true}},
			{"rough counts alone", world.World{CountsOnly: true, Approximate: 0.2}},
		} {
			w.world.Boot = world.Draw{Mean: time.Minute}
			settings := fleet(t, policy.Spec{Name: "deadline"}, objective, 0, 50)
			settings.Poll = 30 * time.Second
			res := ran(t, Options{Settings: settings, Trace: trace.Of("days", all...), World: w.world})
			if res.InTimeRatio < 1 || res.Launches > 5 {
				t.Errorf("objective %v, %s: %.1f %% in time with %d launches, want all with at most 5", objective,
					w.name, 100*res.InTimeRatio, res.Launches)
			}
		}
	}
}

// Messages are so rare that each ends hours before the next one comes. One in five takes three hours, which is known
// once the first of them has ended, and not only until the next short one has.
func TestRareWorkIsRememberedUntilItComesAgain(t *testing.T) {
	var all []trace.Message
	for k := range 40 {
		m := trace.Message{Arrival: time.Duration(k) * 50 * time.Hour, Service: 10 * time.Minute}
		if k%5 == 4 {
			m.Service = 3 * time.Hour
		}
		all = append(all, m)
	}
	for _, boot := range []time.Duration{2 * time.Second, 10 * time.Minute} {
		settings := fleet(t, policy.Spec{Name: "deadline"}, 20*time.Hour, 0, 5)
		settings.Poll = 30 * time.Second
		res := ran(t, Options{Settings: settings, Trace: trace.Of("rare", all...),
			World: world.World{Boot: world.Draw{Mean: boot}}})
		if late := res.Messages - int64(res.InTimeRatio*float64(res.Messages)+0.5); late > 1 {
			t.Errorf("boot %v: %d of %d messages are late, want the first long one alone", boot, late, res.Messages)
		}
	}
}
