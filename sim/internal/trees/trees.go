// Package trees counts the nodes of the trees in a simulated run, as production does for recursive work: a message that
// has children is the root of a tree, and its children are sent when it is finished.
//
// A [Forest] holds the trees in progress. [Forest.Plant] begins one, a [Place] stands for the level of a node, and
// [Forest.Ended] counts a node that is done or failed. [Forest.Expect] tells, by the production package tree, how much
// work the trees are expected to send. When all nodes of a tree have ended, the forest forgets it.
package trees

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/tree"
)

// Forest holds the trees in progress, in the order in which they began. The zero value is empty.
type Forest struct {
	roots []*tree.Root
}

// Place is the place of a node: a tree, and a level of it from 0 for the root. The zero Place is outside of any tree.
type Place struct {
	root  *tree.Root
	level int
}

// Plant begins a tree with its root as the only node. The levels of an earlier, similar tree may be given to expect
// more from.
func (f *Forest) Plant(before []tree.Level) (Place, error) {
	limits, err := tree.Limits{Depth: trace.MaxDepth, Nodes: tree.MaxNodes}.WithDefaults()
	if err != nil {
		return Place{}, fmt.Errorf("count the nodes of a tree: %w", err)
	}
	root := &tree.Root{State: tree.Running, Limits: limits, Before: before}
	f.roots = append(f.roots, root)
	p := Place{root: root}
	p.created(1)
	return p, nil
}

// Below returns the place of the children of a node; outside of any tree it is outside too.
func (p Place) Below() Place {
	if p.root == nil {
		return Place{}
	}
	return Place{root: p.root, level: p.level + 1}
}

// created counts n new nodes at the place.
func (p Place) created(n int) {
	for len(p.root.Levels) <= p.level {
		p.root.Levels = append(p.root.Levels, tree.Level{})
	}
	p.root.Levels[p.level].Created += int64(n)
	p.root.Counts.Created += int64(n)
	p.root.Counts.Out += int64(n)
}

// Ended counts a node at the place p that failed, or that is done and has the given number of children, which are
// counted as created from now on. Outside of any tree it does nothing.
func (f *Forest) Ended(p Place, children int, failed bool) {
	if p.root == nil {
		return
	}
	root, level := p.root, &p.root.Levels[p.level]
	root.Counts.Out--
	if failed {
		level.Failed++
		root.Counts.Failed++
	} else {
		level.Done++
		root.Counts.Done++
		level.Bred += int64(children)
		level.BredSquares += int64(children) * int64(children)
		if children > 0 {
			p.Below().created(children)
		}
	}
	if root.Counts.Open() == 0 {
		f.roots = slices.DeleteFunc(f.roots, func(t *tree.Root) bool { return t == root })
	}
}

// Len returns how many trees are in progress.
func (f *Forest) Len() int { return len(f.roots) }

// Expect returns what the trees are expected to send from the instant at on.
func (f *Forest) Expect(at time.Time) muster.Expected {
	roots := make([]tree.Root, 0, len(f.roots))
	for _, root := range f.roots {
		roots = append(roots, *root)
	}
	return tree.Expect(at, roots)
}
