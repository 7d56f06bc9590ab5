// The mark beside the tables, and the position inside them. Together they detect a table file, or a
// write-ahead log, that was lost or replaced by an older one.

package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/muster-scale/muster/internal/sqlitefile"
)

// openMark opens the mark of tables at a position. If the tables are behind their mark, they or their
// write-ahead log are damaged or older than what was acknowledged.
func openMark(place sqlitefile.MarkPlace, at sqlitefile.Position) (*sqlitefile.Mark, error) {
	m, err := sqlitefile.OpenMark(place, at)
	behind, isBehind := errors.AsType[*sqlitefile.BehindError](err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: its mark, queues.db-mark, is missing, so it is unknown whether the latest "+
			"messages are missing too", ErrCorruptFile)
	case errors.Is(err, sqlitefile.ErrDamagedMark):
		return nil, fmt.Errorf("%w: its mark, queues.db-mark, is damaged", ErrCorruptFile)
	case errors.Is(err, sqlitefile.ErrForeignMark):
		return nil, fmt.Errorf("%w: its mark, queues.db-mark, belongs to another file; the files of a directory "+
			"must stay together", ErrCorruptFile)
	case isBehind:
		return nil, fmt.Errorf("%w: its tables are at transaction %d with %d messages, and transaction %d with %d "+
			"messages was acknowledged; "+
			"the write-ahead log queues.db-wal was lost or damaged", ErrCorruptFile, at.Commit, at.Rows,
			behind.Marked.Commit, behind.Marked.Rows)
	}
	return m, err
}

// missing returns an error if the queue file at path is absent but the files beside it show that there
// was one. Creating a new file would then lose messages silently.
func missing(path, log string) error {
	content, err := os.ReadFile(path + sqlitefile.MarkSuffix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if marked, wrong := sqlitefile.ParseMark(content); err == nil && (wrong != nil || marked.Commit > 0) {
		return fmt.Errorf("%w: it is missing, but its mark, queues.db-mark, says that it held %d messages",
			ErrCorruptFile, marked.Rows)
	}
	for _, beside := range []string{log, path + "-wal"} {
		if stat, err := os.Stat(beside); err == nil && stat.Size() > 0 {
			return fmt.Errorf("%w: it is missing, but its file %s exists", ErrCorruptFile, beside)
		}
	}
	return nil
}

// positionBytes is the size of an encoded position.
const positionBytes = 4 * 8

// encodePosition encodes the position that the tables store, and the size of the log that belongs to
// them; 0 if there is none. It is four little-endian numbers of 8 bytes.
func encodePosition(at sqlitefile.Position, logBytes int64) []byte {
	b := make([]byte, 0, positionBytes)
	for _, v := range []uint64{at.Identity, at.Commit, at.Rows, uint64(logBytes)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// DecodePosition is the inverse of encodePosition.
func DecodePosition(b []byte) (at sqlitefile.Position, logBytes int64, err error) {
	if len(b) != positionBytes {
		return at, 0, fmt.Errorf("%w: the position of the tables has %d bytes, not %d", ErrCorruptFile, len(b),
			positionBytes)
	}
	field := func(n int) uint64 { return binary.LittleEndian.Uint64(b[8*n:]) }
	return sqlitefile.Position{Identity: field(0), Commit: field(1), Rows: field(2)}, int64(field(3)), nil
}
