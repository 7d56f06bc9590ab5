//go:build !linux

package queue

import "os"

// syncContent goes through the drive's cache, also on macOS.
func syncContent(f *os.File) error { return f.Sync() }
