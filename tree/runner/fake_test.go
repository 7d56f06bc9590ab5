package runner_test

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
	"github.com/muster-scale/muster/tree/treetest"
	"github.com/muster-scale/muster/worker"
)

const queueURL = "http://127.0.0.1:9324/000000000000/tree"

// shared makes a store in memory safe for several goroutines.
type shared struct {
	mu sync.Mutex
	treetest.Memory
}

func (s *shared) Step(ctx context.Context, w tree.Want, step func(tree.View) (tree.Change, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Memory.Step(ctx, w, step)
}

// fakeQueue holds messages; what is received stays until it is deleted.
type fakeQueue struct {
	mu    sync.Mutex
	sent  int
	queue []worker.Message
	final []string
}

func (q *fakeQueue) Send(_ context.Context, queue string, bodies []string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if queue != queueURL {
		q.final = append(q.final, bodies...)
		return nil
	}
	for _, b := range bodies {
		q.sent++
		q.queue = append(q.queue, worker.Message{ID: strconv.Itoa(q.sent), Body: b, Queue: "tree", ReceiveCount: 1})
	}
	return nil
}

func (q *fakeQueue) take() (worker.Message, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 {
		return worker.Message{}, false
	}
	m := q.queue[0]
	q.queue = q.queue[1:]
	return m, true
}

func (q *fakeQueue) back(m worker.Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = append(q.queue, m)
}

// world is a tree in a store with a queue.
type world struct {
	t     testing.TB
	store tree.Store
	queue *fakeQueue
	spec  tree.Spec
	// announced counts by completion.
	mu        sync.Mutex
	announced map[string]int
}

func newWorld(t testing.TB, store tree.Store, spec tree.Spec) *world {
	t.Helper()
	spec.ID, spec.Queue = "t", queueURL
	spec.Node.Key = cmp.Or(spec.Node.Key, "0")
	w := &world{t: t, store: store, queue: &fakeQueue{}, spec: spec, announced: map[string]int{}}
	var o tree.Outcome
	if err := store.Step(t.Context(), tree.SubmitWant(spec), func(v tree.View) (c tree.Change, err error) {
		c, o, err = tree.Submit(v, spec, time.Unix(1_800_000_000, 0).UTC())
		return c, err
	}); err != nil {
		t.Fatal(err)
	}
	body, err := tree.NewMessage(o.Root, o.Send[0]).Encode()
	if err != nil {
		t.Fatal(err)
	}
	w.queue.Send(t.Context(), queueURL, []string{body})
	return w
}

func (w *world) runner(do func(context.Context, worker.Message) error) *runner.Runner {
	w.t.Helper()
	r, err := runner.New(runner.Options{Store: w.store, Sender: w.queue, Do: do, Announce: w.announce})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) announce(_ context.Context, c tree.Completion) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.announced[c.ID]++
	return nil
}

// run works until the queue is empty. A message whose work fails comes again, at most so often.
func (w *world) run(r *runner.Runner, failures int) (errs []error) {
	w.t.Helper()
	for {
		m, ok := w.queue.take()
		if !ok {
			return errs
		}
		if err := r.Do(w.t.Context(), m); err != nil {
			if errs = append(errs, err); len(errs) > failures {
				w.t.Fatalf("more than %d failures: %v", failures, errors.Join(errs...))
			}
			m.ReceiveCount++
			w.queue.back(m)
		}
	}
}

func (w *world) root() tree.Root {
	w.t.Helper()
	roots, err := w.store.Roots(w.t.Context())
	if err != nil || len(roots) != 1 {
		w.t.Fatalf("found %v, %v", roots, err)
	}
	return roots[0]
}

// complete holds that the tree ended with so many nodes, and was announced.
func (w *world) complete(done, failed int64) {
	w.t.Helper()
	r := w.root()
	if r.State != tree.Complete || r.Counts != (tree.Counts{Created: done + failed, Done: done, Failed: failed}) ||
		r.Pending != "" {
		w.t.Errorf("the tree is %s with %+v, pending %q; want complete with %d done and %d failed", r.State, r.Counts,
			r.Pending, done, failed)
	}
	if len(w.announced) != 1 || w.announced[tree.CompletionID("t", 1)] == 0 {
		w.t.Errorf("announced was %v", w.announced)
	}
}

// heap names two children of each node i below n: 2i+1 and 2i+2.
func heap(n int) func(context.Context, worker.Message) error {
	return func(ctx context.Context, m worker.Message) error {
		node, ok := runner.Of(ctx)
		if !ok {
			return errors.New("no node")
		}
		i, err := strconv.Atoi(m.Body)
		for _, c := range []int{2*i + 1, 2*i + 2} {
			if err == nil && c < n {
				err = node.Name(ctx, tree.Child{Key: strconv.Itoa(c)})
			}
		}
		return err
	}
}
