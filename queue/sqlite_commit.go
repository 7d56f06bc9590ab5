package queue

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"github.com/muster-scale/muster/internal/sqlitefile"
)

// Commit makes ops durable with one sync: in the log where there is one, and
// else in a transaction. After ErrStorageFull it may be called again with what
// needs no room.
func (s *sqliteStore) Commit(ops []op) error {
	if err := s.admit(ops); err != nil {
		return err
	}
	if !s.spent {
		if fits, err := s.append(ops); fits {
			return err
		}
	}
	err := s.transact(ops, false)
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

func needRoom(ops []op) bool {
	for i := range ops {
		if ops[i].kind == opInsert {
			return true
		}
	}
	return false
}

// append writes ops to the log, if there is one and they fit.
func (s *sqliteStore) append(ops []op) (fits bool, err error) {
	if s.log == nil || !s.log.active || s.log.file == nil || s.pending.len()+len(ops) > maxPending {
		return false, nil
	}
	fits, err = s.log.append(ops)
	switch {
	case !fits:
		return false, nil
	case primaryCode(err) == sqlitefile.CodeFull:
		return false, nil // the file system writes nothing in place; a transaction voids what there is of it
	case err != nil:
		s.failed = true
		return true, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range ops {
		s.pending.add(&ops[i])
	}
	return true, nil
}

// transact writes ops to the tables, after all that is in the log. At the end
// of it the log is void, and gone if this is the last transaction.
func (s *sqliteStore) transact(ops []op, last bool) error {
	next := s.nextLog(last)
	if err := s.execute(ops, next); err != nil {
		switch known := errors.Is(err, ErrStorageFull) || errors.Is(err, ErrStorageBusy); {
		case !known:
			s.failed = true
		case s.log != nil && !s.log.active:
			s.log.end() // it has not begun
		}
		return err
	}
	switch {
	case next.generation != 0:
		s.log.restart(next.generation)
	case next.version != 0:
		s.log.end()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending.clear()
	return nil
}

// execute makes one transaction.
func (s *sqliteStore) execute(ops []op, next logChange) error {
	if _, err := s.begin.Exec(); err != nil {
		return s.writeError("begin", err)
	}
	if err := s.writeAll(ops, next); err != nil {
		s.rollback.Exec() // SQLite may have rolled back by itself already
		return s.writeError("write", err)
	}
	if _, err := s.commit.Exec(); err != nil {
		s.rollback.Exec() // as above
		return s.writeError("commit", err)
	}
	return nil
}

// logChange is what a transaction says about the log.
type logChange struct {
	generation uint64 // of the frames that count from now on; 0 if nothing is said
	version    int    // of the file; 0 if it stays
}

// nextLog begins, goes on with or ends the log.
func (s *sqliteStore) nextLog(last bool) logChange {
	l := s.log
	switch {
	case l == nil:
		return logChange{}
	case l.active && (last || s.spent || l.file == nil):
		return logChange{version: len(migrations)}
	case l.active:
		return logChange{generation: l.generation + 1}
	}
	l.seen++
	if last || s.spent || l.seen <= l.after || l.size == 0 {
		return logChange{}
	}
	f, err := l.place.Create(l.size)
	if err != nil {
		l.seen = 0 // without a log all goes its slower way; try again later
		return logChange{}
	}
	var random [8]byte
	rand.Read(random[:]) // never fails
	l.file = f
	return logChange{generation: binary.LittleEndian.Uint64(random[:])>>2 | 1, version: loggedVersion}
}

func (s *sqliteStore) writeAll(ops []op, next logChange) error {
	for o := range s.pending.ops {
		if err := s.write(o); err != nil {
			return err
		}
	}
	for i := range ops {
		if err := s.write(&ops[i]); err != nil {
			return err
		}
	}
	if next.generation != 0 {
		if _, err := s.putLog.Exec(int64(next.generation)); err != nil {
			return err
		}
	}
	if next.version != 0 {
		if _, err := s.db.Exec(fmt.Sprintf("PRAGMA user_version = %d", next.version)); err != nil {
			return err
		}
	}
	return nil
}

// readLog reads what a program that did not close the file left in the log.
func (s *sqliteStore) readLog(ctx context.Context) error {
	if s.log == nil {
		return fmt.Errorf("%w: it says that there is a log", ErrCorruptFile)
	}
	if err := s.db.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'log'").Scan(&s.log.generation); err != nil {
		return err
	}
	content, err := s.log.place.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: its log is missing, and with it the latest messages; the files of the directory belong together", ErrCorruptFile)
	}
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	ops, err := readLog(content, s.log.generation)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorruptFile, err)
	}
	for i := range ops {
		s.pending.add(&ops[i])
	}
	s.log.active = true
	return nil
}

// takeOver brings what is in the log into the tables, and ends it.
func (s *sqliteStore) takeOver() error {
	if s.log == nil {
		return nil
	}
	if !s.log.active {
		s.log.place.Remove() // a crash may have left one that counts no more
		return nil
	}
	err := s.transact(nil, true)
	if errors.Is(err, ErrStorageFull) {
		s.giveReserve()
		err = s.transact(nil, true)
	}
	return err
}

// closeLog takes the log over. Where that cannot be done nothing is lost: the
// next opening does it.
func (s *sqliteStore) closeLog() error {
	if s.failed || !s.ready {
		return nil
	}
	err := s.takeOver()
	if errors.Is(err, ErrStorageFull) || errors.Is(err, ErrStorageBusy) {
		return nil
	}
	return err
}
