package tree_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/treetest"
)

// planted returns a world with the tree t, whose root node is named 0.
func planted(t *testing.T, spec tree.Spec, children func(tree.Node) []tree.Child) *world {
	spec.ID, spec.Node.Key = "t", "0"
	return start(t, world{store: &treetest.Memory{}, random: rand.New(rand.NewPCG(1, 1)), children: children}, spec)
}

func (w *world) begin(id tree.ID) tree.Outcome {
	w.t.Helper()
	return w.step(tree.BeginWant("t", id),
		func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Begin(v, w.now) })
}

func (w *world) finish(id tree.ID, sent ...tree.ID) tree.Outcome {
	w.t.Helper()
	return w.step(tree.SettleWant("t", id), func(v tree.View) (tree.Change, tree.Outcome, error) {
		return tree.Finish(v, tree.Result{Sent: sent, Took: time.Second, At: w.now})
	})
}

func (w *world) fail(id tree.ID, reason string) tree.Outcome {
	w.t.Helper()
	return w.step(tree.SettleWant("t", id), func(v tree.View) (tree.Change, tree.Outcome, error) {
		return tree.Fail(v, tree.Result{Took: time.Second, At: w.now}, reason)
	})
}

func (w *world) register(parent tree.ID, sent []tree.ID, keys ...string) (tree.Outcome, error) {
	w.t.Helper()
	r := tree.Registration{Root: w.root(), Parent: parent, Sent: sent}
	for _, k := range keys {
		r.Children = append(r.Children, tree.Child{Key: k})
	}
	return w.try(r.Want(), func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Register(v, r) })
}

func keys(nodes []tree.Node) string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Key)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

var rootNode = tree.NodeID("t", tree.ID{}, "0", false)

func child(key string) tree.ID { return tree.NodeID("t", rootNode, key, false) }

func TestANodeIsSettledOnce(t *testing.T) {
	w := planted(t, tree.Spec{}, nil)
	w.begin(rootNode)
	w.begin(rootNode) // a duplicate, worked on at the same time
	first, second := w.finish(rootNode), w.finish(rootNode)
	late := w.fail(rootNode, "too late")
	if r := w.root(); r.SlotTime != time.Second || r.Counts != (tree.Counts{Created: 1, Done: 1}) ||
		w.completions != 1 {
		t.Errorf("slot time %s, %+v, %d completions: only the first end counts", r.SlotTime, r.Counts, w.completions)
	}
	if len(first.Announce) != 1 || len(second.Announce) != 1 || second.Announce[0] != first.Announce[0] ||
		late.Verdict != tree.Settled {
		t.Errorf("the outcomes are %+v, %+v and %+v", first, second, late)
	}
}

func TestChildrenOfASettledNodeAreRefused(t *testing.T) {
	w := planted(t, tree.Spec{}, nil)
	w.begin(rootNode)
	w.begin(rootNode)
	w.finish(rootNode)
	if _, err := w.register(rootNode, nil, "late"); err != tree.ErrSettled {
		t.Errorf("the duplicate's child was taken with %v, want ErrSettled", err)
	}
}

func TestNamingTheSameChildrenAgainChangesNothing(t *testing.T) {
	w := planted(t, tree.Spec{}, nil)
	w.begin(rootNode)
	first, err := w.register(rootNode, nil, "a", "b", "a")
	if err != nil || keys(first.Send) != "a b" {
		t.Fatalf("the first time %q are to be sent, %v; want a and b", keys(first.Send), err)
	}
	before := w.root().Counts
	again, err := w.register(rootNode, []tree.ID{child("a")}, "b", "a")
	if err != nil || keys(again.Send) != "b" || w.root().Counts != before {
		t.Errorf("a was sent: %q are to be sent again, %v, want b; counts %+v", keys(again.Send), err, w.root().Counts)
	}
	if more, err := w.register(rootNode, ids(again.Send), "c"); err != nil || keys(more.Send) != "c" {
		t.Errorf("%q are to be sent, %v, want c", keys(more.Send), err)
	}
	if o := w.finish(rootNode); keys(o.Send) != "c" {
		t.Errorf("the end asks for %q to be sent, want c, of which nobody said that it was", keys(o.Send))
	}
}

