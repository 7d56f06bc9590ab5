package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/policy/planning"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy"
)

// whole is the policy exact that sizes for trees as a whole, with six slots for a tree of which only the root is known.
func whole() planning.Exact { return planning.Exact{Whole: true, First: 6} }

// young is a tree of which only the root is known.
func young(trees int) muster.Expected {
	return muster.Expected{At: t0, Known: true, Trees: trees, Open: float64(trees), Young: trees}
}

func TestAWholeTreeIsSizedForWhenWorkersAreThere(t *testing.T) {
	perhaps := levels(4)
	perhaps.Perhaps = 40
	likely := levels(8)
	likely.Perhaps = 8
	growing := levels(4, 2)
	growing.Perhaps = 40
	for _, row := range []struct {
		name     string
		see      see
		held     time.Duration
		expected muster.Expected
		want     int
		floor    int
		says     string
	}{
		{"four slots are through with eight more nodes before a worker could be there",
			see{backlog: 8, inFlight: 4, busy: 4, mpd: 5 * time.Second}, 0,
			levels(12), 4, 4, "8 launches fewer than one for each waiting node"},
		{"nodes that take long get a slot each", see{backlog: 8, inFlight: 4, busy: 4, mpd: time.Minute}, 0, levels(12),
			12, 12, "and no more are expected"},
		{"messages that are no nodes get a slot each", see{backlog: 8, inFlight: 4, busy: 4, mpd: 5 * time.Second}, 0,
			levels(4), 12, 12, "and no more are expected"},
		{"some of those that wait are nodes", see{backlog: 8, inFlight: 4, busy: 4, mpd: 5 * time.Second}, 0, levels(9),
			7, 7, "5 launches fewer"},
		{"children that are there when a worker is", see{inFlight: 4, busy: 4, mpd: 15 * time.Second}, 0, levels(4, 3),
			12, 12, "8 launches to be in service for it"},
		{"a guess keeps the tree as large as it is, and lets it not grow",
			see{inFlight: 4, busy: 4, mpd: 15 * time.Second}, 0, perhaps, 4, 4, "not known yet"},
		{"so workers come for a level that is likely to be as large",
			see{backlog: 4, inFlight: 4, busy: 4, mpd: 15 * time.Second}, 0, likely, 8, 8, "not known yet"},
		{"nor where a level is known to grow", see{inFlight: 4, busy: 4, mpd: 15 * time.Second}, 0, growing, 8, 8,
			"4 launches"},
		{"idle workers stay until it is known whether a level has children", see{inFlight: 4, busy: 4, idle: 4}, 0,
			perhaps, 8, 8, "not known yet"},
		{"leaves free their workers", see{inFlight: 4, busy: 4, idle: 4}, 0, levels(4), 8, 4,
			"and no more are expected"},
		{"trees that cannot be read let nobody go", see{inFlight: 4, busy: 4, idle: 4}, 0,
			muster.Expected{At: t0, Reason: "the disk is gone"}, 8, 8, "the disk is gone"},
		{"a tree begins with more than its root needs", see{backlog: 1, mpd: -1}, 0, young(1), 6, 6,
			"only the root of 1 tree is known"},
		{"each of two does", see{backlog: 2, mpd: -1}, 0, young(2), 12, 12, "only the root of 2 trees is known"},
		{"and so it does when durations are known", see{backlog: 1}, 0, young(1), 6, 6, "6 workers until more is"},
		{"they stay for a quarter of a boot", see{inFlight: 1, busy: 1, idle: 5, mpd: -1}, 5 * time.Second, young(1), 6,
			6, "6 workers until more is"},
		{"later fewer do", see{inFlight: 1, busy: 1, idle: 5, mpd: -1}, 10 * time.Second, young(1), 6, 3,
			"3 workers until more is"},
		{"and then only the one that works", see{inFlight: 1, busy: 1, idle: 5, mpd: -1}, time.Minute, young(1), 6, 1,
			"1 node of trees open"},
		{"a root whose message was lost leads to nothing", see{idle: 2}, 0, young(1), 2, 0, "1 node of trees open"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := grown(row.see, row.expected)
			o.Capacity.HeldMeanSeconds = row.held.Seconds()
			if row.see.mpd < 0 {
				o.Processing = muster.Estimate{}
			}
			d := whole().Decide(o, nil)
			last := d.Trail[len(d.Trail)-1]
			if d.Desired != row.want || d.Floor != row.floor || last.Rule != "trees" ||
				!strings.Contains(last.Why, row.says) {
				t.Errorf("desired %d, floor %d: %s\nwant %d, %d and %q\n%+v", d.Desired, d.Floor, d.Sentence(),
					row.want, row.floor, row.says, last)
			}
		})
	}
}

