package powercut

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// mount is the registration of a disk with SQLite. SQLite passes addresses in C memory; open finds the
// handle by the address of SQLite's file structure.
type mount struct {
	tls          *libc.TLS
	name         string
	vfs, methods uintptr
	cname        uintptr
	open         map[uintptr]*handle
	functions    []any // keeps the functions alive that SQLite calls
	unmounted    chan struct{}
}

// at returns C memory as a T.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// bytesAt returns C memory as bytes.
func bytesAt(address uintptr, n int32) []byte { return unsafe.Slice(at[byte](address), n) }

// function returns the address by which SQLite calls a Go function.
func function[F any](m *mount, f F) uintptr {
	m.functions = append(m.functions, f)
	return *(*uintptr)(unsafe.Pointer(&f))
}

// Mount registers the disk with SQLite and returns its name, for the parameter vfs of a data source
// name. A second call returns the same name.
func (d *Disk) Mount() (name string, err error) {
	if d.mount != nil {
		return d.mount.name, nil
	}
	m := &mount{tls: libc.NewTLS(), name: fmt.Sprintf("powercut-%p", d), open: map[uintptr]*handle{},
		unmounted: make(chan struct{})}
	if m.cname, err = libc.CString(m.name); err != nil {
		return "", fmt.Errorf("mount a disk: %w", err)
	}
	m.methods = libc.Xcalloc(m.tls, 1, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{})))
	m.vfs = libc.Xcalloc(m.tls, 1, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})))
	system := sqlite3.Xsqlite3_vfs_find(m.tls, 0)
	if m.methods == 0 || m.vfs == 0 || system == 0 {
		return "", errors.New("mount a disk: out of memory")
	}
	d.mount = m
	d.fileMethods(at[sqlite3.Tsqlite3_io_methods](m.methods))
	v := at[sqlite3.Tsqlite3_vfs](m.vfs)
	v.FiVersion, v.FszOsFile, v.FmxPathname, v.FzName = 2, int32(unsafe.Sizeof(uintptr(0))), 512, m.cname
	s := at[sqlite3.Tsqlite3_vfs](system)
	v.FxRandomness, v.FxSleep, v.FxGetLastError = s.FxRandomness, s.FxSleep, s.FxGetLastError
	v.FxCurrentTime, v.FxCurrentTimeInt64 = s.FxCurrentTime, s.FxCurrentTimeInt64
	v.FxOpen = function(m, d.xOpen)
	v.FxDelete = function(m, d.xDelete)
	v.FxAccess = function(m, d.xAccess)
	v.FxFullPathname = function(m, d.xFullPathname)
	if rc := sqlite3.Xsqlite3_vfs_register(m.tls, m.vfs, 0); rc != sqlite3.SQLITE_OK {
		return "", fmt.Errorf("mount a disk: SQLite answers %d", rc)
	}
	// The garbage collector does not see SQLite's references, so this goroutine holds some.
	go func() {
		<-m.unmounted
		runtime.KeepAlive(d)
		runtime.KeepAlive(m)
	}()
	return m.name, nil
}

// fileMethods fills in the table of functions on files.
func (d *Disk) fileMethods(io *sqlite3.Tsqlite3_io_methods) {
	m := d.mount
	io.FiVersion = 2 // shared memory, but no memory mapping
	io.FxClose = function(m, d.xClose)
	io.FxRead = function(m, d.xRead)
	io.FxWrite = function(m, d.xWrite)
	io.FxTruncate = function(m, d.xTruncate)
	io.FxSync = function(m, d.xSync)
	io.FxFileSize = function(m, d.xFileSize)
	io.FxLock = function(m, d.xLock)
	io.FxUnlock = function(m, d.xUnlock)
	io.FxCheckReservedLock = function(m, d.xCheckReservedLock)
	io.FxFileControl = function(m, func(*libc.TLS, uintptr, int32, uintptr) int32 { return sqlite3.SQLITE_NOTFOUND })
	io.FxSectorSize = function(m, func(*libc.TLS, uintptr) int32 { return 4096 }) // as on Unix
	io.FxDeviceCharacteristics = function(m,
		func(*libc.TLS, uintptr) int32 { return sqlite3.SQLITE_IOCAP_POWERSAFE_OVERWRITE })
	io.FxShmMap = function(m, d.xShmMap)
	io.FxShmLock = function(m, d.xShmLock)
	io.FxShmBarrier = function(m, d.xShmBarrier)
	io.FxShmUnmap = function(m, d.xShmUnmap)
}

