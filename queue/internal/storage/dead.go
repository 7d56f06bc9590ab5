package storage

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/internal/machine"
)

// DeadKey is the key, in the table meta, of the list of dead rows. A row whose content continues in a
// damaged page can be neither changed nor removed: SQLite must read that page to free it. When its
// message is deleted or purged, the row stays and is listed as dead, so that loading skips it.
const DeadKey = "dead"

// encodeDead returns the sequences of dead rows as the tables keep them: 8 bytes each, little-endian.
func encodeDead(dead []uint64) []byte {
	b := make([]byte, 0, 8*len(dead))
	for _, seq := range dead {
		b = binary.LittleEndian.AppendUint64(b, seq)
	}
	return b
}

// DecodeDead is the inverse of encodeDead.
func DecodeDead(b []byte) (dead []uint64, err error) {
	if len(b)%8 != 0 {
		return nil, fmt.Errorf("%w: the list of dead rows has %d bytes, which is no multiple of 8", ErrCorruptFile,
			len(b))
	}
	for ; len(b) > 0; b = b[8:] {
		dead = append(dead, binary.LittleEndian.Uint64(b))
	}
	return dead, nil
}

// readDead reads the list of dead rows. Without the key there are none.
func (s *SqliteStore) readDead(ctx context.Context) error {
	var content []byte
	err := s.readers.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = ?", DeadKey).Scan(&content)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		s.dead, err = DecodeDead(content)
	}
	return err
}

// maxDead bounds the damaged rows that one transaction may meet. Each of them restarts the transaction.
const maxDead = 64

// damagedRow is the error that a row could not be written because of a damaged page.
type damagedRow struct {
	seq   uint64
	cause error
}

// Error names the row.
func (d *damagedRow) Error() string {
	return fmt.Sprintf("the row with the sequence number %d: %v", d.seq, d.cause)
}

// Unwrap returns SQLite's error.
func (d *damagedRow) Unwrap() error { return d.cause }

// writeRow writes an operation unless its row was found damaged. A damaged row that is to be removed
// becomes dead. One that is to be changed or moved keeps its old numbers after a restart: its message
// is found damaged when it is received.
func (s *SqliteStore) writeRow(o *machine.Op, next *TableChange) (grown int64, err error) {
	seq := o.Seq
	switch o.Kind {
	case machine.OpUpdate:
		seq = o.Row.Seq
	case machine.OpRemove, machine.OpMove:
	default:
		return s.write(o)
	}
	if !next.damaged[seq] {
		if grown, err = s.write(o); PrimaryCode(err) == sqlitefile.CodeCorrupt {
			err = &damagedRow{seq, err}
		}
		return grown, err
	}
	if o.Kind == machine.OpRemove {
		next.dead = append(next.dead, seq)
	}
	// An update or move of a damaged row is dropped; see above.
	return 0, nil
}
