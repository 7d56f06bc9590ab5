package tree_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/tree"
)

// running is a root of the given levels, as its account has it.
func running(levels ...tree.Level) tree.Root {
	r := tree.Root{ID: "t", State: tree.Running, Limits: tree.Limits{Depth: 10, Nodes: 10_000}, Levels: levels}
	for _, l := range levels {
		r.Counts.Created += l.Created
		r.Counts.Done += l.Done
		r.Counts.Failed += l.Failed
	}
	r.Counts.Out = r.Counts.Created - r.Counts.Done - r.Counts.Failed
	return r
}

// bred is a level of which so many nodes are done, each with the given number of children.
func bred(created, done, each int64) tree.Level {
	return tree.Level{Created: created, Done: done, Bred: done * each, BredSquares: done * each * each}
}

func TestWhatOpenNodesAreExpectedToSend(t *testing.T) {
	with := func(r tree.Root, change func(*tree.Root)) tree.Root {
		change(&r)
		return r
	}
	// Of 40 nodes that all had 4 children one more has surely 4 - sqrt(4 + 16)/40 = 3.888.
	half := running(bred(1, 1, 80), bred(80, 40, 4), tree.Level{Created: 160})
	for _, row := range []struct {
		name    string
		root    tree.Root
		levels  []float64
		perhaps float64
	}{
		{"a root node alone tells nothing", running(tree.Level{Created: 1}), nil, 0},
		{"what many had is expected, what few had is less sure", half, []float64{155.53}, 160 - 155.53 + 160*4},
		{"children that were named already are not expected again",
			running(bred(1, 1, 80), bred(80, 40, 4), tree.Level{Created: 260}), []float64{55.53}, 60 - 55.53 + 260*4},
		{"one that is done is no more than a hint", running(bred(1, 1, 3), bred(3, 1, 5), tree.Level{Created: 5}), nil,
			10 + 5*5},
		{"nodes of a depth of which none is done branch as the depth above, perhaps",
			running(bred(1, 1, 3), tree.Level{Created: 3}), nil, 9},
		{"leaves have none", running(bred(1, 1, 10), bred(10, 5, 0)), nil, 0},
		{"grandchildren follow", running(bred(1, 1, 200), bred(200, 100, 2), bred(200, 100, 1), bred(100, 50, 0)),
			[]float64{197.55 + 98.59, 194.77}, 300 - 197.55 - 98.59},
		{"at the depth limit nodes have no children", with(half, func(r *tree.Root) { r.Limits.Depth = 1 }), nil, 0},
		{"the limit of nodes pauses the tree", with(half, func(r *tree.Root) { r.Limits.Nodes = 341 }), []float64{100},
			0},
		{"held nodes are sent as others end",
			with(half, func(r *tree.Root) { r.Limits.Parallel, r.Counts.Out, r.Counts.Waiting = 50, 50, 150 }),
			[]float64{50, 50, 50, 50, 50}, -1},
		{"and no guess goes beyond the limit of nodes at once", with(running(bred(1, 1, 20), tree.Level{Created: 20}),
			func(r *tree.Root) { r.Limits.Parallel, r.Counts.Out, r.Counts.Waiting = 2, 2, 18 }), []float64{2, 2, 2, 2,
			2, 2, 2, 2}, 0},
		{"what the limit leaves room for may come",
			with(running(bred(1, 1, 3), tree.Level{Created: 3}), func(r *tree.Root) { r.Limits.Parallel = 5 }), nil, 5},
		{"a paused tree sends nothing", with(half, func(r *tree.Root) { r.State = tree.Paused }), nil, 0},
		{"an earlier tree tells of depths of which nothing is known",
			with(running(tree.Level{Created: 1}), func(r *tree.Root) {
				r.Before = []tree.Level{bred(1, 1, 20), bred(20, 20, 3), bred(60, 60, 0)}
			}), []float64{20, 60}, 0},
		{"what is known by now outweighs it", with(running(bred(1, 1, 50), bred(50, 20, 0)), func(r *tree.Root) {
			r.Before = []tree.Level{bred(1, 1, 20), bred(20, 20, 3)}
		}), []float64{30}, 0}, // (20 x 0 + 10 x 3) / 30 for each of 30
		{"squares that were not counted are taken to be usual",
			running(tree.Level{Created: 1, Done: 1, Bred: 80}, tree.Level{Created: 80, Done: 40, Bred: 160},
				tree.Level{Created: 160}),
			[]float64{131.4}, 160 - 131.4 + 160*4},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := tree.Expect(at, []tree.Root{row.root})
			if len(e.Levels) < len(row.levels) || len(row.levels) == 0 && len(e.Levels) > 0 {
				t.Fatalf("found %+v, want levels %v", e, row.levels)
			}
			for i, want := range row.levels {
				if got := e.Levels[i].Messages; math.Abs(got-want) > 0.05*want {
					t.Errorf("level %d: found %v messages, want %v: %+v", i+1, got, want, e)
				}
			}
			if row.perhaps >= 0 && math.Abs(e.Perhaps-row.perhaps) > 1 {
				t.Errorf("found %v perhaps, want %v", e.Perhaps, row.perhaps)
			}
		})
	}
}

