package sim

import (
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/tree"
)

// place is where in a tree a message is; the zero place is outside of any.
type place struct {
	root  *tree.Root
	depth int
}

// plantTree begins the account of a tree for a message that has children.
func (r *run) plantTree(m trace.Message) place {
	if !r.world.Trees || len(m.Children) == 0 {
		return place{}
	}
	limits, err := tree.Limits{Depth: trace.MaxDepth, Nodes: tree.MaxNodes}.WithDefaults()
	if err != nil {
		r.fault("the account of a tree cannot be begun: " + err.Error())
		return place{}
	}
	root := &tree.Root{State: tree.Running, Limits: limits, Before: r.before}
	r.trees = append(r.trees, root)
	at := place{root: root}
	at.created(1)
	return at
}

// created counts nodes at the place.
func (p place) created(n int) {
	for len(p.root.Levels) <= p.depth {
		p.root.Levels = append(p.root.Levels, tree.Level{})
	}
	p.root.Levels[p.depth].Created += int64(n)
	p.root.Counts.Created += int64(n)
	p.root.Counts.Out += int64(n)
}

// settled counts a node that is done, and names its children, or one that has failed.
func (r *run) settled(x *message, failed bool) {
	if x.place.root == nil {
		return
	}
	root, level := x.place.root, &x.place.root.Levels[x.place.depth]
	root.Counts.Out--
	if failed {
		level.Failed++
		root.Counts.Failed++
	} else {
		level.Done++
		root.Counts.Done++
		level.Bred += int64(len(x.children))
		level.BredSquares += int64(len(x.children)) * int64(len(x.children))
		if below := x.place.below(); len(x.children) > 0 {
			below.created(len(x.children))
		}
	}
	if root.Counts.Open() == 0 {
		r.trees = slices.DeleteFunc(r.trees, func(t *tree.Root) bool { return t == root })
	}
}

// below is where the children of a place are.
func (p place) below() place {
	if p.root == nil {
		return place{}
	}
	return place{root: p.root, depth: p.depth + 1}
}

// expected is what a look at the trees finds.
func (r *run) expected() controller.Expected {
	if hit(r.chance.trees, r.world.LoseTrees) && r.faulty() {
		return controller.Expected{Expected: muster.Expected{At: r.time(), Reason: "the trees could not be read"}}
	}
	r.treesReadAt = r.now
	return controller.Expected{Expected: r.expect(r.time())}
}

func (r *run) expect(at time.Time) muster.Expected {
	roots := make([]tree.Root, 0, len(r.trees))
	for _, root := range r.trees {
		roots = append(roots, *root)
	}
	return tree.Expect(at, roots)
}
