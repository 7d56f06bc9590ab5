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

// Position is how far a database is.
type Position struct {
	// Identity names the database, and no other one. It is drawn when the file is made.
	Identity uint64
	// Commit counts the transactions.
	Commit uint64
	// Rows is the number of rows after that transaction, of the table whose rows are counted.
	Rows uint64
}

// MarkPlace is where the file of a [Mark] is.
type MarkPlace interface {
	// Read returns the content of the file, or an error that matches [fs.ErrNotExist].
	Read() ([]byte, error)
	// Create makes the file, in the place of one that is there. It is there after a power cut, whole.
	Create(content []byte) error
	// Open opens the file for writing.
	Open() (MarkFile, error)
}

// MarkFile is the file of a mark that is written.
type MarkFile interface {
	io.WriterAt
	io.Closer
	// Sync brings what was written to the disk.
	Sync() error
}

// The faults of a mark, beside [fs.ErrNotExist] for one that is missing.
var (
	// ErrDamagedMark says that a mark cannot be read.
	ErrDamagedMark = errors.New("the mark is damaged")
	// ErrForeignMark says that a mark is that of another database.
	ErrForeignMark = errors.New("the mark is that of another file")
)

// BehindError says that tables are not as far as they were when that was acknowledged.
type BehindError struct{ Found, Marked Position }

// Error says where they are and where they should be.
func (e *BehindError) Error() string {
	return fmt.Sprintf("the tables are at transaction %d, and transaction %d was acknowledged: the write-ahead log "+
		"was lost or damaged", e.Found.Commit, e.Marked.Commit)
}

// Mark is a small file beside a database that says how far the tables were when a transaction was acknowledged last. A
// write-ahead log that is cut short, or lost, leaves tables that look whole and are those of an earlier time; they are
// behind their mark then. It is written after a transaction is on the disk, so that a power cut never leaves it ahead.
//
// Its file holds a few positions, one a sector. The first is the one it was made with, so that there is one whatever
// becomes of the others in a power cut. Each write takes the place of the oldest of these. So one that is half written
// costs the newest position alone, and several processes may write one after the other without a lock: a position that
// comes late takes no place of a newer one, unless as many came in between as there are places.
type Mark struct{ file MarkFile }

const (
	slotMark    = "MUM1"
	slotBytes   = len(slotMark) + 4 + 3*8
	slots       = 8
	sectorBytes = 512
	// MarkBytes is the size of the file.
	MarkBytes = slots * sectorBytes
)

// MarkSuffix is what the name of a mark has after that of its database.
const MarkSuffix = "-mark"

// NewMark returns the content of a mark with one position.
func NewMark(p Position) []byte {
	b := make([]byte, MarkBytes)
	copy(b, encodeSlot(p))
	return b
}

// OpenMark opens the mark of tables that are at a position. The error is one of those above, a [*BehindError], or that
// of the place. Tables may be ahead of their mark: a crash may come before it is written.
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

// ParseMark returns the newest position in the content of a mark. The error matches [ErrDamagedMark] when there is
// none.
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

// Write notes that a transaction is on the disk. With sync the note is so, too, when Write returns.
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

// Close closes the file; a nil Mark has none.
func (m *Mark) Close() error {
	if m == nil {
		return nil
	}
	return m.file.Close()
}

// MarkPath is a [MarkPlace] in a directory: the path of the file.
type MarkPath string

// Read implements [MarkPlace]. Of a file that is too large it returns one byte more than belongs there.
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
	os.Remove(fresh) // what a crash left
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

// contentFile is a file whose size does not change.
type contentFile struct{ *os.File }

// Sync brings the content to the disk.
func (f contentFile) Sync() error { return durable.SyncContent(f.File) }
