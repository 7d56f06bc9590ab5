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

// PageBytes is the page size of every sealed file.
const PageBytes = 4096

// A seal is the last 8 bytes of a page: sealMark, and a CRC-32C over the page's number and all bytes
// before the seal. The number is included so that a page written to the wrong place is noticed. SQLite
// leaves these bytes free: byte 20 of the file header says how many bytes of a page are reserved.
const (
	sealBytes     = 8
	sealMark      = "MUP1"
	headerReserve = 20
)

// maxNoted bounds the page numbers that [Pages.Damaged] returns.
const maxNoted = 64

// Pages is an SQLite file system (VFS) over another one. It adds a seal to each page of a database file
// when SQLite writes it, and checks the seal when SQLite reads it. A page with a wrong seal reads as
// SQLITE_CORRUPT, so any changed bit is an error. Other files pass through, above all the write-ahead
// log, which has checksums of its own.
//
// Its state is in C memory, where SQLite keeps pointers to it. SQLite calls only Go functions without a
// receiver, so the garbage collector never moves or frees anything it uses. Pages is safe for
// concurrent use, except for Unmount, which comes last.
type Pages struct {
	tls   *libc.TLS // nil after Unmount
	state uintptr   // *pagesState
}

// pagesState is in C memory. Its first field is SQLite's description of the file system, which refers
// back to the state as its user data.
type pagesState struct {
	vfs     sqlite3.Tsqlite3_vfs
	methods sqlite3.Tsqlite3_io_methods
	name    uintptr
	base    uintptr // the file system below
	last    uint32  // the page that a checkpoint writes last; 0 if none
	lenient int32   // damaged pages are noted and read nevertheless
	noted   int32   // number of damaged pages met so far
	pages   [maxNoted]uint32
}

// sealedFile is an open database file, as SQLite sees it. The file of the file system below follows it
// in memory.
type sealedFile struct {
	methods uintptr
	state   uintptr
	scratch uintptr // room for two pages: the one being written, and the held one
	// During a checkpoint (checkpoint != 0) the last page is held back. wrong is the first failure,
	// after which it must not be written.
	checkpoint, held, wrong int32
}

// sealedSize is the offset of the file below, with the alignment of SQLite's allocation.
const sealedSize = (int32(unsafe.Sizeof(sealedFile{})) + 7) &^ 7

// leastPage is the smallest page size of SQLite. Smaller reads and writes are of the file header.
const leastPage = 512

// at returns C memory as a T.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// bytesAt returns C memory as bytes.
func bytesAt(address uintptr, n int32) []byte { return unsafe.Slice(at[byte](address), n) }

// pointer returns the address by which SQLite calls a Go function that is not a closure.
func pointer[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// function is the inverse of pointer.
func function[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&address)) }

// Seal mounts a file system that seals pages over the one named base; empty means that of the operating
// system. With lenient, damaged pages are noted and read nevertheless, to save what can be saved. Call
// Unmount when all connections are closed.
func Seal(base string, lenient bool) (*Pages, error) {
	p := &Pages{tls: libc.NewTLS()}
	if err := p.mount(base, lenient); err != nil {
		p.free()
		return nil, fmt.Errorf("seal the pages of a file: %w", err)
	}
	return p, nil
}

// mount allocates the state and registers the file system.
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

// fill fills in the tables of functions.
func (s *pagesState) fill() {
	b, v := at[sqlite3.Tsqlite3_vfs](s.base), &s.vfs
	v.FiVersion, v.FszOsFile, v.FmxPathname, v.FzName = 2, sealedSize+b.FszOsFile, b.FmxPathname, s.name
	v.FpAppData = uintptr(unsafe.Pointer(s))
	v.FxOpen, v.FxDelete, v.FxAccess, v.FxFullPathname = pointer(openFile), pointer(deleteFile), pointer(accessFile),
		pointer(fullPathname)
	v.FxRandomness, v.FxSleep, v.FxGetLastError = b.FxRandomness, b.FxSleep, b.FxGetLastError
	v.FxCurrentTime, v.FxCurrentTimeInt64 = b.FxCurrentTime, b.FxCurrentTimeInt64
	m := &s.methods
	m.FiVersion = 2 // shared memory, but no memory mapping, which would bypass the seals
	m.FxClose, m.FxRead, m.FxWrite, m.FxTruncate = pointer(closeFile), pointer(readFile), pointer(writeFile),
		pointer(truncateFile)
	m.FxSync, m.FxFileSize, m.FxFileControl = pointer(syncFile), pointer(fileSize), pointer(controlFile)
	m.FxLock, m.FxUnlock, m.FxCheckReservedLock = pointer(lockFile), pointer(unlockFile), pointer(checkReservedLock)
	m.FxSectorSize, m.FxDeviceCharacteristics = pointer(sectorSize), pointer(deviceCharacteristics)
	m.FxShmMap, m.FxShmLock = pointer(shmMap), pointer(shmLock)
	m.FxShmBarrier, m.FxShmUnmap = pointer(shmBarrier), pointer(shmUnmap)
}

