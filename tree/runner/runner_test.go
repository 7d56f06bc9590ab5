package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
	"github.com/muster-scale/muster/tree/sqlitetree"
	"github.com/muster-scale/muster/worker"
)

func TestATreeIsWorkedOnToItsEnd(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{Final: tree.Final{Queue: "final", Body: "all done"}})
	w.run(w.runner(heap(100)), 0)
	w.complete(100, 0)
	var final runner.FinalMessage
	if len(w.queue.final) != 1 || json.Unmarshal([]byte(w.queue.final[0]), &final) != nil || final.Body != "all done" ||
		final.Completion.Done != 100 {
		t.Errorf("the final messages are %q", w.queue.final)
	}
}

func TestOtherMessagesComeAsTheyAre(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{})
	got := ""
	r := w.runner(func(ctx context.Context, m worker.Message) error {
		if _, ok := runner.Of(ctx); ok {
			t.Error("there is a node")
		}
		got = m.Body
		return nil
	})
	if err := r.Do(t.Context(), worker.Message{Body: `{"root":"t"}`}); err != nil || got != `{"root":"t"}` {
		t.Errorf("the work got %q, %v", got, err)
	}
	for name, body := range map[string]string{
		"a newer format": `{"muster_tree":2,"root":"t"}`, "half a message": `{"muster_tree":1`,
		"no such tree": `{"muster_tree":1,"root":"other","node":"00000000000000000000000000000001"}`,
		"no such node": `{"muster_tree":1,"root":"t","node":"00000000000000000000000000000001"}`,
	} {
		if err := r.Do(t.Context(), worker.Message{Body: body}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// faulty fails one call of store or queue: the nth, before or after its effect.
type faulty struct {
	*world
	calls, fail int
	after       bool
	inner       tree.Store
}

var errCrash = errors.New("the worker crashed")

func (f *faulty) call(do func() error) error {
	f.calls++
	if f.calls != f.fail {
		if f.fail > 0 && f.calls > f.fail {
			return errCrash // a worker that crashed does nothing more
		}
		return do()
	}
	if f.after {
		do()
	}
	return errCrash
}

func (f *faulty) Step(ctx context.Context, w tree.Want, step func(tree.View) (tree.Change, error)) error {
	return f.call(func() error { return f.inner.Step(ctx, w, step) })
}
func (f *faulty) Roots(ctx context.Context) ([]tree.Root, error) { return f.inner.Roots(ctx) }
func (f *faulty) Nodes(ctx context.Context, root string, filter tree.Filter) ([]tree.Node, error) {
	return f.inner.Nodes(ctx, root, filter)
}
func (f *faulty) Send(ctx context.Context, queue string, bodies []string) error {
	return f.call(func() error { return f.queue.Send(ctx, queue, bodies) })
}

// TestACrashBetweenAnyTwoCallsLosesNothing ends a worker before and after each of its calls to store and queue, lets
// its message come again to another one, and goes on.
func TestACrashBetweenAnyTwoCallsLosesNothing(t *testing.T) {
	const nodes = 7
	for name, limits := range map[string]tree.Limits{"all at once": {}, "two at once": {Parallel: 2}} {
		t.Run(name, func(t *testing.T) {
			store, err := sqlitetree.Open(filepath.Join(t.TempDir(), "trees.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			total := crashAt(t, &fresh{store, "whole"}, limits, nodes, 0, false)
			if total < 3*nodes {
				t.Fatalf("only %d calls were seen", total)
			}
			for fail := 1; fail <= total; fail++ {
				for _, after := range []bool{false, true} {
					crashAt(t, &fresh{store, fmt.Sprint(fail, after)}, limits, nodes, fail, after)
				}
			}
		})
	}
}

// fresh lets each run have a tree of its own in one file: of what the run calls t.
type fresh struct {
	tree.Store
	name string
}

func (f *fresh) Step(ctx context.Context, w tree.Want, step func(tree.View) (tree.Change, error)) error {
	w.Root += f.name
	return f.Store.Step(ctx, w, func(v tree.View) (tree.Change, error) {
		v.Root.ID = strings.TrimSuffix(v.Root.ID, f.name)
		c, err := step(v)
		if c.Root.ID != "" {
			c.Root.ID += f.name
		}
		return c, err
	})
}

func (f *fresh) Roots(ctx context.Context) (mine []tree.Root, err error) {
	all, err := f.Store.Roots(ctx)
	for _, r := range all {
		if r.ID == "t"+f.name {
			r.ID = "t"
			mine = append(mine, r)
		}
	}
	return mine, err
}

// crashAt works on a tree whose first worker crashes at a call, and returns the number of calls that it made. With 0 it
// does not crash.
func crashAt(t *testing.T, store tree.Store, limits tree.Limits, nodes, fail int, after bool) int {
	t.Helper()
	w := newWorld(t, store, tree.Spec{Limits: limits})
	f := &faulty{world: w, inner: store, fail: fail, after: after}
	r, err := runner.New(runner.Options{Store: f, Sender: f, Do: heap(nodes),
		Announce: func(ctx context.Context, c tree.Completion) error {
			return f.call(func() error { return w.announce(ctx, c) })
		}})
	if err != nil {
		t.Fatal(err)
	}
	for {
		m, ok := w.queue.take()
		if !ok {
			break
		}
		if err := r.Do(t.Context(), m); err != nil {
			if !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			w.queue.back(m)
			w.run(w.runner(heap(nodes)), 0)
		}
	}
	w.complete(int64(nodes), 0)
	if t.Failed() {
		t.Fatalf("the crash was at call %d, after its effect: %t", fail, after)
	}
	return f.calls
}

func TestFailures(t *testing.T) {
	broken := func(ctx context.Context, m worker.Message) error {
		if m.Body == "2" {
			return errors.New("no disk")
		}
		return heap(5)(ctx, m)
	}
	w := newWorld(t, &shared{}, tree.Spec{Limits: tree.Limits{Attempts: 3}})
	errs := w.run(w.runner(broken), 2)
	w.complete(4, 1)
	if len(errs) != 2 || !strings.Contains(errs[0].Error(), "no disk") {
		t.Errorf("the worker sees %v, want the first two failures", errs)
	}
	failed, err := w.store.Nodes(t.Context(), "t", tree.Filter{States: []tree.State{tree.Failed}, Limit: 10})
	if err != nil || len(failed) != 1 || failed[0].Key != "2" || failed[0].Reason != "no disk" ||
		failed[0].Attempts != 3 {
		t.Errorf("failed are %+v, %v", failed, err)
	}
}

func TestAnInterruptionIsNoAttempt(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{Limits: tree.Limits{Attempts: 1}})
	m, _ := w.queue.take()
	ctx, stop := context.WithCancelCause(t.Context())
	r := w.runner(func(ctx context.Context, m worker.Message) error {
		stop(worker.ErrStopped)
		return context.Cause(ctx)
	})
	if err := r.Do(ctx, m); !errors.Is(err, worker.ErrStopped) {
		t.Errorf("the worker sees %v, want ErrStopped", err)
	}
	w.queue.back(m)
	w.run(w.runner(heap(1)), 0)
	w.complete(1, 0)
}

func TestWorkBeyondItsTimeLimitIsAnAttempt(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{Limits: tree.Limits{Attempts: 1}})
	m, _ := w.queue.take()
	ctx, stop := context.WithCancelCause(t.Context())
	r := w.runner(func(ctx context.Context, m worker.Message) error {
		stop(worker.ErrTimeLimit)
		return context.Cause(ctx)
	})
	if err := r.Do(ctx, m); err != nil {
		t.Errorf("the worker sees %v, and the message of a failed node must go", err)
	}
	w.complete(0, 1)
}

func TestALostLeaseLeavesTheNodeToOthers(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{Limits: tree.Limits{Attempts: 1}})
	m, _ := w.queue.take()
	ctx, stop := context.WithCancelCause(t.Context())
	r := w.runner(func(ctx context.Context, m worker.Message) error {
		stop(worker.ErrLeaseLost)
		return context.Cause(ctx)
	})
	if err := r.Do(ctx, m); !errors.Is(err, worker.ErrLeaseLost) {
		t.Errorf("the worker sees %v, want ErrLeaseLost", err)
	}
	if c := w.root().Counts; c.Out != 1 || c.Failed != 0 {
		t.Errorf("counted is %+v: the node is somebody else's", c)
	}
}

func TestChildrenThatCannotBeTakenFailTheAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		limits tree.Limits
		child  tree.Child
		reason string
	}{
		"below the last depth": {tree.Limits{Depth: -1, Attempts: 1}, tree.Child{Key: "a"}, "sequentially"},
		"no key":               {tree.Limits{Attempts: 1}, tree.Child{}, "key of 0 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, &shared{}, tree.Spec{Limits: c.limits})
			w.run(w.runner(func(ctx context.Context, m worker.Message) error {
				n, _ := runner.Of(ctx)
				n.Name(ctx, c.child) // the work goes on regardless
				return nil
			}), 0)
			w.complete(0, 1)
			if failed, _ := w.store.Nodes(t.Context(), "t", tree.Filter{Limit: 1}); !strings.Contains(failed[0].Reason,
				c.reason) {
				t.Errorf("the reason is %q, want %q in it", failed[0].Reason, c.reason)
			}
		})
	}
}

