package queue

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/internal/sqlitefile"
)

// filePlace is where a queue file is made or brought forward: directories of the operating system, or the disk of a test that
// loses its power.
type filePlace interface {
	// Create makes a file with the content, which is on the disk before it returns.
	Create(path string, content []byte) error
	// Rename and Remove change names. What they did is on the disk after the next Sync. Remove of a file that is not there does
	// nothing.
	Rename(from, to string) error
	Remove(path string) error
	// Sync brings the names of the directory that path is in to the disk.
	Sync(path string) error
	// Size is that of a file; 0 for one that is not there.
	Size(path string) (int64, error)
	// VFS is the name of the file system for SQLite; empty is the operating system's.
	VFS() string
	// Mark is the place of the mark at path.
	Mark(path string) sqlitefile.MarkPlace
}

// systemPlace are the directories of the operating system.
type systemPlace struct{}

func (systemPlace) Create(path string, content []byte) error { return durable.Create(path, content) }

func (systemPlace) Rename(from, to string) error { return os.Rename(from, to) }

func (systemPlace) Remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (systemPlace) Sync(path string) error { return durable.SyncDir(filepath.Dir(path)) }

func (systemPlace) Size(path string) (int64, error) {
	stat, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return stat.Size(), nil
}

func (systemPlace) VFS() string { return "" }

func (systemPlace) Mark(path string) sqlitefile.MarkPlace { return sqlitefile.MarkPath(path) }
