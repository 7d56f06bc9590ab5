package box

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/limit"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/worlds"

	"github.com/muster-scale/muster/tools/score/arena"
	"github.com/muster-scale/muster/tools/score/report"
	"github.com/muster-scale/muster/tools/score/scoretest"
)

// world is a calm world of a number in which the policy has the first loss and other policies, called b0, b1 and so on,
// have the following ones. A loss of 0 is a run that was not answered.
func world(number uint64, ours float64, others ...float64) drawn {
	d := drawn{number: number, text: "text", slack: true, load: 5, quantile: 0.99, boot: 60, bound: 100}
	if ours > 0 {
		d.ours = &worlds.Outcome{
			World:         number,
			Policy:        "deadline",
			Loss:          ours,
			WorkerSeconds: ours,
			InTime:        1,
			Settled:       1,
		}
	}
	for i, loss := range others {
		name := fmt.Sprintf("b%d", i)
		if loss == 0 {
			d.unanswered = append(d.unanswered, name)
			continue
		}
		d.others = append(
			d.others,
			worlds.Outcome{World: number, Policy: name, Loss: loss, WorkerSeconds: loss, InTime: 0.5, Settled: 0.5},
		)
	}
	return d
}

// changed returns a world as change leaves it; the outcome of the policy is its own.
func changed(d drawn, change func(*drawn)) drawn {
	if d.ours != nil {
		o := *d.ours
		d.ours = &o
	}
	change(&d)
	return d
}

// times returns a world so many times.
func times(n int, d drawn) []drawn { return slices.Repeat([]drawn{d}, n) }

// inShort is what goals came to.
func inShort(goals []report.Goal) string {
	var all []string
	for _, g := range goals {
		all = append(all, g.String())
	}
	return strings.Join(all, " | ")
}

