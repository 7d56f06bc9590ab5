package nodes

// The bounds of one reading.
const (
	// MaxDepth is how deep values may lie within each other.
	MaxDepth = 64
	// MaxValues is how many values may be held, maxResolved how many may be computed.
	MaxValues   = 400_000
	maxResolved = 20_000
)

// Work is what one reading has cost so far. What loops copy counts as what is written does.
type Work struct{ values, resolved int }

// Value counts a value, and tells whether it is still within the bound.
func (w *Work) Value() bool {
	w.values++
	return w.values <= MaxValues
}

// Resolution counts a value that is computed, and tells whether it is still within the bound.
func (w *Work) Resolution() bool {
	w.resolved++
	return w.resolved <= maxResolved
}
