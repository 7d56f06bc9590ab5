package policy_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/policy"
)

// A decision lets workers stop by themselves only while no rule, limit or operator keeps them.
func TestWorkersStopByThemselvesOnlyWhereNothingKeepsThem(t *testing.T) {
	build := func(s policy.Spec) muster.Policy {
		p, err := policy.New(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	deadline := policy.Spec{Name: "deadline"}
	hold := func(kind override.Kind, workers int) override.List {
		o := override.Override{ID: "1", Kind: kind, Workers: workers, Begin: t0.Add(-time.Minute),
			End: t0.Add(time.Hour)}
		if kind == override.Reserve {
			o.Grant = &override.Grant{Workers: workers}
		}
		return override.List{o}
	}
	busy := see{inFlight: 3, busy: 3, latency: 10 * time.Minute, mpd: 2 * time.Second}
	with := func(change func(*see)) see {
		s := busy
		change(&s)
		return s
	}
	for _, row := range []struct {
		name string
		spec policy.Spec
		see  see
		want bool
	}{
		{"nothing waits for them", deadline, busy, true},
		{"exact leaves it to the configuration of the workers", policy.Spec{Name: "exact"}, busy, false},
		{"the minimum keeps them", deadline, with(func(s *see) { s.min = 3 }), false},
		{"the minimum keeps some", deadline, with(func(s *see) { s.min = 2 }), true},
		{"headroom keeps them", policy.Spec{Name: "deadline", HeadroomWorkers: 1}, busy, false},
		{"headroom keeps one of two that are idle", policy.Spec{Name: "deadline", HeadroomWorkers: 1},
			with(func(s *see) { s.busy, s.idle, s.inFlight = 1, 2, 1 }), true},
		{"no fall is allowed", policy.Spec{Name: "deadline", In: policy.Shape{Disabled: true}}, busy, false},
		{"a fall must last", policy.Spec{Name: "deadline", In: policy.Shape{Stabilization: time.Minute}}, busy, false},
		{"falls are limited", policy.Spec{Name: "deadline",
			In: policy.Shape{Period: time.Minute, MaxWorkers: 1}}, busy, false},
		{"rises are limited", policy.Spec{Name: "deadline",
			Out: policy.Shape{Period: time.Minute, MaxWorkers: 1}}, busy, true},
		{"the backlog is unknown", deadline, with(func(s *see) { s.noBacklog = true }), false},
		{"the messages in flight are unknown", deadline, with(func(s *see) { s.noInFlight = true }), false},
		{"an operator holds scale-in", deadline, with(func(s *see) { s.overrides = hold(override.HoldScaleIn, 0) }),
			false},
		{"an operator paused the fleet", deadline, with(func(s *see) { s.overrides = hold(override.Pause, 0) }), false},
		{"an operator reserved them", deadline, with(func(s *see) { s.overrides = hold(override.Reserve, 3) }), false},
		{"an operator reserved fewer", deadline, with(func(s *see) { s.overrides = hold(override.Reserve, 2) }), true},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := row.see.observation()
			o.Poll = time.Minute // the next poll is far away
			d := build(row.spec).Decide(o, nil)
			if got := d.IdleStop > 0; got != row.want {
				t.Errorf("an idle stop of %s, want one: %v; %s", d.IdleStop, row.want, d.Sentence())
			}
		})
	}
}
