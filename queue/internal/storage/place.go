package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/internal/sqlitefile"
)

// Place is where a queue file is created or upgraded: directories of the operating system, or the
// simulated disk of a test that loses its power.
type Place struct {
	// Create creates a file with the content, and makes it durable before it returns.
	Create func(path string, content []byte) error
	// Rename and Remove change names. The changes are durable after the next Sync. Removing a missing
	// file is no error.
	Rename func(from, to string) error
	Remove func(path string) error
	// Sync makes the names of the directory that contains path durable.
	Sync func(path string) error
	// Size returns the size of a file in bytes; 0 for a missing one.
	Size func(path string) (int64, error)
	// VFS is the name of the SQLite file system; empty means that of the operating system.
	VFS string
	// Mark returns the place of the mark at path.
	Mark func(path string) sqlitefile.MarkPlace
}

// SystemPlace returns the directories of the operating system.
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
