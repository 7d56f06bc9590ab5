package lifecycle_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/internal/lifecycle"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// conf is a configuration: another kind needs a new start, another revision a change. Fleets of one group, other than
// "", may not exist together.
type conf struct {
	kind, revision int
	group          string
}

type (
	machine = lifecycle.Machine[conf]
	order   = lifecycle.Order[conf]
	want    = lifecycle.Want[conf]
)

func rules() lifecycle.Rules[conf] {
	return lifecycle.Rules[conf]{
		Equal:    func(a, b conf) bool { return a == b },
		InPlace:  func(from, to conf) bool { return from.kind == to.kind && from.group == to.group },
		Conflict: func(a, b conf) bool { return a.group != "" && a.group == b.group },
	}
}

// instance is what the world has of a fleet: something of it is left until a Stop was carried out.
type instance struct {
	conf    conf
	run     int64
	sized   bool // its loop runs
	unclear bool // a start or a change failed half way
}

// world carries out orders, at any speed, and checks that each of them is allowed.
type world struct {
	t       *rapid.T
	now     time.Time
	m       machine
	there   map[string]*instance
	pending []order
	wanted  map[string]conf
	quit    bool
	notes   []string
}

func newWorld(t *rapid.T) *world {
	return &world{t: t, now: t0, m: lifecycle.New(rules()), there: map[string]*instance{}, wanted: map[string]conf{}}
}

// tell tells the machine of an event that concerns the named fleet, or all when it is empty.
func (w *world) tell(e lifecycle.Event, fleet string) {
	w.t.Logf("%s %T %+v", w.now.Sub(t0), e, e)
	before := w.m.Fleets()
	next, orders, notes := w.m.Step(w.now, e)
	if again, same, said := w.m.Step(
		w.now,
		e,
	); !reflect.DeepEqual(orders, same) || !reflect.DeepEqual(notes, said) ||
		!reflect.DeepEqual(next.Fleets(), again.Fleets()) {
		w.t.Fatalf("the same step had two results: %+v and %+v", orders, same)
	}
	if !reflect.DeepEqual(before, w.m.Fleets()) {
		w.t.Fatalf("the step changed the machine that it was made from")
	}
	w.m = next
	for _, o := range orders {
		w.t.Logf("   -> %s %s %+v", o.Verb, o.Name, o.Config)
		w.allowed(o, fleet)
		w.pending = append(w.pending, o)
	}
	for _, n := range notes {
		w.notes = append(w.notes, n.String())
	}
	if w.quit && len(notes) > 0 {
		w.t.Fatalf("notes while everything ends: %v", notes)
	}
}

func (w *world) allowed(o order, fleet string) {
	here, wanted := w.there[o.Name], w.wanted[o.Name]
	_, isWanted := w.wanted[o.Name]
	if slices.ContainsFunc(w.pending, func(p order) bool { return p.Name == o.Name }) {
		w.t.Fatalf("%s %s while another order for it is under way", o.Verb, o.Name)
	}
	if fleet != "" && o.Name != fleet && (o.Verb != lifecycle.Start || wanted.group == "") {
		w.t.Fatalf("%s %s because of what happened to %s", o.Verb, o.Name, fleet)
	}
	switch o.Verb {
	case lifecycle.Start:
		if !isWanted || w.quit || o.Config != wanted {
			w.t.Fatalf("start %s with %+v, wanted is %+v (%t)", o.Name, o.Config, wanted, isWanted)
		}
		if here != nil && (here.sized || !rules().InPlace(here.conf, o.Config)) {
			w.t.Fatalf("start %s with %+v while %+v is there", o.Name, o.Config, here)
		}
		for name, other := range w.there {
			if name != o.Name && rules().Conflict(other.conf, o.Config) {
				w.t.Fatalf("start %s in the group of %s, which has not ended", o.Name, name)
			}
		}
		if here == nil {
			here = &instance{}
			w.there[o.Name] = here
		}
		here.conf, here.run = o.Config, o.ID
	case lifecycle.Change:
		if !isWanted || w.quit || o.Config != wanted || here == nil || !rules().InPlace(here.conf, o.Config) ||
			here.conf == o.Config && !here.unclear {
			w.t.Fatalf("change %s to %+v, wanted is %+v (%t), there is %+v", o.Name, o.Config, wanted, isWanted, here)
		}
	case lifecycle.Stop:
		// A stop makes workers finish and end. One that nobody needs costs a busy fleet the time until its workers
		// have.
		if here == nil || isWanted && !w.quit && rules().InPlace(here.conf, wanted) {
			w.t.Fatalf("stop %s, which is %+v and wanted as %+v (%t)", o.Name, here, wanted, isWanted)
		}
	}
}

