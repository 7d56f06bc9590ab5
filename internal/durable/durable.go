// Package durable makes directories and small files that are still there after a power cut. A file that was synced can
// be lost all the same: its name, and the names of the directories above it, are kept in directories that must be
// synced too.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MkdirAll makes the directory dir, with those above it that are missing, and syncs the name of each before it makes
// the next one. What exists keeps its mode. Its name is synced as well, because the program that made it may have ended
// before it could; what then fails for lack of rights is the business of whoever made it.
func MkdirAll(dir string, mode fs.FileMode) error {
	return makeAll(dir, func(name string) error { return os.Mkdir(name, mode) }, SyncDir)
}

// makeAll is MkdirAll; make makes one directory and sync syncs one.
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

// SyncDir brings to the disk which names the directory dir holds. A file system that cannot do that, and says so, is
// believed to need no such thing.
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

// Create makes the file path with the given content, for its owner alone. After a power cut it is there whole, or not
// at all; once Create returned it is there. A file that exists is kept, and the error matches [fs.ErrExist].
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
	if err := os.Link(f.Name(), path); err != nil { // unlike Rename it never replaces
		return fmt.Errorf("create %s: %w", path, err)
	}
	return SyncDir(dir)
}
