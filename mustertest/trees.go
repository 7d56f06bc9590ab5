package mustertest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/treetest"
)

// This file has the contract of tree stores. Most of it is a comparison: random steps run on the store and on
// treetest.Memory, the plain implementation, and both must show the same.

// TreeStoreConformance holds a [tree.Store] to its contract. open returns a store without trees whose names begin
// with "conformance", and closes it with t.Cleanup; other trees may be in it.
func TreeStoreConformance(t *testing.T, open func(t *testing.T) tree.Store) {
	rules := []struct {
		rule string
		test func(t *testing.T, s tree.Store)
	}{
		{"it keeps what the store in memory keeps", keepsAsMemory},
		{"a refused step keeps nothing", refusedTreeStep},
		{"steps of many at once follow one another", treeStepsFollow},
		{"a tree that is removed is forgotten, and its name is free", removedTree},
	}
	for _, r := range rules {
		t.Run(r.rule, func(t *testing.T) { r.test(t, open(t)) })
	}
}

// treeTwin makes every step on a store and in memory, and compares what both show.
type treeTwin struct {
	t      *rapid.T
	store  tree.Store
	memory *treetest.Memory
}

// ordered returns nodes sorted by id, for lists whose order is free.
func ordered(nodes []tree.Node) []tree.Node {
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b tree.Node) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return nodes
}

// step runs a step on the store, repeats its change in memory, and compares the views that both gave and the errors.
func (w treeTwin) step(want tree.Want, step func(tree.View) (tree.Change, error)) error {
	var seen tree.View
	var kept tree.Change
	err := w.store.Step(w.t.Context(), want, func(v tree.View) (c tree.Change, err error) {
		seen = v
		kept, err = step(v)
		return kept, err
	})
	same := w.memory.Step(w.t.Context(), want, func(v tree.View) (tree.Change, error) {
		// A step that wants only some of the waiting nodes may get any of them, so they are not compared.
		if want.Waiting < tree.MaxBatch { // any part of them is right
			v.Waiting, seen.Waiting = nil, nil
		}
		for _, s := range []*[]tree.Node{&v.Waiting, &seen.Waiting, &v.Claimed, &seen.Claimed} {
			*s = ordered(*s)
		}
		// No nodes may be nil or an empty list.
		if len(v.Nodes) == 0 && len(seen.Nodes) == 0 {
			v.Nodes, seen.Nodes = nil, nil
		}
		if diff := cmp.Diff(v, seen); diff != "" {
			w.t.Fatalf("the store shows something else than the memory (-memory +store):\n%s", diff)
		}
		return kept, err
	})
	// Errors are compared by identity: callers compare them with the sentinels of package tree.
	if err != same {
		w.t.Fatalf("the store answers %v, the memory %v", err, same)
	}
	return err
}

// keepsAsMemory makes random steps on both. Every step of the product is in its table.
func keepsAsMemory(t *testing.T, s tree.Store) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		w := &treeWalk{treeTwin: treeTwin{rt, s, &treetest.Memory{}}, spec: tree.Spec{
			ID: fmt.Sprint("conformance", n), Queue: "q", Node: tree.Child{Key: "0", Body: "b"},
			Final:  tree.Final{Queue: "f"},
			Limits: tree.Limits{Attempts: 2, Nodes: 20, Parallel: rapid.Int64Range(0, 3).Draw(rt, "parallel")},
		}}
		// The root's node is known before it exists, so that steps before the first submit are drawn too.
		w.known = []tree.ID{tree.NodeID(w.spec.ID, tree.ID{}, "0", false)}
		// The walk begins with a tree, as most steps need one.
		w.submit(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"submit": w.submit, "register": w.register,
			"begin": func(rt *rapid.T) {
				w.act(tree.BeginWant(w.spec.ID, w.node(rt)),
					func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Begin(v, noon) })
			},
			"finish": func(rt *rapid.T) {
				w.act(tree.SettleWant(w.spec.ID, w.node(rt)), func(v tree.View) (tree.Change, tree.Outcome, error) {
					return tree.Finish(v, tree.Result{Took: time.Second, At: noon})
				})
			},
			"fail": func(rt *rapid.T) {
				w.act(tree.SettleWant(w.spec.ID, w.node(rt)), func(v tree.View) (tree.Change, tree.Outcome, error) {
					return tree.Fail(v, tree.Result{At: noon}, "no disk")
				})
			},
			"sent": func(rt *rapid.T) {
				w.act(tree.SentWant(w.spec.ID, w.node(rt), []tree.ID{w.node(rt)}), tree.MarkSent)
			},
			"retry": func(rt *rapid.T) {
				w.act(tree.Want{Root: w.spec.ID, IDs: []tree.ID{w.node(rt)}},
					func(v tree.View) (tree.Change, tree.Outcome, error) {
						return tree.Retry(v, false, noon)
					})
			},
			"announced": func(*rapid.T) {
				w.plain(func(v tree.View) (tree.Change, error) { return tree.Announced(v, v.Root.Pending) })
			},
			"pause": func(*rapid.T) {
				w.plain(func(v tree.View) (tree.Change, error) { return tree.Pause(v, "to see") })
			},
			"resume": func(*rapid.T) {
				w.plain(func(v tree.View) (tree.Change, error) { return tree.Resume(v, w.root.Limits) })
				w.act(tree.ReleaseWant(w.spec.ID), tree.Release)
			},
			"": func(*rapid.T) { w.compareLists() },
		})
	})
}

