package tree

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
)

// Expect sums up what the running ones of the roots, read at the given instant, are expected to send before long. Nodes whose
// depth has none that is done yet count as leaves, but for Perhaps. Roots that are paused send nothing.
func Expect(at time.Time, roots []Root) muster.Expected {
	e := muster.Expected{At: at, Known: true}
	var levels [muster.MaxLevels]muster.ExpectedLevel
	for _, r := range roots {
		if r.State != Running || r.Counts.Open() == 0 {
			continue
		}
		e.Trees++
		e.Open += float64(r.Counts.Open())
		e.Held += float64(r.Counts.Waiting)
		e.Perhaps += r.expect(&levels)
	}
	deepest := 0
	for i, l := range levels {
		if l.Messages > 0 {
			deepest = i + 1
		}
	}
	if deepest > 0 {
		e.Levels = append(e.Levels, levels[:deepest]...)
	}
	return e
}

// expect adds up what the root sends, and returns what the nodes of untold depths may send in the first level.
//
// Nodes that are out end, name children and let as many of those that are held go as the limit of nodes at once allows. By
// depth: of a nodes the share s that is out ends and has s a b children, where b is the branching of the depth.
func (r Root) expect(levels *[muster.MaxLevels]muster.ExpectedLevel) (perhaps float64) {
	alive := make([]float64, len(r.Levels)+1)
	for depth, level := range r.Levels {
		alive[depth] = float64(level.Open())
	}
	share := float64(r.Counts.Out) / float64(r.Counts.Open())
	room := math.Max(0, float64(r.Limits.Nodes-r.Counts.Created))
	for i := range levels {
		next := make([]float64, len(alive))
		parents, children, held := 0.0, 0.0, 0.0
		for depth := range r.Levels {
			out := alive[depth] * share
			next[depth] += alive[depth] - out
			held += alive[depth] - out
			named := 0.0
			if i == 0 {
				named = r.named(depth)
			}
			branching, known := r.Branching(depth)
			if !known && i == 0 {
				above, _ := r.Branching(depth - 1)
				perhaps += r.breed(depth, out, above, named)
			}
			if n := r.breed(depth, out, branching, named); n > 0 {
				parents, children = parents+out, children+n
				next[depth+1] += n
			}
		}
		if children > room { // the tree is paused before there are more
			for depth := range next {
				next[depth] *= (room + held) / (children + held)
			}
			children = room
		}
		room -= children
		share = 1
		if most := float64(r.Limits.Parallel); most > 0 && held+children > most {
			share = most / (held + children)
		}
		levels[i].Parents += parents
		levels[i].Messages += (held + children) * share
		if alive = next; held+children == 0 {
			break
		}
	}
	return math.Min(perhaps, math.Max(0, float64(r.Limits.Nodes-r.Counts.Created)))
}

// named returns how many children the open nodes of a depth have named already.
func (r Root) named(depth int) float64 {
	if depth+1 >= len(r.Levels) {
		return 0
	}
	return float64(r.Levels[depth+1].Created - r.Levels[depth].Bred)
}

// breed returns how many further children the given number of nodes of a depth have.
func (r Root) breed(depth int, nodes, branching, named float64) float64 {
	if r.Limits.left(depth) == 0 {
		return 0
	}
	return math.Max(0, nodes*branching-named)
}
