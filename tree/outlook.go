package tree

import "math"

// Outlook is what is to be expected of a root.
type Outlook struct {
	// Open is the number of open nodes.
	Open int64 `json:"open"`
	// Next is how many further nodes the open ones are expected to name, by what nodes of their depth named on average:
	// the part of the next level that is not in the queue yet.
	Next float64 `json:"next"`
	// Remaining is how many nodes are still to be settled: the open ones and all that are expected below them.
	Remaining float64 `json:"remaining"`
	// Known is false while nodes are open at a depth of which none is done yet: then the expectations count them as
	// leaves, and are the least that can be said.
	Known bool `json:"known"`
}

// Branching returns how many children a node of a depth had on average, of those that are done. It is false while there
// are none.
func (r Root) Branching(depth int) (float64, bool) {
	if depth < 0 || depth >= len(r.Levels) || r.Levels[depth].Done == 0 {
		return 0, false
	}
	return float64(r.Levels[depth].Bred) / float64(r.Levels[depth].Done), true
}

// Outlook estimates what is still to come. Below the deepest level seen nothing is expected: no node of that level that
// is done named a child.
func (r Root) Outlook() Outlook {
	o := Outlook{Open: r.Counts.Open(), Known: true}
	if r.Ended() {
		return o
	}
	expected := 0.0 // nodes of this depth that nobody has named yet
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
		// Some children of the open nodes are there already.
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
