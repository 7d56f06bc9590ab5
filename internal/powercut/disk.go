// Package powercut simulates a disk that can lose its power. It lives in memory, SQLite can run on it,
// and it distinguishes synced data from data that was only written. Tests use it to prove that
// acknowledged data survives.
//
// A [Disk] is one directory of files. [Disk.Mount] registers it with the driver modernc.org/sqlite
// under a name, the value of the parameter vfs in a data source name. [Disk.Cut] returns the disk as it
// might be after a power cut at this moment:
//
//	disk := powercut.New()
//	name, err := disk.Mount()
//	db, err := sql.Open("sqlite", "file:test.db?vfs="+name)
//	... // write, and note what was acknowledged
//	after := disk.Cut(seed) // open the file on after: the acknowledged rows must be there
//
// Cut may be called at any moment, also during a change ([Disk.Before]), and costs no more than copying
// the files, so many cuts can be taken of one history. [Disk.Before] makes changes fail,
// [Disk.BeforeRead] reads; [Disk.Limit] makes a full disk. [Disk.IgnoreSync] makes a disk that lies: a
// test that finds no loss there tests nothing.
//
// What it models: locks and the shared memory of WAL mode, so several connections of one process work;
// the promise of file systems that a write does not damage neighbouring bytes (SQLite's "powersafe
// overwrite", its default on Unix); that the first sync of a journal or write-ahead log also syncs the
// directory; that a deletion is durable only after the next sync of the directory. After a failed sync
// the written data stays readable and never reaches the disk, as on Linux.
//
// The same seed gives the same disk. Damage to the files of a running system is in package damage; a
// killed process on a real file system in package realcrash.
package powercut

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"syscall"
)

// Op is a kind of change of the disk.
type Op uint8

// The kinds of changes.
const (
	// Write is a write to a file.
	Write Op = iota + 1
	// Truncate is a change of a file's size.
	Truncate
	// Sync is the sync of a file. For a journal or log, the first one includes the directory.
	Sync
	// Create is the making of a new, empty file.
	Create
	// Delete is the removal of a file from the directory.
	Delete
)

// The faults that [Disk.Before] may inject.
var (
	// ErrIO makes the change fail as a broken disk does. After a failed sync the written bytes are
	// still readable, but no later sync brings them to the disk, as on Linux.
	ErrIO = errors.New("input/output error")
	// ErrNoSpace makes the change fail as a full disk does.
	ErrNoSpace error = syscall.ENOSPC
)

// Disk is a directory of files in memory. It is safe for concurrent use.
type Disk struct {
	// mu guards the state. It is not held while a hook runs, so that a hook may call Cut.
	mu         sync.Mutex
	names      map[string]*file // the directory as programs see it
	kept       map[string]*file // the directory as it was last synced
	moves      []move           // changes of the directory since the last sync
	before     func(Op) error
	beforeRead func() error
	limit      int64 // of all files together, in bytes; 0 is no limit
	ignoreSync bool
	*mount
}

// move is a change of the directory: the name from disappears, the name to appears with its file.
// Either may be empty.
type move struct {
	from, to string
	file     *file
}

// apply makes the change in a directory.
func (m move) apply(names map[string]*file) {
	if m.from != "" {
		delete(names, m.from)
	}
	if m.to != "" {
		names[m.to] = m.file
	}
}

// New returns an empty disk.
func New() *Disk {
	return &Disk{names: map[string]*file{}, kept: map[string]*file{}}
}

// Before sets a function that is called before each change. An error makes the change fail. The
// function may call Cut. It runs on the goroutine of the change, on several at once if several change
// the disk. Set it while the disk is not in use.
func (d *Disk) Before(hook func(Op) error) { d.before = hook }

// BeforeRead sets a function that is called before each read of a file. An error makes the read fail.
// Otherwise it is like Before.
func (d *Disk) BeforeRead(hook func() error) { d.beforeRead = hook }

// Limit sets the size of the disk in bytes from now on; 0 is no limit. Writes that need more fail.
func (d *Disk) Limit(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.limit = bytes
}

// Used returns the total size of all files in bytes.
func (d *Disk) Used() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used()
}

// used is Used with the lock held.
func (d *Disk) used() int64 {
	var sum int64
	for _, f := range d.names {
		sum += int64(len(f.content))
	}
	return sum
}

// IgnoreSync makes the disk lie: syncs succeed and do nothing. A test that finds no loss on such a disk
// tests nothing.
func (d *Disk) IgnoreSync() { d.ignoreSync = true }

// hook calls the function of Before.
func (d *Disk) hook(op Op) error {
	if d.before == nil {
		return nil
	}
	return d.before(op)
}

// Create creates an empty file, which must not exist.
func (d *Disk) Create(name string) error {
	if err := d.hook(Create); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[name] != nil {
		return fmt.Errorf("create %s: %w", name, fs.ErrExist)
	}
	d.create(name)
	return nil
}

// create adds an empty file; the lock must be held.
func (d *Disk) create(name string) *file {
	f := &file{}
	d.record(move{to: name, file: f})
	return f
}

// record applies a change of the directory, which is not durable yet.
func (d *Disk) record(m move) {
	m.apply(d.names)
	d.moves = append(d.moves, m)
}

// Append writes to the end of a file, and creates it if necessary. On a full disk it fails and changes
// nothing.
func (d *Disk) Append(name string, b []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.limit > 0 && d.used()+int64(len(b)) > d.limit {
		return fmt.Errorf("append to %s: %w", name, ErrNoSpace)
	}
	f := d.names[name]
	if f == nil {
		f = d.create(name)
	}
	f.change(change{int64(len(f.content)), slices.Clone(b)})
	return nil
}

// Remove deletes a file, which must exist. Open handles can still use it.
func (d *Disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[name] == nil {
		return fmt.Errorf("remove %s: %w", name, fs.ErrNotExist)
	}
	d.record(move{from: name})
	return nil
}

// Rename renames a file atomically, and replaces a file of the new name.
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.names[from]
	if f == nil {
		return fmt.Errorf("rename %s: %w", from, fs.ErrNotExist)
	}
	d.record(move{from, to, f})
	return nil
}

// SyncDirectory makes the changes of the directory durable.
func (d *Disk) SyncDirectory() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncDirectory()
}

// syncDirectory is SyncDirectory with the lock held.
func (d *Disk) syncDirectory() {
	if d.ignoreSync {
		return
	}
	for _, m := range d.moves {
		m.apply(d.kept)
	}
	d.moves = nil
}

// Read returns the content of a file, or an error that matches [fs.ErrNotExist].
func (d *Disk) Read(name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.names[name]
	if f == nil {
		return nil, fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
	}
	return slices.Clone(f.content), nil
}

// Files returns the names of all files.
func (d *Disk) Files() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := make([]string, 0, len(d.names))
	for name := range d.names {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