// carryOut carries out the order at the index i.
func (w *world) carryOut(i int, failure string, final bool) {
	o := w.pending[i]
	w.pending = slices.Delete(w.pending, i, i+1)
	here := w.there[o.Name]
	switch o.Verb {
	case lifecycle.Start:
		here.sized, here.unclear = failure == "", failure != "" // a start brings what is left to its configuration
	case lifecycle.Change:
		if here.unclear = failure != ""; !here.unclear {
			here.conf = o.Config
		}
	case lifecycle.Stop:
		failure, final = "", false
		delete(w.there, o.Name)
	}
	w.tell(lifecycle.Done{ID: o.ID, Failure: failure, Final: final}, o.Name)
}

// collapse ends a fleet that runs, by itself.
func (w *world) collapse(name string, final bool) {
	w.there[name].sized = false
	w.tell(lifecycle.Ended{Run: w.there[name].run, Failure: "broken", Final: final}, name)
}

// configure draws a configuration that is valid: every group is there once.
func configure(t *rapid.T, groups bool) map[string]conf {
	all, taken := map[string]conf{}, map[string]bool{}
	for _, name := range []string{"a", "b", "c"} {
		if rapid.IntRange(0, 3).Draw(t, "is there") == 0 {
			continue
		}
		c := conf{kind: rapid.IntRange(0, 1).Draw(t, "kind"), revision: rapid.IntRange(0, 2).Draw(t, "revision")}
		if groups {
			c.group = rapid.SampledFrom([]string{"", "g", "h"}).Draw(t, "group")
		}
		if taken[c.group] {
			c.group = ""
		}
		taken[c.group] = c.group != ""
		all[name] = c
	}
	return all
}

// live lets one random thing happen.
func (w *world) live(groups bool) (final bool) {
	t := w.t
	w.now = w.now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond)
	w.tell(lifecycle.Tick{}, "") // what is due is ordered here, so that the next event concerns its own fleet alone
	var sized []string
	for _, name := range slices.Sorted(maps.Keys(w.there)) {
		if w.there[name].sized {
			sized = append(sized, name)
		}
	}
	final = rapid.IntRange(0, 5).Draw(t, "final") == 0
	switch act := rapid.IntRange(0, 9).Draw(t, "act"); {
	case act <= 2:
		w.wanted = configure(t, groups)
		w.tell(want{Fleets: w.wanted, Retry: rapid.Bool().Draw(t, "by hand")}, "")
	case act == 3:
		configure(t, groups) // it has a fault: the machine is not told
	case act <= 6 && len(w.pending) > 0:
		failure := rapid.SampledFrom([]string{"", "", "no room"}).Draw(t, "failure")
		w.carryOut(rapid.IntRange(0, len(w.pending)-1).Draw(t, "order"), failure, final)
	case act == 7 && len(sized) > 0:
		w.collapse(rapid.SampledFrom(sized).Draw(t, "fleet"), final)
	case act == 8: // late and repeated news
		w.tell(lifecycle.Done{ID: 0}, "nobody")
		w.tell(lifecycle.Ended{Run: 0, Failure: "late"}, "nobody")
	default:
		w.tell(lifecycle.Tick{}, "")
	}
	return final
}

// rest carries out everything but the orders of one fleet, and lets time pass, until nothing is left to do.
func (w *world) rest(but string) {
	for range 200 {
		i := slices.IndexFunc(w.pending, func(o order) bool { return o.Name != but })
		if i >= 0 {
			w.carryOut(i, "", false)
			continue
		}
		at, ok := w.m.NextTick()
		if !ok {
			return
		}
		if at.After(w.now) {
			w.now = at
		}
		w.tell(lifecycle.Tick{}, "")
	}
	w.t.Fatalf("it never comes to rest: %+v", w.m.Fleets())
}

