// Package history keeps what was decided and why: durably in SQLite with [Open], or in memory with [NewMemory].
//
// Each fleet has a stream of records with sequence numbers 1, 2, 3... A writer opens a stream with Begin, which raises
// its epoch, and appends after the position it knows; an append after any other position fails with
// [muster.ErrConflict]. So two controllers can never interleave, and the older one notices at its next append. An
// append is all or none, and on disk before it returns.
//
// The file is one SQLite database in WAL mode. One connection writes; reads have connections of their own and never
// wait for it, not even from another process ([OpenReadOnly]). A file that is damaged, newer than this program or not a
// history at all is refused and left as it is.
//
// History grows slowly: what many records share is kept once, and [History.Prune] removes old records and folds learned
// durations into one record an hour.
package history