// treeWalk is one tree in both stores, and the nodes that were named in it.
type treeWalk struct {
	treeTwin
	spec  tree.Spec
	root  tree.Root
	known []tree.ID
}

// act runs a step with an outcome and keeps the root that it leaves.
func (w *treeWalk) act(want tree.Want, step func(tree.View) (tree.Change, tree.Outcome, error)) {
	w.step(want, func(v tree.View) (tree.Change, error) {
		c, o, err := step(v)
		if err == nil && o.Root.ID != "" {
			w.root = o.Root
		}
		return c, err
	})
}

// plain runs a step that needs the root alone.
func (w *treeWalk) plain(step func(tree.View) (tree.Change, error)) {
	w.act(tree.Want{Root: w.spec.ID}, func(v tree.View) (tree.Change, tree.Outcome, error) {
		c, err := step(v)
		return c, tree.Outcome{}, err
	})
}

// node draws a node that was named, whether it exists or not.
func (w *treeWalk) node(rt *rapid.T) tree.ID { return rapid.SampledFrom(w.known).Draw(rt, "node") }

// submit submits the tree, again after the first time, which must change nothing.
func (w *treeWalk) submit(*rapid.T) {
	w.act(tree.SubmitWant(w.spec),
		func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Submit(v, w.spec, noon) })
}

// register draws children, also equal ones and none, and registers them.
func (w *treeWalk) register(rt *rapid.T) {
	r := tree.Registration{Root: w.root, Parent: w.node(rt)}
	for range rapid.IntRange(0, 4).Draw(rt, "children") {
		c := tree.Child{Key: rapid.StringN(1, 3, 12).Draw(rt, "key"), Body: rapid.String().Draw(rt, "body")}
		if c.Check() == nil {
			r.Children = append(r.Children, c)
			w.known = append(w.known, tree.NodeID(w.spec.ID, r.Parent, c.Key, false))
		}
	}
	w.act(r.Want(), func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Register(v, r) })
}

// compareLists compares lists of nodes by state, with limits and continued after a node.
func (w *treeWalk) compareLists() {
	for _, f := range []tree.Filter{
		{Limit: 100}, {Limit: 3, States: []tree.State{tree.Failed}},
		{Limit: 2, After: w.known[0], States: []tree.State{tree.Done, tree.Sent}},
	} {
		a, errA := w.store.Nodes(w.t.Context(), w.spec.ID, f)
		b, errB := w.memory.Nodes(w.t.Context(), w.spec.ID, f)
		if diff := cmp.Diff(b, a); diff != "" || errA != nil || errB != nil {
			w.t.Fatalf("%+v: %v, %v, lists differ (-memory +store):\n%s", f, errA, errB, diff)
		}
	}
}

// refusedTreeStep: an error of the step is returned as it is and nothing is kept; a step may change its own tree
// alone; and wants are bounded.
func refusedTreeStep(t *testing.T, s tree.Store) {
	refused, id := errors.New("no"), "conformance-refused"
	err := s.Step(t.Context(), tree.Want{Root: id}, func(tree.View) (tree.Change, error) {
		return tree.Change{Root: tree.Root{ID: id}}, refused
	})
	if _, listed := s.Nodes(t.Context(), id, tree.Filter{Limit: 1}); err != refused || listed != tree.ErrNoRoot {
		t.Errorf("the error is %v, want the step's own; listing nodes then says %v, want ErrNoRoot", err, listed)
	}
	if err := s.Step(t.Context(), tree.Want{Root: id}, func(tree.View) (tree.Change, error) {
		return tree.Change{Root: tree.Root{ID: "conformance-other"}}, nil
	}); err == nil {
		t.Error("a step of one tree changed another")
	}
	// The bounds of a step keep one transaction small in every store.
	for name, want := range map[string]tree.Want{"too many nodes": {Root: id, IDs: make([]tree.ID, 1000)},
		"too many that wait": {Root: id, Waiting: 1000}} {
		if err := s.Step(t.Context(), want, func(tree.View) (tree.Change, error) {
			return tree.Change{},
				nil
		}); err == nil {
			t.Errorf("%s were wanted without an error", name)
		}
	}
}

