package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncContents brings what was written to the disk, without the times of the file.
func syncContents(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
