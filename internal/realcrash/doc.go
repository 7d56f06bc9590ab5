// Package realcrash holds tests that run the real program on the real file system: it is killed in the middle of its
// work, watched by strace, and given a disk that is full. They take a minute and run only with MUSTER_SLOW=1.
//
// A kill leaves what was written in the page cache of the system, so it proves that the program recovers, not that it
// syncs; that is shown by package powercut and by the order of the system calls.
package realcrash
