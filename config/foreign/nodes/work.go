package nodes

// The bounds of one reading.
const (
	// MaxDepth is how deep values may be nested.
	MaxDepth = 64
	// MaxValues is how many values may be held. maxResolved is how many may be computed.
	MaxValues   = 400_000
	maxResolved = 20_000
)

// Work counts what one reading has cost. What loops copy counts like what is written.
type Work struct{ values, resolved int }

// Value counts a value and tells whether it is within the bound.
func (w *Work) Value() bool {
	w.values++
	return w.values <= MaxValues
}

// Resolution counts a computed value and tells whether it is within the bound.
func (w *Work) Resolution() bool {
	w.resolved++
	return w.resolved <= maxResolved
}
