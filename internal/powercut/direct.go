// Access to files without SQLite, for logs and marks that the program writes itself.

package powercut

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// WriteAt writes to a file that exists. On a full disk it writes what fits and returns an error that
// matches [ErrNoSpace].
func (d *Disk) WriteAt(name string, b []byte, at int64) error {
	if err := d.hook(Write); err != nil {
		return fmt.Errorf("write to %s: %w", name, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.names[name]
	if f == nil {
		return fmt.Errorf("write to %s: %w", name, fs.ErrNotExist)
	}
	fits := d.roomFor(f, int64(len(b)), at)
	if fits > 0 {
		f.change(change{at, slices.Clone(b[:fits])})
	}
	if fits < int64(len(b)) {
		return fmt.Errorf("write to %s: %w", name, ErrNoSpace)
	}
	return nil
}

// roomFor returns how many of n bytes, written at an offset, the disk has room for.
func (d *Disk) roomFor(f *file, n, at int64) int64 {
	more := at + n - int64(len(f.content))
	if d.limit == 0 || more <= 0 {
		return n
	}
	return min(n, max(0, n-more+max(0, d.limit-d.used())))
}

// SyncFile makes the written bytes of a file durable. If it fails, as [Disk.Before] may make it, a part
// of them is lost for good.
func (d *Disk) SyncFile(name string) error {
	fault := d.hook(Sync)
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.names[name]
	switch {
	case f == nil:
		return errors.Join(fmt.Errorf("sync %s: %w", name, fs.ErrNotExist), fault)
	case fault != nil:
		f.loseSync(newDamage(uint64(len(f.changes))))
		return fmt.Errorf("sync %s: %w", name, fault)
	case !d.ignoreSync:
		f.sync()
	}
	return nil
}
