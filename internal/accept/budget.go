package accept

import "sync/atomic"

// Budget bounds bytes that are held at a time. It is safe for concurrent use.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget returns a budget of so many bytes.
func NewBudget(bytes int64) *Budget { return &Budget{limit: bytes} }

// Take reserves n bytes and reports whether there is room for them. Each must be given back.
func (b *Budget) Take(n int64) bool {
	if b.used.Add(n) > b.limit {
		b.used.Add(-n)
		return false
	}
	return true
}

// Give gives n bytes back.
func (b *Budget) Give(n int64) { b.used.Add(-n) }

// Used returns how many bytes are reserved.
func (b *Budget) Used() int64 { return b.used.Load() }