// treeStepsFollow lets several workers count in one tree concurrently. Each registers, begins and finishes its own
// nodes, and no count may be lost.
func treeStepsFollow(t *testing.T, s tree.Store) {
	const workers, each = 4, 10
	// All workers share one parent, so every step changes the same counts.
	spec := tree.Spec{ID: "conformance-many", Queue: "q", Node: tree.Child{Key: "0"}}
	step := func(want tree.Want, step func(tree.View) (tree.Change, tree.Outcome, error)) (root tree.Root) {
		if err := s.Step(t.Context(), want, func(v tree.View) (tree.Change, error) {
			c, o, err := step(v)
			root = o.Root
			return c, err
		}); err != nil {
			t.Error(err)
		}
		return root
	}
	root := step(tree.SubmitWant(spec),
		func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Submit(v, spec, noon) })
	parent := tree.NodeID(spec.ID, tree.ID{}, "0", false)
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for i := range each {
				key := fmt.Sprint(worker, "-", i)
				id := tree.NodeID(spec.ID, parent, key, false)
				r := tree.Registration{Root: root, Parent: parent, Children: []tree.Child{{Key: key}}}
				step(r.Want(), func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Register(v, r) })
				step(tree.BeginWant(spec.ID, id),
					func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Begin(v, noon) })
				step(tree.SettleWant(spec.ID, id), func(v tree.View) (tree.Change, tree.Outcome, error) {
					return tree.Finish(v, tree.Result{Took: time.Second, At: noon})
				})
			}
		})
	}
	all.Wait()
	roots, err := s.Roots(t.Context())
	at := slices.IndexFunc(roots, func(r tree.Root) bool { return r.ID == spec.ID })
	if err != nil || at < 0 {
		t.Fatalf("found %v, %v", roots, err)
	}
	if want := (tree.Counts{Created: 1 + workers*each, Done: workers * each, Out: 1}); roots[at].Counts != want ||
		roots[at].SlotTime != workers*each*time.Second {
		t.Errorf("counted %+v and %s, want %+v", roots[at].Counts, roots[at].SlotTime, want)
	}
}

// removedTree removes a tree of several hundred nodes next to another tree, and submits it again. The nodes exceed
// one batch, so that erasing takes several steps.
func removedTree(t *testing.T, s tree.Store) {
	eraser, ok := s.(tree.Eraser)
	if !ok {
		t.Skip("the store keeps everything")
	}
	plain := func(id string, step func(tree.View) (tree.Change, error)) error {
		return s.Step(t.Context(), tree.Want{Root: id}, step)
	}
	submit := func(id string) {
		spec := tree.Spec{ID: id, Queue: "q", Node: tree.Child{Key: "0"}}
		if err := s.Step(t.Context(), tree.SubmitWant(spec), func(v tree.View) (tree.Change, error) {
			c, _, err := tree.Submit(v, spec, noon)
			return c, err
		}); err != nil {
			t.Fatal(err)
		}
		for batch := range 6 {
			r := tree.Registration{Root: tree.Root{ID: id}, Parent: tree.NodeID(id, tree.ID{}, "0", false)}
			for i := range 40 {
				r.Children = append(r.Children, tree.Child{Key: fmt.Sprint(batch, "-", i)})
			}
			if err := s.Step(t.Context(), r.Want(), func(v tree.View) (tree.Change, error) {
				c, _, err := tree.Register(v, r)
				return c, err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	submit("conformance-gone")
	submit("conformance-stays")
	remove := func(v tree.View) (tree.Change, error) { return tree.Remove(v, true, noon) }
	if err := plain("conformance-gone", remove); !errors.Is(err, tree.ErrState) {
		t.Fatalf("a running tree was removed: %v", err)
	}
	cancel := func(v tree.View) (tree.Change, error) { c, _, err := tree.Cancel(v, noon); return c, err }
	// Removing twice is allowed: the second call finds the tree removed already.
	for _, step := range []func(tree.View) (tree.Change, error){cancel, remove, remove} {
		if err := plain("conformance-gone", step); err != nil {
			t.Fatal(err)
		}
	}
	// Erasing again is no error: a crash may come between erasing and recording it.
	for range 2 {
		if err := eraser.Erase(t.Context(), "conformance-gone"); err != nil {
			t.Fatal(err)
		}
	}
	if err := plain("conformance-gone", tree.Erased); err != nil {
		t.Fatal(err)
	}
	listed, err := s.Roots(t.Context())
	gone, of := s.Nodes(t.Context(), "conformance-gone", tree.Filter{Limit: 10})
	stays, other := s.Nodes(t.Context(), "conformance-stays", tree.Filter{Limit: tree.MaxBatch})
	if err := errors.Join(err, of, other); err != nil || len(listed) != 1 || listed[0].ID != "conformance-stays" ||
		len(gone) != 0 || len(stays) != tree.MaxBatch {
		t.Errorf("listed are %d trees, %d nodes of the removed one and %d of the other; want 1, 0 and %d: %v",
			len(listed), len(gone), len(stays), tree.MaxBatch, err)
	}
	// The name is free again, and the new tree has only its own nodes.
	submit("conformance-gone")
	if gone, err := s.Nodes(t.Context(), "conformance-gone", tree.Filter{Limit: tree.MaxBatch}); err != nil ||
		len(gone) != tree.MaxBatch {
		t.Errorf("submitted anew it has %d nodes, %v", len(gone), err)
	}
}
