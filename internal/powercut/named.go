package powercut

import (
	"errors"

	"github.com/muster-scale/muster/internal/sqlitefile"
)

// Named is one file on a disk. It implements [sqlitefile.MarkPlace].
type Named struct {
	*Disk
	Name string
}

// Read returns the content of the file, or an error that matches fs.ErrNotExist.
func (n Named) Read() ([]byte, error) { return n.Disk.Read(n.Name) }

// Create creates the file under another name, syncs it and renames it.
func (n Named) Create(content []byte) error {
	fresh := n.Name + ".new"
	n.Remove(fresh) // a crash may have left it
	err := errors.Join(n.Disk.Create(fresh), n.Append(fresh, content), n.SyncFile(fresh), n.Rename(fresh, n.Name))
	n.SyncDirectory()
	return err
}

// Open returns the file for writing.
func (n Named) Open() (sqlitefile.MarkFile, error) { return n, nil }

// WriteAt writes into the file.
func (n Named) WriteAt(b []byte, at int64) (int, error) {
	return len(b), n.Disk.WriteAt(n.Name, b, at)
}

// Sync makes the written bytes durable.
func (n Named) Sync() error { return n.SyncFile(n.Name) }

// Close does nothing.
func (n Named) Close() error { return nil }
