// Package history keeps decisions and their reasons: durably in SQLite with [Open], or in memory with [NewMemory].
//
// Each fleet has a stream of records with sequence numbers 1, 2, 3... A writer opens a stream with Begin, which raises
// its epoch, and appends after the position it knows; an append after any other position fails with muster.ErrConflict.
// So two controllers can never interleave, and the older one notices at its next append. An append is all or none, and
// on disk before it returns.
//
//	h, err := history.Open("data/history.db", history.Options{})
//	...
//	at, err := h.Begin(ctx, "thumbnails")
//	at, err = h.Append(ctx, "thumbnails", at, records...)
//
// The main types:
//
//   - [History] is the file, opened for writing and reading. [Reader] is the same for another process ([OpenReadOnly]).
//   - [Memory] is a history for tests and simulations; it holds to the same contract, the suite of package mustertest.
//   - [Pruned] says what [History.Prune] removed. History grows slowly: what many records share is kept once, old
//     records are removed, and learned durations are folded into one record an hour.
//
// The file is one SQLite database in WAL mode. One connection writes; reads have connections of their own and never
// wait for it, not even from another process. A file that is damaged, newer than this program or not a history at all
// is refused and left as it is. [OpenRecovered] moves a damaged one aside and begins a new one, because a history is
// rebuilt as Muster runs.
//
// On disk, a history is four files with one name:
//
//	history.db        the tables: streams, records, contents that records share, and the number of commits
//	history.db-wal    SQLite's write-ahead log: commits that are not yet in the tables
//	history.db-shm    SQLite's index of that log, made anew when it is missing
//	history.db-mark   how many commits were acknowledged at least, so that a lost log is noticed
//
// A new file has a checksum in every page, its seal, so that a page that the disk changed is noticed when it is read.
// Files of older versions have no seals and are used without.
//
// The package keeps these invariants:
//
//   - An acknowledged record survives a power cut. When a sync has failed, nothing more is acknowledged until the
//     program starts again, because the system may have dropped the pages that it could not write.
//   - A record never changes, except that learned records older than [FineFor] are folded into one an hour.
//   - The newest record of each kind is never removed, so that a restart finds where it was.
//   - [Memory] and [History] follow one contract. A property test compares them, so each checks the other.
//
// It knows nothing of what a record says, except the durations, arrivals and usage in learned ones, which it must
// merge.
//
// For something else: what a record says is muster.Record. To explain or verify recorded decisions use package
// controller/audit. The messages of a queue are kept by package queue, what jobs print by the logs of a fleet.
package history