func TestATreeIsYoungWhileItsRootIsAllThatIsKnown(t *testing.T) {
	with := func(change func(*tree.Root)) tree.Root {
		r := running(tree.Level{Created: 1})
		change(&r)
		return r
	}
	for _, row := range []struct {
		name string
		root tree.Root
		want int
	}{
		{"its root is open", running(tree.Level{Created: 1}), 1},
		{"its root has named a child", running(tree.Level{Created: 1}, tree.Level{Created: 1}), 0},
		{"its root is done", running(bred(1, 1, 3), tree.Level{Created: 3}), 0},
		{"an earlier tree tells", with(func(r *tree.Root) { r.Before = []tree.Level{bred(1, 1, 3)} }), 0},
		{"it may name no children", with(func(r *tree.Root) { r.Limits.Depth = -1 }), 0},
		{"few of its nodes may be out at once", with(func(r *tree.Root) { r.Limits.Parallel = 2 }), 0},
		{"it is paused", with(func(r *tree.Root) { r.State = tree.Paused }), 0},
	} {
		if e := tree.Expect(at, []tree.Root{row.root}); e.Young != row.want {
			t.Errorf("%s: %d young, want %d", row.name, e.Young, row.want)
		}
	}
}

func TestExpectationsOfAnyTreeAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var roots []tree.Root
		open := int64(0)
		for range rapid.IntRange(0, 3).Draw(t, "roots") {
			var levels []tree.Level
			for range rapid.IntRange(1, 12).Draw(t, "levels") {
				l := tree.Level{Created: rapid.Int64Range(0, 1000).Draw(t, "created")}
				l.Done = rapid.Int64Range(0, l.Created).Draw(t, "done")
				l.Failed = rapid.Int64Range(0, l.Created-l.Done).Draw(t, "failed")
				if l.Done > 0 {
					l.Bred = rapid.Int64Range(0, 100*l.Done).Draw(t, "bred")
					l.BredSquares = rapid.Int64Range(0, 100*l.Bred).Draw(t, "squares")
				}
				levels = append(levels, l)
			}
			r := running(levels...)
			r.Limits = tree.Limits{Depth: rapid.IntRange(-1, 12).Draw(t, "depth"),
				Nodes: r.Counts.Created + rapid.Int64Range(-5, 10_000).Draw(t, "room"), Parallel: rapid.Int64Range(0,
					50).Draw(t, "parallel")}
			r.Counts.Waiting = rapid.Int64Range(0, r.Counts.Out).Draw(t, "waiting")
			r.Counts.Out -= r.Counts.Waiting
			for range rapid.IntRange(0, 15).Draw(t, "levels before") {
				r.Before = append(r.Before,
					bred(5, rapid.Int64Range(0, 5).Draw(t, "done before"),
						rapid.Int64Range(0, 100).Draw(t, "each before")))
			}
			open += r.Counts.Open()
			roots = append(roots, r)
		}
		e := tree.Expect(at, roots)
		if !e.Known || e.Open != float64(open) || len(e.Levels) > muster.MaxLevels || !(e.Perhaps >= 0) ||
			math.IsInf(e.Perhaps, 0) {
			t.Fatalf("found %+v with %d open", e, open)
		}
		most := 0.0
		for _, r := range roots {
			most += math.Max(0, float64(r.Limits.Nodes-r.Counts.Created)) + float64(r.Counts.Waiting)
		}
		sum := 0.0
		for _, l := range e.Levels {
			sum += l.Messages
			if !(l.Messages >= 0) || !(l.Parents >= 0) {
				t.Fatalf("found %+v", e.Levels)
			}
		}
		if sum > most*(1+1e-9)+1e-6 {
			t.Fatalf("found %v messages to come, and there can be %v more nodes", sum, most)
		}
	})
}

// TestTheExpectationComesTrue works on a tree in which every node of a depth has as many children, and compares what
// was expected halfway through each level with what came.
func TestTheExpectationComesTrue(t *testing.T) {
	const fan, depth = 6, 4
	w := planted(t, tree.Spec{Queue: "q"}, nil)
	open := []tree.ID{rootNode}
	for level := range depth {
		var below []tree.ID
		for i, id := range open {
			if i > 10 && i == len(open)/2 {
				e := tree.Expect(at, []tree.Root{w.root()})
				left := float64((len(open) - i) * fan)
				if next := e.Next(); next > left || next < 0.8*left || e.Branching() > fan {
					t.Errorf("level %d: %v messages expected, %v to come", level, next, left)
				}
			}
			w.begin(id)
			names := make([]string, 0, fan)
			for k := range fan {
				names = append(names, string(rune('a'+k)))
			}
			o, err := w.register(id, nil, names...)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range o.Send {
				below = append(below, n.ID)
			}
			w.finish(id)
		}
		open = below
	}
}

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
