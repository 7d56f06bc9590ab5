package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
	"github.com/muster-scale/muster/worker"
)

// batches returns a runner whose work gets several messages at once.
func (w *world) batches(do func(context.Context, []worker.Message) []error) *runner.Runner {
	w.t.Helper()
	r, err := runner.New(runner.Options{Store: w.store, Sender: w.queue, DoBatch: do, Announce: w.announce})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// drain works until the queue is empty, so many messages at a time, and returns the failures.
func (w *world) drain(r *runner.Runner, most int) (errs []error) {
	for {
		var batch []worker.Message
		for len(batch) < most {
			m, ok := w.queue.take()
			if !ok {
				break
			}
			batch = append(batch, m)
		}
		if len(batch) == 0 {
			return errs
		}
		for i, err := range r.DoBatch(w.t.Context(), batch) {
			if err != nil {
				errs = append(errs, err)
				w.queue.back(batch[i])
			}
		}
	}
}

func TestBatchesOfNodesAreWorkedOnToTheEnd(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{})
	w.queue.Send(t.Context(), queueURL, []string{"another message"})
	others, largest := 0, 0
	r := w.batches(func(ctx context.Context, batch []worker.Message) []error {
		errs := make([]error, len(batch))
		largest = max(largest, len(batch))
		for i, m := range batch {
			switch {
			case m.Node == nil:
				others++
			case m.Node.Depth < 3:
				if m.Body != m.Node.Key || m.Attempt != 1 || m.Node.Root != "t" || len(m.Node.ID) != 32 ||
					m.Node.DepthLeft != 100-m.Node.Depth {
					t.Errorf("the work got %+v of %+v", m, m.Node)
				}
				errs[i] = m.Node.Name(ctx, tree.Child{Key: "a"}, tree.Child{Key: "b"}, tree.Child{Key: "c"})
			}
		}
		return errs
	})
	if errs := w.drain(r, 10); errs != nil {
		t.Error(errs)
	}
	w.complete(40, 0)
	if others != 1 || largest != 10 {
		t.Errorf("%d other messages came, and at most %d at once; want 1 and 10", others, largest)
	}
}

func TestOneNodeOfABatchFailsAlone(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{Limits: tree.Limits{Depth: 1, Attempts: 1}})
	r := w.batches(func(ctx context.Context, batch []worker.Message) []error {
		errs := make([]error, len(batch))
		for i, m := range batch {
			if m.Node.Depth == 0 {
				errs[i] = m.Node.Name(ctx, tree.Child{Key: "good"}, tree.Child{Key: "deep"}, tree.Child{Key: "bad"})
			}
			switch m.Node.Key {
			case "deep":
				m.Node.Name(ctx, tree.Child{Key: "too deep"})
				if err := m.Node.Flush(ctx); !errors.Is(err, tree.ErrDepth) {
					t.Errorf("naming where the depth is used up gives %v", err)
				}
			case "bad":
				errs[i] = errors.New("no disk")
			}
		}
		return errs
	})
	w.drain(r, 10)
	w.complete(2, 2)
}

func TestResultsThatAreMissingFailTheirNodes(t *testing.T) {
	w := newWorld(t, &shared{}, tree.Spec{Limits: tree.Limits{Attempts: 1}})
	r := w.batches(func(context.Context, []worker.Message) []error { return []error{} })
	w.drain(r, 10)
	w.complete(0, 1)
	nodes, err := w.store.Nodes(t.Context(), "t", tree.Filter{Limit: 10})
	if err != nil || len(nodes) != 1 || !strings.Contains(nodes[0].Reason, "found 0 results") {
		t.Errorf("found %+v, %v", nodes, err)
	}
}