// tinyBox plays worlds of a few minutes, and keeps nothing.
func tinyBox(t *testing.T) *Box {
	t.Helper()
	limits, err := arena.OpenLimits("")
	if err != nil {
		t.Fatal(err)
	}
	limits.Compute = scoretest.Weak
	runs, err := arena.OpenStore[scoring.Result]("")
	if err != nil {
		t.Fatal(err)
	}
	b := &Box{Arena: arena.New(t.Context(), 2, limits, runs, io.Discard), Ctx: t.Context(),
		Peers: scoretest.Peers(t), Tuning: []uint64{4, 5}, Draw: scoretest.World}
	if b.DrawnRuns, err = arena.OpenStore[worlds.Outcome](""); err != nil {
		t.Fatal(err)
	}
	if b.Oracles, err = arena.OpenStore[limit.Schedule](""); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRegretGoals(t *testing.T) {
	for _, x := range []struct {
		name string
		all  []drawn
		want string
	}{
		{"no world", nil, "no world NOT there is no such world | none"},
		{"no baseline answered", []drawn{world(1, 100, 0)}, "no world NOT there is no such world | none"},
		{"better than all", []drawn{world(1, 100, 150, 101)}, "100 % of 1 | none"},
		{"a tenth smaller is the bound", []drawn{world(1, 100, 90)}, "100 % of 1 | none"},
		{"smaller than that in three of a hundred",
			append(times(97, world(1, 100, 100)), times(3, world(2, 100, 120, 89))...), "97 % of 100 | none"},
		{"in four of a hundred", append(times(96, world(1, 100, 100)), times(4, world(2, 100, 120, 80))...),
			"96 % of 100 NOT world 2: b1 has 0.80 x of the loss, world 2: b1 has 0.80 x of the loss, world 2: b1 has " +
				"0.80 x of the loss, world 2: b1 has 0.80 x of the loss | none"},
		{"less than two thirds in one", append(times(99, world(1, 100, 100)), world(2, 100, 66)),
			"99 % of 100 | 1 NOT world 2: b0 has 0.66 x of the loss"},
		{"the policy did not answer", append(times(9, world(1, 100, 100)), world(2, 0, 100)),
			"90 % of 10 NOT world 2 was not answered | 1 NOT world 2 was not answered"},
	} {
		if got := inShort(judgeRegret(x.all)); got != x.want {
			t.Errorf("%s:\nfound %s\nwant  %s", x.name, got, x.want)
		}
	}
}

func TestSettledGoal(t *testing.T) {
	late := func(settled, quantile float64) drawn {
		return changed(world(7, 100), func(d *drawn) { d.ours.Settled, d.quantile = settled, quantile })
	}
	for _, x := range []struct {
		name string
		all  []drawn
		want string
	}{
		{"none is calm", []drawn{changed(late(0, 0.99), func(d *drawn) { d.slack = false }),
			changed(late(0, 0.99), func(d *drawn) { d.failing = true }),
			changed(late(0, 0.99), func(d *drawn) { d.binding = true })},
			"no world NOT there is no such world"},
		{"99 % is enough for an objective of 99.9 %", []drawn{late(0.99, 0.999)}, "100 % of 1"},
		{"95 % for one of 95 %", []drawn{late(0.95, 0.95)}, "100 % of 1"},
		{"a hair late", []drawn{late(0.9499, 0.95)}, "0 % of 1 NOT world 7 has 94.99 %"},
		{"one of a hundred may be", append(times(99, late(1, 0.99)), late(0.5, 0.99)), "99 % of 100"},
		{"one that was not answered is late", []drawn{world(3, 0)}, "0 % of 1 NOT world 3 was not answered"},
	} {
		if got := fmt.Sprint(judgeSettled(x.all)); got != x.want {
			t.Errorf("%s:\nfound %s\nwant  %s", x.name, got, x.want)
		}
	}
}

func TestCheapGoals(t *testing.T) {
	for _, x := range []struct {
		name string
		all  []drawn
		want string
	}{
		{"no busy world", []drawn{changed(world(1, 500), func(d *drawn) { d.load = 1.99 })},
			"NaN x NOT there is no such world | no world NOT there is no such world"},
		{"no bound is known", []drawn{changed(world(1, 500), func(d *drawn) { d.bound = 0 })},
			"NaN x NOT there is no such world | no world NOT there is no such world"},
		{"at both bounds", append(times(9, world(1, 108)), world(2, 121)), "1.092 x | 90 % of 10"},
		{"two of ten are dear", append(times(8, world(1, 100)), times(2, world(2, 121))...),
			"1.039 x | 80 % of 10 NOT world 2 costs 1.21 x, world 2 costs 1.21 x"},
		{"all are a little dear", []drawn{world(1, 111)}, "1.110 x NOT see the table | 100 % of 1"},
		{"one was not answered", []drawn{world(1, 100), world(2, 0)},
			"1.000 x | 50 % of 2 NOT world 2 was not answered"},
	} {
		if got := inShort(judgeCheap(x.all)); got != x.want {
			t.Errorf("%s:\nfound %s\nwant  %s", x.name, got, x.want)
		}
	}
}

func TestBootsGoal(t *testing.T) {
	boots := func(seconds float64, launches, workers int, kept bool) drawn {
		return changed(world(4, 100), func(d *drawn) {
			d.ours.BootSeconds, d.ours.Launches = seconds, 9
			d.oracle = &oracle{float64(launches), float64(workers), kept}
		})
	}
	for _, x := range []struct {
		name string
		all  []drawn
		want string
	}{
		{"no oracle", []drawn{world(1, 100)}, "no world NOT there is no such world"},
		{"an oracle that is late", []drawn{boots(1e6, 1, 1, false)}, "no world NOT there is no such world"},
		{"three times two launches and three workers, of 60 s each", []drawn{boots(540, 2, 3, true)}, "100 % of 1"},
		{"a second more", append(times(9, boots(0, 2, 3, true)), boots(541, 2, 3, true)), "90 % of 10 NOT world 4: " +
			"541 s of boots in 9 launches, allowed are 540"},
	} {
		if got := fmt.Sprint(judgeBoots(x.all)); got != x.want {
			t.Errorf("%s:\nfound %s\nwant  %s", x.name, got, x.want)
		}
	}
}

func TestMeanGoals(t *testing.T) {
	got := inShort(judgeMeans([]beside{{"x", []float64{0.5, 1.9}}, {"y", []float64{0.5, 2}}, {"z", nil}}))
	want := "0.975 x | 1.000 x NOT it is cheaper in the mean | NaN x NOT there is no such world"
	if got != want {
		t.Errorf("found %s\nwant  %s", got, want)
	}
}

func TestNamedGoal(t *testing.T) {
	run := func(name string, inTime float64) namedRun {
		return namedRun{
			world:  worlds.Named{Name: name, Least: 0.9, MostPeak: 5},
			untold: arena.Outcome{Result: scoring.Result{InTimeRatio: inTime, PeakWorkers: 6 - int(inTime)}},
		}
	}
	got, want := fmt.Sprint(
		judgeNamed([]namedRun{run("well", 1), run("late", 0.8)}),
	), "1 of 2 NOT late: 80 % in time, wanted is 90 %; a peak of 6 workers, allowed are 5"
	if got != want {
		t.Errorf("found %s\nwant  %s", got, want)
	}
}

func TestAnswerGoals(t *testing.T) {
	broken := changed(world(2, 100), func(d *drawn) { d.ours.Faults = []string{"a message is lost"} })
	for _, x := range []struct {
		name string
		all  []drawn
		want string
	}{
		{"all", []drawn{world(1, 1)}, "1 of 1"},
		{"not all", []drawn{world(1, 1), world(3, 0)}, "1 of 2 NOT world 3: text"},
		{"a broken promise", []drawn{broken}, "1 of 1 | broken in 1 world NOT world 2: a message is lost"},
	} {
		if got := inShort(judgeAnswers(x.all)); got != x.want {
			t.Errorf("%s:\nfound %s\nwant  %s", x.name, got, x.want)
		}
	}
}

func rows(t report.Table) string {
	var all []string
	for _, r := range t.Rows {
		all = append(all, strings.Join(r, "; "))
	}
	return strings.Join(all, "\n")
}

func TestTablesOfDrawnWorlds(t *testing.T) {
	var all []drawn
	for n := range uint64(20) {
		all = append(
			all,
			changed(world(n+1, 100+float64(n), 100, 200), func(d *drawn) { d.ours.Settled = 1 - float64(n)/100 }),
		)
	}
	all = append(all, world(99, 0, 50, 0))
	for _, x := range []struct {
		name, found, want string
	}{
		{"distributions", rows(distributions(all)), `loss over the best baseline's; 20; 1.010 x; 1.090 x; 1.170 x; 1.190 x; 1.190 x
cost over the lower bound, worlds with slack; 20; 1.010 x; 1.090 x; 1.170 x; 1.190 x; 1.190 x
in time after the start; 20; 99 %; 91 %; 83 %; 81 %; 81 %
in time after the start, worlds with slack, without faults and with room below the maximum; 20; 99 %; 91 %; 83 %; 81 %; 81 %`},
		{"no distributions", rows(distributions(nil))[:len("loss over the best baseline's; 0; -; -; -; -; -")],
			"loss over the best baseline's; 0; -; -; -; -; -"},
		{"baselines", rows(baselineTable(all, []contest.Contender{{Name: "b0"}, {Name: "b1"}})), `deadline; 20; 5 %; 1.000 x
b0; 21; 100 %; 0.915 x
b1; 20; 0 %; 1.829 x`},
		{"the worst", strings.Split(rows(worstTable(all)), "\n")[0], "20; 1.190 x; 119; 100 %; 119; 0; b0; 100; 50 " +
			"%; 100; 0; text; "},
		{"named", rows(namedTable([]namedRun{{worlds.Named{Name: "n", Found: "much", Least: 0.9, MostRatio: 2,
			MostLaunches: 3, MostPeak: 4},
			arena.Outcome{Result: scoring.Result{InTimeRatio: 0.5, Ratio: 1.5, LaunchesPerHour: 2, PeakWorkers: 3}},
			arena.Outcome{Result: scoring.Result{InTimeRatio: 1}}}})),
			"n; 50 %; 1.500 x; 2; 3; 100 %; 0.000 x; 0; 0; >= 90 %, <= 2.00 x, <= 3 launches an hour, peak <= 4; much"},
		{"notes", boxNotes(all)[2], "Not answered within 10m0s, and left out of the comparison: b1 in world 99."},
	} {
		if x.found != x.want {
			t.Errorf("%s:\nfound %s\nwant  %s", x.name, x.found, x.want)
		}
	}
	if n := len(worstTable(all).Rows); n != worstShown {
		t.Errorf("found %d of the worst worlds, want %d", n, worstShown)
	}
}

func TestAWorldIsTheMeanOfItsRepetitions(t *testing.T) {
	one, two := world(1, 100, 90, 60), world(1, 300, 110, 80)
	one.oracle, two.oracle = &oracle{1, 2, true}, &oracle{3, 2, true}
	m := meanOf([]drawn{one, two})
	if m.ours.Loss != 200 || len(m.others) != 2 || m.others[0].Loss != 100 || m.others[1].Loss != 70 ||
		m.bound != 100 || *m.oracle != (oracle{2, 2, true}) {
		t.Errorf("found %+v with %+v, want losses of 200, 100 and 70", m, m.ours)
	}
	for _, x := range []struct {
		name                  string
		change                func(*drawn)
		others                int
		ours, oracle, bounded bool
	}{
		{"nothing is missing", func(*drawn) {}, 2, true, true, true},
		{"the policy did not answer once", func(d *drawn) { d.ours = nil }, 2, false, true, true},
		{"a baseline did not answer once", func(d *drawn) { d.others = d.others[:1] }, 1, true, true, true},
		{"no oracle once", func(d *drawn) { d.oracle = nil }, 2, true, false, true},
		{"no bound once", func(d *drawn) { d.bound = 0 }, 2, true, true, false},
	} {
		m := meanOf([]drawn{one, changed(two, x.change)})
		if len(m.others) != x.others || (m.ours != nil) != x.ours ||
			(m.oracle != nil) != x.oracle || (m.bound > 0) != x.bounded {
			t.Errorf("%s: found %+v", x.name, m)
		}
	}
}

func TestNumbersOfWorldsFollowTheCommit(t *testing.T) {
	a, again, b := freshNumbers("a", 300), freshNumbers("a", 300), freshNumbers("b", 300)
	if !slices.Equal(a, again) || slices.Equal(a, b) || !slices.Equal(a[:10], freshNumbers("a", 10)) {
		t.Error("the numbers must come from the commit and from nothing else")
	}
	slices.Sort(a)
	if len(slices.Compact(a)) != 300 {
		t.Error("the numbers must differ")
	}
	d, err := New("5-7", 300, "a")
	if err != nil || !slices.Equal(d.Numbers, []uint64{5, 6, 7}) || len(d.Tuning) != 20 || len(d.Named) == 0 {
		t.Errorf("found %v, %v, want the worlds 5 to 7 and 20 to tune on", d.Numbers, err)
	}
}

// Outcomes of baselines are kept by the code that plays them, the world and the setting; those of the policy are not.
func TestOutcomesInDrawnWorldsAreKeptForTheSameWorldAndCodeAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worlds.json")
	other := func(n uint64) worlds.World {
		w := scoretest.World(n)
		w.Event.World.Poison = 0.1
		return w
	}
	for _, x := range []struct {
		name, print string
		number      uint64
		draw        func(uint64) worlds.World
		made, taken int
	}{
		{"nothing is kept yet", "a", 1, scoretest.World, 2, 0}, {"the same again", "a", 1, scoretest.World, 0, 2},
		{"other code", "b", 1, scoretest.World, 2, 0},
		{"another number", "a", 2, scoretest.World, 2, 0}, {"a world that is drawn otherwise", "a", 1, other, 2, 0},
		{"no code known", "", 1, scoretest.World, 0, 0},
	} {
		s := tinyBox(t)
		var err error
		if s.DrawnRuns, err = arena.OpenStore[worlds.Outcome](path); err != nil {
			t.Fatal(err)
		}
		s.Print, s.Draw = x.print, x.draw
		all, err := s.playDrawn([]uint64{x.number}, arena.Ours(), s.Peers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.DrawnRuns.Write(); err != nil {
			t.Fatal(err)
		}
		if s.DrawnRuns.Computed != x.made || s.DrawnRuns.Taken != x.taken || all[0].ours == nil ||
			len(all[0].others) != 2 {
			t.Errorf(
				"%s: found %d made, %d taken and %+v, want %d and %d",
				x.name,
				s.DrawnRuns.Computed,
				s.DrawnRuns.Taken,
				all[0],
				x.made,
				x.taken,
			)
		}
	}
}

// The setting that is best for the whole box is the one that trying all finds, and its worlds are not judged.
func TestTheReferenceIsTunedOnWorldsOfItsOwn(t *testing.T) {
	s := tinyBox(t)
	got, err := s.tunedReference()
	if err != nil {
		t.Fatal(err)
	}
	best, least := 0.0, 0.0
	for i, v := range got.Sweep {
		var losses []float64
		for _, n := range s.Tuning {
			w := s.Draw(n)
			p, err := worlds.Prepare(w)
			if err != nil {
				t.Fatal(err)
			}
			o, err := worlds.Play(t.Context(), w, p, got.With(v))
			if err != nil {
				t.Fatal(err)
			}
			losses = append(losses, o.Loss)
		}
		if mean := worlds.GeometricMean(losses); i == 0 || mean < least {
			best, least = v, mean
		}
	}
	if got.Value != best {
		t.Errorf("found the setting %g, trying all finds %g", got.Value, best)
	}
}

func TestABaselineThatDoesNoWorkIsNoAnswer(t *testing.T) {
	for _, x := range []struct {
		name         string
		ours, theirs int64
		played, want bool
	}{
		{"it launches nobody", 0, 1000, true, true},
		{"one in a hundred at the end", 0, 10, true, false},
		{"the policy leaves as many", 995, 1000, true, false},
		{"the policy did not answer", 0, 1000, false, false},
	} {
		d := world(1, 100)
		d.ours.Unfinished = x.ours
		if !x.played {
			d.ours = nil
		}
		if got := d.leavesUndone(worlds.Outcome{Messages: 1000, Unfinished: x.theirs}); got != x.want {
			t.Errorf("%s: left out is %t", x.name, got)
		}
	}
	d := world(7, 100)
	d.undone = []string{"queue-time"}
	if notes := boxNotes([]drawn{d}); !slices.ContainsFunc(notes, func(n string) bool {
		return strings.HasSuffix(n, "messages undone that `deadline` finishes: queue-time in world 7.")
	}) {
		t.Errorf("found %q", notes)
	}
}
