package sqlitefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// PageBytes is the size of a page of every file that is sealed.
const PageBytes = 4096

// A seal is the end of a page: a mark, and a checksum over the page's number and all that comes before it. SQLite keeps
// so many bytes of each page free for that; byte 20 of the file says how many.
const (
	sealBytes     = 8
	sealMark      = "MUP1"
	headerReserve = 20
)

// maxNoted bounds the pages of which [Pages.Damaged] tells.
const maxNoted = 64

// Pages is a file system for SQLite that lies over another one and seals the pages of database files: it writes a
// checksum into each page on its way to the file and checks it on the way back. What does not match reads as
// SQLITE_CORRUPT, so that a changed bit is an error wherever it is. All that is not a database, the write-ahead log
// above all, passes through: it has checksums of its own.
//
// What it keeps is in C memory, where SQLite looks for it; only Go functions without a receiver are called from there.
// So nothing of it is moved or collected. It is safe for use by several goroutines, but for Unmount, which comes last.
type Pages struct {
	tls   *libc.TLS // nil once it is unmounted
	state uintptr   // *pagesState
}

// pagesState is in C memory. Its first field is what SQLite knows as the file system, with the state as its user data.
type pagesState struct {
	vfs     sqlite3.Tsqlite3_vfs
	methods sqlite3.Tsqlite3_io_methods
	name    uintptr
	base    uintptr // the file system below
	last    uint32  // the page that a checkpoint writes after all others; 0 if none
	lenient int32   // damaged pages are noted, and read all the same
	noted   int32   // how many pages were found damaged
	pages   [maxNoted]uint32
}

// sealedFile is how SQLite sees an open database file; that of the file system below follows it.
type sealedFile struct {
	methods uintptr
	state   uintptr
	scratch uintptr // a page, and the one that is held
	// During a checkpoint the last page is held; wrong is the failure that keeps it from being written.
	checkpoint, held, wrong int32
}

// sealedSize keeps what follows as aligned as SQLite allocated it.
const sealedSize = (int32(unsafe.Sizeof(sealedFile{})) + 7) &^ 7

// leastPage is the smallest page that SQLite knows. What is read or written in fewer bytes is a part of the header.
const leastPage = 512

// at views C memory as a T.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// bytesAt views C memory as bytes.
func bytesAt(address uintptr, n int32) []byte { return unsafe.Slice(at[byte](address), n) }

// pointer is the address under which SQLite calls a function that is no closure.
func pointer[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// function is what is behind such an address.
func function[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&address)) }

// Seal puts a file system that seals pages over the one named base; empty is the operating system's. With lenient,
// damaged pages are noted and read all the same: that is for saving what can be saved. Unmount it when all connections
// are closed.
func Seal(base string, lenient bool) (*Pages, error) {
	p := &Pages{tls: libc.NewTLS()}
	if err := p.mount(base, lenient); err != nil {
		p.free()
		return nil, fmt.Errorf("seal the pages of a file: %w", err)
	}
	return p, nil
}

func (p *Pages) mount(base string, lenient bool) (err error) {
	name := uintptr(0)
	if base != "" {
		if name, err = libc.CString(base); err != nil {
			return err
		}
		defer libc.Xfree(p.tls, name)
	}
	system := sqlite3.Xsqlite3_vfs_find(p.tls, name)
	if system == 0 {
		return fmt.Errorf("found no file system %q", base)
	}
	if p.state = libc.Xcalloc(p.tls, 1, libc.Tsize_t(unsafe.Sizeof(pagesState{}))); p.state == 0 {
		return errors.New("out of memory")
	}
	s := at[pagesState](p.state)
	s.base = system
	if lenient {
		s.lenient = 1
	}
	if s.name, err = libc.CString(fmt.Sprintf("sealed-%x", p.state)); err != nil {
		return err
	}
	s.fill()
	if rc := sqlite3.Xsqlite3_vfs_register(p.tls, p.state, 0); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("SQLite answers %d", rc)
	}
	return nil
}

