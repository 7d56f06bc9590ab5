package sqlitefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/muster-scale/muster/internal/durable"
)

// Position says how many transactions a database contains.
type Position struct {
	// Identity names the database; it is random and drawn when the file is created.
	Identity uint64
	// Commit is the number of the last transaction, counted from 1.
	Commit uint64
	// Rows is the number of rows, in the table whose rows are counted, after that transaction.
	Rows uint64
}

// MarkPlace is where the file of a [Mark] is: a path, or a file of a simulated disk.
type MarkPlace interface {
	// Read returns the content of the file, or an error that matches [fs.ErrNotExist].
	Read() ([]byte, error)
	// Create creates or replaces the file, durably and atomically.
	Create(content []byte) error
	// Open opens the existing file for writing.
	Open() (MarkFile, error)
}

// MarkFile is the file of a mark, open for writing.
type MarkFile interface {
	io.WriterAt
	io.Closer
	// Sync makes the written bytes durable.
	Sync() error
}

// The faults of a mark; a missing one is [fs.ErrNotExist].
var (
	// ErrDamagedMark says that a mark cannot be read.
	ErrDamagedMark = errors.New("the mark is damaged")
	// ErrForeignMark says that a mark belongs to another database.
	ErrForeignMark = errors.New("the mark is that of another file")
)

// BehindError says that tables lack transactions that were acknowledged.
type BehindError struct{ Found, Marked Position }

// Error names the two positions.
func (e *BehindError) Error() string {
	return fmt.Sprintf("the tables are at transaction %d, and transaction %d was acknowledged: the write-ahead log "+
		"was lost or damaged", e.Found.Commit, e.Marked.Commit)
}

// Mark is a small file beside a database with the position of the tables when a transaction was last
// acknowledged. A write-ahead log that is cut short or lost leaves tables that look intact but are
// those of an earlier time; they are then behind their mark. The mark is written after the transaction
// is on the disk, so a power cut never leaves it ahead.
//
// Its file holds several positions, one per sector. The first is the one with which the mark was
// created; it is never overwritten, so a mark always has one. Each write replaces one of the others, in
// turn. So a half-written sector costs only the newest position. Several processes may write one after
// the other without a lock: a late position replaces a newer one only if as many writes as there are
// slots came in between.
type Mark struct{ file MarkFile }

// slotBytes is the size of an encoded position; slots is the number of sectors of the file.
const (
	slotMark    = "MUM1"
	slotBytes   = len(slotMark) + 4 + 3*8
	slots       = 8
	sectorBytes = 512
	// MarkBytes is the size of the file.
	MarkBytes = slots * sectorBytes
)

// MarkSuffix is the ending of a mark's name after that of its database.
const MarkSuffix = "-mark"

// NewMark returns the content of a mark with one position.
func NewMark(p Position) []byte {
	b := make([]byte, MarkBytes)
	copy(b, encodeSlot(p))
	return b
}

// OpenMark opens the mark of tables at a position. The error is one of those above, a [*BehindError],
// or that of the place. Tables may be ahead of their mark: a crash may come between the transaction and
// the write of the mark.
func OpenMark(place MarkPlace, at Position) (*Mark, error) {
	content, err := place.Read()
	if err != nil {
		return nil, fmt.Errorf("read the mark: %w", err)
	}
	marked, err := ParseMark(content)
	switch {
	case err != nil:
		return nil, err
	case len(content) != MarkBytes:
		return nil, ErrDamagedMark
	case marked.Identity != at.Identity:
		return nil, ErrForeignMark
	case marked.Commit > at.Commit:
		return nil, &BehindError{at, marked}
	}
	file, err := place.Open()
	if err != nil {
		return nil, fmt.Errorf("open the mark: %w", err)
	}
	return &Mark{file}, nil
}

// encodeSlot encodes a position: slotMark, a CRC-32C over what follows, and three little-endian numbers
// of 8 bytes.
func encodeSlot(p Position) []byte {
	b := append(make([]byte, 0, slotBytes), slotMark...)
	b = append(b, 0, 0, 0, 0)
	for _, v := range []uint64{p.Identity, p.Commit, p.Rows} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	binary.LittleEndian.PutUint32(b[len(slotMark):],
		crc32.Checksum(b[len(slotMark)+4:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// ParseMark returns the newest position in the content of a mark. Damaged slots are skipped. The error
// matches [ErrDamagedMark] if no slot is intact.
func ParseMark(b []byte) (newest Position, err error) {
	found := false
	for ; len(b) >= slotBytes; b = b[min(len(b), sectorBytes):] {
		fields := b[len(slotMark)+4:]
		p := Position{binary.LittleEndian.Uint64(fields), binary.LittleEndian.Uint64(fields[8:]),
			binary.LittleEndian.Uint64(fields[16:])}
		if !bytes.Equal(encodeSlot(p), b[:slotBytes]) {
			continue
		}
		if !found || p.Commit > newest.Commit {
			newest = p
		}
		found = true
	}
	if !found {
		return newest, ErrDamagedMark
	}
	return newest, nil
}

// Write stores the position of a transaction that is on the disk. With sync it is durable when Write
// returns.
func (m *Mark) Write(p Position, sync bool) error {
	_, err := m.file.WriteAt(encodeSlot(p), int64(1+p.Commit%(slots-1))*sectorBytes)
	if err == nil && sync {
		err = m.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write the mark: %w", err)
	}
	return nil
}

// Close closes the file. m may be nil.
func (m *Mark) Close() error {
	if m == nil {
		return nil
	}
	return m.file.Close()
}

// MarkPath is the path of a mark in a directory. It implements [MarkPlace].
type MarkPath string

// Read implements [MarkPlace]. It returns at most one byte more than a mark has, so that a larger file
// is noticed.
func (p MarkPath) Read() ([]byte, error) {
	f, err := os.Open(string(p))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MarkBytes+1))
}

// Create implements [MarkPlace].
func (p MarkPath) Create(content []byte) error {
	fresh := string(p) + ".new"
	os.Remove(fresh) // a crash may have left it
	if err := durable.Create(fresh, content); err != nil {
		return err
	}
	if err := os.Rename(fresh, string(p)); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(string(p)))
}

// Open implements [MarkPlace]. A symbolic link is refused.
func (p MarkPath) Open() (MarkFile, error) {
	f, err := os.OpenFile(string(p), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	return contentFile{f}, nil
}

// contentFile syncs only the content of a file, whose size does not change.
type contentFile struct{ *os.File }

// Sync makes the content durable.
func (f contentFile) Sync() error { return durable.SyncContent(f.File) }
