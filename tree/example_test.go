package tree_test

import (
	"context"
	"fmt"
	"time"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/treetest"
)

// A tree of one root node with two children, counted step by step.
func Example() {
	store, now := &treetest.Memory{}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	step := func(want tree.Want, step func(tree.View) (tree.Change, tree.Outcome, error)) (o tree.Outcome) {
		if err := store.Step(context.Background(), want, func(v tree.View) (c tree.Change, err error) {
			c, o, err = step(v)
			return c, err
		}); err != nil {
			fmt.Println(err)
		}
		return o
	}
	spec := tree.Spec{ID: "photos", Queue: "http://127.0.0.1:9324/000000000000/jobs", Node: tree.Child{Key: "/srv"}}
	queue := step(tree.SubmitWant(spec),
		func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Submit(v, spec, now) }).Send
	for len(queue) > 0 {
		id := queue[0].ID
		queue = queue[1:]
		begun := step(tree.BeginWant("photos", id),
			func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Begin(v, now) })
		if begun.Node.Depth == 0 {
			r := tree.Registration{Root: begun.Root, Parent: id,
				Children: []tree.Child{{Key: "/srv/a"}, {Key: "/srv/b"}}}
			queue = append(queue, step(r.Want(),
				func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Register(v, r) }).Send...)
		}
		end := step(tree.SettleWant("photos", id), func(v tree.View) (tree.Change, tree.Outcome, error) {
			return tree.Finish(v, tree.Result{At: now})
		})
		c := end.Root.Counts
		fmt.Printf("%s: created %d = done %d + failed %d + open %d, %s\n", begun.Node.Key, c.Created, c.Done, c.Failed,
			c.Open(), end.Root.State)
	}
	// Output:
	// /srv: created 3 = done 1 + failed 0 + open 2, running
	// /srv/a: created 3 = done 2 + failed 0 + open 1, running
	// /srv/b: created 3 = done 3 + failed 0 + open 0, complete
}
