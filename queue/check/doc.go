// Package check examines the files of a queue directory that may be damaged. It reports what is damaged
// and which messages are missing, and can repair the directory: it writes new files with everything
// intact and keeps the damaged ones.
//
// [Files] does all of it and returns a [Result]. `muster queue check` prints it.
//
//	check.go    options, result, locking, opening the files
//	read.go     the tables, page by page, without SQLite
//	log.go      the log that follows the tables
//	repair.go   the new files, and putting them in place
//
// SQLite stops at the first damaged page, and a service refuses a damaged file as a whole. This package
// instead trusts nothing that a checksum does not confirm. Pages have seals, rows and contents have
// checksums, frames of the log have checksums. The position in the tables and the mark say how many
// messages there must be; the difference is what is missing.
//
// Invariants: a check changes nothing. A repair never deletes a damaged file, and a crash during it can
// be continued. No service may have the directory open; a lock ensures that.
//
// The package knows how package storage writes rows, frames and checksums. It knows nothing of running
// queues: open a healthy directory with package queue.
package check
