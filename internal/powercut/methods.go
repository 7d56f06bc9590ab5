// The functions that SQLite calls for an open file. Their names are those of sqlite3_io_methods, which
// documents their contracts; results are SQLite's codes.

package powercut

import (
	"errors"
	"slices"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// locked runs do with the handle of a file and the disk locked.
func (d *Disk) locked(pFile uintptr, do func(*handle) int32) int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return do(d.open[pFile])
}

// changed is locked for a change, after the hook; broken is the code for a fault. SQLite on Unix
// distinguishes a full disk from a broken one only for writes.
func (d *Disk) changed(pFile uintptr, op Op, broken int32, do func(*handle) int32) int32 {
	switch err := d.hook(op); {
	case op == Write && errors.Is(err, ErrNoSpace):
		return sqlite3.SQLITE_FULL
	case err != nil:
		if op == Sync {
			d.locked(pFile, func(h *handle) int32 {
				h.loseSync(newDamage(uint64(len(h.changes))))
				return 0
			})
		}
		return broken
	}
	return d.locked(pFile, do)
}

// xClose closes a file, and deletes it if it is temporary.
func (d *Disk) xClose(tls *libc.TLS, pFile uintptr) int32 {
	return d.locked(pFile, func(h *handle) int32 {
		h.unmap(tls)
		h.handles = slices.DeleteFunc(h.handles, func(o *handle) bool { return o == h })
		if h.name != "" {
			d.record(move{from: h.name})
		}
		delete(d.open, pFile)
		return sqlite3.SQLITE_OK
	})
}

// xRead fills a short read with zeros, as SQLite demands.
func (d *Disk) xRead(_ *libc.TLS, pFile, pBuffer uintptr, n int32, from int64) int32 {
	if d.beforeRead != nil && d.beforeRead() != nil {
		return sqlite3.SQLITE_IOERR_READ
	}
	return d.locked(pFile, func(h *handle) int32 {
		b := bytesAt(pBuffer, n)
		got := 0
		if from < int64(len(h.content)) {
			got = copy(b, h.content[from:])
		}
		if got == len(b) {
			return sqlite3.SQLITE_OK
		}
		clear(b[got:])
		return sqlite3.SQLITE_IOERR_SHORT_READ
	})
}

// xWrite writes what fits, and returns SQLITE_FULL for the rest.
func (d *Disk) xWrite(_ *libc.TLS, pFile, pBuffer uintptr, n int32, to int64) int32 {
	return d.changed(pFile, Write, sqlite3.SQLITE_IOERR_WRITE, func(h *handle) int32 {
		if h.reads {
			return sqlite3.SQLITE_IOERR_WRITE
		}
		b := bytesAt(pBuffer, n)
		b = b[:d.roomFor(h.file, int64(n), to)]
		if len(b) > 0 {
			h.change(change{to, slices.Clone(b)})
		}
		if len(b) < int(n) {
			return sqlite3.SQLITE_FULL
		}
		return sqlite3.SQLITE_OK
	})
}

func (d *Disk) xTruncate(_ *libc.TLS, pFile uintptr, size int64) int32 {
	return d.changed(pFile, Truncate, sqlite3.SQLITE_IOERR_TRUNCATE, func(h *handle) int32 {
		h.change(change{at: size})
		return sqlite3.SQLITE_OK
	})
}

// xSync makes the content durable; for a new journal the directory too.
func (d *Disk) xSync(_ *libc.TLS, pFile uintptr, _ int32) int32 {
	return d.changed(pFile, Sync, sqlite3.SQLITE_IOERR_FSYNC, func(h *handle) int32 {
		if d.ignoreSync {
			return sqlite3.SQLITE_OK
		}
		h.sync()
		if h.journal {
			d.syncDirectory()
			h.journal = false
		}
		return sqlite3.SQLITE_OK
	})
}

func (d *Disk) xFileSize(_ *libc.TLS, pFile, pSize uintptr) int32 {
	return d.locked(pFile, func(h *handle) int32 {
		*at[int64](pSize) = int64(len(h.content))
		return sqlite3.SQLITE_OK
	})
}

func (d *Disk) xLock(_ *libc.TLS, pFile uintptr, level int32) int32 {
	return d.locked(pFile, func(h *handle) int32 { return h.lock(level) })
}

// xUnlock lowers the lock on the file.
func (d *Disk) xUnlock(_ *libc.TLS, pFile uintptr, level int32) int32 {
	return d.locked(pFile, func(h *handle) int32 {
		h.level = min(h.level, level)
		return sqlite3.SQLITE_OK
	})
}

func (d *Disk) xCheckReservedLock(_ *libc.TLS, pFile, pResult uintptr) int32 {
	return d.locked(pFile, func(h *handle) int32 {
		*at[int32](pResult) = 0
		if h.reserved() {
			*at[int32](pResult) = 1
		}
		return sqlite3.SQLITE_OK
	})
}

func (d *Disk) xShmMap(tls *libc.TLS, pFile uintptr, n, size, extend int32, pAddress uintptr) int32 {
	return d.locked(pFile, func(h *handle) int32 {
		m := &h.file.memory
		if !h.mapped {
			h.mapped = true
			m.users++
		}
		address, ok := m.region(tls, int(n), int(size), extend != 0)
		*at[uintptr](pAddress) = address
		if !ok {
			return sqlite3.SQLITE_NOMEM
		}
		return sqlite3.SQLITE_OK
	})
}

func (d *Disk) xShmLock(_ *libc.TLS, pFile uintptr, first, n, flags int32) int32 {
	return d.locked(pFile, func(h *handle) int32 { return h.lockShared((1<<n-1)<<first, flags) })
}

// xShmBarrier orders accesses to the shared memory; taking the lock does that.
func (d *Disk) xShmBarrier(_ *libc.TLS, pFile uintptr) {
	d.locked(pFile, func(*handle) int32 { return 0 })
}

func (d *Disk) xShmUnmap(tls *libc.TLS, pFile uintptr, _ int32) int32 {
	return d.locked(pFile, func(h *handle) int32 {
		h.unmap(tls)
		return sqlite3.SQLITE_OK
	})
}