func TestABreachStopsTheWork(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{Limits: tree.Limits{FanOut: 150}})
	var cause error
	w.run(w.runner(func(ctx context.Context, m worker.Message) error {
		n, _ := runner.Of(ctx)
		for i := range 1000 {
			if err := n.Name(ctx, tree.Child{Key: fmt.Sprint(i)}); err != nil {
				cause = context.Cause(ctx)
				return err
			}
		}
		return nil
	}), 0)
	r := w.root()
	if cause != runner.ErrParked || r.State != tree.Paused || r.Counts.Created != 101 || r.Counts.Waiting != 101 {
		t.Errorf("the work was stopped by %v, the root is %s with %+v; want 100 children kept, all waiting", cause,
			r.State, r.Counts)
	}
}

// TestTheLoserOfARaceSendsWhatTheWinnerLeft is for a node whose message came twice: one delivery settles it and crashes
// before what that set free is sent, while the other one still works. Both are the same message, so the other's
// deletion is the end of it.
func TestTheLoserOfARaceSendsWhatTheWinnerLeft(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{Limits: tree.Limits{Parallel: 1}})
	m, _ := w.queue.take()
	slow := w.runner(func(ctx context.Context, _ worker.Message) error {
		f := &faulty{world: w, inner: w.store, fail: 4} // begin, register, finish, send
		fast, err := runner.New(runner.Options{Store: f, Sender: f, Do: heap(3)})
		if err != nil {
			return err
		}
		if err := fast.Do(t.Context(), m); !errors.Is(err, errCrash) {
			t.Fatalf("the winner ended with %v", err)
		}
		n, _ := runner.Of(ctx)
		n.Name(ctx, tree.Child{Key: "1"})
		return n.Flush(ctx)
	})
	if err := slow.Do(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	w.run(w.runner(heap(3)), 0)
	w.complete(3, 0)
}

func TestAfterTheWorkNothingIsNamed(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{})
	var kept *runner.Node
	w.run(w.runner(func(ctx context.Context, m worker.Message) error {
		kept, _ = runner.Of(ctx)
		return nil
	}), 0)
	if err := kept.Name(t.Context(), tree.Child{Key: "late"}); err == nil || w.root().Counts.Created != 1 {
		t.Errorf("a child was named after the end: %v", err)
	}
}