func TestAnEntityBelongsToWhoNamedItFirst(t *testing.T) {
	w := planted(t, tree.Spec{Visited: true}, nil)
	a, b := tree.NodeID("t", tree.ID{}, "a", true), tree.NodeID("t", tree.ID{}, "b", true)
	zero := tree.NodeID("t", tree.ID{}, "0", true)
	w.begin(zero)
	if o, err := w.register(zero, nil, "a", "b", "0"); err != nil || keys(o.Send) != "a b" {
		t.Fatalf("%q are to be sent, %v, want a and b: 0 is there", keys(o.Send), err)
	}
	w.begin(a)
	if o, err := w.register(a, nil, "b", "a", "c"); err != nil || keys(o.Send) != "c" {
		t.Errorf("%q are to be sent, %v, want c: b is 0's to send", keys(o.Send), err)
	}
	if w.begin(b); w.root().Counts.Created != 4 {
		t.Errorf("there are %d entities, want 4", w.root().Counts.Created)
	}
}

func TestWorkThatNeverEndsFails(t *testing.T) {
	w := planted(t, tree.Spec{Limits: tree.Limits{Attempts: 2}}, nil)
	for range 2 {
		if o := w.begin(rootNode); o.Verdict != tree.Work {
			t.Fatalf("the verdict is %s, want work", o.Verdict)
		}
	}
	o := w.begin(rootNode)
	if o.Verdict != tree.Settled || o.Node.State != tree.Failed || len(o.Announce) != 1 ||
		!strings.Contains(o.Node.Reason, "started 2 times") {
		t.Errorf("the third time comes %+v", o)
	}
}

func TestAttempts(t *testing.T) {
	w := planted(t, tree.Spec{Limits: tree.Limits{Attempts: 2}}, nil)
	w.begin(rootNode)
	w.step(tree.SettleWant("t", rootNode), func(v tree.View) (tree.Change, tree.Outcome, error) {
		return tree.GiveBack(v, tree.Result{At: w.now})
	})
	w.begin(rootNode)
	if o := w.fail(rootNode, "no disk"); o.Verdict != tree.Again || o.Node.Attempts != 1 {
		t.Errorf("after an interruption and a failure comes %s with %d attempts, want again with 1", o.Verdict,
			o.Node.Attempts)
	}
	w.begin(rootNode)
	if o := w.fail(rootNode, strings.Repeat("é", 400)); o.Verdict != tree.Settled ||
		len(o.Node.Reason) != tree.MaxReason {
		t.Errorf("after the last attempt comes %s with a reason of %d bytes, want settled with %d", o.Verdict,
			len(o.Node.Reason), tree.MaxReason)
	}
}

func TestABreachPausesAndKeepsTheState(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits tree.Limits
		raised tree.Limits
		reason string
	}{
		{"fan-out", tree.Limits{FanOut: 2}, tree.Limits{FanOut: 3}, "more than 2 children"},
		{"nodes", tree.Limits{Nodes: 3}, tree.Limits{Nodes: 4}, "more than 3 nodes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := planted(t, tree.Spec{Limits: c.limits}, nil)
			w.begin(rootNode)
			first, err := w.register(rootNode, nil, "a", "b")
			if err != nil {
				t.Fatal(err)
			}
			o, err := w.register(rootNode, ids(first.Send), "c")
			if r := w.root(); err != nil || o.Verdict != tree.Parked || r.State != tree.Paused ||
				!strings.Contains(r.Reason, c.reason) || r.Counts.Created != 3 {
				t.Fatalf("verdict %s, %v; the root is %s because %q, with %+v", o.Verdict, err, r.State, r.Reason,
					r.Counts)
			}
			if o.Node.Attempts != 0 {
				t.Errorf("the work did not fail, and %d attempts count", o.Node.Attempts)
			}
			if o := w.begin(child("a")); o.Verdict != tree.Parked {
				t.Errorf("a node of a paused root gets the verdict %s, want parked", o.Verdict)
			}
			c.raised.Attempts = 60
			w.queue = nil
			w.resume(c.raised)
			if len(w.queue) != 2 { // b is out
				t.Errorf("after the pause %d messages are sent, want those of the root node and of a", len(w.queue))
			}
			w.begin(rootNode)
			if o, err := w.register(rootNode, nil, "a", "b", "c"); err != nil || keys(o.Send) != "c" {
				t.Errorf("after the pause %q are to be sent, %v, want c", keys(o.Send), err)
			}
		})
	}
}