// fill makes the tables of functions.
func (s *pagesState) fill() {
	b, v := at[sqlite3.Tsqlite3_vfs](s.base), &s.vfs
	v.FiVersion, v.FszOsFile, v.FmxPathname, v.FzName = 2, sealedSize+b.FszOsFile, b.FmxPathname, s.name
	v.FpAppData = uintptr(unsafe.Pointer(s))
	v.FxOpen, v.FxDelete, v.FxAccess, v.FxFullPathname = pointer(openFile), pointer(deleteFile), pointer(accessFile),
		pointer(fullPathname)
	v.FxRandomness, v.FxSleep, v.FxGetLastError = b.FxRandomness, b.FxSleep, b.FxGetLastError
	v.FxCurrentTime, v.FxCurrentTimeInt64 = b.FxCurrentTime, b.FxCurrentTimeInt64
	m := &s.methods
	m.FiVersion = 2 // with shared memory, without memory mapping, which would read past the seals
	m.FxClose, m.FxRead, m.FxWrite, m.FxTruncate = pointer(closeFile), pointer(readFile), pointer(writeFile),
		pointer(truncateFile)
	m.FxSync, m.FxFileSize, m.FxFileControl = pointer(syncFile), pointer(fileSize), pointer(controlFile)
	m.FxLock, m.FxUnlock, m.FxCheckReservedLock = pointer(lockFile), pointer(unlockFile), pointer(checkReservedLock)
	m.FxSectorSize, m.FxDeviceCharacteristics = pointer(sectorSize), pointer(deviceCharacteristics)
	m.FxShmMap, m.FxShmLock = pointer(shmMap), pointer(shmLock)
	m.FxShmBarrier, m.FxShmUnmap = pointer(shmBarrier), pointer(shmUnmap)
}

// Name returns the name for the parameter vfs of a data source name.
func (p *Pages) Name() string { return libc.GoString(at[pagesState](p.state).name) }

// WriteLast has checkpoints write the page of that number when all others are on the disk. A file whose write-ahead log
// is lost in the middle of a checkpoint holds pages of two times; the content of that page is of the earlier one then,
// whatever the others are. It is called before a connection is opened.
func (p *Pages) WriteLast(number uint32) { at[pagesState](p.state).last = number }

