package roster_test

import (
	"slices"
	"testing"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

// tiered is a listing of members of which the fleet knows how they were launched.
func tiered(second float64, members ...muster.Member) muster.Listing {
	return muster.Listing{At: at(second), Members: members}
}

func TestAServiceNamesTheMembersOfAnOrderByTheirTier(t *testing.T) {
	warm, cold, unknown := muster.Member{ID: "w", Tier: muster.Warm}, muster.Member{ID: "c",
		Tier: muster.Cold}, muster.Member{ID: "u"}
	for _, row := range []struct {
		name  string
		l     muster.Listing
		named []roster.Naming
		other []roster.Tiered
		warm  []string
	}{
		{"the cold one takes the place of a cold one", tiered(1, cold, warm),
			[]roster.Naming{{Ordered: "o.2", Member: "c"}, {Ordered: "o.1", Member: "w"}}, nil, []string{"w"}},
		{"of an unknown tier: the oldest, as expected", tiered(1, unknown),
			[]roster.Naming{{Ordered: "o.1", Member: "u"}}, nil, []string{"u"}},
		{"more cold ones than expected", tiered(1, cold, muster.Member{ID: "c2", Tier: muster.Cold},
			muster.Member{ID: "c3", Tier: muster.Cold}),
			[]roster.Naming{{Ordered: "o.2", Member: "c"}, {Ordered: "o.3", Member: "c2"},
				{Ordered: "o.1", Member: "c3"}}, []roster.Tiered{{Member: "c3", Tier: muster.Cold}}, nil},
		{"more from the pool than expected", tiered(1, warm, muster.Member{ID: "w2", Tier: muster.Warm}),
			[]roster.Naming{{Ordered: "o.1", Member: "w"}, {Ordered: "o.2", Member: "w2"}},
			[]roster.Tiered{{Member: "w2", Tier: muster.Warm}}, []string{"w", "w2"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r roster.Roster
			r.Launched(at(0), []string{"o.1", "o.2", "o.3"})
			r.FromPool([]string{"o.1"})
			if named := r.Name(row.l); !slices.Equal(named, row.named) {
				t.Errorf("named %v, want %v", named, row.named)
			}
			r.Listed(row.l)
			if other := r.Tiers(row.l); !slices.Equal(other, row.other) {
				t.Errorf("of another tier than expected are %v, want %v", other, row.other)
			}
			var warm []string
			for _, m := range r.Members() {
				if m.Listed && m.Warm {
					warm = append(warm, m.ID)
				}
			}
			if !slices.Equal(warm, row.warm) {
				t.Errorf("from the pool are %v, want %v", warm, row.warm)
			}
		})
	}
}

func TestWhatIsOrderedFromThePoolIsAwaitedUntilItIsSeen(t *testing.T) {
	var r roster.Roster
	r.Launched(at(0), []string{"o.1", "o.2", "o.3"})
	r.FromPool([]string{"o.1", "o.2"})
	if n := r.Awaited(); n != 2 {
		t.Errorf("%d are awaited from the pool, want 2", n)
	}
	if g := r.Coming(at(1), rules); len(g) != 1 || g[0].Warm != 2 || g[0].Members != 3 {
		t.Errorf("coming are %+v, want 3 of which 2 are warm", g)
	}
	r.Listed(list(1, "o.1"))
	if n := r.Awaited(); n != 1 {
		t.Errorf("%d are awaited from the pool once one was listed, want 1", n)
	}
	_, news := r.Reported(protocol.Report{Member: "o.1", Worker: "o.1", Seq: 1, Slots: 1, State: protocol.Receiving,
		At: at(15)})
	if !news.Joined || !news.Warm || news.Boot.Seconds() != 15 {
		t.Errorf("its first report shows %+v, want a warm boot of 15 s", news)
	}
}

func TestATierThatWasRecordedIsRecalled(t *testing.T) {
	var r roster.Roster
	r.RecallLaunch(at(0), []string{"o.1", "o.2"})
	r.FromPool([]string{"o.1"})
	r.Recall(at(1), "o.1", roster.CameCold, false, "")
	r.Recall(at(1), "o.2", roster.CameWarm, false, "")
	if m := r.Members(); m[0].Warm || !m[1].Warm {
		t.Errorf("recalled %+v, want the second from the pool and the first not", m)
	}
}
