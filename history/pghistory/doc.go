// Package pghistory keeps the history of fleets in PostgreSQL, where controllers on several machines share it.
//
//	h, err := pghistory.Open(ctx, "postgres://muster@db.example.com/muster")
//	defer h.Close()
//	at, err := h.Begin(ctx, "thumbnails")
//	at, err = h.Append(ctx, "thumbnails", at, records...)
//
// The main type is [Store]. It follows the same contract as the history in SQLite: one stream for each fleet, and an
// append is conditional on (epoch, sequence). [Connect] opens a database with the rules of this package; the leases of
// package leader use it too.
//
// The tables are in the schema muster: streams, records, shared contents, and the version of the tables. [Open] makes
// and upgrades them in one transaction. It refuses tables of a newer program and changes nothing then.
//
// Invariants:
//
//   - An acknowledged record is on the server's disk, also where the server's synchronous_commit is off: each
//     transaction that writes switches it on for itself.
//   - An append is one transaction. It locks the row of its stream, so appends of one fleet come one after the other.
//   - A password is never in a URL, an error or a log: it comes from PGPASSWORD or the file that PGPASSFILE names, as
//     for psql.
//   - A connection over a network is encrypted, and the server's certificate is checked, unless the URL says otherwise
//     with sslmode. Without encryption only this machine can be reached.
//
// The package works with PgBouncer in its mode transaction, because no state outlives a transaction.
//
// It knows nothing of what a record says, except learned durations and arrivals, which package rules merges.
package pghistory
