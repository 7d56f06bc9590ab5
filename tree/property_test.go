package tree_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/treetest"
)

// TestDuplicatesReorderingAndCrashesChangeNothing holds the balance after every step, one completion in all, and the
// same end for every order of events: each node that can be reached is settled once.
func TestDuplicatesReorderingAndCrashesChangeNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		graph := drawGraph(rt)
		w := start(rt, world{
			store: &treetest.Memory{}, random: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)),
			children: graph.children, poison: graph.poison,
			duplicates: rapid.Float64Range(0, 0.4).Draw(rt, "duplicates"),
			crashes:    rapid.Float64Range(0, 0.2).Draw(rt, "crashes"),
			failures:   rapid.Float64Range(0, 0.2).Draw(rt, "failures"),
		}, tree.Spec{
			ID: "t", Node: tree.Child{Key: "0"}, Visited: graph.visited,
			Limits: tree.Limits{Depth: graph.depth, Parallel: rapid.Int64Range(0, 5).Draw(rt, "parallel")},
		})
		w.check = func(r tree.Root) {
			w.recount()
			if p := r.Limits.Parallel; p > 0 && r.Counts.Out > p {
				rt.Fatalf("%d nodes are out, the limit is %d", r.Counts.Out, p)
			}
		}
		w.run(rapid.IntRange(1, 6).Draw(rt, "workers"))
		r := w.root()
		done, failed := graph.expected()
		if r.State != tree.Complete || r.Counts != (tree.Counts{Created: done + failed, Done: done, Failed: failed}) {
			rt.Fatalf("the tree ended as %s with %+v, want %d done and %d failed", r.State, r.Counts, done, failed)
		}
		if w.completions != 1 || len(w.announced) != 1 || w.announced[tree.CompletionID("t", 1)] < 1 ||
			r.Pending != "" {
			rt.Fatalf("it became complete %d times and announced %v", w.completions, w.announced)
		}
	})
}

// graph is what can be reached from node 0.
type graph struct {
	edges   [][]int
	poisons map[string]bool
	visited bool
	depth   int
}

// drawGraph draws a tree, or a graph with repeats and cycles whose nodes are visited once.
func drawGraph(t *rapid.T) graph {
	g := graph{poisons: map[string]bool{}, visited: rapid.Bool().Draw(t, "visited"), depth: 100}
	n := rapid.IntRange(1, 25).Draw(t, "nodes")
	g.edges = make([][]int, n)
	for i := 1; i < n; i++ {
		from := rapid.IntRange(0, i-1).Draw(t, "parent")
		g.edges[from] = append(g.edges[from], i)
	}
	if g.visited {
		for range rapid.IntRange(0, 30).Draw(t, "more") {
			from := rapid.IntRange(0, n-1).Draw(t, "from")
			g.edges[from] = append(g.edges[from], rapid.IntRange(0, n-1).Draw(t, "to"))
		}
	} else {
		g.depth = rapid.IntRange(1, 6).Draw(t, "depth")
	}
	for range rapid.IntRange(0, 2).Draw(t, "poisons") {
		g.poisons[strconv.Itoa(rapid.IntRange(0, n-1).Draw(t, "poison"))] = true
	}
	return g
}

func (g graph) poison(key string) bool { return g.poisons[key] }

func (g graph) children(n tree.Node) (all []tree.Child) {
	i, _ := strconv.Atoi(n.Key)
	for _, to := range g.edges[i] {
		all = append(all, tree.Child{Key: strconv.Itoa(to)})
	}
	return all
}

// expected counts what a search from node 0 finds.
func (g graph) expected() (done, failed int64) {
	type place struct{ node, depth int }
	seen := map[int]bool{0: true}
	for todo := []place{{0, 0}}; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		if g.poisons[strconv.Itoa(at.node)] {
			failed++
			continue
		}
		done++
		if at.depth >= g.depth {
			continue
		}
		for _, to := range g.edges[at.node] {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, place{to, at.depth + 1})
			}
		}
	}
	return done, failed
}

// TestPausesChangeNothing pauses and resumes at any time.
func TestPausesChangeNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		w := start(rt, world{store: &treetest.Memory{}, random: random, children: regular(3, 3), duplicates: 0.1,
			crashes: 0.1},
			tree.Spec{ID: "t", Limits: tree.Limits{Parallel: rapid.Int64Range(0, 3).Draw(rt, "parallel")},
				Node: tree.Child{Key: "0"}})
		changes, every := 0, rapid.IntRange(5, 60).Draw(rt, "every")
		w.check = func(r tree.Root) {
			if p := r.Limits.Parallel; p > 0 && r.Counts.Out > p {
				rt.Fatalf("%d nodes are out, the limit is %d", r.Counts.Out, p)
			}
			if changes++; changes%every == 0 && r.State == tree.Running {
				w.step(tree.Want{Root: "t"}, func(v tree.View) (tree.Change, tree.Outcome, error) {
					c, err := tree.Pause(v, "to see what happens")
					return c, tree.Outcome{}, err
				})
			}
		}
		for range 10_000 {
			if w.run(3); w.root().Ended() {
				break
			}
			w.resume(tree.Limits{})
		}
		if r := w.root(); r.State != tree.Complete || r.Counts.Done != 1+3+9+27 || w.completions != 1 {
			rt.Fatalf("it ended as %s with %+v, %d completions", r.State, r.Counts, w.completions)
		}
		w.recount()
	})
}

