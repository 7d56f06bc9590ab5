package roster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

func TestComingMembersAreGroupedByTheirLaunch(t *testing.T) {
	group := func(age float64, n int) muster.Coming { return muster.Coming{AgeSeconds: age, Members: n} }
	for _, row := range []struct {
		name string
		do   func(r *roster.Roster)
		now  float64
		want []muster.Coming
	}{
		{"nobody", func(*roster.Roster) {}, 10, nil},
		{"launched together", func(r *roster.Roster) { r.Launched(t0, []string{"a", "b"}) }, 10,
			[]muster.Coming{group(10, 2)}},
		{"launched within a second", func(r *roster.Roster) {
			r.Launched(t0, []string{"a"})
			r.Launched(at(0.9), []string{"b"})
		}, 10, []muster.Coming{group(10, 2)}},
		{"launched a second apart, the oldest first", func(r *roster.Roster) {
			r.Launched(at(1), []string{"b"})
			r.Launched(t0, []string{"a"})
		}, 10, []muster.Coming{group(10, 1), group(9, 1)}},
		{"listed and starting members come as well", func(r *roster.Roster) {
			r.Launched(t0, []string{"a", "b", "c"})
			r.Listed(list(1, "a", "b"))
			r.Reported(says("b", 2, protocol.Starting))
		}, 3, []muster.Coming{group(3, 3)}},
		{"those that take messages do not", func(r *roster.Roster) {
			r.Launched(t0, []string{"a", "b"})
			r.Reported(says("b", 2, protocol.Receiving))
		}, 3, []muster.Coming{group(3, 1)}},
		{"nor those that were asked to drain", func(r *roster.Roster) {
			r.Launched(t0, []string{"a", "b"})
			r.Listed(list(1, "a", "b"))
			r.Drain(1, at(2), rules)
		}, 3, []muster.Coming{group(3, 1)}},
		{"nor those that are overdue", func(r *roster.Roster) {
			r.Launched(t0, []string{"a"})
			r.Launched(at(30), []string{"b"})
		}, 61, []muster.Coming{group(31, 1)}},
		{"a clock that was set back makes nobody younger than now",
			func(r *roster.Roster) { r.Launched(at(5), []string{"a"}) }, 0, []muster.Coming{group(0, 1)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r roster.Roster
			row.do(&r)
			if diff := cmp.Diff(row.want, r.Coming(at(row.now), rules)); diff != "" {
				t.Errorf("what comes (-want +found):\n%s", diff)
			}
		})
	}
}

func TestWhoComesInTooManyGroupsJoinsTheLast(t *testing.T) {
	var r roster.Roster
	for i := range 3 * muster.MaxGroups {
		r.Launched(at(float64(2*i)), []string{fmt.Sprint("m", i)})
	}
	patient := roster.Rules{Silence: time.Minute, BootWithin: time.Hour}
	groups := r.Coming(at(1000), patient)
	last := groups[len(groups)-1]
	if want := (muster.Coming{AgeSeconds: 1000 - 2*(muster.MaxGroups-1),
		Members: 1 + 2*muster.MaxGroups}); len(groups) != muster.MaxGroups || last != want {
		t.Errorf("%d groups, the last %+v; want %d and %+v: later ones look older, never younger", len(groups), last,
			muster.MaxGroups, want)
	}
}

func TestWhateverComesIsCountedOnceInFewGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r roster.Roster
		now, launched := t0, 0
		for range rapid.IntRange(0, 80).Draw(t, "orders") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			for range rapid.IntRange(1, 3).Draw(t, "members") {
				r.Launched(now, []string{fmt.Sprint("m", launched)})
				launched++
			}
		}
		patient := roster.Rules{Silence: time.Minute, BootWithin: time.Hour}
		groups := r.Coming(now, patient)
		sum := 0
		for i, g := range groups {
			sum += g.Members
			if g.Members < 1 || i > 0 && groups[i-1].AgeSeconds-g.AgeSeconds < 1 {
				t.Fatalf("the groups are not apart, oldest first: %+v", groups)
			}
		}
		if c := r.Capacity(now, patient, 1); sum != launched || c.Ordered+c.Booting != sum ||
			len(groups) > muster.MaxGroups {
			t.Fatalf("%d were launched, %d come in %d groups, capacity says %+v", launched, sum, len(groups), c)
		}
	})
}
