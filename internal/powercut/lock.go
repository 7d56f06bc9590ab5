// Locks on files and on the shared memory of WAL mode, as SQLite's Unix file system has them
// (sqlite.org/lockingv3.html). All functions need Disk.mu.

package powercut

import (
	"slices"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// handle is a file opened by SQLite.
type handle struct {
	*file
	name    string // name to delete on closing, of a temporary file
	reads   bool   // opened read-only
	journal bool   // its first sync also syncs the directory
	level   int32  // of the lock on the file
	mapped  bool
	// shared and exclusive are the locks held on the shared memory, one bit each.
	shared, exclusive uint32
}

// others yields the other handles of the file.
func (h *handle) others(yield func(*handle) bool) {
	for _, o := range h.handles {
		if o != h && !yield(o) {
			return
		}
	}
}

// lock raises the lock on the file to level, by the rules of SQLite's five levels.
func (h *handle) lock(level int32) int32 {
	if level <= h.level {
		return sqlite3.SQLITE_OK
	}
	if h.reads && level > sqlite3.SQLITE_LOCK_SHARED {
		return sqlite3.SQLITE_IOERR_LOCK // as on Unix: a write lock needs a writable file
	}
	for o := range h.others {
		switch {
		case o.level >= sqlite3.SQLITE_LOCK_PENDING,
			level >= sqlite3.SQLITE_LOCK_RESERVED && o.level >= sqlite3.SQLITE_LOCK_RESERVED:
			return sqlite3.SQLITE_BUSY
		}
	}
	if level == sqlite3.SQLITE_LOCK_EXCLUSIVE {
		h.level = sqlite3.SQLITE_LOCK_PENDING // from now on there are no new readers
		for o := range h.others {
			if o.level >= sqlite3.SQLITE_LOCK_SHARED {
				return sqlite3.SQLITE_BUSY
			}
		}
	}
	h.level = level
	return sqlite3.SQLITE_OK
}

// reserved says whether any handle has a lock for writing.
func (h *handle) reserved() bool {
	return slices.ContainsFunc(h.handles, func(o *handle) bool { return o.level >= sqlite3.SQLITE_LOCK_RESERVED })
}

// memory is the memory that connections to one file share in WAL mode.
type memory struct {
	regions []uintptr // in C memory
	users   int
}

// region returns the address of a region; 0 if it does not exist and extend is false. ok is false if
// memory ran out.
func (m *memory) region(tls *libc.TLS, n, size int, extend bool) (address uintptr, ok bool) {
	for extend && len(m.regions) <= n {
		p := libc.Xcalloc(tls, 1, libc.Tsize_t(size))
		if p == 0 {
			return 0, false
		}
		m.regions = append(m.regions, p)
	}
	if n < len(m.regions) {
		return m.regions[n], true
	}
	return 0, true
}

// unmap ends the use of the shared memory, and frees it after the last user.
func (h *handle) unmap(tls *libc.TLS) {
	if !h.mapped {
		return
	}
	h.mapped, h.shared, h.exclusive = false, 0, 0
	m := &h.file.memory
	if m.users--; m.users > 0 {
		return
	}
	for _, p := range m.regions {
		libc.Xfree(tls, p)
	}
	m.regions = nil
}

// lockShared takes or releases locks on the shared memory, one for each bit of mask.
func (h *handle) lockShared(mask uint32, flags int32) int32 {
	if flags&sqlite3.SQLITE_SHM_UNLOCK != 0 {
		h.shared &^= mask
		h.exclusive &^= mask
		return sqlite3.SQLITE_OK
	}
	exclusive := flags&sqlite3.SQLITE_SHM_EXCLUSIVE != 0
	for o := range h.others {
		if o.exclusive&mask != 0 || exclusive && o.shared&mask != 0 {
			return sqlite3.SQLITE_BUSY
		}
	}
	if exclusive {
		h.exclusive |= mask
	} else {
		h.shared |= mask
	}
	return sqlite3.SQLITE_OK
}