// resume lets the root go on and sends what it lets go.
func (w *world) resume(limits tree.Limits) {
	w.t.Helper()
	if limits.Attempts == 0 {
		limits.Attempts = 10 * strikes
	}
	limits.Parallel = w.root().Limits.Parallel
	w.step(tree.Want{Root: w.spec.ID}, func(v tree.View) (tree.Change, tree.Outcome, error) {
		c, err := tree.Resume(v, limits)
		return c, tree.Outcome{}, err
	})
	w.release()
}

func (w *world) release() {
	for {
		o := w.step(tree.ReleaseWant(w.spec.ID), tree.Release)
		if len(o.Send) == 0 {
			return
		}
		w.send(o.Send)
		w.step(tree.SentWant(w.spec.ID, tree.ID{}, ids(o.Send)), tree.MarkSent)
	}
}

// TestAMillionNodesAreCountedExactly counts 20 000 nodes, or as many as MUSTER_TREE_NODES says (make proofs: a
// million), with a fifth of the messages delivered twice or more and workers that crash at random.
func TestAMillionNodesAreCountedExactly(t *testing.T) {
	want := 20_000
	if text := os.Getenv("MUSTER_TREE_NODES"); text != "" {
		var err error
		if want, err = strconv.Atoi(text); err != nil || want < 1 {
			t.Fatalf("MUSTER_TREE_NODES=%q: allowed is a number of nodes", text)
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	store := &treetest.Memory{}
	// A heap of fan-out 10: node i has the children 10i+1 to 10i+10, as far as there are.
	children := func(n tree.Node) (all []tree.Child) {
		i, _ := strconv.Atoi(n.Key)
		for c := 10*i + 1; c <= 10*i+10 && c < want; c++ {
			all = append(all, tree.Child{Key: strconv.Itoa(c), Body: n.Key})
		}
		return all
	}
	began := time.Now()
	w := start(t, world{store: store, random: rand.New(rand.NewPCG(1, 2)), children: children, duplicates: 0.2,
		crashes: 0.01},
		tree.Spec{ID: "t", Node: tree.Child{Key: "0"}, Limits: tree.Limits{Nodes: int64(want)}})
	w.run(16)
	took := time.Since(began)
	w.queue = nil
	runtime.GC()
	runtime.ReadMemStats(&after)
	r := w.root()
	if r.State != tree.Complete || r.Counts != (tree.Counts{Created: int64(want), Done: int64(want)}) ||
		w.completions != 1 || len(w.announced) != 1 {
		t.Fatalf("it ended as %s with %+v, %d completions, announced %v", r.State, r.Counts, w.completions, w.announced)
	}
	nodes, err := store.Nodes(context.Background(), "t",
		tree.Filter{States: []tree.State{tree.Waiting, tree.Claimed, tree.Sent, tree.Failed}, Limit: 1})
	if err != nil || len(nodes) > 0 {
		t.Fatalf("found %v, %v: every node shall be done", nodes, err)
	}
	t.Logf("%d nodes in %.1f s: %.0f nodes a second, %d bytes a node in memory; %d attempts, %d crashes", want,
		took.Seconds(),
		float64(want)/took.Seconds(), (after.HeapAlloc-before.HeapAlloc)/uint64(want), w.worked, w.crashed)
	runtime.KeepAlive(store)
}

// TestIDsTellNodesApart holds that no two lists of names run together.
func TestIDsTellNodesApart(t *testing.T) {
	seen := map[tree.ID]string{}
	parent := tree.NodeID("a", tree.ID{}, "b", false)
	for _, c := range []struct {
		root    string
		parent  tree.ID
		key     string
		visited bool
	}{
		{"a", tree.ID{}, "b", false}, {"a", parent, "b", false}, {"a", tree.ID{}, "bb", false},
		{"ab", tree.ID{}, "b", false},
		{"a", tree.ID{}, "b", true}, {"a", tree.ID{}, "", true}, {"ab", tree.ID{}, "", true},
	} {
		id, name := tree.NodeID(c.root, c.parent, c.key, c.visited), fmt.Sprint(c)
		if other, ok := seen[id]; ok {
			t.Errorf("%s and %s are the same node", other, name)
		}
		seen[id] = name
		if back, err := tree.ParseID(id.String()); err != nil || back != id {
			t.Errorf("%s reads back as %s, %v", id, back, err)
		}
	}
	if tree.NodeID("a", parent, "c", true) != tree.NodeID("a", tree.ID{}, "c", true) {
		t.Error("a visited entity depends on who names it")
	}
}
