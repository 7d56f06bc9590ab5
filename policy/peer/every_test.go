package peer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

// rising wants one more each time it looks, and keeps how often that was.
type rising struct{}

func (rising) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	t := begin(o, recent, "rising", "looks")
	if d, lacks := t.lacks(needBacklog); lacks {
		return d
	}
	t.keep.set("looks", t.keep.or("looks", 0)+1)
	return t.settle(o.Capacity.Desired+1, nil, "one more")
}

func TestEveryLooksOnceAPeriodAndKeepsWhatThePolicyKeeps(t *testing.T) {
	w := newWorld(Every{Name: "rising", Period: 7 * time.Second, Of: rising{}}, time.Minute, 0, 0)
	script := func(second int) see { return see{noBacklog: second > 10 && second < 20} }
	expect(t, w.run(30, script), []change{{0, 1}, {7, 2}, {21, 3}, {28, 4}}) // at 14 the backlog was unknown
	if looks, _ := w.recent[len(w.recent)-1].Find("looks"); looks != 4 {
		t.Errorf("%v looks kept, want 4", looks)
	}
}

func TestEveryKeepsItsPaceAlthoughStepsComeLate(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	w := newWorld(Every{Name: "rising", Period: 15 * time.Second, Of: rising{}}, time.Minute, 0, 0)
	var looks []time.Duration
	for s := range 600 {
		w.now = t0.Add(time.Duration(s) * time.Second)
		if s > 0 {
			w.now = w.now.Add(time.Duration(chance.IntN(900)) * time.Millisecond)
		}
		at := w.now
		if d := w.step(see{}); d.Desired != d.Previous {
			looks = append(looks, at.Sub(t0).Truncate(time.Second))
		}
	}
	var want []time.Duration
	for s := 0; s < 600; s += 15 {
		want = append(want, time.Duration(s)*time.Second)
	}
	if !slices.Equal(looks, want) {
		t.Errorf("looked at %v, want each 15 s", looks)
	}
}

func TestEveryMakesUpForNothingAfterAPause(t *testing.T) {
	w := newWorld(Every{Name: "rising", Period: 10 * time.Second, Of: rising{}}, time.Minute, 0, 0)
	w.run(5, always(see{}))
	w.now = t0.Add(time.Hour)
	expect(t, w.run(25, always(see{})), []change{{0, 2}, {10, 3}, {20, 4}})
	w.now = t0 // the clock was set back
	expect(t, w.run(25, always(see{})), []change{{0, 5}, {10, 6}, {20, 7}})
}

func TestEveryLetsIdleWorkersLeaveInBetween(t *testing.T) {
	for _, row := range []struct {
		name  string
		leave bool
		see   see
		floor int
	}{
		{"workers that leave by themselves do so at any time", true, see{serving: 4}, 0},
		{"none may while a signal is unknown", true, see{serving: 4, noInFlight: true}, 4},
		{"elsewhere none leaves", false, see{serving: 4}, 4},
	} {
		recent := muster.Recent{ago(time.Second, 4, 4, muster.Value{Name: everyClock, Value: seconds(t0) + 9})}
		d := Every{Name: "x", Period: 10 * time.Second, Of: rising{}, Leave: row.leave}.Decide(row.see.at(t0), recent)
		if d.Verdict != muster.Hold || d.Desired != 4 || d.Floor != row.floor {
			t.Errorf("%s: %s at %d with floor %d, want a hold at 4 with floor %d", row.name, d.Verdict, d.Desired,
				d.Floor, row.floor)
		}
	}
}

func TestNoMoreIsKeptThanAllowed(t *testing.T) {
	var n notes
	for i := range muster.MaxKept + 1 {
		n.set(string(rune('a'+i)), 1)
	}
	n.set("a", 2)
	n.set("b", math.Inf(1))
	if a, _ := n.get("a"); len(n) != muster.MaxKept-1 || a != 2 {
		t.Errorf("%d kept, a is %v; want %d, and 2", len(n), a, muster.MaxKept-1)
	}
}
