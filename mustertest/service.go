package mustertest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/muster-scale/muster"
)

// This file has the contract of fleets with a service of their own, such as an Auto Scaling group or an ECS service:
// the service names its members and replaces those that end.

// ServiceConformance holds a [muster.Fleet] with a service of its own, which names its members, to its contract. run
// calls the test with an empty fleet of a service that allows 4 members, and with a function that lets time pass
// until everything that was ordered is in service and everything that was ended is gone. It may do so in virtual
// time.
func ServiceConformance(t *testing.T, run func(t *testing.T, test func(t *testing.T, f muster.Fleet, settle func()))) {
	rules := []struct {
		rule string
		test func(s served, t *testing.T)
	}{
		{"an empty service aims at nothing", served.aimsAtNothing},
		{"a total is reached under names of the service, and it aims at that", served.reachesTotals},
		{"an order given twice changes nothing the second time", served.ordersOnce},
		{"a smaller total ends no member", served.endsNothing},
		{"ending a member ends that one, and the service starts no other", served.endsByName},
		{"members that were protected are not exposed", served.protects},
		{"an ended context is an error and not an empty listing or a silent order", served.neverGuesses},
	}
	for _, r := range rules {
		t.Run(r.rule, func(t *testing.T) {
			run(t, func(t *testing.T, f muster.Fleet, settle func()) { r.test(served{f, settle}, t) })
		})
	}
}

// served is a fleet under test, with the function that lets its service settle.
type served struct {
	muster.Fleet
	settle func()
}

// list returns the ids of the members and the service's own state. A fleet that reads only when something is due is
// told first that it is.
func (s served) list(t *testing.T) (ids []string, service muster.Service) {
	t.Helper()
	// The test expects a change, so the next reading must not come from a cache.
	if e, ok := s.Fleet.(muster.Expecter); ok {
		e.Expect()
	}
	ids, _ = living(t, s.Fleet)
	l, err := s.Members(t.Context())
	if err != nil || l.Service == nil {
		t.Fatalf("Members = %+v, %v; want what the service aims at", l, err)
	}
	// Notes are shown to operators and recorded with decisions, so they are bounded.
	for _, note := range l.Service.Notes {
		if note == "" || len(note) > muster.MaxNoteBytes || len(l.Service.Notes) > muster.MaxNotes {
			t.Errorf("found %d notes, one of %d bytes", len(l.Service.Notes), len(note))
		}
	}
	return ids, *l.Service
}

// want checks the number of members and the desired count of the service, and returns the ids.
func (s served) want(t *testing.T, members, aim int) []string {
	t.Helper()
	ids, service := s.list(t)
	if len(ids) != members || service.Desired != aim {
		t.Errorf("found the members %v and an aim of %d, want %d and %d", ids, service.Desired, members, aim)
	}
	return ids
}

// total orders a total and lets the service settle. The names in the order make it repeatable; the service gives its
// members other names.
func (s served) total(t *testing.T, total int, launch ...string) {
	t.Helper()
	order(t, s.Fleet, muster.Order{ID: fmt.Sprint("to ", total), Desired: total, Total: total, Launch: launch})
	s.settle()
}

// aimsAtNothing: a service without members says so with a desired count of 0, not with a missing one.
func (s served) aimsAtNothing(t *testing.T) {
	s.want(t, 0, 0)
	s.total(t, 0)
	s.want(t, 0, 0)
}

// reachesTotals: totals are absolute, and reaching a larger one keeps the members of the smaller one.
func (s served) reachesTotals(t *testing.T) {
	s.total(t, 2, "a", "b")
	ids := s.want(t, 2, 2)
	if slices.Contains(ids, "a") || slices.Contains(ids, "b") {
		t.Errorf("found the members %v, want names of the service's own", ids)
	}
	s.total(t, 4, "c", "d")
	// The first members stay while the service grows.
	for _, id := range ids {
		if now := s.want(t, 4, 4); !slices.Contains(now, id) {
			t.Errorf("found the members %v, %s is gone", now, id)
		}
	}
}

// ordersOnce: a total is absolute, so repeating it is no rise and replaces no member.
func (s served) ordersOnce(t *testing.T) {
	s.total(t, 3, "a", "b", "c")
	before := s.want(t, 3, 3)
	s.total(t, 3, "a", "b", "c")
	if after := s.want(t, 3, 3); !slices.Equal(before, after) {
		t.Errorf("the second order changed the members from %v to %v", before, after)
	}
}

// endsNothing: lowering the desired count of a real service would let the service choose whom to end, busy ones too.
// The fleet must hold it up until members are ended by name.
func (s served) endsNothing(t *testing.T) {
	s.total(t, 3, "a", "b", "c")
	s.total(t, 1)
	if ids, _ := s.list(t); len(ids) != 3 {
		t.Errorf("found the members %v, want all three", ids)
	}
}

// endsByName: ending a member lowers the service's desired count with it, or the service would start a replacement.
// The second call finds the member gone and must not lower the count again.
func (s served) endsByName(t *testing.T) {
	r, ok := s.Fleet.(muster.Releaser)
	if !ok {
		t.Skip("this fleet cannot end members")
	}
	s.total(t, 3, "a", "b", "c")
	ids := s.want(t, 3, 3)
	for range 2 {
		if err := r.End(t.Context(), []string{ids[1], "never there"}); err != nil {
			t.Errorf("End: %v", err)
		}
		s.settle()
		// The first and the last member are left, so it was not the newest or oldest that ended.
		if left := s.want(t, 2, 2); !slices.Equal(left, []string{ids[0], ids[2]}) {
			t.Errorf("left are %v of %v, want all but the second", left, ids)
		}
	}
}

// protects: a protected member is shown as not exposed, which lets the controller tell what the service could end by
// itself. Protecting again, or protecting an unknown member, is no error.
func (s served) protects(t *testing.T) {
	p, ok := s.Fleet.(muster.Protector)
	if !ok {
		t.Skip("this fleet cannot protect members")
	}
	s.total(t, 2, "a", "b")
	ids := s.want(t, 2, 2)
	for range 2 {
		if err := p.Protect(t.Context(), append(ids, "never there")); err != nil {
			t.Errorf("Protect: %v", err)
		}
	}
	s.settle()
	s.want(t, 2, 2)
	l, err := s.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range l.Members {
		if m.Exposed {
			t.Errorf("%s is exposed although it was protected", m.ID)
		}
	}
}

// neverGuesses: with an ended context, the list is an error or the truth, and an order that returned no error was
// carried out.
func (s served) neverGuesses(t *testing.T) {
	s.total(t, 1, "a")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if l, err := s.Members(ctx); err == nil && len(l.Members) != 1 {
		t.Errorf("Members with an ended context = %+v and no error", l)
	}
	if err := s.SetDesired(ctx, muster.Order{ID: "2", Desired: 2, Total: 2, Launch: []string{"b"}}); err == nil {
		s.settle()
		s.want(t, 2, 2)
	}
}
