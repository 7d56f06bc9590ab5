package history

import "github.com/muster-scale/muster/history/internal/rules"

// The bounds of one append and one read.
const (
	// MaxBody and MaxShared bound a record's Body and Shared, in bytes.
	MaxBody   = rules.MaxBody
	MaxShared = rules.MaxShared
	// MaxBatch bounds the number of records in one append, MaxLast the number that Last returns.
	MaxBatch = rules.MaxBatch
	MaxLast  = rules.MaxLast
	// MaxName bounds the name of a fleet and of a kind, in bytes.
	MaxName = rules.MaxName
)

// How long records are kept.
const (
	// DefaultKeep is the default of Prune; MinKeep and MaxKeep are the bounds.
	DefaultKeep = rules.DefaultKeep
	MinKeep     = rules.MinKeep
	MaxKeep     = rules.MaxKeep
	// KeepLearned is the minimum for learned records: one season of a forecast, and a day to spare.
	KeepLearned = rules.KeepLearned
	// FineFor is how long learned records stay as appended; older ones are folded into one per hour.
	FineFor = rules.FineFor
)

// Pruned is the result of one Prune.
type Pruned = rules.Pruned

// ErrNoRecord means that no record has the given sequence number: it was never written, or was removed.
var ErrNoRecord = rules.ErrNoRecord

// ErrFull means that there is no room for more records. Nothing was written. Prune, a larger bound or more disk space
// make room.
var ErrFull = rules.ErrFull
