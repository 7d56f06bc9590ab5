//go:build !linux

package durable

import "os"

// SyncContent makes durable what was written to a file whose size does not change. It also flushes the
// drive's cache, on macOS too.
func SyncContent(f *os.File) error { return f.Sync() }