// Name returns the value of the parameter vfs in a data source name.
func (p *Pages) Name() string { return libc.GoString(at[pagesState](p.state).name) }

// WriteLast makes checkpoints write the page of that number after all others are on the disk. If the
// write-ahead log is lost in the middle of a checkpoint, the file has pages of two times, and this page
// still has its earlier content. It must be called before a connection is opened.
func (p *Pages) WriteLast(number uint32) { at[pagesState](p.state).last = number }

// Damaged returns the numbers of the damaged pages that were read, sorted, at most 64.
func (p *Pages) Damaged() []uint32 {
	s := at[pagesState](p.state)
	var found []uint32
	for i := range min(atomic.LoadInt32(&s.noted), maxNoted) {
		if number := atomic.LoadUint32(&s.pages[i]); number != 0 { // 0: note has counted it and not stored it yet
			found = append(found, number)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Unmount makes the file system unknown to SQLite. Open connections still work. Its C memory, less than
// a kilobyte, is never freed, because a connection may just be being opened.
func (p *Pages) Unmount() {
	if p == nil || p.tls == nil {
		return
	}
	sqlite3.Xsqlite3_vfs_unregister(p.tls, p.state)
	p.tls.Close()
	p.tls = nil
}

// free frees a state that was never mounted.
func (p *Pages) free() {
	if p.state != 0 {
		libc.Xfree(p.tls, at[pagesState](p.state).name)
		libc.Xfree(p.tls, p.state)
	}
	p.tls.Close()
}

// sealOf returns the seal of page number, given without its last 8 bytes.
func sealOf(number uint32, page []byte) (seal [sealBytes]byte) {
	sum := crc32.Update(number, crc32.MakeTable(crc32.Castagnoli), page)
	copy(seal[:], sealMark)
	binary.LittleEndian.PutUint32(seal[len(sealMark):], sum)
	return seal
}

// Blank returns the content of a database file without tables, whose pages have room for seals, with
// the application id and user version given.
func Blank(application, version uint32) []byte {
	b := make([]byte, PageBytes)
	copy(b, "SQLite format 3\x00")
	binary.BigEndian.PutUint16(b[16:], PageBytes)
	b[18], b[19] = 1, 1 // rollback journal; the caller may switch to WAL
	b[headerReserve] = sealBytes
	b[21], b[22], b[23] = 64, 32, 32 // constants of the format
	b[31] = 1                        // number of pages, big-endian
	binary.BigEndian.PutUint32(b[60:], version)
	binary.BigEndian.PutUint32(b[68:], application)
	b[100] = 13 // a leaf of a table, without cells: the schema
	binary.BigEndian.PutUint16(b[105:], PageBytes-sealBytes)
	seal := sealOf(1, b[:PageBytes-sealBytes])
	copy(b[PageBytes-sealBytes:], seal[:])
	return b
}

// HasSeals says whether a file was created with room for seals. header is its beginning, at least 100
// bytes.
func HasSeals(header []byte) bool { return header[headerReserve] == sealBytes }

// CheckPage says whether page number of a sealed file is intact. Unused pages need not be: they are
// never read.
func CheckPage(number uint32, page []byte) bool {
	if len(page) != PageBytes {
		return false
	}
	seal := sealOf(number, page[:PageBytes-sealBytes])
	return string(page[PageBytes-sealBytes:]) == string(seal[:])
}

// pageOf returns the number of the page that an access of n bytes covers, or 0 for less than a page. ok
// is false for pages of another size, which a damaged header may demand: those have no seals.
func pageOf(n int32, from int64) (number uint32, ok bool) {
	if n != PageBytes || from%PageBytes != 0 {
		return 0, n < leastPage
	}
	return uint32(from/PageBytes) + 1, true
}

// note stores the number of a damaged page.
func (s *pagesState) note(number uint32) {
	if n := atomic.AddInt32(&s.noted, 1); n <= maxNoted {
		atomic.StoreUint32(&s.pages[n-1], number)
	} else {
		atomic.StoreInt32(&s.noted, maxNoted+1)
	}
}

// below returns the file of the file system below, and its functions.
func below(file uintptr) (uintptr, *sqlite3.Tsqlite3_io_methods) {
	file += uintptr(sealedSize)
	return file, at[sqlite3.Tsqlite3_io_methods](*at[uintptr](file))
}

// openFile opens a file. Only main databases are sealed.
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
		return rc // nothing was opened that must be closed
	}
	f.methods, f.state = uintptr(unsafe.Pointer(&s.methods)), uintptr(unsafe.Pointer(s))
	if f.scratch = libc.Xmalloc(tls, 2*PageBytes); f.scratch == 0 {
		return sqlite3.SQLITE_NOMEM
	}
	return rc
}

// closeFile closes a sealed file.
func closeFile(tls *libc.TLS, file uintptr) int32 {
	f := at[sealedFile](file)
	if f.scratch != 0 {
		libc.Xfree(tls, f.scratch)
	}
	f.scratch = 0
	inner, m := below(file)
	return function[func(*libc.TLS, uintptr) int32](m.FxClose)(tls, inner)
}

// readFile reads, and checks a whole page. A page beyond the end of the file is damage too: SQLite
// never reads a page that was not written before.
func readFile(tls *libc.TLS, file, buffer uintptr, n int32, from int64) int32 {
	inner, m := below(file)
	rc := function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](m.FxRead)(tls, inner, buffer, n, from)
	number, ok := pageOf(n, from)
	if ok && number == 0 || rc != sqlite3.SQLITE_OK && rc != sqlite3.SQLITE_IOERR_SHORT_READ {
		return rc
	}
	s := at[pagesState](at[sealedFile](file).state)
	if !ok {
		s.note(1) // page 1 states the page size
		return sqlite3.SQLITE_CORRUPT
	}
	page := bytesAt(buffer, n)
	if !CheckPage(number, page) {
		s.note(number)
		if s.lenient == 0 {
			return sqlite3.SQLITE_CORRUPT
		}
	}
	// A program without seals that writes this page then stores zeros, and not an outdated seal.
	clear(page[PageBytes-sealBytes:])
	return rc
}

