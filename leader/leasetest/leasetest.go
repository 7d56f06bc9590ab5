// Package leasetest holds every [leader.Store] to its contract. A store runs [Conformance] in its tests. With
// [Memory], which passes it too, the simulation of package leader proves the protocol.
package leasetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/leader"
)

// Conformance holds a store to its rules. open returns an empty one and closes it with t.Cleanup.
func Conformance(t *testing.T, open func(t *testing.T) leader.Store) {
	for _, r := range []struct {
		rule string
		test func(t *testing.T, s leader.Store)
	}{
		{"a session is renewed beat by beat", renews},
		{"a session that was evicted does not come back", evicts},
		{"of a beat and an eviction, one wins", races},
		{"a claim is taken by who knows the one before", takes},
		{"of many takers, one wins", oneTaker},
		{"a write that is repeated succeeds", repeats},
		{"many claims are read", many},
	} {
		t.Run(r.rule, func(t *testing.T) { r.test(t, open(t)) })
	}
}

// session is a beat of a session.
func session(id string, beat int64) leader.Session {
	return leader.Session{ID: id, Name: "host of " + id, Beat: beat}
}

// want fails the test unless err is what was expected.
func want(t *testing.T, what string, err, expected error) {
	t.Helper()
	if !errors.Is(err, expected) {
		t.Fatalf("%s: found error %v, want %v", what, err, expected)
	}
}

// read returns what a store holds.
func read(t *testing.T, s leader.Store) leader.Board {
	t.Helper()
	b, err := s.Read(t.Context(), true)
	want(t, "Read", err, nil)
	return b
}

// renews: a beat continues the one before. One that skips a number is of a writer that does not know what is stored.
func renews(t *testing.T, s leader.Store) {
	for beat := int64(1); beat < 5; beat++ {
		want(t, "Beat", s.Beat(t.Context(), session("a", beat)), nil)
	}
	want(t, "a beat that skips one", s.Beat(t.Context(), session("a", 6)), leader.ErrEvicted)
	want(t, "an old beat", s.Beat(t.Context(), session("a", 2)), leader.ErrEvicted)
	want(t, "Beat", s.Beat(t.Context(), session("b", 1)), nil)
	if diff := cmp.Diff([]leader.Session{session("a", 4), session("b", 1)}, read(t, s).Sessions); diff != "" {
		t.Errorf("the sessions (-want +got):\n%s", diff)
	}
	if b, err := s.Read(t.Context(), false); err != nil || b.Claims != nil || len(b.Sessions) != 2 {
		t.Errorf("without claims Read returns %+v, %v", b, err)
	}
}

// evicts: only who knows the newest beat may evict, and an evicted session stays away: its fleets may have another
// leader already.
func evicts(t *testing.T, s leader.Store) {
	want(t, "Beat", s.Beat(t.Context(), session("a", 1)), nil)
	want(t, "Beat", s.Beat(t.Context(), session("a", 2)), nil)
	want(t, "eviction with an old beat", s.Evict(t.Context(), session("a", 1)), leader.ErrEvicted)
	want(t, "eviction", s.Evict(t.Context(), session("a", 2)), nil)
	want(t, "a beat after the eviction", s.Beat(t.Context(), session("a", 3)), leader.ErrEvicted)
	want(t, "a second eviction", s.Evict(t.Context(), session("a", 2)), leader.ErrEvicted)
	if got := read(t, s).Sessions; len(got) > 0 {
		t.Errorf("after the eviction there are %v", got)
	}
}

// races: were both to succeed, a leader would believe that it leads while another takes its fleets.
func races(t *testing.T, s leader.Store) {
	// Thirty times, because the two rarely meet.
	for i := range 30 {
		id := fmt.Sprint("s", i)
		want(t, "Beat", s.Beat(t.Context(), session(id, 1)), nil)
		var beat, evict error
		var both sync.WaitGroup
		both.Go(func() { beat = s.Beat(t.Context(), session(id, 2)) })
		both.Go(func() { evict = s.Evict(t.Context(), session(id, 1)) })
		both.Wait()
		if (beat == nil) == (evict == nil) {
			t.Fatalf("the beat gives %v, the eviction %v; want one success", beat, evict)
		}
	}
}

// takes: a claim that was changed meanwhile must not be overwritten.
func takes(t *testing.T, s leader.Store) {
	first := leader.Claim{Holder: "a", Name: "host a", Term: 1}
	freed := leader.Claim{For: "b", Term: 2}
	second := leader.Claim{Holder: "b", Name: "host b", Term: 3}
	want(t, "Take", s.Take(t.Context(), "f", leader.Claim{}, first), nil)
	want(t, "Take of a new claim that is there", s.Take(t.Context(), "f", leader.Claim{}, second), leader.ErrTaken)
	want(t, "Take of an old claim", s.Take(t.Context(), "f", freed, second), leader.ErrTaken)
	want(t, "Take", s.Take(t.Context(), "f", first, freed), nil)
	want(t, "Take", s.Take(t.Context(), "g", leader.Claim{}, first), nil)
	if diff := cmp.Diff(map[string]leader.Claim{"f": freed, "g": first}, read(t, s).Claims); diff != "" {
		t.Errorf("the claims (-want +got):\n%s", diff)
	}
	want(t, "Take", s.Take(t.Context(), "f", freed, second), nil)
	want(t, "Take of a claim that moved on", s.Take(t.Context(), "f", first, freed), leader.ErrTaken)
}

// oneTaker: all controllers that see a free fleet may try to take it at the same time.
func oneTaker(t *testing.T, s leader.Store) {
	was := leader.Claim{}
	for term := int64(1); term < 5; term++ {
		var won atomic.Int64
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				to := leader.Claim{Holder: fmt.Sprint(i), Name: "x", Term: term}
				if err := s.Take(t.Context(), "f", was, to); err == nil {
					won.Add(1)
				} else if !errors.Is(err, leader.ErrTaken) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d takers won", won.Load())
		}
		was = read(t, s).Claims["f"]
	}
}

// repeats: a client repeats a write whose answer was lost, and must not read the refusal as a defeat.
func repeats(t *testing.T, s leader.Store) {
	to := leader.Claim{Holder: "a", Name: "host a", Term: 1}
	for range 2 {
		want(t, "a first beat", s.Beat(t.Context(), session("a", 1)), nil)
		want(t, "Take", s.Take(t.Context(), "f", leader.Claim{}, to), nil)
	}
	for range 2 {
		want(t, "a second beat", s.Beat(t.Context(), session("a", 2)), nil)
	}
}

// many: a store that reads in pages must read all of them, or a live holder would look evicted.
func many(t *testing.T, s leader.Store) {
	for i := range 150 {
		to := leader.Claim{Holder: "a", Term: 1}
		want(t, "Take", s.Take(t.Context(), fmt.Sprint("fleet-", i), leader.Claim{}, to), nil)
		want(t, "Beat", s.Beat(t.Context(), session(fmt.Sprint(i), 1)), nil)
	}
	if b := read(t, s); len(b.Claims) != 150 || len(b.Sessions) != 150 {
		t.Errorf("read %d claims and %d sessions, want 150 of each", len(b.Claims), len(b.Sessions))
	}
}
