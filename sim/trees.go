package sim

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/sim/internal/kernel"
	"github.com/muster-scale/muster/sim/internal/trees"
	"github.com/muster-scale/muster/sim/trace"
)

// beginTree begins a tree for a message of the trace that has children, and returns the place of its root.
func (r *run) beginTree(m trace.Message) trees.Place {
	if !r.world.Trees || len(m.Children) == 0 {
		return trees.Place{}
	}
	p, err := r.forest.Plant(r.before)
	if err != nil {
		r.fault(err.Error())
	}
	return p
}

// expected is what a reading of the trees finds.
func (r *run) expected() controller.Expected {
	if kernel.Hit(r.chance.Trees, r.world.LoseTrees) && r.faulty() {
		return controller.Expected{Expected: muster.Expected{At: r.time(), Reason: "the trees could not be read"}}
	}
	r.treesReadAt = r.now
	return controller.Expected{Expected: r.expect(r.time())}
}

// expect returns what the trees are expected to send from the instant at on.
func (r *run) expect(at time.Time) muster.Expected { return r.forest.Expect(at) }
