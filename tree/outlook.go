package tree

import "math"

// Outlook is the estimate of the nodes of a root that are still to come, for people. For workers use [Expect], which is
// more cautious.
type Outlook struct {
	// Open is the number of open nodes.
	Open int64 `json:"open"`
	// Next is how many more nodes the open ones will name, by the mean of the finished nodes of their depth. Children
	// in the queue already are not included.
	Next float64 `json:"next"`
	// Remaining is how many nodes are still to be settled: the open ones and all expected descendants.
	Remaining float64 `json:"remaining"`
	// Known is false while a depth has open nodes and no finished one. Its open nodes then count as leaves, so that
	// Next and Remaining are lower bounds.
	Known bool `json:"known"`
}

// Branching returns the mean number of children of the finished nodes of a depth. It is false while there are none.
func (r Root) Branching(depth int) (float64, bool) {
	if depth < 0 || depth >= len(r.Levels) || r.Levels[depth].Done == 0 {
		return 0, false
	}
	return float64(r.Levels[depth].Bred) / float64(r.Levels[depth].Done), true
}

// Outlook estimates the nodes to come. It expects none below the deepest level seen, because no finished node of that
// level named a child.
func (r Root) Outlook() Outlook {
	o := Outlook{Open: r.Counts.Open(), Known: true}
	if r.Ended() {
		return o
	}
	expected := 0.0 // nodes of this depth that will be named but are not yet
	for depth, level := range r.Levels {
		alive := float64(level.Open()) + expected
		o.Remaining += alive
		if alive == 0 {
			expected = 0
			continue
		}
		branching, known := r.Branching(depth)
		if !known {
			o.Known, expected = false, 0
			continue
		}
		// Some children of the open nodes exist already.
		named := 0.0
		if depth+1 < len(r.Levels) {
			named = float64(r.Levels[depth+1].Created - level.Bred)
		}
		next := math.Max(0, float64(level.Open())*branching-named)
		o.Next += next
		expected = next + expected*branching
		if r.Limits.left(depth) == 0 {
			expected = 0
		}
	}
	return o
}