func TestSlotTimePauses(t *testing.T) {
	w := planted(t, tree.Spec{Limits: tree.Limits{SlotTime: 2 * time.Second}}, regular(2, 1))
	w.begin(rootNode)
	named, _ := w.register(rootNode, nil, "a", "b")
	w.finish(rootNode, ids(named.Send)...)
	if r := w.root(); r.State != tree.Running {
		t.Fatalf("after 1 s the root is %s", r.State)
	}
	w.begin(child("a"))
	w.finish(child("a"))
	if r := w.root(); r.State != tree.Paused || !strings.Contains(r.Reason, "2s") {
		t.Fatalf("after 2 s the root is %s because %q", r.State, r.Reason)
	}
	for _, limit := range []time.Duration{time.Second, 2 * time.Second} {
		if _, err := w.try(tree.Want{Root: "t"}, func(v tree.View) (tree.Change, tree.Outcome, error) {
			c, err := tree.Resume(v, tree.Limits{SlotTime: limit})
			return c, tree.Outcome{}, err
		}); err == nil {
			t.Errorf("it resumes with a limit of %s, which is spent", limit)
		}
	}
}

func TestChildrenBelowTheLastDepthAreRefused(t *testing.T) {
	w := planted(t, tree.Spec{Limits: tree.Limits{Depth: -1}}, nil)
	w.begin(rootNode)
	if _, err := w.register(rootNode, nil, "a"); err != tree.ErrDepth {
		t.Errorf("the child was taken with %v, want ErrDepth", err)
	}
	if o, err := w.register(rootNode, nil); err != nil || o.Verdict != tree.Work {
		t.Errorf("no children are refused: %v", err)
	}
}

func TestRetryOpensFailuresAlone(t *testing.T) {
	w := planted(t, tree.Spec{Limits: tree.Limits{Attempts: 1}}, nil)
	w.begin(rootNode)
	named, _ := w.register(rootNode, nil, "a", "b", "c")
	w.finish(rootNode, ids(named.Send)...)
	for key, fails := range map[string]bool{"a": true, "b": true, "c": false} {
		if w.begin(child(key)); fails {
			w.fail(child(key), "no disk")
		} else {
			w.finish(child(key))
		}
	}
	if r := w.root(); r.State != tree.Complete || r.Counts.Failed != 2 {
		t.Fatalf("the root is %s with %+v", r.State, r.Counts)
	}
	retry := func(more bool, keys ...string) error {
		want := tree.Want{Root: "t"}
		for _, k := range keys {
			want.IDs = append(want.IDs, child(k))
		}
		_, err := w.try(want, func(v tree.View) (tree.Change, tree.Outcome,
			error) {
			return tree.Retry(v, more, w.now)
		})
		return err
	}
	if err := retry(true, "a"); !errors.Is(err, tree.ErrState) {
		t.Errorf("a round began before the end of the last was announced: %v", err)
	}
	w.announce()
	if err := retry(true, "a", "c"); err != nil {
		t.Fatal(err)
	}
	w.queue = nil
	w.release()
	w.begin(child("a"))
	w.finish(child("a"))
	if r := w.root(); r.State != tree.Running || r.Round != 2 || !r.Holding ||
		r.Counts != (tree.Counts{Created: 4, Done: 3, Failed: 1}) || len(w.queue) != 1 {
		t.Fatalf("before all is named the root is %s in round %d with %+v; %d messages", r.State, r.Round, r.Counts,
			len(w.queue))
	}
	if err := retry(false, "b"); err != nil {
		t.Fatal(err)
	}
	w.release()
	w.begin(child("b"))
	o := w.finish(child("b"))
	if r := w.root(); r.State != tree.Complete || r.Counts.Done != 4 || w.completions != 2 || len(o.Announce) != 1 ||
		o.Announce[0].ID != tree.CompletionID("t", 2) {
		t.Errorf("in the end the root is %s with %+v, %d completions, announced %+v", r.State, r.Counts, w.completions,
			o.Announce)
	}
}

// announce takes down that the pending completion was announced.
func (w *world) announce() {
	w.step(tree.Want{Root: "t"}, func(v tree.View) (tree.Change, tree.Outcome, error) {
		c, err := tree.Announced(v, v.Root.Pending)
		return c, tree.Outcome{}, err
	})
}

// TestALastRetryWithoutNodesEndsTheRound is for a retry whose nodes were all settled before it could say that there are
// no more.
func TestALastRetryWithoutNodesEndsTheRound(t *testing.T) {
	w := planted(t, tree.Spec{Limits: tree.Limits{Attempts: 1}}, nil)
	w.begin(rootNode)
	w.fail(rootNode, "no disk")
	w.announce()
	for i, ids := range [][]tree.ID{{rootNode}, nil} {
		w.step(tree.Want{Root: "t", IDs: ids},
			func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Retry(v, i == 0, w.now) })
		if i == 0 {
			w.release()
			w.begin(rootNode)
			w.finish(rootNode)
		}
	}
	if r := w.root(); r.State != tree.Complete || r.Pending != tree.CompletionID("t", 2) {
		t.Errorf("the root is %s, to be announced is %q", r.State, r.Pending)
	}
}

