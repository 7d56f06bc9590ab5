//go:build !linux

package main

import "os"

// syncContents brings what was written to the disk.
func syncContents(f *os.File) error { return f.Sync() }
