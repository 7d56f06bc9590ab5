package queue

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/internal/sqlitefile"
)

// filePlace is where a queue file is made or brought forward: directories of the operating system, or the disk of a
// test that loses its power.
type filePlace struct {
	// create makes a file with the content, which is on the disk before it returns.
	create func(path string, content []byte) error
	// rename and remove change names. What they did is on the disk after the next sync. To remove a file that is not
	// there does nothing.
	rename func(from, to string) error
	remove func(path string) error
	// sync brings the names of the directory that path is in to the disk.
	sync func(path string) error
	// size is that of a file; 0 for one that is not there.
	size func(path string) (int64, error)
	// vfs is the name of the file system for SQLite; empty is the operating system's.
	vfs string
	// mark is the place of the mark at path.
	mark func(path string) sqlitefile.MarkPlace
}

// systemPlace are the directories of the operating system.
func systemPlace() filePlace {
	return filePlace{
		create: durable.Create, rename: os.Rename, remove: removeFile, size: sizeOf,
		sync: func(path string) error { return durable.SyncDir(filepath.Dir(path)) },
		mark: func(path string) sqlitefile.MarkPlace { return sqlitefile.MarkPath(path) },
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
