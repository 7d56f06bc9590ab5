package split_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/fleet/split"
	"github.com/muster-scale/muster/mustertest"
)

func TestATotalIsSharedOutByBaseThenByWeight(t *testing.T) {
	reserved, spot, plain := split.Part{Base: 2, Weight: 1}, split.Part{Weight: 3}, split.Part{Weight: 1}
	for _, row := range []struct {
		name  string
		total int
		parts []split.Part
		want  []int
	}{
		{"nothing", 0, []split.Part{reserved, spot}, []int{0, 0}},
		{"the base comes first", 2, []split.Part{reserved, spot}, []int{2, 0}},
		{"then the larger weight", 3, []split.Part{reserved, spot}, []int{2, 1}},
		{"one to three beyond the base", 10, []split.Part{reserved, spot}, []int{4, 6}},
		{"equal weights, the first gets the odd one", 5, []split.Part{plain, plain}, []int{3, 2}},
		{"bases in order when there is not enough", 3, []split.Part{{Base: 2}, {Base: 2}}, []int{2, 1}},
		{"what a full part cannot take goes to the others", 10, []split.Part{{Weight: 3, Max: 4}, plain}, []int{4, 6}},
		{"what no part can take is left out", 10, []split.Part{{Weight: 3, Max: 4}, {Base: 2}}, []int{4, 2}},
	} {
		if got := split.Shares(row.total, row.parts); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}

func TestSharesAddUpAndNoneFallsWhenTheTotalGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) split.Part {
			return split.Part{Base: rapid.IntRange(0, 4).Draw(t, "base"),
				Weight: rapid.IntRange(1, 5).Draw(t, "weight")}
		}), 1, 4).Draw(t, "parts")
		total := rapid.IntRange(0, 60).Draw(t, "total")
		now, more := split.Shares(total, parts), split.Shares(total+1, parts)
		sum := 0
		for i, n := range now {
			sum += n
			if more[i] < n {
				t.Fatalf("%d: %v, one more: %v", total, now, more)
			}
		}
		if sum != total {
			t.Fatalf("%v do not add up to %d", now, total)
		}
	})
}

// memory is a fleet without processes.
type memory struct {
	members []muster.Member
	down    bool
	ended   []string
}

func (m *memory) Members(context.Context) (muster.Listing, error) {
	if m.down {
		return muster.Listing{}, errors.New("no answer")
	}
	return muster.Listing{At: time.Now().UTC(), Members: slices.Clone(m.members)}, nil
}

func (m *memory) SetDesired(_ context.Context, o muster.Order) error {
	for _, id := range o.Launch {
		if !slices.ContainsFunc(m.members, func(x muster.Member) bool { return x.ID == id }) {
			m.members = append(m.members, muster.Member{ID: id, LaunchedAt: time.Now().UTC()})
		}
	}
	return nil
}

func (m *memory) End(_ context.Context, ids []string) error {
	m.ended = append(m.ended, ids...)
	return nil
}

func two() (a, b *memory, f *split.Fleet) {
	a, b = &memory{}, &memory{}
	f, _ = split.New([]split.Part{{Name: "a", Base: 1, Weight: 1, Fleet: a, Releaser: a},
		{Name: "b", Weight: 1, Fleet: b, Releaser: b}})
	return a, b, f
}

func TestASplitFleetKeepsTheContractOfAFleet(t *testing.T) {
	mustertest.FleetConformance(t, func(*testing.T) muster.Fleet {
		_, _, f := two()
		return f
	})
}

func TestLaunchesGoWhereTheyLackAndOnlyOnce(t *testing.T) {
	a, b, f := two()
	order := muster.Order{ID: "o", Desired: 5, Launch: []string{"1", "2", "3", "4", "5"}}
	for range 2 {
		if err := f.SetDesired(t.Context(), order); err != nil {
			t.Fatal(err)
		}
		if len(a.members) != 3 || len(b.members) != 2 {
			t.Fatalf("%d and %d members, want 3 and 2", len(a.members), len(b.members))
		}
	}
	if err := f.End(t.Context(), []string{b.members[0].ID}); err != nil || len(a.ended) != 0 || len(b.ended) != 1 {
		t.Errorf("ended %v and %v: %v", a.ended, b.ended, err)
	}
}

func TestHalfAListIsNoList(t *testing.T) {
	_, b, f := two()
	b.down = true
	if l, err := f.Members(t.Context()); err == nil {
		t.Errorf("found %+v although a part does not answer", l)
	}
	if err := f.SetDesired(t.Context(), muster.Order{ID: "o", Desired: 1, Launch: []string{"1"}}); err == nil {
		t.Error("ordered although it is not known what is there")
	}
}