// Damaged returns the numbers of pages that were read and found damaged, at most 64 of them, sorted.
func (p *Pages) Damaged() []uint32 {
	s := at[pagesState](p.state)
	var found []uint32
	for i := range min(atomic.LoadInt32(&s.noted), maxNoted) {
		if number := atomic.LoadUint32(&s.pages[i]); number != 0 { // it is being noted
			found = append(found, number)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Unmount makes the file system unknown to SQLite. Connections that are open can still be used. So what it keeps in C
// memory, less than a kilobyte, is never freed: a connection may be opened at this moment.
func (p *Pages) Unmount() {
	if p == nil || p.tls == nil {
		return
	}
	sqlite3.Xsqlite3_vfs_unregister(p.tls, p.state)
	p.tls.Close()
	p.tls = nil
}

// free frees what was never mounted.
func (p *Pages) free() {
	if p.state != 0 {
		libc.Xfree(p.tls, at[pagesState](p.state).name)
		libc.Xfree(p.tls, p.state)
	}
	p.tls.Close()
}

// sealOf returns the seal of page number, which is all but its seal.
func sealOf(number uint32, page []byte) (seal [sealBytes]byte) {
	sum := crc32.Update(number, crc32.MakeTable(crc32.Castagnoli), page)
	copy(seal[:], sealMark)
	binary.LittleEndian.PutUint32(seal[len(sealMark):], sum)
	return seal
}

// Blank returns the content of a database file without tables whose pages have room for seals, with the marks of a
// program.
func Blank(application, version uint32) []byte {
	b := make([]byte, PageBytes)
	copy(b, "SQLite format 3\x00")
	binary.BigEndian.PutUint16(b[16:], PageBytes)
	b[18], b[19] = 1, 1 // written and read with a rollback journal; that is changed later
	b[headerReserve] = sealBytes
	b[21], b[22], b[23] = 64, 32, 32 // constants of the format
	b[31] = 1                        // page
	binary.BigEndian.PutUint32(b[60:], version)
	binary.BigEndian.PutUint32(b[68:], application)
	b[100] = 13 // a leaf of a table, without cells: the schema
	binary.BigEndian.PutUint16(b[105:], PageBytes-sealBytes)
	seal := sealOf(1, b[:PageBytes-sealBytes])
	copy(b[PageBytes-sealBytes:], seal[:])
	return b
}

// HasSeals tells whether a file that begins with header, at least 100 bytes, was made with room for seals.
func HasSeals(header []byte) bool { return header[headerReserve] == sealBytes }

// CheckPage tells whether page number of a sealed file is whole. It need not be: pages that are not used are never
// read.
func CheckPage(number uint32, page []byte) bool {
	if len(page) != PageBytes {
		return false
	}
	seal := sealOf(number, page[:PageBytes-sealBytes])
	return string(page[PageBytes-sealBytes:]) == string(seal[:])
}

// pageAt is the number of the page that an access of n bytes is to, or 0 if it is to less than a page. ok is false for
// an access to pages of another size, as a damaged header may name it: those have no seals.
func pageAt(n int32, from int64) (number uint32, ok bool) {
	if n != PageBytes || from%PageBytes != 0 {
		return 0, n < leastPage
	}
	return uint32(from/PageBytes) + 1, true
}

// note keeps the number of a damaged page.
func (s *pagesState) note(number uint32) {
	if n := atomic.AddInt32(&s.noted, 1); n <= maxNoted {
		atomic.StoreUint32(&s.pages[n-1], number)
	} else {
		atomic.StoreInt32(&s.noted, maxNoted+1)
	}
}

// below is the file of the file system below, and its functions.
func below(file uintptr) (uintptr, *sqlite3.Tsqlite3_io_methods) {
	file += uintptr(sealedSize)
	return file, at[sqlite3.Tsqlite3_io_methods](*at[uintptr](file))
}

func openFile(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32 {
	s := at[pagesState](at[sqlite3.Tsqlite3_vfs](vfs).FpAppData)
	open := function[func(*libc.TLS, uintptr, uintptr, uintptr, int32,
		uintptr) int32](at[sqlite3.Tsqlite3_vfs](s.base).FxOpen)
	if flags&sqlite3.SQLITE_OPEN_MAIN_DB == 0 {
		return open(tls, s.base, name, file, flags, outFlags)
	}
	f := at[sealedFile](file)
	*f = sealedFile{}
	inner := file + uintptr(sealedSize)
	*at[uintptr](inner) = 0
	rc := open(tls, s.base, name, inner, flags, outFlags)
	if *at[uintptr](inner) == 0 {
		return rc // it has nothing that must be closed
	}
	f.methods, f.state = uintptr(unsafe.Pointer(&s.methods)), uintptr(unsafe.Pointer(s))
	if f.scratch = libc.Xmalloc(tls, 2*PageBytes); f.scratch == 0 {
		return sqlite3.SQLITE_NOMEM
	}
	return rc
}

func closeFile(tls *libc.TLS, file uintptr) int32 {
	f := at[sealedFile](file)
	if f.scratch != 0 {
		libc.Xfree(tls, f.scratch)
	}
	f.scratch = 0
	inner, m := below(file)
	return function[func(*libc.TLS, uintptr) int32](m.FxClose)(tls, inner)
}

// readFile checks a page that it reads. A page that SQLite asks for and the file is too short for is damage, too:
// SQLite reads no page that was not written before.
func readFile(tls *libc.TLS, file, buffer uintptr, n int32, from int64) int32 {
	inner, m := below(file)
	rc := function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](m.FxRead)(tls, inner, buffer, n, from)
	number, ok := pageAt(n, from)
	if ok && number == 0 || rc != sqlite3.SQLITE_OK && rc != sqlite3.SQLITE_IOERR_SHORT_READ {
		return rc
	}
	s := at[pagesState](at[sealedFile](file).state)
	if !ok {
		s.note(1) // which says how large pages are
		return sqlite3.SQLITE_CORRUPT
	}
	page := bytesAt(buffer, n)
	if !CheckPage(number, page) {
		s.note(number)
		if s.lenient == 0 {
			return sqlite3.SQLITE_CORRUPT
		}
	}
	// Whatever another program writes of this page has no seal then, in place of an old one.
	clear(page[PageBytes-sealBytes:])
	return rc
}

func writeFile(tls *libc.TLS, file, buffer uintptr, n int32, to int64) int32 {
	number, ok := pageAt(n, to)
	switch {
	case !ok:
		return sqlite3.SQLITE_CORRUPT
	case number == 0:
		return writeBelow(tls, file, buffer, n, to)
	}
	f := at[sealedFile](file)
	into := f.scratch
	if f.checkpoint != 0 && number == at[pagesState](f.state).last {
		into += PageBytes
	}
	page := bytesAt(into, PageBytes)
	copy(page, bytesAt(buffer, n))
	seal := sealOf(number, page[:PageBytes-sealBytes])
	copy(page[PageBytes-sealBytes:], seal[:])
	if into != f.scratch {
		f.held = 1
		return sqlite3.SQLITE_OK
	}
	return writeBelow(tls, file, into, n, to)
}

func writeBelow(tls *libc.TLS, file, buffer uintptr, n int32, to int64) int32 {
	inner, m := below(file)
	rc := function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](m.FxWrite)(tls, inner, buffer, n, to)
	if f := at[sealedFile](file); rc != sqlite3.SQLITE_OK && f.checkpoint != 0 {
		f.wrong = rc
	}
	return rc
}

// controlFile sees where checkpoints begin and end.
func controlFile(tls *libc.TLS, file uintptr, op int32, argument uintptr) int32 {
	f := at[sealedFile](file)
	switch op {
	case sqlite3.SQLITE_FCNTL_CKPT_START:
		f.checkpoint, f.held, f.wrong = 1, 0, 0
	case sqlite3.SQLITE_FCNTL_CKPT_DONE:
		f.checkpoint = 0
		if f.held != 0 && f.wrong == 0 {
			f.wrong = writeHeld(tls, file)
		}
	}
	inner, m := below(file)
	return function[func(*libc.TLS, uintptr, int32, uintptr) int32](m.FxFileControl)(tls, inner, op, argument)
}

// writeHeld writes the last page, when the others are on the disk. What it returns SQLite never hears, since it asks
// for nothing here; but it truncates and syncs the file next.
func writeHeld(tls *libc.TLS, file uintptr) int32 {
	inner, m := below(file)
	f := at[sealedFile](file)
	rc := function[func(*libc.TLS, uintptr, int32) int32](m.FxSync)(tls, inner, sqlite3.SQLITE_SYNC_FULL)
	if rc == sqlite3.SQLITE_OK {
		rc = writeBelow(tls, file, f.scratch+PageBytes, PageBytes, int64(at[pagesState](f.state).last-1)*PageBytes)
	}
	return rc
}

// truncateFile fails where a checkpoint could not be completed: then it was not done, and is done again.
func truncateFile(tls *libc.TLS, file uintptr, size int64) int32 {
	if wrong := at[sealedFile](file).wrong; wrong != 0 {
		return wrong
	}
	inner, m := below(file)
	return function[func(*libc.TLS, uintptr, int64) int32](m.FxTruncate)(tls, inner, size)
}
