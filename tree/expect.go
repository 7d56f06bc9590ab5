package tree

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
)

// Expect forecasts the messages that the running roots among roots, read at the given instant, will send. The forecast
// is cautious: workers are launched for it. A depth without a finished node counts as a level of leaves, unless an
// earlier tree is known; only Perhaps guesses more. Paused roots send nothing.
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

// young tells whether only the open root node is known, and its children may all be sent at once.
func (r Root) young() bool {
	return r.Counts.Created == 1 && len(r.Before) == 0 && r.Limits.left(0) > 0 && r.Limits.Parallel == 0
}

// expect adds the messages of the root to levels. It returns how many more its nodes may send in the first level.
//
// It simulates generations. In each, the nodes that are out end and name children, and as many held nodes are sent as
// the limit of parallel nodes allows. Of a nodes at a depth, the share s that is out has s*a*b children, where b is the
// branching of that depth.
func (r Root) expect(levels *[muster.MaxLevels]muster.ExpectedLevel) (perhaps float64) {
	deepest := max(len(r.Levels), len(r.Before))
	alive := make([]float64, deepest+1)
	for depth, level := range r.Levels {
		alive[depth] = float64(level.Open())
	}
	share := float64(r.Counts.Out) / float64(r.Counts.Open())
	room := math.Max(0, float64(r.Limits.Nodes-r.Counts.Created))
	guess := math.Min(room, r.likelyChildren(share))
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
			if n := r.moreChildren(depth, out, r.cautiousBranching(depth), named); n > 0 {
				parents, children = parents+out, children+n
				next[depth+1] += n
			}
		}
		if children > room { // the limit of nodes pauses the tree before it has more
			for depth := range next {
				next[depth] *= (room + held) / (children + held)
			}
			children = room
		}
		room -= children
		if i == 0 {
			perhaps = math.Max(0, guess-children)
		}
		share = 1
		if most := float64(r.Limits.Parallel); most > 0 {
			if held+children > most {
				share = most / (held + children)
			}
			if i == 0 { // a guess does not justify more workers than parallel nodes
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

// likelyChildren returns how many more children the open nodes that are out will name on average; share is their share
// of the open nodes. A depth without a finished node is assumed to branch like the depth above.
func (r Root) likelyChildren(share float64) (n float64) {
	for depth, level := range r.Levels {
		branching, known := r.Branching(depth)
		if !known && len(r.Before) > depth {
			branching = r.blend(depth)
		} else if !known {
			branching, _ = r.Branching(depth - 1)
		}
		n += r.moreChildren(depth, float64(level.Open())*share, branching, r.named(depth))
	}
	return n
}

// cautiousBranching returns a lower estimate of the branching of a depth: the mean over the n finished nodes less its
// standard error, or the branching of an earlier tree if that is more.
//
//	b - sqrt(S + b + b^2) / n
//
// S is the sum of squared deviations. A few nodes may agree by chance, so one further deviation is assumed: b + b^2,
// the variance of a geometric distribution with mean b.
func (r Root) cautiousBranching(depth int) float64 {
	earlier := r.blend(depth)
	b, known := r.Branching(depth)
	if !known || b == 0 {
		return earlier
	}
	level := r.Levels[depth]
	n, usual := float64(level.Done), b+b*b
	squares := float64(level.BredSquares) - n*b*b
	if level.BredSquares < level.Bred { // the record is older than the squares: assume the geometric variance for all
		squares = n * usual
	}
	return math.Max(earlier, b-math.Sqrt(math.Max(0, squares)+usual)/n)
}

// minPrior and maxPrior bound the weight of an earlier tree, in finished nodes. The weight is at least minPrior even
// for a depth with one node, because the user said that the trees are alike. It is at most maxPrior, because the user
// may be wrong.
const minPrior, maxPrior = 2.0, 10.0

// blend returns the branching of a depth as the weighted mean of this tree's finished nodes and an earlier tree; 0
// without an earlier tree.
func (r Root) blend(depth int) float64 {
	before, known := (Root{Levels: r.Before}).Branching(depth)
	if !known {
		return 0
	}
	done, bred := 0.0, 0.0
	if depth < len(r.Levels) {
		done, bred = float64(r.Levels[depth].Done), float64(r.Levels[depth].Bred)
	}
	weight := math.Min(maxPrior, math.Max(minPrior, float64(r.Before[depth].Done)))
	return (bred + weight*before) / (done + weight)
}

// named returns how many children the open nodes of a depth have named so far.
func (r Root) named(depth int) float64 {
	if depth+1 >= len(r.Levels) {
		return 0
	}
	return float64(r.Levels[depth+1].Created - r.Levels[depth].Bred)
}

// moreChildren returns how many children nodes of a depth will name in addition to those already named.
func (r Root) moreChildren(depth int, nodes, branching, named float64) float64 {
	if r.Limits.left(depth) == 0 {
		return 0
	}
	return math.Max(0, nodes*branching-named)
}
