// What happens on a full disk. The reserve is released once, so that deletes continue. Sends are
// refused until the reserve can be taken again.

package storage

import (
	"errors"

	"github.com/muster-scale/muster/queue/internal/machine"
)

// reserve is room on the disk that is released when the disk is full, so that messages can still be
// deleted. It is taken again before the next send.
type reserve interface {
	// Take allocates the room unless it is allocated already.
	Take() error
	// Give releases the room.
	Give() error
	// Keep allocates what room there is, however little, when the store is closed.
	Keep()
}

// pageSize is the page size of SQLite, in bytes.
const pageSize = 4096

// admit refuses inserts while the only room left is that for deletes. Changes of queues need little
// room and pass; a purge is a kind of delete.
func (s *SqliteStore) admit(ops []machine.Op) error {
	var needed int64
	for i := range ops {
		if o := &ops[i]; o.Kind == machine.OpInsert {
			needed += o.Record.Size() + pageSize
		}
	}
	if needed == 0 || !s.spent {
		return nil
	}
	// There may be room again: taking the reserve proves it, and ends the refusal of sends.
	err := s.Reserve.Take()
	if err == nil {
		s.spent = false
		return nil
	}
	// Pages of deleted messages are room inside the file, even if the disk has none. The bound is
	// generous: tables and write-ahead log both need room, and a failure in the middle is more
	// expensive than a refusal.
	var free int64
	if s.Db.QueryRow("PRAGMA freelist_count").Scan(&free) == nil && free*pageSize >= 2*needed+16*pageSize {
		return nil
	}
	return errors.Join(ErrStorageFull, err)
}

// again repeats a transaction that found the disk full. Writing the write-ahead log back first lets
// SQLite use the log's room once more. If that does not help, it releases the reserve for the next
// write.
func (s *SqliteStore) again(ops []machine.Op) error {
	s.writeBack()
	err := s.transact(ops)
	if errors.Is(err, ErrStorageFull) {
		s.giveReserve()
	}
	return err
}

// giveReserve releases the reserve, once, and uses its room to write the write-ahead log back.
func (s *SqliteStore) giveReserve() {
	if s.Reserve != nil && !s.spent {
		s.spent = s.Reserve.Give() == nil
	}
	s.writeBack()
}

// writeBack copies the write-ahead log to the tables as far as possible. Its error is ignored: the next
// write reports it.
func (s *SqliteStore) writeBack() { s.Db.Exec("PRAGMA wal_checkpoint(PASSIVE)") }