func TestCancelEndsAtOnce(t *testing.T) {
	w := planted(t, tree.Spec{}, nil)
	w.begin(rootNode)
	if _, err := w.register(rootNode, nil, "a", "b"); err != nil {
		t.Fatal(err)
	}
	cancel := func() tree.Outcome {
		return w.step(tree.Want{Root: "t"},
			func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Cancel(v, w.now) })
	}
	first, again := cancel(), cancel()
	if len(first.Announce) != 1 || first.Announce[0].State != tree.Cancelled || first.Announce[0].Failed != 3 ||
		again.Announce[0] != first.Announce[0] {
		t.Errorf("announced is %+v, then %+v", first.Announce, again.Announce)
	}
	w.recount()
	if o := w.begin(child("a")); o.Verdict != tree.Settled || len(o.Send) > 0 {
		t.Errorf("a message that comes gets %+v, want settled", o)
	}
	if _, err := w.register(rootNode, nil, "c"); err != tree.ErrSettled {
		t.Errorf("the work in hand names a child: %v, want ErrSettled", err)
	}
	if o := w.finish(rootNode); o.Verdict != tree.Settled || w.root().Counts.Done != 0 {
		t.Errorf("the work in hand ends with %+v", o)
	}
}

func TestSubmittingAgainChangesNothing(t *testing.T) {
	w := planted(t, tree.Spec{}, nil)
	submit := func(change func(*tree.Spec)) (tree.Outcome, error) {
		s := w.spec
		change(&s)
		return w.try(tree.SubmitWant(s),
			func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Submit(v, s, w.now) })
	}
	if o, err := submit(func(*tree.Spec) {}); err != nil || keys(o.Send) != "0" {
		t.Errorf("before it was sent the root node is not to be sent again: %v %v", o.Send, err)
	}
	w.begin(rootNode)
	if o, err := submit(func(*tree.Spec) {}); err != nil || len(o.Send) > 0 {
		t.Errorf("the root node came already and is to be sent again: %v %v", o.Send, err)
	}
	for name, change := range map[string]func(*tree.Spec){
		"another root node": func(s *tree.Spec) { s.Node.Key = "1" },
		"another queue":     func(s *tree.Spec) { s.Queue += "2" },
		"visited":           func(s *tree.Spec) { s.Visited = true },
	} {
		if _, err := submit(change); !errors.Is(err, tree.ErrState) {
			t.Errorf("%s is taken under the same name: %v", name, err)
		}
	}
	for name, change := range map[string]func(*tree.Spec){
		"FIFO": func(s *tree.Spec) { s.Queue = "https://x/y.fifo" }, "no queue": func(s *tree.Spec) { s.Queue = "" },
		"name": func(s *tree.Spec) { s.ID = "a b" }, "key": func(s *tree.Spec) { s.Node.Key = "" },
		"body":      func(s *tree.Spec) { s.Node.Body = strings.Repeat("x", tree.MaxBody+1) },
		"depth":     func(s *tree.Spec) { s.Limits.Depth = 1001 },
		"slot time": func(s *tree.Spec) { s.Limits.SlotTime = -1 },
		"attempts":  func(s *tree.Spec) { s.Limits.Attempts = -1 },
	} {
		if _, err := submit(change); err == nil || errors.Is(err, tree.ErrState) {
			t.Errorf("wrong %s: %v", name, err)
		}
	}
}

func TestAManifestNeedsNoDiscovery(t *testing.T) {
	w := planted(t, tree.Spec{Manifest: true}, nil)
	if len(w.queue) > 0 {
		t.Fatal("the root node of a manifest is sent")
	}
	w.release()
	if len(w.queue) > 0 {
		t.Fatal("the root node of a manifest is released")
	}
	named, err := w.register(rootNode, nil, "a", "b")
	if err != nil || keys(named.Send) != "a b" {
		t.Fatalf("%q are to be sent, %v", keys(named.Send), err)
	}
	w.finish(rootNode, ids(named.Send)...)
	for _, key := range []string{"a", "b"} {
		w.begin(child(key))
		w.finish(child(key))
	}
	if r := w.root(); r.State != tree.Complete || r.Counts.Done != 3 {
		t.Errorf("the root is %s with %+v", r.State, r.Counts)
	}
}

