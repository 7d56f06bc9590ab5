package controller_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/policy/planning"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/worker/protocol"
)

// wooded is a world whose fleet works on trees with the policy exact; so many workers are busy and so many idle.
// Messages take 2 s, and workers boot within 5 s.
func wooded(t *testing.T, busy, idle int) *world {
	s := settings(t, policy.Spec{Name: "exact", Processing: 30 * time.Second}, 50)
	s.Trees = true
	w := newWorld(t, s)
	w.backlog = busy + idle
	w.step(0, w.reads(busy+idle))
	w.obey()
	w.backlog, w.inFlight = 0, busy
	at := make([]int, busy)
	for i := range at {
		at[i] = 1
	}
	w.now = w.now.Add(time.Second)
	w.stepOn(append(append(w.look(), w.receiving(at...)...), w.reads(busy))...)
	return w
}

// reads is a look at trees that finds so many open nodes, and that each open one has the given number of children.
func (w *world) reads(open int, each ...float64) controller.Input {
	e := muster.Expected{At: w.now, Known: true, Trees: min(1, open), Open: float64(open)}
	for _, n := range each {
		e.Levels = append(e.Levels, muster.ExpectedLevel{Parents: float64(open), Messages: n * float64(open)})
	}
	return controller.Expected{Expected: e}
}

// working lets so much time pass, in which the busy workers go on and everybody reports.
func (w *world) working(more time.Duration, trees func() controller.Input) controller.Outcome {
	var o controller.Outcome
	for range int(more / time.Second) {
		w.now = w.now.Add(time.Second)
		in := append(w.look(), trees())
		for _, m := range w.members {
			r := w.say(m, 0).(controller.Reported)
			r.HeldSeconds = w.now.Sub(t0.Add(time.Second)).Seconds() * float64(m.busy)
			in = append(in, r)
		}
		o = w.stepOn(in...)
	}
	return o
}

func (w *world) unread() controller.Input {
	return controller.Expected{Expected: muster.Expected{At: w.now, Reason: "the disk is gone"}}
}

func TestNothingIsDoneBeforeTheTreesWereLookedAt(t *testing.T) {
	s := settings(t, policy.Spec{Name: "exact"}, 10)
	s.Trees = true
	w := newWorld(t, s)
	w.backlog = 1
	if o := w.step(0); o.Ready || launched(o) != 0 {
		t.Errorf("ready %v, launched %d; want neither before the trees were looked at", o.Ready, launched(o))
	}
	if o := w.step(time.Second, w.unread()); !o.Ready || launched(o) != 1 {
		t.Errorf("ready %v, launched %d; want both: an unread tree keeps no rise back", o.Ready, launched(o))
	}
}

func TestAFleetWithoutTreesDecidesToTheByteAsOneThatHasNone(t *testing.T) {
	var said [2]string
	for i, trees := range []bool{false, true} {
		s := settings(t, policy.Spec{Name: "exact"}, 10)
		s.Trees = trees
		w := newWorld(t, s)
		w.backlog = 3
		o := w.step(0)
		if trees {
			o = w.stepOn(w.reads(0))
		}
		text, err := json.Marshal(struct{ A, B any }{o.Observation, o.Decision})
		if err != nil {
			t.Fatal(err)
		}
		said[i] = string(text)
	}
	if said[0] != said[1] {
		t.Errorf("without trees %s\nwith none   %s", said[0], said[1])
	}
}

func TestWorkersAreLaunchedForTheNextLevelOfATree(t *testing.T) {
	w := wooded(t, 4, 0)
	next := func() controller.Input { return w.reads(4, 3) }
	if o := w.working(20*time.Second, next); o.Decision.Desired != 4 {
		t.Fatalf("%s\nwant 4: the children come in 10 s, and a worker takes no 2 s", o.Decision.Sentence())
	}
	var o controller.Outcome
	for range 9 {
		if o = w.working(time.Second, next); o.Decision.Desired != o.Decision.Previous {
			break
		}
	}
	if o.Decision.Desired != 12 || launched(o) != 8 {
		t.Fatalf("%s\nwant 12 before the children come", o.Decision.Sentence())
	}
	if checked, _, err := audit.Verify(w.records); checked == 0 || err != nil {
		t.Errorf("%d decisions recompute: %v", checked, err)
	}
	e := audit.ExplainDecision(planning.Exact{}, o.Observation, nil, o.Decision)
	if !strings.Contains(e.Why, "4 nodes of trees open; the next level has about 12 more") {
		t.Errorf("explained as %s", e.Why)
	}
}

func TestATreeThatCannotBeReadLetsNobodyGo(t *testing.T) {
	w := wooded(t, 2, 3)
	w.working(40*time.Second, w.unread) // what was read last counts for half a minute
	o := w.step(time.Second, append(w.everybody(), w.offer(w.members[4]), w.unread())...)
	if e := o.Observation.Expected; e.None() || e.Known || !strings.Contains(e.Reason, "last read 41s ago") {
		t.Errorf("what was read long ago still counts: %+v", e)
	}
	if o.Decision.Desired != 5 || w.ask(w.members[4]) != protocol.Work {
		t.Errorf("%s\nwant all 5 to stay, and the one that offers to leave to be refused; it is told %s",
			o.Decision.Sentence(), w.ask(w.members[4]))
	}
	o = w.step(time.Second, w.offer(w.members[3]), w.reads(2))
	if w.ask(w.members[3]) != protocol.Leave {
		t.Errorf("%s\nwant one to leave once the trees are read again; it is told %s", o.Decision.Sentence(),
			w.ask(w.members[3]))
	}
}

func TestThatTreesBeginAndEndIsRecordedAtOnce(t *testing.T) {
	w := wooded(t, 1, 0)
	w.working(5*time.Second, func() controller.Input { return w.reads(1) })
	decisions := func() (n int) {
		for _, r := range w.records {
			if r.Kind == muster.Decided {
				n++
			}
		}
		return n
	}
	for _, row := range []struct {
		name  string
		trees func() controller.Input
		more  int
	}{
		{"nothing new", func() controller.Input { return w.reads(1) }, 0},
		{"no tree runs any more", func() controller.Input { return w.reads(0) }, 1},
		{"still none", func() controller.Input { return w.reads(0) }, 0},
		{"one begins", func() controller.Input { return w.reads(1) }, 1},
	} {
		before := decisions()
		o := w.working(time.Second, row.trees)
		if more := decisions() - before; more != row.more || o.Decision.Desired != 1 {
			t.Errorf("%s: %d decisions were recorded, want %d: %s", row.name, more, row.more, o.Decision.Sentence())
		}
	}
}

func TestARestartBeforeTheNextLevelChangesNoDecision(t *testing.T) {
	w := wooded(t, 4, 0)
	w.working(20*time.Second, func() controller.Input { return w.reads(4, 3) })
	w.now = w.now.Add(9 * time.Second)
	in := append(w.look(), w.reads(4, 3))
	for _, m := range w.members {
		r := w.say(m, 0).(controller.Reported)
		r.HeldSeconds = 29
		in = append(in, r)
	}
	without := w.settings.Step(w.state, w.now, in)
	w.restart()
	with := w.settings.Step(w.state, w.now, in)
	if a, b := without.Decision, with.Decision; a.Desired != 12 || a.Desired != b.Desired || a.Floor != b.Floor {
		t.Errorf("without a restart %s\nafter one %s", a.Sentence(), b.Sentence())
	}
}