// settled checks that the world is what was wanted last, for all fleets but one.
func (w *world) settled(but string) {
	for name, c := range w.wanted {
		if here := w.there[name]; name != but && (here == nil || here.conf != c || !here.sized || here.unclear) {
			w.t.Fatalf("%s is %+v, wanted is %+v", name, here, c)
		}
	}
	for name := range w.there {
		if _, ok := w.wanted[name]; !ok && name != but {
			w.t.Fatalf("%s is there and not wanted", name)
		}
	}
	for _, f := range w.m.Fleets() {
		if f.Name != but && (f.Phase != lifecycle.Running || f.Failure != "" || f.Unwanted) {
			w.t.Fatalf("the machine says %+v", f)
		}
	}
}

func TestAnyStoryEndsInTheLastValidConfiguration(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, final := newWorld(rt), false
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			final = w.live(true) || final
		}
		w.rest("")
		if final { // what is not tried again by itself is tried again when a person asks
			w.tell(want{Fleets: w.wanted, Retry: true}, "")
			w.rest("")
		}
		w.settled("")
		w.quit = true
		w.tell(lifecycle.Quit{}, "")
		w.tell(want{Fleets: configure(rt, false)}, "") // too late
		w.rest("")
		if !w.m.Over() || len(w.there) > 0 {
			rt.Fatalf("after quitting there is %v", w.there)
		}
	})
}

func TestInAnyStoryQuittingEndsEveryFleet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		for range rapid.IntRange(0, 30).Draw(rt, "steps") {
			w.live(true)
		}
		w.quit = true
		w.tell(lifecycle.Quit{}, "")
		for len(w.pending) > 0 {
			failure := rapid.SampledFrom([]string{"", "no room"}).Draw(rt, "failure")
			w.carryOut(rapid.IntRange(0, len(w.pending)-1).Draw(rt, "order"), failure, false)
		}
		if !w.m.Over() || len(w.there) > 0 {
			rt.Fatalf("after quitting there is %v", w.there)
		}
	})
}

// A worker that takes hours, or a service that does not answer, keeps one fleet busy. The others go on.
func TestAFleetWhoseOrderNeverEndsHoldsUpNoOther(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, final := newWorld(rt), false
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			final = w.live(false) || final
		}
		const slow = "b"
		w.wanted = configure(rt, false)
		w.tell(want{Fleets: w.wanted, Retry: final}, "")
		w.rest(slow)
		w.settled(slow)
		w.rest("")
		w.settled("")
	})
}

// story is a world told by hand.
type story struct {
	*testing.T
	m     machine
	now   time.Time
	under map[string]order
	said  []string
	done  []string
}

func (s *story) tell(e lifecycle.Event) {
	s.Helper()
	next, orders, notes := s.m.Step(s.now, e)
	s.m = next
	for _, o := range orders {
		s.under[o.Name] = o
		text := string(o.Verb) + " " + o.Name
		if o.Verb != lifecycle.Stop {
			text += fmt.Sprintf(" %d.%d", o.Config.kind, o.Config.revision)
		}
		s.done = append(s.done, text)
	}
	for _, n := range notes {
		s.said = append(s.said, n.String())
	}
}

func (s *story) finish(name, failure string) {
	s.Helper()
	o, ok := s.under[name]
	if !ok {
		s.Fatalf("no order is under way for %s", name)
	}
	delete(s.under, name)
	s.tell(lifecycle.Done{ID: o.ID, Failure: failure})
}

func (s *story) collapse(name, failure string, final bool) {
	s.Helper()
	for _, f := range s.m.Fleets() {
		if f.Name == name {
			s.tell(lifecycle.Ended{Run: s.run(name), Failure: failure, Final: final})
		}
	}
}

// run is the ID of the last start of a fleet: orders are numbered from 1.
func (s *story) run(name string) int64 {
	for i := len(s.done) - 1; i >= 0; i-- {
		if strings.HasPrefix(s.done[i], "start "+name+" ") {
			return int64(i + 1)
		}
	}
	s.Fatalf("%s was never started", name)
	return 0
}

func (s *story) wait(d time.Duration) { s.now = s.now.Add(d); s.tell(lifecycle.Tick{}) }

