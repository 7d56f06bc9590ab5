package tree_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/muster-scale/muster/tree"
)

// world is a store, a queue that loses nothing but repeats and reorders, and workers that may crash between any two of
// their actions.
type world struct {
	t      failer
	store  tree.Store
	random *rand.Rand
	spec   tree.Spec
	// children says what a node names, poison which nodes always fail.
	children func(n tree.Node) []tree.Child
	poison   func(key string) bool
	// duplicates, crashes and failures are chances: that a message comes once more, that a worker ends before its next
	// action, that an attempt fails.
	duplicates, crashes, failures float64

	queue     []tree.ID
	announced map[string]int
	// completions counts how often the root became complete.
	completions int
	// struck counts the crashes and failures by chance of each node.
	struck  map[tree.ID]int
	crashed int
	worked  int
	now     time.Time
	check   func(tree.Root) // after every change
}

// failer is a test, or a case of a property.
type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func start(t failer, w world, spec tree.Spec) *world {
	t.Helper()
	if spec.Queue == "" {
		spec.Queue = "http://127.0.0.1:9324/000000000000/tree"
	}
	if spec.Limits.Attempts == 0 {
		spec.Limits.Attempts = 10 * strikes // crashes take attempts too, and so do duplicates
	}
	w.t, w.spec, w.announced, w.struck = t, spec, map[string]int{}, map[tree.ID]int{}
	w.now = time.Unix(1_800_000_000, 0).UTC()
	if w.poison == nil {
		w.poison = func(string) bool { return false }
	}
	o := w.step(tree.SubmitWant(spec),
		func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Submit(v, spec, w.now) })
	w.send(o.Send)
	return &w
}

// step makes one step; what the step refuses ends the test.
func (w *world) step(want tree.Want, step func(tree.View) (tree.Change, tree.Outcome, error)) (o tree.Outcome) {
	o, err := w.try(want, step)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

func (w *world) try(want tree.Want, step func(tree.View) (tree.Change, tree.Outcome, error)) (o tree.Outcome,
	err error) {
	var before, after tree.Root
	err = w.store.Step(context.Background(), want, func(v tree.View) (c tree.Change, err error) {
		before = v.Root
		c, o, err = step(v)
		after = c.Root
		return c, err
	})
	if err != nil || after.ID == "" {
		return o, err
	}
	if after.State == tree.Complete && before.State != tree.Complete {
		w.completions++
		if open := after.Counts.Open(); open != 0 {
			w.t.Fatalf("the root became complete with %d open nodes", open)
		}
	}
	holdsBalance(w.t, after)
	if w.check != nil {
		w.check(after)
	}
	return o, nil
}

// holdsBalance is the invariant: created = done + failed + open, in all and by level.
func holdsBalance(t failer, r tree.Root) {
	t.Helper()
	c := r.Counts
	if c.Created != c.Done+c.Failed+c.Waiting+c.Out || min(c.Created, c.Done, c.Failed, c.Waiting, c.Out) < 0 {
		t.Fatalf("created is not done + failed + open: %+v", c)
	}
	var sum tree.Level
	for depth, l := range r.Levels {
		if l.Open() < 0 || min(l.Created, l.Done, l.Failed, l.Bred) < 0 {
			t.Fatalf("level %d: %+v", depth, l)
		}
		sum.Created += l.Created
		sum.Done += l.Done
		sum.Failed += l.Failed
	}
	if sum.Created != c.Created || sum.Done != c.Done || sum.Failed != c.Failed {
		t.Fatalf("the levels add up to %+v, the root says %+v", sum, c)
	}
}

// recount compares the root's counts with its nodes.
func (w *world) recount() {
	w.t.Helper()
	ctx := context.Background()
	root := w.root()
	var c tree.Counts
	var after tree.ID
	for {
		nodes, err := w.store.Nodes(ctx, w.spec.ID, tree.Filter{After: after, Limit: tree.MaxBatch})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(nodes) == 0 {
			break
		}
		after = nodes[len(nodes)-1].ID
		for _, n := range nodes {
			c.Created++
			switch n.State {
			case tree.Done:
				c.Done++
			case tree.Waiting:
				c.Waiting++
			case tree.Claimed, tree.Sent:
				c.Out++
			default:
				c.Failed++
			}
		}
	}
	if root.State == tree.Cancelled {
		c.Failed, c.Waiting, c.Out = c.Failed+c.Open(), 0, 0
	}
	if c != root.Counts {
		w.t.Fatalf("the nodes add up to %+v, the root says %+v", c, root.Counts)
	}
}

func (w *world) root() tree.Root {
	w.t.Helper()
	var r tree.Root
	if err := w.store.Step(context.Background(), tree.Want{Root: w.spec.ID}, func(v tree.View) (tree.Change, error) {
		r = v.Root
		return tree.Change{}, nil
	}); err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) chance(p float64) bool { return p > 0 && w.random.Float64() < p }

// strikes is how often a node meets a crash or a failure by chance. Without an end, a node that names many children, an
// action each, would crash until its attempts are used up, and a graph would end otherwise than it is drawn.
const strikes = 20

// strike says with a chance that something befalls a node.
func (w *world) strike(id tree.ID, p float64) bool {
	if w.struck[id] >= strikes || !w.chance(p) {
		return false
	}
	w.struck[id]++
	return true
}

func (w *world) send(nodes []tree.Node) {
	for _, n := range nodes {
		w.queue = append(w.queue, n.ID)
	}
}

// receive takes any message; with some chance it stays and comes again.
func (w *world) receive() tree.ID {
	i := w.random.IntN(len(w.queue))
	id := w.queue[i]
	if !w.chance(w.duplicates) {
		last := len(w.queue) - 1
		w.queue[i] = w.queue[last]
		w.queue = w.queue[:last]
	}
	return id
}

// run lets so many workers work, their actions in any order, until no message is left. A worker that crashes leaves its
// message in the queue.
func (w *world) run(workers int) {
	type running struct {
		id   tree.ID
		next func() (struct{}, bool)
		stop func()
	}
	var all []running
	for len(w.queue) > 0 || len(all) > 0 {
		for len(all) < workers && len(w.queue) > 0 {
			id := w.receive()
			next, stop := iter.Pull(w.work(id))
			all = append(all, running{id, next, stop})
		}
		i := w.random.IntN(len(all))
		r := all[i]
		w.now = w.now.Add(time.Millisecond)
		_, more := r.next()
		crash := more && w.strike(r.id, w.crashes)
		if more && !crash {
			continue
		}
		if crash {
			r.stop()
			w.crashed++
			w.queue = append(w.queue, r.id)
		}
		all[i] = all[len(all)-1]
		all = all[:len(all)-1]
	}
}

// work is what a worker does with a message, an action at a time. At its end the message is gone.
func (w *world) work(id tree.ID) iter.Seq[struct{}] {
	return func(yield func(struct{}) bool) {
		act := func() bool { return yield(struct{}{}) }
		root := w.spec.ID
		o := w.step(tree.BeginWant(root, id),
			func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Begin(v, w.now) })
		if !act() {
			return
		}
		if o.Verdict == tree.Work {
			var ok bool
			if o, ok = w.attempt(o, act); !ok {
				return
			}
		}
		for len(o.Send) > 0 {
			sent, announce := ids(o.Send), o.Announce
			for _, n := range o.Send {
				if w.send([]tree.Node{n}); !act() {
					return
				}
			}
			o = w.step(tree.SentWant(root, id, sent), tree.MarkSent)
			if o.Announce = announce; !act() {
				return
			}
		}
		for _, c := range o.Announce {
			w.announced[c.ID]++
			if !act() {
				return
			}
			w.step(tree.Want{Root: root}, func(v tree.View) (tree.Change, tree.Outcome, error) {
				change, err := tree.Announced(v, c.ID)
				return change, tree.Outcome{}, err
			})
			if !act() {
				return
			}
		}
		if o.Verdict == tree.Again {
			w.queue = append(w.queue, id)
		}
	}
}

