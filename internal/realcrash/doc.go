// Package realcrash has tests that run the real program on a real file system. The program is killed in
// the middle of its work, watched by strace, and given a full disk. The tests take a minute and run
// only with MUSTER_SLOW=1.
//
// A kill leaves written data in the page cache of the system. So it proves that the program recovers,
// but not that it syncs; package powercut and the order of system calls show that.
package realcrash
