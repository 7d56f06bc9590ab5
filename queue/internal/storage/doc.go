// Package storage keeps what the state machine of the embedded queue wants kept: in one SQLite file with a log in front
// of it, or in memory, which is also what the tests compare the file with.
//
// [SqliteStore] and [MemoryStore] are both [machine.Store] and [machine.Contents]. A commit goes to the log, which
// package oplog writes, and is synced; the tables follow later (docs/decisions/0008). The package also locks the
// directory, brings older files forward and tells what is wrong with files that it refuses.
package storage