// writeFile seals a page and writes it. During a checkpoint it holds back the last page.
func writeFile(tls *libc.TLS, file, buffer uintptr, n int32, to int64) int32 {
	number, ok := pageOf(n, to)
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

// writeBelow writes to the file below, and remembers a failure during a checkpoint.
func writeBelow(tls *libc.TLS, file, buffer uintptr, n int32, to int64) int32 {
	inner, m := below(file)
	rc := function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](m.FxWrite)(tls, inner, buffer, n, to)
	if f := at[sealedFile](file); rc != sqlite3.SQLITE_OK && f.checkpoint != 0 {
		f.wrong = rc
	}
	return rc
}

// controlFile learns from SQLite when a checkpoint begins and ends.
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

// writeHeld syncs the other pages and writes the held one. SQLite ignores a failure here, but it
// truncates and syncs the file next, and truncateFile reports it.
func writeHeld(tls *libc.TLS, file uintptr) int32 {
	inner, m := below(file)
	f := at[sealedFile](file)
	rc := function[func(*libc.TLS, uintptr, int32) int32](m.FxSync)(tls, inner, sqlite3.SQLITE_SYNC_FULL)
	if rc == sqlite3.SQLITE_OK {
		rc = writeBelow(tls, file, f.scratch+PageBytes, PageBytes, int64(at[pagesState](f.state).last-1)*PageBytes)
	}
	return rc
}

// truncateFile fails if the checkpoint could not be completed. SQLite then repeats the checkpoint
// later.
func truncateFile(tls *libc.TLS, file uintptr, size int64) int32 {
	if wrong := at[sealedFile](file).wrong; wrong != 0 {
		return wrong
	}
	inner, m := below(file)
	return function[func(*libc.TLS, uintptr, int64) int32](m.FxTruncate)(tls, inner, size)
}