func only(c conf) want { return want{Fleets: map[string]conf{"a": c}} }

func TestStories(t *testing.T) {
	plain, other, later := conf{}, conf{kind: 1}, conf{revision: 1}
	for _, row := range []struct {
		name   string
		tell   func(*story)
		orders string
		said   string
	}{
		{"a change that needs a new start, and another before the workers have finished", func(s *story) {
			s.tell(only(plain))
			s.finish("a", "")
			s.tell(only(other))
			s.tell(only(conf{kind: 2}))
			s.finish("a", "")
		}, "start a 0.0, stop a, start a 2.0",
			"fleet a is new; fleet a has changed and restarts once its workers have finished their messages; " +
				"fleet a has changed and restarts once its workers have finished their messages; " +
				"fleet a restarts: its workers have finished"},
		{"the same, undone", func(s *story) {
			s.tell(only(plain))
			s.finish("a", "")
			s.tell(only(other))
			s.tell(only(plain))
			s.finish("a", "")
		}, "start a 0.0, stop a, start a 0.0", ""},
		{"the same, removed", func(s *story) {
			s.tell(only(plain))
			s.finish("a", "")
			s.tell(only(other))
			s.tell(want{})
			s.finish("a", "")
		}, "start a 0.0, stop a",
			"fleet a is new; fleet a has changed and restarts once its workers have finished their messages; " +
				"fleet a ends once its workers have finished their messages; fleet a has ended: its workers have " +
				"finished"},
		{"removed and wanted again before its workers have finished", func(s *story) {
			s.tell(only(plain))
			s.finish("a", "")
			s.tell(want{})
			s.tell(only(plain))
			s.finish("a", "")
		}, "start a 0.0, stop a, start a 0.0",
			"fleet a is new; fleet a ends once its workers have finished their messages; " +
				"fleet a is wanted again and restarts once its workers have finished their messages; " +
				"fleet a restarts: its workers have finished"},
		{"changed while it starts", func(s *story) {
			s.tell(only(plain))
			s.tell(only(later))
			s.finish("a", "")
		}, "start a 0.0, change a 0.1", "fleet a is new; fleet a has changed"},
		{"removed while it starts", func(s *story) {
			s.tell(only(plain))
			s.tell(want{})
			s.finish("a", "no room")
			s.finish("a", "")
		}, "start a 0.0, stop a", ""},
		{"failed, and tried again with a growing delay", func(s *story) {
			s.tell(only(plain))
			s.finish("a", "no room")
			s.wait(999 * time.Millisecond)
			s.wait(time.Millisecond)
			s.finish("a", "no room")
			s.wait(time.Second)
			s.wait(time.Second)
			s.finish("a", "")
		}, "start a 0.0, start a 0.0, start a 0.0",
			"fleet a is new; fleet a does not run, next try at 12:00:01: no room; fleet a does not run, next try at " +
				"12:00:03: no room; fleet a runs again"},
		{"failed, and its configuration was mended", func(s *story) {
			s.tell(only(plain))
			s.finish("a", "no such group")
			s.tell(only(later))
			s.finish("a", "")
		}, "start a 0.0, start a 0.1", ""},
		{"failed while its workers go on, and changed to another kind", func(s *story) {
			s.tell(only(plain))
			s.finish("a", "")
			s.collapse("a", "the history cannot be read", false)
			s.tell(only(other))
			s.finish("a", "")
		}, "start a 0.0, stop a, start a 1.0", ""},
		{"taken over by another controller: not taken back by itself", func(s *story) {
			s.tell(only(plain))
			s.finish("a", "")
			s.collapse("a", "another controller has taken over", true)
			s.wait(time.Hour)
			s.tell(only(plain)) // read again, and the same
		}, "start a 0.0",
			"fleet a is new; fleet a does not run, and is not retried automatically: change its configuration, or " +
				"send a hang-up signal: another controller has taken over"},
		{"taken over by another controller, and taken back by a person", func(s *story) {
			s.tell(only(plain))
			s.finish("a", "")
			s.collapse("a", "another controller has taken over", true)
			s.tell(want{Fleets: map[string]conf{"a": plain}, Retry: true})
		}, "start a 0.0, start a 0.0", ""},
		{"failed during a change", func(s *story) {
			s.tell(only(plain))
			s.finish("a", "")
			s.tell(only(later))
			s.collapse("a", "broken", false)
			s.finish("a", "")
			s.wait(time.Second)
		}, "start a 0.0, change a 0.1, start a 0.1", ""},
		{"a change that failed is taken back by a change", func(s *story) {
			s.tell(only(plain))
			s.finish("a", "")
			s.tell(only(later))
			s.finish("a", "no such program")
			s.tell(only(plain))
			s.finish("a", "")
			s.wait(time.Hour)
		}, "start a 0.0, change a 0.1, change a 0.0",
			"fleet a is new; fleet a has changed; fleet a runs with its earlier configuration, because the change " +
				"failed, next try at 12:00:01: no such program; fleet a has changed"},
		{"a fleet gets another name and keeps its group", func(s *story) {
			s.tell(only(conf{group: "g"}))
			s.finish("a", "")
			s.tell(want{Fleets: map[string]conf{"b": {group: "g"}}})
			s.finish("a", "")
			s.finish("b", "")
		}, "start a 0.0, stop a, start b 0.0", ""},
		{"one fleet fails, the other goes on", func(s *story) {
			s.tell(want{Fleets: map[string]conf{"a": plain, "b": plain}})
			s.finish("a", "")
			s.finish("b", "")
			s.collapse("b", "broken", false)
			s.wait(time.Second)
		}, "start a 0.0, start b 0.0, start b 0.0", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &story{T: t, m: lifecycle.New(rules()), now: t0, under: map[string]order{}}
			row.tell(s)
			if found := strings.Join(s.done, ", "); found != row.orders {
				t.Errorf("it ordered\n%s\nwant\n%s", found, row.orders)
			}
			if found := strings.Join(s.said, "; "); row.said != "" && found != row.said {
				t.Errorf("it said\n%s\nwant\n%s", found, row.said)
			}
		})
	}
}

