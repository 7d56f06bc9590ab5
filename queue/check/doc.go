// Package check reads the files of a queue directory without believing them, says what is damaged and what is missing
// because of that, and makes new files of what is whole.
//
// [Files] does all of it. check.go opens the files, read.go reads the tables page by page, log.go the log that follows
// them, and repair.go writes the new files and puts them in the place of the damaged ones. No service may have the
// directory open meanwhile: a lock on the directory sees to that.
//
// The package knows how package storage writes (rows, frames, checksums) and nothing of queues that run.
package check
