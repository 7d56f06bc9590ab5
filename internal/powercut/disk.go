// Package powercut is a disk in memory on which SQLite can run and which can lose its power: it keeps apart what was
// synced from what was only written, and shows what a real disk might hold after the power came back.
//
// A [Disk] is one directory of files. [Disk.Mount] makes it known to the driver modernc.org/sqlite under a name, to be
// given as the parameter vfs of a data source name. Locks and the shared memory of WAL mode are implemented, so several
// connections of one process work as they do on a file system; the file systems' promise that a write does not damage
// the bytes beside it (SQLite's "powersafe overwrite", its default on Unix) is kept. As there, the first sync of a
// journal or write-ahead log also syncs the directory, and a deletion is only safe with the next sync of the directory.
//
// [Disk.Cut] may be called at any moment, also from within a change ([Disk.Before]), and costs no more than copying the
// files: many cuts can be taken of one history. Faults are injected by [Disk.Before] (a change that fails),
// [Disk.BeforeRead] (a read that fails) and [Disk.Limit] (a disk that is full).
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
	// Sync is the sync of a file; for a journal or log, its first one includes the directory.
	Sync
	// Create is the making of a new, empty file.
	Create
	// Delete is the removal of a file from the directory.
	Delete
)

// The faults that [Disk.Before] may inject.
var (
	// ErrIO makes the change fail as a broken disk does. After a failed sync the written bytes can still be read, but
	// no later sync brings them to the disk: that is how Linux file systems behave.
	ErrIO = errors.New("input/output error")
	// ErrNoSpace makes the change fail as a full disk does.
	ErrNoSpace error = syscall.ENOSPC
)

// Disk is a directory of files in memory. It is safe for use by several goroutines.
type Disk struct {
	mu         sync.Mutex
	names      map[string]*file // the directory as programs see it
	kept       map[string]*file // the directory as it was last synced
	moves      []move           // what happened to the directory since
	before     func(Op) error
	beforeRead func() error
	limit      int64 // bytes of all files; 0 is no limit
	ignoreSync bool
	*mount
}

// move is a change of the directory: from disappears, and to appears with its file. Either may be empty.
type move struct {
	from, to string
	file     *file
}

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

// Before sets what is called before each change; an error makes the change fail without being made. It may call Cut,
// and is called by the goroutine that asked for the change, by several at once where several do. Set it while nothing
// uses the disk.
func (d *Disk) Before(hook func(Op) error) { d.before = hook }

// BeforeRead sets what is called before each read of a file; an error makes the read fail. As with Before, several
// goroutines may call it at once; set it while nothing uses the disk.
func (d *Disk) BeforeRead(hook func() error) { d.beforeRead = hook }

// Limit sets how many bytes all files together may have from now on; 0 is no limit. Writes that need more fail.
func (d *Disk) Limit(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.limit = bytes
}

// Used returns how many bytes all files together have.
func (d *Disk) Used() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used()
}

func (d *Disk) used() int64 {
	var sum int64
	for _, f := range d.names {
		sum += int64(len(f.content))
	}
	return sum
}

// IgnoreSync makes this a lying disk: syncs succeed and do nothing. A test that finds no loss on such a disk does not
// test anything.
func (d *Disk) IgnoreSync() { d.ignoreSync = true }

func (d *Disk) hook(op Op) error {
	if d.before == nil {
		return nil
	}
	return d.before(op)
}

// Create makes an empty file; it must not exist.
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

func (d *Disk) create(name string) *file {
	f := &file{}
	d.record(move{to: name, file: f})
	return f
}

func (d *Disk) record(m move) {
	m.apply(d.names)
	d.moves = append(d.moves, m)
}

// Append writes bytes to the end of a file, which it makes if there is none. It fails, and changes nothing, on a full
// disk.
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

// Remove deletes a file.
func (d *Disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[name] == nil {
		return fmt.Errorf("remove %s: %w", name, fs.ErrNotExist)
	}
	d.record(move{from: name})
	return nil
}

// Rename gives a file another name, replacing what has that name, in one step.
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

// SyncDirectory makes what happened to the directory durable.
func (d *Disk) SyncDirectory() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncDirectory()
}

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
