// Commits: to the log, or as a transaction on the tables, and how the one changes to the other.

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

// Commit makes ops durable with one sync, in the log if possible, otherwise in a transaction. After
// ErrStorageFull it may be called again with operations that need no room.
func (s *SqliteStore) Commit(ops []machine.Op) error {
	if err := s.admit(ops); err != nil {
		return err
	}
	// While the reserve is released everything goes to the tables: the log could not be moved there
	// without room.
	if !s.spent {
		if fits, err := s.append(ops); fits {
			return err
		}
	}
	err := s.transact(ops)
	if errors.Is(err, ErrStorageFull) {
		err = s.again(ops)
	}
	if errors.Is(err, ErrStorageFull) && !needRoom(ops) { // the file of the log has its room already
		if fits, failed := s.append(ops); fits {
			err = failed
		}
	}
	return err
}

// needRoom says whether ops insert a message.
func needRoom(ops []machine.Op) bool {
	for i := range ops {
		if ops[i].Kind == machine.OpInsert {
			return true
		}
	}
	return false
}

// append writes ops to the log. fits is false, and nothing counts as written, if there is no log, if
// ops do not fit, or if the pending changes would become too many for one transaction.
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
		return false, nil // on a copy-on-write file system; the transaction that follows voids a partial frame
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

// transact writes ops to the tables, after all that is in the log. The log is void afterwards.
func (s *SqliteStore) transact(ops []machine.Op) error { return s.transactAs(ops, s.nextLog()) }

// transactAs is transact with given changes besides messages. Unless the failure is known to have
// written nothing, the store is failed from then on.
func (s *SqliteStore) transactAs(ops []machine.Op, next TableChange) error {
	if err := s.Execute(ops, &next); err != nil {
		switch known := errors.Is(err, ErrStorageFull) || errors.Is(err, ErrStorageBusy); {
		// The transaction may or may not be on the disk. Closing must not write after it.
		case !known:
			s.failed = true
		case s.Log != nil && !s.Log.Active:
			s.Log.End() // nextLog created it for this transaction
		}
		return err
	}
	switch {
	// The position in the tables names the size of the log and its generation, so the log counts from
	// this transaction on.
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

// Execute runs one transaction and then notes its position in the mark. It repeats the transaction
// without the rows that turn out to be damaged.
func (s *SqliteStore) Execute(ops []machine.Op, next *TableChange) error {
	// The first write after opening prepares the statements.
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
		// The list of dead rows is rebuilt by the next attempt.
		next.damaged[row.seq], next.dead = true, nil
		s.rollback.Exec() // see below
		at, err = s.beginAll(ops, next)
	}
	if err != nil {
		s.rollback.Exec() // its error is ignored: SQLite may have rolled back already
		return s.writeError("write", err)
	}
	if _, err := s.commit.Exec(); err != nil {
		s.rollback.Exec() // see above
		return s.writeError("commit", err)
	}
	s.at, s.Epoch = at, 0
	s.dead, next.dead = append(s.dead, next.dead...), nil
	// On a copy-on-write file system there may be no room for the mark. Tables may be ahead of it.
	if err := s.mark.Write(at, true); err != nil && PrimaryCode(err) != sqlitefile.CodeFull {
		return fmt.Errorf("commit %s: %w", s.Path, err)
	}
	s.writeBackLong()
	return nil
}

// writeBackLong writes the write-ahead log back when it is long enough. It runs after the mark was
// written, and the page with the position is written last. So tables with only a part of the log are
// behind their mark, and a log that is lost or damaged at that moment is noticed. A failure changes
// nothing: the next transaction tries again.
func (s *SqliteStore) writeBackLong() {
	var busy, pages, done int
	if err := s.logged.QueryRow().Scan(&busy, &pages, &done); err == nil && pages >= s.Most {
		s.writeBack()
	}
}

// beginAll begins a transaction and writes its content.
func (s *SqliteStore) beginAll(ops []machine.Op, next *TableChange) (at sqlitefile.Position, err error) {
	if _, err := s.begin.Exec(); err != nil {
		return at, err
	}
	return s.writeAll(ops, next)
}

// TableChange is what a transaction changes besides messages and queues. The zero value changes
// nothing.
type TableChange struct {
	bytes   int64           // size of the log that follows this transaction; 0 if none does
	version int             // new version of the file; 0 if it stays
	Epoch   uint64          // new epoch; 0 if it stays
	Secret  []byte          // new key of the receipts; nil if it stays
	damaged map[uint64]bool // rows that cannot be written, by sequence
	dead    []uint64        // damaged rows that are to be removed
}

// nextLog starts, continues or ends the log with the next transaction. A log starts after Log.After
// transactions, if there is room for it. It ends while the reserve is released, because moving it to
// the tables needs room.
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
	// A program that only opens the queues, or sends a few messages, should not create a file of
	// megabytes.
	l.Seen++
	if s.spent || l.Seen <= l.After || l.Size == 0 {
		return TableChange{}
	}
	f, err := l.Place.Create(l.Size)
	if err != nil {
		l.Seen = 0 // transactions are slower but sufficient; try again later
		return TableChange{}
	}
	// The log counts only from the transaction that names it, so a crash before that leaves an unused
	// file.
	l.File, l.Made = f, l.Size
	return TableChange{bytes: l.Made, version: loggedVersion}
}

// writeAll writes the pending changes of the log, then ops, then next, and returns the position after
// them.
func (s *SqliteStore) writeAll(ops []machine.Op, next *TableChange) (at sqlitefile.Position, err error) {
	// The number of rows is counted along, so that verify and Load can compare it with the table.
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

// readPosition reads the position of the tables, and returns the size of the log that belongs to them.
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

// readLog reads the log of a program that did not close the file. counts says whether the version
// promises a log, and size how large it must be. A crash may leave a log that no longer counts; even
// such a log must not be newer than the tables, since that shows that the tables are too old.
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
	// A shorter file was cut, and its missing end may have held acknowledged frames.
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

// takeOver moves the changes of the log to the tables and ends the log. An epoch other than 0 is stored
// with them.
func (s *SqliteStore) takeOver(epoch uint64) error {
	next := TableChange{Epoch: epoch}
	if s.Log != nil && s.Log.Active {
		next.version = SchemaVersion
	}
	// There is nothing to write: neither a log to move nor an epoch to store.
	if next.Epoch == 0 && next.version == 0 {
		s.Log.Discard() // a crash may have left a log that no longer counts
		return nil
	}
	if err := s.transactAs(nil, next); err != nil {
		return err
	}
	s.Log.Discard()
	return nil
}

// closeLog moves the log to the tables. If there is no room, or the file is locked, nothing is lost:
// the next opening does it.
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
