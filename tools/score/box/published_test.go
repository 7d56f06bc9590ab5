package box

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/worlds"
)

// TestWhatBaselinesDidIsTakenFromItsFile plays a box that writes the file, then others that find it.
func TestWhatBaselinesDidIsTakenFromItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worlds.tsv")
	play := func(print string, draws int, numbers ...uint64) ([]drawn, *Box, error) {
		b := tinyBox(t)
		b.Print, b.Numbers, b.Draws, b.Outcomes = print, numbers, draws, path
		baselines, err := b.Baselines()
		if err != nil {
			t.Fatal(err)
		}
		all, tuned, err := b.playAll(baselines)
		if err == nil && all[0].other(tuned.Name) == nil {
			t.Errorf("the tuned %s is not among the others", tuned.Name)
		}
		return all, b, err
	}
	reference, err := contest.Find(worlds.Reference)
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := play("a", 1, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name    string
		print   string
		draws   int
		numbers []uint64
		made    int // worlds in which the baselines play
		tuned   bool
	}{
		{"the same", "a", 1, []uint64{1, 2}, 0, false},
		{"one of them", "a", 1, []uint64{2}, 0, false},
		{"one more", "a", 1, []uint64{3, 2}, 1, false},
		{"all three", "a", 1, []uint64{1, 2, 3}, 0, false},
		{"other code", "b", 1, []uint64{1, 2}, 2, true},
		{"back again", "a", 1, []uint64{1, 2}, 2, true},
		{"more draws", "a", 2, []uint64{1, 2}, 2, true},
	} {
		all, b, err := play(x.print, x.draws, x.numbers...)
		if err != nil {
			t.Fatal(err)
		}
		want := x.made * x.draws * len(all[0].others)
		if x.tuned {
			want += len(b.Tuning) * len(reference.Sweep)
		}
		if b.DrawnRuns.Computed != want {
			t.Errorf("%s: baselines played %d times, want %d", x.name, b.DrawnRuns.Computed, want)
		}
		for i, d := range all {
			if x.draws > 1 || d.number > 2 {
				continue
			}
			want := first[d.number-1]
			if d.number != x.numbers[i] {
				t.Errorf("%s: world %d is in the place of %d", x.name, d.number, x.numbers[i])
			}
			if d.ours.Loss != want.ours.Loss || !near(d.bound, want.bound) || len(d.others) != len(want.others) {
				t.Errorf("%s: found %+v\nwant %+v", x.name, d, want)
			}
			for k, o := range d.others {
				w := want.others[k]
				if o.Policy != w.Policy || !near(o.Loss, w.Loss) || !near(o.InTime, w.InTime) ||
					o.Launches != w.Launches || o.Messages != w.Messages || o.Unfinished != w.Unfinished {
					t.Errorf("%s: found %+v\nwant %+v", x.name, o, w)
				}
			}
		}
	}
	if err := os.WriteFile(path, []byte("world\tpolicy\nx\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := play("a", 1, 1); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a broken file: found %v", err)
	}
}

// near tells whether a figure is the other one to five digits.
func near(x, y float64) bool { return x == y || max(x-y, y-x) <= 1e-5*max(x, -x) }

func TestAFileOfOutcomesSaysWhatItWasGiven(t *testing.T) {
	with := world(7, 100, 150, 1.0/3)
	with.oracle, with.digest = &oracle{launches: 4.5, workers: 2, kept: true}, "abc"
	without := changed(world(8, 100, 120, 0), func(d *drawn) { d.bound, d.digest = 0, "def" })
	p, err := parsePublished(Published{Of: "code a", Tuned: 0.5}.text([]drawn{with, without}))
	if err != nil || p.Of != "code a" || p.Tuned != 0.5 {
		t.Fatalf("found %+v, %v", p, err)
	}
	if w := p.worlds[7]; w.digest != "abc" || *w.oracle != *with.oracle || w.bound != 100 || len(w.others) != 2 ||
		w.others[1].Loss != 0.333333 || w.others[1].Policy != "b1" {
		t.Errorf("found %+v", w)
	}
	if w := p.worlds[8]; w.digest != "def" || w.oracle != nil || w.bound != 0 || len(w.others) != 1 {
		t.Errorf("found %+v", w)
	}
}

func TestWhatIsLeftUndoneInTheMeanIsLeftOut(t *testing.T) {
	d := world(7, 100, 90, 60)
	for i := range d.others {
		d.others[i].Messages, d.others[i].Unfinished = 1000, int64(20*i)
	}
	d.leaveOutUndone()
	if len(d.others) != 1 || !slices.Equal(d.undone, []string{"b1"}) {
		t.Errorf("found %+v and %v", d.others, d.undone)
	}
}
