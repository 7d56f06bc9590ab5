package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage/oplog"
)

// Commit makes ops durable with one sync: in the log where there is one, and
// else in a transaction. After errStorageFull it may be called again with what
// needs no room.
func (s *SqliteStore) Commit(ops []machine.Op) error {
	if err := s.admit(ops); err != nil {
		return err
	}
	if !s.spent {
		if fits, err := s.append(ops); fits {
			return err
		}
	}
	err := s.transact(ops)
	if errors.Is(err, ErrStorageFull) {
		err = s.again(ops)
	}
	if errors.Is(err, ErrStorageFull) && !needRoom(ops) { // the log has its room already
		if fits, failed := s.append(ops); fits {
			err = failed
		}
	}
	return err
}

func needRoom(ops []machine.Op) bool {
	for i := range ops {
		if ops[i].Kind == machine.OpInsert {
			return true
		}
	}
	return false
}

// append writes ops to the log, if there is one and they fit.
func (s *SqliteStore) append(ops []machine.Op) (fits bool, err error) {
	if s.Log == nil || !s.Log.Active || s.Log.File == nil || s.Epoch != 0 ||
		s.pending.Len()+len(ops) > oplog.MaxPending {
		return false, nil
	}
	fits, err = s.Log.Append(ops)
	switch {
	case !fits:
		return false, nil
	case PrimaryCode(err) == sqlitefile.CodeFull:
		return false, nil // the file system writes nothing in place; a transaction voids what there is of it
	case err != nil:
		s.failed = true
		return true, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range ops {
		s.pending.Add(&ops[i])
	}
	return true, nil
}

// transact writes ops to the tables, after all that is in the log. At the end
// of it the log is void.
func (s *SqliteStore) transact(ops []machine.Op) error { return s.transactAs(ops, s.nextLog()) }

func (s *SqliteStore) transactAs(ops []machine.Op, next TableChange) error {
	if err := s.Execute(ops, &next); err != nil {
		switch known := errors.Is(err, ErrStorageFull) || errors.Is(err, ErrStorageBusy); {
		case !known:
			s.failed = true
		case s.Log != nil && !s.Log.Active:
			s.Log.End() // it has not begun
		}
		return err
	}
	switch {
	case next.bytes != 0:
		s.Log.Restart(s.at)
	case next.version != 0 && s.Log != nil:
		s.Log.End()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending.Clear()
	return nil
}

// Execute makes one transaction, and notes in the mark that it is on the disk.
func (s *SqliteStore) Execute(ops []machine.Op, next *TableChange) error {
	if err := s.arm(); err != nil {
		return err
	}
	next.Epoch = max(next.Epoch, s.Epoch)
	at, err := s.beginAll(ops, next)
	for range maxDead {
		row, ok := errors.AsType[*damagedRow](err)
		if !ok {
			break
		}
		if next.damaged == nil {
			next.damaged = map[uint64]bool{}
		}
		next.damaged[row.seq], next.dead = true, nil
		s.rollback.Exec() // as below
		at, err = s.beginAll(ops, next)
	}
	if err != nil {
		s.rollback.Exec() // SQLite may have rolled back by itself already
		return s.writeError("write", err)
	}
	if _, err := s.commit.Exec(); err != nil {
		s.rollback.Exec() // as above
		return s.writeError("commit", err)
	}
	s.at, s.Epoch = at, 0
	s.dead, next.dead = append(s.dead, next.dead...), nil
	// A file system that writes nothing in place may have no room for the mark. The tables may be ahead of it.
	if err := s.mark.Write(at, true); err != nil && PrimaryCode(err) != sqlitefile.CodeFull {
		return fmt.Errorf("commit %s: %w", s.Path, err)
	}
	s.writeBackLong()
	return nil
}

// writeBackLong writes the write-ahead log back when it is long enough. It comes after the mark, and the position comes
// last of all pages: so tables that hold a part of what was written back are behind their mark, should the log be lost
// or damaged then. A failure changes nothing: the log is as it was, and the next transaction tries again.
func (s *SqliteStore) writeBackLong() {
	var busy, pages, done int
	if err := s.logged.QueryRow().Scan(&busy, &pages, &done); err == nil && pages >= s.Most {
		s.writeBack()
	}
}

// beginAll begins a transaction and writes what it holds.
func (s *SqliteStore) beginAll(ops []machine.Op, next *TableChange) (at sqlitefile.Position, err error) {
	if _, err := s.begin.Exec(); err != nil {
		return at, err
	}
	return s.writeAll(ops, next)
}

// TableChange is what a transaction changes besides messages and queues.
type TableChange struct {
	bytes   int64           // the size of the log that goes on, with the transaction's number; 0 if there is none
	version int             // of the file; 0 if it stays
	Epoch   uint64          // that begins; 0 if it stays
	Secret  []byte          // of the receipts; nil if it stays
	damaged map[uint64]bool // rows that cannot be written
	dead    []uint64        // those of them that are to be removed
}

// nextLog begins, goes on with or ends the log.
func (s *SqliteStore) nextLog() TableChange {
	l := s.Log
	switch {
	case l == nil:
		return TableChange{}
	case l.Active && (s.spent || l.File == nil):
		return TableChange{version: SchemaVersion}
	case l.Active:
		return TableChange{bytes: l.Made}
	}
	l.Seen++
	if s.spent || l.Seen <= l.After || l.Size == 0 {
		return TableChange{}
	}
	f, err := l.Place.Create(l.Size)
	if err != nil {
		l.Seen = 0 // without a log all goes its slower way; try again later
		return TableChange{}
	}
	l.File, l.Made = f, l.Size
	return TableChange{bytes: l.Made, version: loggedVersion}
}

// writeAll writes what a transaction holds and returns the position after it.
func (s *SqliteStore) writeAll(ops []machine.Op, next *TableChange) (at sqlitefile.Position, err error) {
	at = s.at
	at.Commit++
	for o := range s.pending.Ops {
		grown, err := s.writeRow(o, next)
		if err != nil {
			return at, err
		}
		at.Rows += uint64(grown)
	}
	for i := range ops {
		grown, err := s.writeRow(&ops[i], next)
		if err != nil {
			return at, err
		}
		at.Rows += uint64(grown)
	}
	if _, err := s.putMeta.Exec("position", encodePosition(at, next.bytes)); err != nil {
		return at, err
	}
	if len(next.dead) > 0 {
		if _, err := s.putMeta.Exec(DeadKey, encodeDead(append(slices.Clip(s.dead), next.dead...))); err != nil {
			return at, err
		}
	}
	if next.Epoch != 0 {
		if _, err := s.putMeta.Exec("epoch", int64(next.Epoch)); err != nil {
			return at, err
		}
	}
	if next.Secret != nil {
		if _, err := s.putMeta.Exec("secret", next.Secret); err != nil {
			return at, err
		}
	}
	if next.version != 0 {
		if _, err := s.Db.Exec(fmt.Sprintf("PRAGMA user_version = %d", next.version)); err != nil {
			return at, err
		}
	}
	return at, nil
}

// readPosition reads how far the tables are, and the size of the log that
// belongs to them.
func (s *SqliteStore) readPosition(ctx context.Context) (logBytes int64, err error) {
	var content []byte
	err = s.readers.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'position'").Scan(&content)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("%w: it does not say how far its tables are", ErrCorruptFile)
	}
	if err != nil {
		return 0, err
	}
	s.at, logBytes, err = DecodePosition(content)
	return logBytes, err
}

// readLog reads what a program that did not close the file left in the log. A
// log that counts no more may have been left by a crash; it must not tell of
// later tables all the same.
func (s *SqliteStore) readLog(counts bool, size int64) error {
	if s.Log == nil {
		if counts {
			return fmt.Errorf("%w: it says that there is a log", ErrCorruptFile)
		}
		return nil
	}
	s.Log.Seed = oplog.SeedOf(s.at.Identity)
	content, err := s.Log.Place.Read()
	switch {
	case errors.Is(err, fs.ErrNotExist) && !counts:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: its log, queues.log, is missing, and with it the latest messages; the files of the "+
			"directory belong together", ErrCorruptFile)
	case err != nil:
		return fmt.Errorf("read the log: %w", err)
	case counts && int64(len(content)) != size:
		return fmt.Errorf("%w: its log, queues.log, was made with %d bytes, and has %d", ErrCorruptFile, size,
			len(content))
	}
	ops, err := oplog.Read(content, s.Log.Seed, s.at.Commit)
	if err != nil {
		return fmt.Errorf("%w: its log, queues.log: %w", ErrCorruptFile, err)
	}
	if !counts {
		return nil
	}
	for i := range ops {
		s.pending.Add(&ops[i])
	}
	s.Log.Active = true
	return nil
}

// takeOver brings what is in the log into the tables, and ends it; an epoch other
// than 0 begins.
func (s *SqliteStore) takeOver(epoch uint64) error {
	next := TableChange{Epoch: epoch}
	if s.Log != nil && s.Log.Active {
		next.version = SchemaVersion
	}
	if next.Epoch == 0 && next.version == 0 {
		s.Log.Discard() // a crash may have left one that counts no more
		return nil
	}
	if err := s.transactAs(nil, next); err != nil {
		return err
	}
	s.Log.Discard()
	return nil
}

// closeLog takes the log over. Where that cannot be done nothing is lost: the
// next opening does it.
func (s *SqliteStore) closeLog() error {
	if s.failed || !s.ready {
		return nil
	}
	err := s.takeOver(0)
	if errors.Is(err, ErrStorageFull) {
		s.giveReserve()
		err = s.takeOver(0)
	}
	if errors.Is(err, ErrStorageFull) || errors.Is(err, ErrStorageBusy) {
		return nil
	}
	return err
}
