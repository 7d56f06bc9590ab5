package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/internal/sqlitefile"
)

// Place is where a queue file is made or brought forward: directories of the operating system, or the disk of a
// test that loses its power.
type Place struct {
	// Create makes a file with the content, which is on the disk before it returns.
	Create func(path string, content []byte) error
	// Rename and Remove change names. What they did is on the disk after the next sync. To remove a file that is not
	// there does nothing.
	Rename func(from, to string) error
	Remove func(path string) error
	// Sync brings the names of the directory that path is in to the disk.
	Sync func(path string) error
	// Size is that of a file; 0 for one that is not there.
	Size func(path string) (int64, error)
	// VFS is the name of the file system for SQLite; empty is the operating system's.
	VFS string
	// Mark is the place of the mark at path.
	Mark func(path string) sqlitefile.MarkPlace
}

// SystemPlace are the directories of the operating system.
func SystemPlace() Place {
	return Place{
		Create: durable.Create, Rename: os.Rename, Remove: removeFile, Size: sizeOf,
		Sync: func(path string) error { return durable.SyncDir(filepath.Dir(path)) },
		Mark: func(path string) sqlitefile.MarkPlace { return sqlitefile.MarkPath(path) },
	}
}

func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func sizeOf(path string) (int64, error) {
	stat, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return stat.Size(), nil
}
