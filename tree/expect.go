package tree

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
)

// Expect sums up what the running ones of the roots, read at the given instant, are surely expected to send before
// long. Nodes whose depth has none that is done yet count as leaves, unless an earlier tree tells of them, but for
// Perhaps. Roots that are paused send nothing.
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
		if r.young() {
			e.Young++
		}
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

// young tells whether nothing is known of an open root but its root node, which may have children that are sent at
// once.
func (r Root) young() bool {
	return r.Counts.Created == 1 && len(r.Before) == 0 && r.Limits.left(0) > 0 && r.Limits.Parallel == 0
}

// expect adds up what the root sends, and returns what its nodes may send beyond that in the first level.
//
// Nodes that are out end, name children and let as many of those that are held go as the limit of nodes at once allows.
// By depth: of a nodes the share s that is out ends and has s a b children, where b is the branching of the depth.
func (r Root) expect(levels *[muster.MaxLevels]muster.ExpectedLevel) (perhaps float64) {
	deepest := max(len(r.Levels), len(r.Before))
	alive := make([]float64, deepest+1)
	for depth, level := range r.Levels {
		alive[depth] = float64(level.Open())
	}
	share := float64(r.Counts.Out) / float64(r.Counts.Open())
	room := math.Max(0, float64(r.Limits.Nodes-r.Counts.Created))
	likely := math.Min(room, r.likely(share))
	for i := range levels {
		next := make([]float64, len(alive))
		parents, children, held := 0.0, 0.0, 0.0
		for depth := range deepest {
			out, named := alive[depth]*share, 0.0
			next[depth] += alive[depth] - out
			held += alive[depth] - out
			if i == 0 {
				named = r.named(depth)
			}
			if n := r.breed(depth, out, r.surely(depth), named); n > 0 {
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
		if i == 0 {
			perhaps = math.Max(0, likely-children)
		}
		share = 1
		if most := float64(r.Limits.Parallel); most > 0 {
			if held+children > most {
				share = most / (held + children)
			}
			if i == 0 { // a guess is no reason to keep more workers than nodes at once
				perhaps = math.Max(0, math.Min(perhaps, most-(held+children)*share))
			}
		}
		levels[i].Parents += parents
		levels[i].Messages += (held + children) * share
		if alive = next; held+children == 0 {
			break
		}
	}
	return perhaps
}

// likely is how many further children the share of the open nodes that is out has. Those of a depth of which none is
// done yet are taken to branch as those of the depth above.
func (r Root) likely(share float64) (n float64) {
	for depth, level := range r.Levels {
		branching, known := r.Branching(depth)
		if !known && len(r.Before) > depth {
			branching = r.blend(depth)
		} else if !known {
			branching, _ = r.Branching(depth - 1)
		}
		n += r.breed(depth, float64(level.Open())*share, branching, r.named(depth))
	}
	return n
}

// surely is a branching that the nodes of a depth surely have, or that an earlier tree leads to expect when that is
// more: the mean of those that are done, less its standard error. What few show may be chance, so one deviation counts
// as observed that is that of a geometric distribution, b + b^2.
func (r Root) surely(depth int) float64 {
	earlier := r.blend(depth)
	b, known := r.Branching(depth)
	if !known || b == 0 {
		return earlier
	}
	level := r.Levels[depth]
	n, usual := float64(level.Done), b+b*b
	squares := float64(level.BredSquares) - n*b*b
	if level.BredSquares < level.Bred { // some were done before squares were counted
		squares = n * usual
	}
	return math.Max(earlier, b-math.Sqrt(math.Max(0, squares)+usual)/n)
}

// asNodes is how many done nodes an earlier tree counts for at least, however few it had at a depth: whoever says that
// one is like another knows more than chance tells. It counts for mostNodes at most, because they may be wrong.
const asNodes, mostNodes = 2.0, 10.0

// blend is the branching of a depth by the nodes that are done and by an earlier tree that this one is like; 0 without
// one.
func (r Root) blend(depth int) float64 {
	before, known := (Root{Levels: r.Before}).Branching(depth)
	if !known {
		return 0
	}
	done, bred := 0.0, 0.0
	if depth < len(r.Levels) {
		done, bred = float64(r.Levels[depth].Done), float64(r.Levels[depth].Bred)
	}
	weight := math.Min(mostNodes, math.Max(asNodes, float64(r.Before[depth].Done)))
	return (bred + weight*before) / (done + weight)
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
