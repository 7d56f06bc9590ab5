// Package storage keeps the operations of the state machine: in one SQLite file with a log in front of
// it, or in memory. The memory store is also the oracle with which tests compare the file.
//
// [SqliteStore] and [MemoryStore] both implement [machine.Store] and [machine.Contents]. The files of a
// queue directory:
//
//	queues.db        the tables; each page carries a seal (internal/sqlitefile)
//	queues.db-wal    SQLite's write-ahead log
//	queues.db-mark   how far the tables must be; detects a lost or older table file
//	queues.log       operations that are not in the tables yet (oplog)
//	reserve          room on the disk, released for deletes when the disk is full
//	lock             names the process that has the directory open
//
// A commit of messages goes to queues.log with one sync, which takes a fraction of the time of a
// transaction. A transaction moves the operations to the tables when the log is full, when an operation
// does not fit the log, and on closing. Most messages are deleted before they would reach a table.
// docs/decisions/0008 has the reasons.
//
// Invariants: an acknowledged operation survives a power cut. A file that is older than what was
// acknowledged is refused, never served. A newer, foreign or damaged file is refused and not changed.
//
// [OpenSQLite] also locks the directory, creates a missing file and upgrades older ones. Package
// queue/check reads damaged files; this package only refuses them. Nothing here knows which message is
// received next: that is package machine.
package storage