func ids(nodes []tree.Node) (all []tree.ID) {
	for _, n := range nodes {
		all = append(all, n.ID)
	}
	return all
}

// attempt works on a node once. It is false after a crash.
func (w *world) attempt(o tree.Outcome, act func() bool) (tree.Outcome, bool) {
	w.worked++
	n := o.Node
	settle := tree.SettleWant(w.spec.ID, n.ID)
	result := tree.Result{Took: 10 * time.Millisecond}
	if w.poison(n.Key) {
		return w.step(settle, func(v tree.View) (tree.Change, tree.Outcome, error) {
			result.At = w.now
			return tree.Fail(v, result, "poison")
		}), act()
	}
	children := w.children(n)
	if o.Root.Limits.Depth <= int(n.Depth) {
		children = nil // it goes on sequentially
	}
	for len(children) > 0 {
		size := min(len(children), 1+w.random.IntN(4))
		batch := tree.Registration{Root: o.Root, Parent: n.ID, Children: children[:size], Sent: result.Sent}
		children = children[size:]
		named, err := w.try(batch.Want(),
			func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Register(v, batch) })
		if err == tree.ErrSettled { // somebody else was faster
			return tree.Outcome{Verdict: tree.Settled}, act()
		}
		if err != nil {
			w.t.Fatal(err)
		}
		if !act() || named.Verdict == tree.Parked {
			return named, named.Verdict == tree.Parked
		}
		for _, c := range named.Send {
			if w.send([]tree.Node{c}); !act() {
				return named, false
			}
		}
		result.Sent = ids(named.Send)
	}
	failed := w.strike(n.ID, w.failures)
	return w.step(settle, func(v tree.View) (tree.Change, tree.Outcome, error) {
		result.At = w.now
		if failed {
			return tree.Fail(v, result, "by chance")
		}
		return tree.Finish(v, result)
	}), act()
}

// regular is a tree whose nodes above a depth have so many children.
func regular(fanOut, depth int) func(tree.Node) []tree.Child {
	return func(n tree.Node) (all []tree.Child) {
		if int(n.Depth) >= depth {
			return nil
		}
		for i := range fanOut {
			all = append(all, tree.Child{Key: fmt.Sprint(i), Body: "b"})
		}
		return all
	}
}