// Unmount removes the disk from SQLite. All connections must be closed.
func (d *Disk) Unmount() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.mount
	if m == nil {
		return nil
	}
	if len(m.open) > 0 {
		return fmt.Errorf("unmount a disk: %d files are open; close the connections first", len(m.open))
	}
	rc := sqlite3.Xsqlite3_vfs_unregister(m.tls, m.vfs)
	for _, p := range []uintptr{m.vfs, m.methods, m.cname} {
		libc.Xfree(m.tls, p)
	}
	m.tls.Close()
	d.mount = nil
	close(m.unmounted)
	if rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("unmount a disk: SQLite answers %d", rc)
	}
	return nil
}

// xOpen opens or creates a file. A file without a name is a temporary one.
func (d *Disk) xOpen(_ *libc.TLS, _, zName, pFile uintptr, flags int32, pOutFlags uintptr) int32 {
	*at[uintptr](pFile) = 0
	h := &handle{}
	name := ""
	if zName != 0 {
		name = libc.GoString(zName)
	}
	d.mu.Lock()
	h.file = d.names[name]
	d.mu.Unlock()
	if h.file == nil && name != "" {
		if flags&sqlite3.SQLITE_OPEN_CREATE == 0 || d.hook(Create) != nil {
			return sqlite3.SQLITE_CANTOPEN
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case name == "":
		h.file = &file{}
	// The hook ran without the lock, so the file may have been created meanwhile.
	case d.names[name] == nil:
		h.file = d.create(name)
	default:
		h.file = d.names[name]
	}
	const journals = sqlite3.SQLITE_OPEN_MAIN_JOURNAL | sqlite3.SQLITE_OPEN_SUPER_JOURNAL | sqlite3.SQLITE_OPEN_WAL
	// The first sync of a new journal includes the directory, as SQLite's Unix file system does it.
	h.journal = flags&sqlite3.SQLITE_OPEN_CREATE != 0 && flags&journals != 0
	if flags&sqlite3.SQLITE_OPEN_DELETEONCLOSE != 0 {
		h.name = name
	}
	h.reads = flags&sqlite3.SQLITE_OPEN_READONLY != 0
	h.handles = append(h.handles, h)
	d.open[pFile] = h
	if pOutFlags != 0 {
		*at[int32](pOutFlags) = flags
	}
	*at[uintptr](pFile) = d.methods
	return sqlite3.SQLITE_OK
}

// xDelete deletes a file; syncDirectory asks to make that durable.
func (d *Disk) xDelete(_ *libc.TLS, _, zName uintptr, syncDirectory int32) int32 {
	if err := d.hook(Delete); err != nil {
		return sqlite3.SQLITE_IOERR_DELETE
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	name := libc.GoString(zName)
	if d.names[name] == nil {
		return sqlite3.SQLITE_IOERR_DELETE_NOENT
	}
	d.record(move{from: name})
	if syncDirectory&1 != 0 {
		d.syncDirectory()
	}
	return sqlite3.SQLITE_OK
}

// xAccess says whether a file exists. As on Unix, an empty file does not count as existing.
func (d *Disk) xAccess(_ *libc.TLS, _, zName uintptr, flags int32, pResult uintptr) int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.names[libc.GoString(zName)]
	*at[int32](pResult) = 0
	if f != nil && (flags != sqlite3.SQLITE_ACCESS_EXISTS || len(f.content) > 0) {
		*at[int32](pResult) = 1
	}
	return sqlite3.SQLITE_OK
}

func (d *Disk) xFullPathname(_ *libc.TLS, _, zName uintptr, n int32, zOut uintptr) int32 {
	name := libc.GoString(zName)
	if len(name) >= int(n) {
		return sqlite3.SQLITE_CANTOPEN
	}
	out := bytesAt(zOut, n)
	out[copy(out, name)] = 0
	return sqlite3.SQLITE_OK
}
