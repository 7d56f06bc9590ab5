package mustertest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/muster-scale/muster"
)

// ServiceConformance holds a [muster.Fleet] with a service of its own, which names its members, to its contract. run
// calls the test with an empty fleet of a service that takes 4 members, and with a function that lets time pass until
// all that was ordered is in service and all that was ended is gone. It may do so in virtual time.
func ServiceConformance(t *testing.T, run func(t *testing.T, test func(t *testing.T, f muster.Fleet, settle func()))) {
	rules := []struct {
		rule string
		test func(s served, t *testing.T)
	}{
		{"an empty service aims at nothing", served.aimsAtNothing},
		{"a total is reached under names of the service, and it aims at that", served.reachesTotals},
		{"an order given twice changes nothing the second time", served.ordersOnce},
		{"a smaller total ends nobody", served.endsNothing},
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

// served is a fleet under test.
type served struct {
	muster.Fleet
	settle func()
}

func (s served) list(t *testing.T) (ids []string, service muster.Service) {
	t.Helper()
	if e, ok := s.Fleet.(muster.Expecter); ok {
		e.Expect()
	}
	ids, _ = living(t, s.Fleet)
	l, err := s.Members(t.Context())
	if err != nil || l.Service == nil {
		t.Fatalf("Members = %+v, %v; want what the service aims at", l, err)
	}
	for _, note := range l.Service.Notes {
		if note == "" || len(note) > muster.MaxNoteBytes || len(l.Service.Notes) > muster.MaxNotes {
			t.Errorf("found %d notes, one of %d bytes", len(l.Service.Notes), len(note))
		}
	}
	return ids, *l.Service
}

func (s served) want(t *testing.T, members, aim int) []string {
	t.Helper()
	ids, service := s.list(t)
	if len(ids) != members || service.Desired != aim {
		t.Errorf("found the members %v and an aim of %d, want %d and %d", ids, service.Desired, members, aim)
	}
	return ids
}

func (s served) total(t *testing.T, total int, launch ...string) {
	t.Helper()
	order(t, s.Fleet, muster.Order{ID: fmt.Sprint("to ", total), Desired: total, Total: total, Launch: launch})
	s.settle()
}

func (s served) aimsAtNothing(t *testing.T) {
	s.want(t, 0, 0)
	s.total(t, 0)
	s.want(t, 0, 0)
}

func (s served) reachesTotals(t *testing.T) {
	s.total(t, 2, "a", "b")
	ids := s.want(t, 2, 2)
	if slices.Contains(ids, "a") || slices.Contains(ids, "b") {
		t.Errorf("found the members %v, want names of the service's own", ids)
	}
	s.total(t, 4, "c", "d")
	for _, id := range ids {
		if now := s.want(t, 4, 4); !slices.Contains(now, id) {
			t.Errorf("found the members %v, %s is gone", now, id)
		}
	}
}

func (s served) ordersOnce(t *testing.T) {
	s.total(t, 3, "a", "b", "c")
	before := s.want(t, 3, 3)
	s.total(t, 3, "a", "b", "c")
	if after := s.want(t, 3, 3); !slices.Equal(before, after) {
		t.Errorf("the second order changed the members from %v to %v", before, after)
	}
}

func (s served) endsNothing(t *testing.T) {
	s.total(t, 3, "a", "b", "c")
	s.total(t, 1)
	if ids, _ := s.list(t); len(ids) != 3 {
		t.Errorf("found the members %v, want all three", ids)
	}
}

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
		if left := s.want(t, 2, 2); !slices.Equal(left, []string{ids[0], ids[2]}) {
			t.Errorf("left are %v of %v, want all but the second", left, ids)
		}
	}
}

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
