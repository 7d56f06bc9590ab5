// Package durable creates directories and small files that still exist after a power cut.
//
// Syncing a file is not enough: its name, and the names of the directories above it, are kept in
// directories that must be synced too.
//
//   - [MkdirAll] creates directories, [Create] a new file, atomically. Both are durable when they
//     return.
//   - [SyncDir] makes names durable after a rename or removal; [SyncContent] the content of a file
//     whose size does not change.
//   - [Replace] replaces a file atomically, but not durably: for results that can be made again.
//
// Large data that changes in place belongs into SQLite or into queue/internal/storage/oplog.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MkdirAll creates the directory dir and missing ones above it, and syncs the name of each before it
// creates the next. An existing directory keeps its mode. Its name is synced too, because the program
// that created it may have ended before it could. If that fails for lack of permission, the error is
// ignored: such a directory belongs to someone else.
func MkdirAll(dir string, mode fs.FileMode) error {
	return makeAll(dir, func(name string) error { return os.Mkdir(name, mode) }, SyncDir)
}

// makeAll is MkdirAll. make creates one directory and sync syncs one; tests replace them.
func makeAll(dir string, make, sync func(string) error) error {
	dir = filepath.Clean(dir)
	parent := filepath.Dir(dir)
	stat, err := os.Stat(dir)
	switch {
	case err == nil && !stat.IsDir():
		return fmt.Errorf("make directory %s: found a file of that name; move it away or give another directory", dir)
	case err == nil && parent == dir:
		return nil
	case err == nil:
		if err := sync(parent); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("make directory: %w", err)
	}
	if err := makeAll(parent, make, sync); err != nil {
		return err
	}
	if err := make(dir); err != nil && !errors.Is(err, fs.ErrExist) { // another process may have been faster
		return fmt.Errorf("make directory: %w", err)
	}
	return sync(parent)
}

// SyncDir makes the names in the directory dir durable. A file system that reports that it cannot sync
// directories is taken not to need it.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	if err := errors.Join(err, d.Close()); err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	return nil
}

// Create creates the file path with the given content and mode 0600. After a power cut it is there
// completely or not at all; after Create returned it is there. An existing file is kept, and the error
// matches [fs.ErrExist].
func Create(path string, content []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	if err := os.Link(f.Name(), path); err != nil { // unlike Rename it never replaces a file
		return fmt.Errorf("create %s: %w", path, err)
	}
	return SyncDir(dir)
}
