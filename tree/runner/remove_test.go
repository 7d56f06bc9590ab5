package runner_test

import (
	"context"
	"errors"
	"testing"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
	"github.com/muster-scale/muster/worker"
)

func TestATreeIsRemovedOnceItHasEnded(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{})
	if err := w.operator().Remove(t.Context(), "t", false); !errors.Is(err, tree.ErrState) {
		t.Fatalf("a tree that runs was removed: %v", err)
	}
	w.run(w.runner(heap(20)), 0)
	for range 2 {
		if err := w.operator().Remove(t.Context(), "t", false); err != nil {
			t.Fatal(err)
		}
	}
	roots, err := w.store.Roots(t.Context())
	if nodes, listed := w.store.Nodes(t.Context(), "t", tree.Filter{Limit: 1}); err != nil || listed != nil ||
		len(roots)+len(nodes) > 0 {
		t.Errorf("found %v and %v after its removal, %v %v", roots, nodes, err, listed)
	}
	if _, err := w.operator().Root(t.Context(), "t"); !errors.Is(err, tree.ErrNoRoot) {
		t.Errorf("asked for it: %v", err)
	}
	if err := w.operator().Pause(t.Context(), "t", "lunch"); !errors.Is(err, tree.ErrRemoved) {
		t.Errorf("pausing it: %v", err)
	}
	if _, err := w.operator().Submit(t.Context(), w.spec, nil); err != nil {
		t.Errorf("its name is not free: %v", err)
	}
}

func TestMessagesOfARemovedTreeGo(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{})
	began := 0
	r := w.runner(func(ctx context.Context, m worker.Message) error {
		n, _ := runner.Of(ctx)
		if began++; began == 2 { // in the middle of the work on a node
			if err := w.operator().Remove(t.Context(), "t", true); err != nil {
				t.Fatal(err)
			}
			if err := n.Name(ctx, tree.Child{Key: "late"}); err != nil {
				return err
			}
			return n.Flush(ctx)
		}
		return n.Name(ctx, tree.Child{Key: "a"}, tree.Child{Key: "b"}, tree.Child{Key: "c"})
	})
	if errs := w.run(r, 0); len(errs) > 0 {
		t.Errorf("messages of a removed tree fail: %v", errs)
	}
	if began != 2 {
		t.Errorf("%d nodes were worked on, want 2: nobody waits for the others", began)
	}
}

func TestARemovalThatBrokeOffIsToBeFinished(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{})
	w.run(w.runner(leaf), 0)
	// As if the process ended before the nodes were erased.
	if err := w.store.Step(t.Context(), tree.Want{Root: "t"},
		func(v tree.View) (tree.Change, error) { return tree.Remove(v, false, v.Root.FinishedAt) }); err != nil {
		t.Fatal(err)
	}
	if _, err := w.operator().Submit(t.Context(), w.spec, nil); !errors.Is(err, tree.ErrState) {
		t.Errorf("submitted among the remains of another: %v", err)
	}
	if err := w.operator().Remove(t.Context(), "t", false); err != nil {
		t.Fatal(err)
	}
	if _, err := w.operator().Submit(t.Context(), w.spec, nil); err != nil {
		t.Errorf("its name is not free: %v", err)
	}
}
