// Package history keeps what was decided and why: durably in SQLite with [Open], or in memory with [NewMemory].
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
// For something else: what a record says is muster.Record. To explain or verify recorded decisions use package
// controller/audit. The messages of a queue are kept by package queue, what jobs print by the logs of a fleet.
package history