func TestOutlook(t *testing.T) {
	for _, c := range []struct {
		name   string
		depth  int
		levels []tree.Level
		want   tree.Outlook
	}{
		{"nothing is done yet", 10, []tree.Level{{Created: 1}}, tree.Outlook{Open: 1, Remaining: 1}},
		{"half a level is done, two children each", 10,
			[]tree.Level{{Created: 1, Done: 1, Bred: 10}, {Created: 10, Done: 5, Bred: 10}, {Created: 10, Done: 10}},
			tree.Outlook{Open: 5, Next: 10, Remaining: 15, Known: true}},
		{"open nodes have named some", 10,
			[]tree.Level{{Created: 1, Done: 1, Bred: 10}, {Created: 10, Done: 5, Bred: 10}, {Created: 14, Done: 10}},
			tree.Outlook{Open: 9, Next: 6, Remaining: 15, Known: true}},
		{"two levels ahead", 10, []tree.Level{{Created: 2, Done: 1, Bred: 2}, {Created: 2, Done: 2, Bred: 6},
			{Created: 6, Done: 6}},
			tree.Outlook{Open: 1, Next: 2, Remaining: 1 + 2 + 6, Known: true}},
		{"the next level is new", 10, []tree.Level{{Created: 2, Done: 1, Bred: 2}, {Created: 2}},
			tree.Outlook{Open: 3, Next: 2, Remaining: 5}},
		{"nothing is open", 10, []tree.Level{{Created: 2, Done: 1, Failed: 1}}, tree.Outlook{Known: true}},
		{"the depth is used up", 1, []tree.Level{{Created: 1, Done: 1, Bred: 2}, {Created: 2, Done: 1}},
			tree.Outlook{Open: 1, Remaining: 1, Known: true}},
	} {
		r := tree.Root{ID: "t", State: tree.Running, Levels: c.levels, Limits: tree.Limits{Depth: c.depth}}
		for _, l := range c.levels {
			r.Counts.Out += l.Open()
		}
		if got := r.Outlook(); got != c.want {
			t.Errorf("%s: the outlook is %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestBranchingIsWhatNodesThatAreDoneNamed(t *testing.T) {
	w := planted(t, tree.Spec{}, regular(3, 2))
	if _, known := w.root().Branching(0); known {
		t.Error("before anything is done its branching is known")
	}
	w.run(1)
	for depth, want := range []float64{3, 3, 0} {
		if b, known := w.root().Branching(depth); !known || b != want {
			t.Errorf("depth %d: %v, %t; want %v", depth, b, known, want)
		}
	}
}

func TestPace(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	w := planted(t, tree.Spec{}, regular(9, 1))
	w.now = began
	if _, known := w.root().Pace.PerSecond(began, began.Add(time.Millisecond)); known {
		t.Error("after a millisecond the pace is known")
	}
	w.run(1)
	for after, want := range map[time.Duration]float64{2 * time.Second: 5, 100 * time.Second: 0.1, time.Hour: 0} {
		if got, known := w.root().Pace.PerSecond(began, began.Add(after)); !known || got < want*0.99 ||
			got > want*1.01 {
			t.Errorf("after %s it is %v a second, %t; want %v", after, got, known, want)
		}
	}
}

func TestMessagesOfNothingAreErrors(t *testing.T) {
	w := planted(t, tree.Spec{}, nil)
	for name, want := range map[string]struct {
		root string
		id   tree.ID
		err  error
	}{"no root": {"other", rootNode, tree.ErrNoRoot}, "no node": {"t", child("a"), tree.ErrNoNode}} {
		if _, err := w.try(tree.BeginWant(want.root, want.id),
			func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Begin(v, w.now) }); err != want.err {
			t.Errorf("%s: %v, want %v", name, err, want.err)
		}
	}
}

// TestAStrayMessageDoesNotBreakTheLimit is for a message of a node that was put back and waits for its turn.
func TestAStrayMessageDoesNotBreakTheLimit(t *testing.T) {
	w := planted(t, tree.Spec{Limits: tree.Limits{Parallel: 1}}, nil)
	w.begin(rootNode)
	if o, err := w.register(rootNode, nil, "a", "b"); err != nil || len(o.Send) > 0 {
		t.Fatalf("%q are to be sent, %v; want none, the limit is 1", keys(o.Send), err)
	}
	if o := w.begin(child("a")); o.Verdict != tree.Parked || w.root().Counts.Out != 1 {
		t.Errorf("the verdict is %s and %d are out, want parked and 1", o.Verdict, w.root().Counts.Out)
	}
	if o := w.finish(rootNode); len(o.Send) != 1 {
		t.Errorf("%q are to be sent, want one", keys(o.Send))
	}
}
