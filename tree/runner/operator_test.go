package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
	"github.com/muster-scale/muster/worker"
)

func (w *world) operator() *runner.Operator {
	return runner.NewOperator(w.store, w.queue, w.announce, nil)
}

// bare is a world without a tree.
func bare(t *testing.T) *world {
	return &world{t: t, store: &shared{}, queue: &fakeQueue{}, announced: map[string]int{}}
}

// upTo lists the keys below n; from the nth on it fails.
func upTo(n int, then error) func() (tree.Child, error) {
	i := 0
	return func() (tree.Child, error) {
		if i == n {
			return tree.Child{}, then
		}
		i++
		return tree.Child{Key: fmt.Sprint(i)}, nil
	}
}

func leaf(context.Context, worker.Message) error { return nil }

var manifest = tree.Spec{ID: "t", Queue: queueURL, Node: tree.Child{Key: "list"}, Manifest: true}

func TestAManifestIsTakenAlsoInTwoGoes(t *testing.T) {
	w := bare(t)
	broken := errors.New("line 151 is wrong")
	if _, err := w.operator().Submit(t.Context(), manifest, upTo(150, broken)); !errors.Is(err, broken) {
		t.Fatalf("submitted with %v, want the list's error", err)
	}
	w.run(w.runner(leaf), 0) // some are done before the list is whole
	if r := w.root(); r.State != tree.Running || r.Counts.Done != 100 {
		t.Fatalf("the tree is %s with %+v before its list is whole", r.State, r.Counts)
	}
	for range 2 {
		if _, err := w.operator().Submit(t.Context(), manifest, upTo(250, io.EOF)); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.queue.sent; n != 250 {
		t.Errorf("%d messages were sent, want one for each of 250", n)
	}
	w.run(w.runner(leaf), 0)
	w.complete(251, 0)
}

func TestAManifestBeyondALimitGoesOnAfterwards(t *testing.T) {
	w, s := bare(t), manifest
	s.Limits.Nodes = 120
	if _, err := w.operator().Submit(t.Context(), s, upTo(150, io.EOF)); !errors.Is(err, runner.ErrParked) ||
		!strings.Contains(err.Error(), "resume") {
		t.Fatalf("submitted with %v", err)
	}
	if err := w.operator().Resume(t.Context(), "t",
		func(l tree.Limits) tree.Limits { l.Nodes = 151; return l }); err != nil {
		t.Fatal(err)
	}
	if _, err := w.operator().Submit(t.Context(), s, upTo(150, io.EOF)); err != nil {
		t.Fatal(err)
	}
	w.run(w.runner(leaf), 0)
	w.complete(151, 0)
}

func TestRetryRunsFailuresAlone(t *testing.T) {
	w, s := bare(t), manifest
	s.Limits.Attempts = 1
	if _, err := w.operator().Submit(t.Context(), s, upTo(300, io.EOF)); err != nil {
		t.Fatal(err)
	}
	ran := 0
	w.run(w.runner(func(_ context.Context, m worker.Message) error {
		if ran++; ran > 250 {
			return nil
		}
		return errors.New("no disk")
	}), 0)
	w.complete(51, 250)
	ran = 250
	n, err := w.operator().Retry(t.Context(), "t")
	if err != nil || n != 250 {
		t.Fatalf("%d nodes are tried again, %v; want 250", n, err)
	}
	w.run(w.runner(func(context.Context, worker.Message) error { ran++; return nil }), 0)
	if r := w.root(); ran != 500 || r.State != tree.Complete || r.Counts.Done != 301 || r.Round != 2 ||
		len(w.announced) != 2 {
		t.Errorf("after %d works the tree is %s in round %d with %+v; announced %v", ran-250, r.State, r.Round,
			r.Counts, w.announced)
	}
}

// TestARetryThatBrokeOffGoesOn crashes a retry at each of its calls.
func TestARetryThatBrokeOffGoesOn(t *testing.T) {
	for fail, broke := 1, true; broke; fail++ {
		w, s := bare(t), manifest
		s.Limits.Attempts = 1
		if _, err := w.operator().Submit(t.Context(), s, upTo(150, io.EOF)); err != nil {
			t.Fatal(err)
		}
		w.run(w.runner(func(context.Context, worker.Message) error { return errors.New("no disk") }), 0)
		f := &faulty{world: w, inner: w.store, fail: fail}
		_, err := runner.NewOperator(f, f, w.announce, nil).Retry(t.Context(), "t")
		if broke = err != nil; broke && !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		w.run(w.runner(leaf), 0)
		if _, err := w.operator().Retry(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		w.run(w.runner(leaf), 0)
		if r := w.root(); r.State != tree.Complete || r.Counts.Done != 151 || r.Pending != "" {
			t.Fatalf("after a crash at call %d the tree is %s with %+v", fail, r.State, r.Counts)
		}
	}
}

func TestMessagesThatWereLostAreSentAgain(t *testing.T) {
	for name, list := range map[string]bool{"a manifest": true, "a root node": false} {
		t.Run(name, func(t *testing.T) {
			w, s := bare(t), manifest
			s.Manifest = list
			if _, err := w.operator().Submit(t.Context(), s, upTo(120, io.EOF)); err != nil {
				t.Fatal(err)
			}
			want := len(w.queue.queue)
			w.queue.queue = nil // purged
			n, err := w.operator().Resend(t.Context(), "t")
			if err != nil || n != want || len(w.queue.queue) != want {
				t.Errorf("%d were sent again, %v; want %d", n, err, want)
			}
			w.run(w.runner(leaf), 0)
			if r := w.root(); r.State != tree.Complete {
				t.Errorf("the tree is %s with %+v", r.State, r.Counts)
			}
		})
	}
}

func TestPauseAndCancel(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{})
	if err := w.operator().Pause(t.Context(), "t", "for the night"); err != nil {
		t.Fatal(err)
	}
	w.run(w.runner(leaf), 0)
	if c := w.root().Counts; c.Waiting != 1 {
		t.Errorf("counted is %+v, want one that waits", c)
	}
	if _, err := w.operator().Resend(t.Context(), "t"); !errors.Is(err, tree.ErrState) {
		t.Errorf("a paused tree's nodes are sent: %v", err)
	}
	if err := w.operator().Resume(t.Context(), "t", func(l tree.Limits) tree.Limits { return l }); err != nil ||
		len(w.queue.queue) != 1 {
		t.Fatalf("after the pause %d messages are sent, %v", len(w.queue.queue), err)
	}
	if err := w.operator().Cancel(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	w.run(w.runner(func(context.Context,
		worker.Message) error {
		t.Error("a cancelled node is worked on")
		return nil
	}), 0)
	if r := w.root(); r.State != tree.Cancelled || len(w.announced) != 1 || r.Pending != "" {
		t.Errorf("the tree is %s, announced %v", r.State, w.announced)
	}
	for what, err := range map[string]error{
		"resume":         w.operator().Resume(t.Context(), "t", func(l tree.Limits) tree.Limits { return l }),
		"pause":          w.operator().Pause(t.Context(), "t", ""),
		"cancel another": w.operator().Cancel(t.Context(), "other"),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}
