package policy_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/policy"
)

func TestABudgetPaysForSoManyWorkers(t *testing.T) {
	exact := func(budget, price float64) policy.Spec {
		return policy.Spec{Name: "exact", PricePerHour: price, BudgetPerHour: budget}
	}
	keep := exact(4, 1)
	keep.HeadroomWorkers = 3
	late := exact(3, 1)
	late.In.Stabilization = time.Minute
	for _, row := range []struct {
		name   string
		spec   policy.Spec
		see    see
		want   int
		reason muster.Reason
	}{
		{"below it nothing changes", exact(10, 1), see{backlog: 5}, 5, ""},
		{"as much as it pays for", exact(5, 1), see{backlog: 5}, 5, ""},
		{"one more than it pays for", exact(4.9, 1), see{backlog: 5}, 4, ""},
		{"a rise is cut and acted on", exact(9.9, 2), see{backlog: 12}, 4, ""},
		{"three times the price pays for three", exact(0.3, 0.1), see{backlog: 12}, 3, ""},
		{"it pays for no more: a hold that says so", exact(3, 1), see{backlog: 9, busy: 3, inFlight: 3}, 3,
			muster.OverBudget},
		{"it was lowered: down to what it pays for", exact(3, 1), see{backlog: 9, busy: 5, inFlight: 5}, 3, ""},
		{"and at once, whatever a fall waits for otherwise", late, see{busy: 5, inFlight: 5}, 3, ""},
		{"it pays for nobody", exact(0.5, 1), see{backlog: 9}, 0, muster.OverBudget},
		{"headroom counts too", keep, see{backlog: 3}, 4, ""},
		{"the minimum wins", exact(3, 1), see{backlog: 9, min: 5, max: 9}, 5, ""},
		{"a price alone is no ceiling", exact(0, 1), see{backlog: 9}, 9, ""},
		{"deadline is held to it too", policy.Spec{Name: "deadline", PricePerHour: 1, BudgetPerHour: 2},
			see{backlog: 900, mpd: time.Second, latency: time.Second}, 2, ""},
		{"and while a signal is unknown nothing falls", exact(3, 1), see{noInFlight: true, busy: 5}, 5,
			muster.UnknownInFlight},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := policy.New(row.spec)
			if err != nil {
				t.Fatal(err)
			}
			d := p.Decide(row.see.observation(), nil)
			if d.Desired != row.want || d.Reason != row.reason {
				t.Errorf("desired %d, reason %q; want %d and %q: %s", d.Desired, d.Reason, row.want, row.reason,
					d.Sentence())
			}
		})
	}
}

func TestADecisionThatTheBudgetCutSaysSo(t *testing.T) {
	p, err := policy.New(policy.Spec{Name: "exact", PricePerHour: 0.096, BudgetPerHour: 0.3})
	if err != nil {
		t.Fatal(err)
	}
	const want = "up from 0 to 3: 9 waiting and no slot free or coming, so 9 more workers; a budget of 0.3 an hour " +
		"pays for 3 workers at 0.096 each"
	if got := p.Decide(see{backlog: 9}.observation(), nil).Sentence(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestNoSizeCostsMoreThanTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := specs().Draw(t, "spec")
		spec.PricePerHour = rapid.Float64Range(0.001, 50).Draw(t, "price")
		spec.BudgetPerHour = rapid.Float64Range(0.001, 500).Draw(t, "budget")
		with, err := policy.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		most := policy.Affordable(spec.BudgetPerHour, spec.PricePerHour)
		spec.BudgetPerHour = 0
		without, err := policy.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		s := sights().Draw(t, "see")
		s.min, s.noBacklog, s.noInFlight, s.noListing = 0, false, false,
			false // the minimum and what is unknown come first
		// A reservation is bound by the budget. Other instructions hold a size that is there, or set a minimum.
		s.overrides = slices.DeleteFunc(s.overrides, func(o override.Override) bool {
			return o.Kind != override.Reserve
		})
		o, recent := s.observation(), pasts().Draw(t, "recent")
		a, b := with.Decide(o, recent), without.Decide(o, recent)
		if a.Desired > most || a.Desired > b.Desired || a.Floor > a.Desired {
			t.Fatalf("%d workers (floor %d), %d without a budget, which pays for %d: %s", a.Desired, a.Floor, b.Desired,
				most, a.Sentence())
		}
		if b.Desired <= most && a.Desired != b.Desired {
			t.Fatalf("%d workers and %d without a budget, which pays for %d: %s", a.Desired, b.Desired, most,
				a.Sentence())
		}
	})
}

func TestABudgetNeedsAPrice(t *testing.T) {
	for _, row := range []struct {
		name, field string
		spec        policy.Spec
	}{
		{"a budget alone", "budget", policy.Spec{Name: "exact", BudgetPerHour: 1}},
		{"a negative budget", "budget", policy.Spec{Name: "exact", BudgetPerHour: -1}},
		{"a negative price", "price", policy.Spec{Name: "exact", PricePerHour: -1}},
		{"a budget without end", "budget", policy.Spec{Name: "exact", PricePerHour: 1, BudgetPerHour: math.Inf(1)}},
		{"one within largest", "policy.largest",
			policy.Spec{Name: "largest", Largest: []policy.Spec{{Name: "exact"}, {Name: "exact", PricePerHour: 1}}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := policy.New(row.spec)
			fault, ok := errors.AsType[*policy.Fault](err)
			if !ok || fault.Field != row.field || fault.Allowed == "" {
				t.Errorf("got %v, want a fault of %s", err, row.field)
			}
		})
	}
}