func TestTheDelayGrowsToAMinuteAndBeginsAgainAfterAMinuteOfRunning(t *testing.T) {
	s := &story{T: t, m: lifecycle.New(rules()), now: t0, under: map[string]order{}}
	s.tell(only(conf{}))
	var found []time.Duration
	for range 9 {
		s.finish("a", "no room")
		at, _ := s.m.NextTick()
		found = append(found, at.Sub(s.now))
		s.now = at
		s.tell(lifecycle.Tick{})
	}
	want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60}
	for i := range want {
		want[i] *= time.Second
	}
	if !slices.Equal(found, want) {
		t.Errorf("the delays are %v, want %v", found, want)
	}
	s.finish("a", "")
	s.now = s.now.Add(lifecycle.LongestDelay)
	s.collapse("a", "broken", false)
	if at, _ := s.m.NextTick(); at.Sub(s.now) != lifecycle.FirstDelay {
		t.Errorf("after a minute of running the delay is %v, want %v", at.Sub(s.now), lifecycle.FirstDelay)
	}
}

// A fleet that changes its controller is neither new nor does it end.
func TestAHandOverIsNoBeginAndNoEnd(t *testing.T) {
	m := lifecycle.New(rules())
	one := map[string]conf{"jobs": {}}
	var orders []lifecycle.Order[conf]
	step := func(e lifecycle.Event) {
		t.Helper()
		var notes []lifecycle.Note
		if m, orders, notes = m.Step(t0, e); len(notes) > 0 {
			t.Errorf("%+v: found the notes %v", e, notes)
		}
	}
	comes, goes := lifecycle.Want[conf]{Fleets: one, Handover: true}, lifecycle.Want[conf]{Handover: true}
	step(comes)
	step(lifecycle.Done{ID: orders[0].ID})
	step(goes)
	stop := orders[0]
	step(comes) // it comes back before it has stopped
	step(lifecycle.Done{ID: stop.ID})
	step(lifecycle.Done{ID: orders[0].ID})
	if f := m.Fleets(); len(f) != 1 || f[0].Phase != lifecycle.Running {
		t.Errorf("found %+v", f)
	}
	step(goes)
	step(lifecycle.Done{ID: orders[0].ID})
	if f := m.Fleets(); len(f) > 0 {
		t.Errorf("found %+v after the last hand-over", f)
	}
}
