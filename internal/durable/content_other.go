//go:build !linux

package durable

import "os"

// SyncContent brings to the disk what was written into a file whose size does not change. It goes through the drive's
// cache, also on macOS.
func SyncContent(f *os.File) error { return f.Sync() }
