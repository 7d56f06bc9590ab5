package mustertest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/muster-scale/muster"
)

// This file has the contract of fleets that start members under the names of an order, such as local processes. Each
// rule is a function of its own; the table in FleetConformance names it.

// FleetConformance holds a [muster.Fleet] that starts the members which an order names to its contract. open returns
// an empty fleet whose members live until they are ended, and closes it with t.Cleanup.
func FleetConformance(t *testing.T, open func(t *testing.T) muster.Fleet) {
	rules := []struct {
		rule string
		test func(t *testing.T, f muster.Fleet)
	}{
		{"an empty fleet is listed as empty", listsNothing},
		{"what was ordered is listed at once, each once, with an instant in UTC", listsWhatWasOrdered},
		{"an order given twice changes nothing the second time", ordersOnce},
		{"a name that was started is not started again by another order", startsNamesOnce},
		{"a smaller size ends no member", endsNothing},
		{"an ended context is an error and not an empty listing or a silent order", neverGuesses},
		{"ending a member ends that one, and ending what is gone is no error", endsByName},
	}
	for _, r := range rules {
		t.Run(r.rule, func(t *testing.T) { r.test(t, open(t)) })
	}
}

// order sets the desired count and fails the test on an error.
func order(t *testing.T, f muster.Fleet, o muster.Order) {
	t.Helper()
	if err := f.SetDesired(t.Context(), o); err != nil {
		t.Fatalf("SetDesired(%+v): %v", o, err)
	}
}

// living returns the ids of the members that exist, sorted, and a text of their launch times. Two texts are equal if
// no member was started again.
func living(t *testing.T, f muster.Fleet) (ids []string, launched string) {
	t.Helper()
	l, err := f.Members(t.Context())
	if err != nil {
		t.Fatalf("Members: %v", err)
	}
	if l.At.IsZero() || l.At.Location() != l.At.UTC().Location() {
		t.Errorf("the listing's instant is %v, want one in UTC", l.At)
	}
	for _, m := range l.Members {
		// A fleet may list members that have ended, as long as it says so.
		if !m.Ended {
			ids = append(ids, m.ID)
			launched += m.ID + " " + m.LaunchedAt.String() + "\n"
		}
	}
	slices.Sort(ids)
	return ids, launched
}

// wantLiving checks that exactly these members exist; want is sorted.
func wantLiving(t *testing.T, f muster.Fleet, want ...string) {
	t.Helper()
	if ids, _ := living(t, f); !slices.Equal(ids, want) {
		t.Errorf("found the members %v, want %v", ids, want)
	}
}

// listsNothing: an empty fleet is a list without members and without an error, before and after an order of none.
func listsNothing(t *testing.T, f muster.Fleet) {
	wantLiving(t, f)
	order(t, f, muster.Order{ID: "1"})
	wantLiving(t, f)
}

// listsWhatWasOrdered: a member is in the list as soon as its order has returned, once, with a launch time that is
// not in the future. A member that is listed late would be ordered a second time under another name.
func listsWhatWasOrdered(t *testing.T, f muster.Fleet) {
	order(t, f, muster.Order{ID: "1", Desired: 2, Launch: []string{"b", "a"}})
	wantLiving(t, f, "a", "b")
	l, err := f.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range l.Members {
		if m.LaunchedAt.IsZero() || m.LaunchedAt.After(l.At) || m.Failure != "" {
			t.Errorf("found %+v in the listing of %v", m, l.At)
		}
	}
}

// ordersOnce: after a crash between an order and its record, the controller gives the same order again. It must
// neither start members twice nor restart them, which the unchanged launch times show.
func ordersOnce(t *testing.T, f muster.Fleet) {
	o := muster.Order{ID: "1", Desired: 2, Launch: []string{"a", "b"}}
	order(t, f, o)
	_, before := living(t, f)
	order(t, f, o)
	if _, after := living(t, f); after != before {
		t.Errorf("the second order changed the members from\n%sto\n%s", before, after)
	}
}

// startsNamesOnce: a later order may name members that an earlier one has started. Names are the client tokens of
// launches, so a name stands for one member for ever.
func startsNamesOnce(t *testing.T, f muster.Fleet) {
	order(t, f, muster.Order{ID: "1", Desired: 1, Launch: []string{"a"}})
	_, before := living(t, f)
	order(t, f, muster.Order{ID: "2", Desired: 2, Launch: []string{"a", "b"}})
	wantLiving(t, f, "a", "b")
	if _, after := living(t, f); !strings.Contains(after, before) {
		t.Errorf("the member a was %s and now they are\n%s", before, after)
	}
}

// endsNothing: SetDesired never ends a member, because only the workers know which members are idle. The controller
// ends members by name, through Releaser.
func endsNothing(t *testing.T, f muster.Fleet) {
	order(t, f, muster.Order{ID: "1", Desired: 2, Launch: []string{"a", "b"}})
	order(t, f, muster.Order{ID: "2", Desired: 0})
	wantLiving(t, f, "a", "b")
}

// neverGuesses: an empty list in place of an error would make the controller start every member again.
func neverGuesses(t *testing.T, f muster.Fleet) {
	order(t, f, muster.Order{ID: "1", Desired: 1, Launch: []string{"a"}})
	// A call may finish although its context has ended; then its answer must be the truth.
	ctx, stop := context.WithCancel(t.Context())
	stop()
	l, err := f.Members(ctx)
	if err == nil && (len(l.Members) != 1 || l.Members[0].ID != "a") {
		t.Errorf("Members with an ended context = %+v and no error", l)
	}
	if err := f.SetDesired(ctx, muster.Order{ID: "2", Desired: 2, Launch: []string{"b"}}); err == nil {
		wantLiving(t, f, "a", "b")
	}
}

// endsByName: ending is by name and repeatable, as the controller repeats what it has no answer for. A name that was
// never ordered is no error either: the member may have ended before it was ever listed.
func endsByName(t *testing.T, f muster.Fleet) {
	r, ok := f.(muster.Releaser)
	if !ok {
		t.Skip("this fleet cannot end members")
	}
	order(t, f, muster.Order{ID: "1", Desired: 2, Launch: []string{"a", "b"}})
	for range 2 {
		if err := r.End(t.Context(), []string{"a", "never ordered"}); err != nil {
			t.Errorf("End: %v", err)
		}
	}
	// The ended member may still be listed for a while.
	if ids, _ := living(t, f); !slices.Contains(ids, "b") {
		t.Errorf("found the members %v, want b among them", ids)
	}
}