// TestANodeThatWaitsForLongGetsASlot: the one slot there is was to be through with what it holds, and hangs.
func TestANodeThatWaitsForLongGetsASlot(t *testing.T) {
	for _, row := range []struct {
		name    string
		waiting []muster.Waiting
		want    int
	}{
		{"for less than a boot", []muster.Waiting{{AgeSeconds: 19, Messages: 2}}, 1},
		{"one for more", []muster.Waiting{{AgeSeconds: 30, Messages: 1}, {AgeSeconds: 19, Messages: 1}}, 2},
		{"both for more", []muster.Waiting{{AgeSeconds: 30, Messages: 2}}, 3},
	} {
		o := grown(see{backlog: 2, inFlight: 1, busy: 1, mpd: 2 * time.Second}, levels(3))
		o.Waiting, o.Queues[0].OldestAge = row.waiting, muster.Sample{At: t0, Known: true,
			Value: row.waiting[0].AgeSeconds}
		if d := whole().Decide(o, nil); d.Desired != row.want {
			t.Errorf("%s: %s\nwant %d", row.name, d.Sentence(), row.want)
		}
	}
}

func TestAWholeTreeAsksNobodyToGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := sights().Draw(t, "see").observation()
		o.Boot = muster.Estimate{Known: true, MeanSeconds: rapid.Float64Range(0.1, 100).Draw(t, "boot")}
		without := whole().Decide(o, nil)
		if each := (planning.Exact{}).Decide(o, nil); each.Sentence() != without.Sentence() {
			t.Fatalf("without a tree: %s\nwant %s", without.Sentence(), each.Sentence())
		}
		expected := outlooks().Draw(t, "expected")
		expected.Young = rapid.IntRange(0, 3).Draw(t, "young")
		o.Expected = &expected
		d := whole().Decide(o, nil)
		switch {
		case d.Desired < d.Previous || d.Floor > d.Desired || d.Floor < 0:
			t.Fatalf("%d became %d with the floor %d: %s", d.Previous, d.Desired, d.Floor, d.Sentence())
		case !expected.Known && (d.Desired < without.Desired || d.Floor < min(d.Previous, d.Desired)):
			t.Fatalf("the trees are unread, and %d became %d with the floor %d", d.Previous, d.Desired, d.Floor)
		}
	})
}

func TestAWholeTreeRecomputesToTheByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := policy.Spec{Name: "exact", Trees: policy.TreesWhole, First: rapid.IntRange(0, 20).Draw(t, "first")}
		o := sights().Draw(t, "see").observation()
		expected := outlooks().Draw(t, "expected")
		expected.Young = rapid.IntRange(0, 3).Draw(t, "young")
		o.Expected = &expected
		var spec2 policy.Spec
		var again muster.Observation
		reread(t, spec, &spec2)
		reread(t, o, &again)
		var texts [2]string
		for i, x := range []struct {
			spec policy.Spec
			o    muster.Observation
		}{{spec, o}, {spec2, again}} {
			p, err := policy.New(x.spec)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(p.Decide(x.o, nil))
			if err != nil {
				t.Fatal(err)
			}
			texts[i] = string(text)
		}
		if texts[0] != texts[1] {
			t.Fatalf("first  %s\nsecond %s", texts[0], texts[1])
		}
	})
}

// TestALeafMoreNeverMeansAWorkerFewer: one more that waits, and counts as open. A node more may mean that the next
// level comes later, and so fewer workers now.
func TestALeafMoreNeverMeansAWorkerFewer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sights().Draw(t, "see")
		s.noBacklog, s.noInFlight, s.noListing = false, false, false
		expected := outlooks().Draw(t, "expected")
		if expected.Known {
			expected.Open, expected.Levels, expected.Perhaps = s.backlog+s.inFlight, nil, 0
		}
		size := func(s see, e muster.Expected) int {
			o := s.observation()
			o.Boot = muster.Estimate{Known: true, MeanSeconds: 20}
			o.Expected = &e
			return whole().Decide(o, nil).Desired
		}
		more, open := s, expected
		more.backlog++
		if open.Known {
			open.Open++
		}
		if a, b := size(s, expected), size(more, open); b < a {
			t.Fatalf("%v waiting: %d, one more: %d", s.backlog, a, b)
		}
	})
}

func TestWhatIsWrongWithTheKeysOfTrees(t *testing.T) {
	for _, row := range []struct {
		spec policy.Spec
		want string
	}{
		{policy.Spec{Name: "exact", Trees: "all"}, `policy.trees: found "all", allowed is each, whole`},
		{policy.Spec{Name: "deadline", Trees: "whole"}, "policy.trees: found whole with deadline, allowed is whole " +
			"with exact"},
		{policy.Spec{Name: "exact", First: 4}, "policy.first: found 4 without trees: whole, allowed is a number of " +
			"slots with trees: whole"},
		{policy.Spec{Name: "exact", Trees: "whole", First: -1}, "policy.first: found -1, allowed is 1 to 10000 slots"},
	} {
		if err := row.spec.Check(); err == nil || err.Error() != row.want {
			t.Errorf("%+v: found %v, want %s", row.spec, err, row.want)
		}
	}
}
