// Package joblog keeps what the workers of a fleet and their jobs print.
//
// Each fleet has one log, a directory below the data directory, that all its workers write and that outlives them.
// Nobody owns it: under the lock of the directory a [Log] appends what it has collected, and rotates the file when it
// is full. So a log needs no process that must stay alive, and its size is bounded: [Files] files of
// [FileMegabytes] each.
//
// A record is one line of JSON ([Record]). [Log.Write] never waits: a job is never held up by its log. What comes too
// fast, or cannot be written, is left out and counted. Lines that are repeated are counted too.
//
// [Read] and [Follow] read a log. [Failures] keeps the last failure of each message for as long as the message may
// exist, however fast the log is rotated.
package joblog
