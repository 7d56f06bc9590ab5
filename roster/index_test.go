package roster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/worker/protocol"
)

// linear is [Roster.find] by looking at each member.
func linear(r *Roster, id string) (int, bool) {
	i := slices.IndexFunc(r.members, func(m Member) bool { return m.ID == id })
	return i, i >= 0
}

func TestTheIndexFindsWhatLookingAtEachMemberFinds(t *testing.T) {
	name := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint("m", rapid.IntRange(0, 150).Draw(t, "member")) })
	names := rapid.SliceOfN(name, 0, 60)
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		var r Roster
		var kept []Roster // clones, which must find what they found
		check := func(t *rapid.T, r *Roster) {
			for n := range 152 {
				id := fmt.Sprint("m", n)
				i, ok := r.find(id)
				if k, is := linear(r, id); i != k || ok != is {
					t.Fatalf("%s of %d members: found at %d (%v), it is at %d (%v)", id, len(r.members), i, ok, k, is)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"launched": func(t *rapid.T) { r.Launched(now, names.Draw(t, "names")) },
			"listed": func(t *rapid.T) {
				l := muster.Listing{At: now}
				for _, id := range names.Draw(t, "names") {
					ended := rapid.IntRange(0, 3).Draw(t, "ended") == 0
					l.Members = append(l.Members,
						muster.Member{ID: id, LaunchedAt: now.Add(-time.Duration(len(id)) * time.Second), Ended: ended})
				}
				r.Listed(l)
			},
			"reported": func(t *rapid.T) {
				id := name.Draw(t, "name")
				r.Reported(protocol.Report{
					Fleet: "f", Member: id, Worker: "w", Seq: 1, At: now, State: protocol.Receiving, Slots: 1,
				})
			},
			"ended": func(t *rapid.T) {
				for _, id := range names.Draw(t, "names") {
					if i, ok := linear(&r, id); ok {
						r.end(i, now, "")
					}
				}
				r.bury()
			},
			"recalled": func(t *rapid.T) { r.Recall(now, name.Draw(t, "name"), HasEnded, false, "") },
			"time passes": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 700).Draw(t, "seconds")) * time.Second)
				r.Tidy(now, Rules{Silence: 10 * time.Second, BootWithin: time.Minute, Remember: 5 * time.Minute})
			},
			"cloned": func(*rapid.T) {
				kept = append(kept, r)
				r = r.Clone()
			},
			"": func(t *rapid.T) {
				check(t, &r)
				for i := range kept {
					check(t, &kept[i])
				}
			},
		})
	})
}

func TestMembersOfOneHashAreToldApart(t *testing.T) {
	// All names that end up in the same place of a table of 64.
	var names []string
	for n := 0; len(names) < 20; n++ {
		if id := fmt.Sprint("m", n); hash(id)%64 == 5 {
			names = append(names, id)
		}
	}
	var r Roster
	r.Launched(time.Unix(1, 0), names)
	for _, id := range names {
		i, ok := r.find(id)
		if k, _ := linear(&r, id); !ok || i != k {
			t.Errorf("%s: found at %d (%v), it is at %d", id, i, ok, k)
		}
	}
	if i, ok := r.find("stranger"); ok {
		t.Errorf("found a stranger at %d", i)
	}
}
