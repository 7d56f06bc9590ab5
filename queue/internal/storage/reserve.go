package storage

import (
	"errors"

	"github.com/muster-scale/muster/queue/internal/machine"
)

// reserve is room on the disk that is given up when the disk is full, so that
// messages can still be deleted, and taken again before the next send.
type reserve interface {
	// Take allocates the room, if it is not held already.
	Take() error
	// Give gives the room up.
	Give() error
	// Keep takes what there is, however little, when the store is closed.
	Keep()
}

// pageSize is SQLite's, in bytes.
const pageSize = 4096

// admit refuses messages when there is no room but that of the deletes. What is
// changed about queues needs little; purging one is also a delete.
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
	err := s.Reserve.Take()
	if err == nil {
		s.spent = false
		return nil
	}
	// Deleted messages leave room in the file, though none on the disk.
	var free int64
	if s.Db.QueryRow("PRAGMA freelist_count").Scan(&free) == nil && free*pageSize >= 2*needed+16*pageSize {
		return nil
	}
	return errors.Join(ErrStorageFull, err)
}

// again is for a transaction that found the disk full. Writing the log back
// lets it use the room of the log once more; if that does not help, it gives up
// the reserve, for what is written next.
func (s *SqliteStore) again(ops []machine.Op) error {
	s.writeBack()
	err := s.transact(ops)
	if errors.Is(err, ErrStorageFull) {
		s.giveReserve()
	}
	return err
}

func (s *SqliteStore) giveReserve() {
	if s.Reserve != nil && !s.spent {
		s.spent = s.Reserve.Give() == nil
	}
	s.writeBack()
}

// writeBack need not succeed; the next write will tell.
func (s *SqliteStore) writeBack() { s.Db.Exec("PRAGMA wal_checkpoint(PASSIVE)") }
