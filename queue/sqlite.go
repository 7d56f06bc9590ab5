package queue

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"syscall"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/muster-scale/muster/internal/sqlitefile"
)

// sqliteStore keeps the operations in one SQLite file in WAL mode. Statements
// touch rows by their rowid only; there is no secondary index. What was
// committed last may be in a log beside the file, see oplog.go.
type sqliteStore struct {
	path    string
	db      *sql.DB // one connection, the writer's
	readers *sql.DB
	reserve reserve // nil if there is none
	spent   bool    // the reserve was given up
	log     *opLog  // nil if there is none
	mu      sync.RWMutex
	pending pending // what the log adds to the tables; mu guards it, but the writer alone changes it
	ready   bool    // everything below is prepared
	failed  bool    // it is not known what the disk holds
	begin, commit, rollback,
	insert, update, move, remove,
	putQueue, dropQueue, dropMoves,
	putDedup, dropDedup, putMove, dropMove, putLog, read *sql.Stmt
}

// The write-ahead log of SQLite is written back when it has so many pages, as
// far as the room kept for deletes is half as large again: then it can be
// written back, and used again, on a full disk.
const (
	mostWALPages  = 4000
	leastWALPages = 100
)

// maxReaders bounds the connections that read bodies.
const maxReaders = 4

// dsn names a file; every pragma is applied to every connection. vfs is the
// file system that SQLite uses; empty is the operating system's.
func dsn(path, vfs string, pragmas ...string) string {
	q := url.Values{"_pragma": append(pragmas, "busy_timeout(5000)", "trusted_schema(OFF)")}
	if vfs != "" {
		q.Set("vfs", vfs)
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// openSQLite opens, or creates, the queue file in dir, which is locked.
func openSQLite(ctx context.Context, dir string) (*sqliteStore, error) {
	path := filepath.Join(dir, "queues.db")
	exists, err := inspect(ctx, path)
	if err != nil {
		return nil, err
	}
	if !exists {
		if err := create(ctx, path); err != nil {
			return nil, err
		}
	}
	l := &opLog{place: dirLog{filepath.Join(dir, "queues.log")}, after: logAfter}
	s, err := openFile(ctx, path, "", l)
	if err != nil {
		return nil, err
	}
	kept := &fileReserve{path: filepath.Join(dir, "reserve")}
	s.reserve = kept
	s.spent = s.reserve.take() != nil // then the first send tries again
	if size := min(maxLogBytes, kept.size/logShare); size >= leastLogBytes {
		l.size = size
	}
	pages := max(leastWALPages, min(mostWALPages, kept.size*2/3/pageSize))
	if _, err := s.db.ExecContext(ctx, fmt.Sprintf("PRAGMA wal_autocheckpoint = %d", pages)); err != nil {
		return nil, errors.Join(s.openError(err), s.Close())
	}
	return s, nil
}

// openFile opens the queue file at path, which is complete, and the log that
// may be beside it.
func openFile(ctx context.Context, path, vfs string, l *opLog) (_ *sqliteStore, err error) {
	s := &sqliteStore{path: path, log: l, pending: newPending()}
	defer func() {
		if err != nil {
			s.Close()
			err = s.openError(err)
		}
	}()
	// Where the system's sync leaves the drive's cache alone (macOS), fullfsync asks for the one that does not.
	if s.db, err = sql.Open("sqlite", dsn(path, vfs, "journal_mode(WAL)", "synchronous(FULL)", "fullfsync(1)")); err != nil {
		return nil, err
	}
	s.db.SetMaxOpenConns(1)
	if s.readers, err = sql.Open("sqlite", dsn(path, vfs, "query_only(ON)")); err != nil {
		return nil, err
	}
	s.readers.SetMaxOpenConns(maxReaders)
	if err = s.verify(ctx); err != nil {
		return nil, err
	}
	err = s.prepare(ctx)
	s.ready = err == nil
	return s, err
}

// openError says what an error on opening means.
func (s *sqliteStore) openError(err error) error {
	switch primaryCode(err) {
	case sqlitefile.CodeCorrupt, sqlitefile.CodeNotADB:
		return fmt.Errorf("open queue file %s: %w: %w; restore it from a backup, or move it away to start empty", s.path, ErrCorruptFile, err)
	}
	return fmt.Errorf("open queue file %s: %w", s.path, err)
}

// verify checks version and schema and brings an older file forward. The
// messages are checked by Load, which reads them all.
func (s *sqliteStore) verify(ctx context.Context) error {
	var version int
	if err := s.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if err := checkVersion(s.path, version); err != nil {
		return err
	}
	if version == loggedVersion {
		if err := s.readLog(ctx); err != nil {
			return err
		}
	} else if err := migrate(ctx, s.db, version); err != nil {
		return err
	}
	for _, table := range []string{"sqlite_schema", "meta", "queues"} {
		damage, err := sqlitefile.Check(ctx, s.db, table)
		if err != nil {
			return err
		}
		if damage != "" {
			return fmt.Errorf("%w: table %s: %s", ErrCorruptFile, table, damage)
		}
	}
	return nil
}

func (s *sqliteStore) prepare(ctx context.Context) error {
	statements := []struct {
		to   **sql.Stmt
		text string
	}{
		{&s.begin, "BEGIN IMMEDIATE"},
		{&s.commit, "COMMIT"},
		{&s.rollback, "ROLLBACK"},
		{&s.insert, `INSERT INTO messages VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`},
		{&s.update, `UPDATE messages SET visible=?, received=?, first=?, count=? WHERE seq=?`},
		{&s.move, `UPDATE messages SET seq=?, queue_id=?, sent=?, visible=?, received=?, first=?, count=?, carried=?, source=? WHERE seq=?`},
		{&s.remove, `DELETE FROM messages WHERE seq=?`},
		{&s.putQueue, `INSERT INTO queues VALUES (?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET
			attributes=excluded.attributes, tags=excluded.tags, modified=excluded.modified, floor=excluded.floor`},
		{&s.dropQueue, `DELETE FROM queues WHERE id=?`},
		{&s.dropMoves, `DELETE FROM moves WHERE queue_id=?`},
		{&s.putDedup, `INSERT OR REPLACE INTO deduplication VALUES (?,?,?,?,?)`},
		{&s.dropDedup, `DELETE FROM deduplication WHERE queue_id=? AND dedup_id=? AND seq=?`},
		{&s.putMove, `INSERT OR REPLACE INTO moves VALUES (?,?,?,?,?,?,?,?,?)`},
		{&s.dropMove, `DELETE FROM moves WHERE id=?`},
		{&s.putLog, `INSERT OR REPLACE INTO meta VALUES ('log', ?)`},
	}
	for _, st := range statements {
		var err error
		if *st.to, err = s.db.PrepareContext(ctx, st.text); err != nil {
			return prepareError(st.text, err)
		}
	}
	var err error
	const reading = `SELECT message_id, group_id, dedup_id, source, attributes, body FROM messages WHERE seq=?`
	if s.read, err = s.readers.PrepareContext(ctx, reading); err != nil {
		return prepareError(reading, err)
	}
	return nil
}

// prepareError calls the file damaged if it lacks what the statement names, and not if it could not be read.
func prepareError(text string, err error) error {
	if primaryCode(err) == sqlitefile.CodeError {
		err = fmt.Errorf("%w: %w", ErrCorruptFile, err)
	}
	return fmt.Errorf("prepare %.40q: %w", text, err)
}

func (s *sqliteStore) writeError(step string, err error) error {
	switch primaryCode(err) {
	case sqlitefile.CodeFull:
		return fmt.Errorf("%w: %s %s: %w", ErrStorageFull, step, s.path, err)
	case sqlitefile.CodeBusy:
		return fmt.Errorf("%w: %s %s: %w; end the program that holds it, then repeat", ErrStorageBusy, step, s.path, err)
	}
	return fmt.Errorf("%s %s: %w", step, s.path, err)
}

func (s *sqliteStore) write(o *op) (err error) {
	r := &o.row
	switch o.kind {
	case opInsert:
		c := o.record
		_, err = s.insert.Exec(int64(r.seq), int64(r.queue), r.sent, r.visible, r.received, r.first, int64(r.count), int64(r.carried),
			c.id[:], orNull(c.group), orNull(c.dedup), nil, orNull(c.source), orNull(string(c.attributes)), c.body)
	case opUpdate:
		_, err = s.update.Exec(r.visible, r.received, r.first, int64(r.count), int64(r.seq))
	case opMove:
		_, err = s.move.Exec(int64(r.seq), int64(r.queue), r.sent, r.visible, r.received, r.first, int64(r.count), int64(r.carried), orNull(o.source), int64(o.seq))
	case opRemove:
		_, err = s.remove.Exec(int64(o.seq))
	case opPutQueue:
		err = s.writeQueue(o.queue)
	default:
		err = s.writeRare(o)
	}
	return err
}

func (s *sqliteStore) writeRare(o *op) (err error) {
	switch o.kind {
	case opDropQueue:
		if _, err = s.dropQueue.Exec(o.queue.id); err == nil {
			_, err = s.dropMoves.Exec(o.queue.id)
		}
	case opPutDedup:
		d := o.dedup
		_, err = s.putDedup.Exec(int64(d.queue), d.key, int64(d.seq), d.id[:], d.expires)
	case opDropDedup:
		_, err = s.dropDedup.Exec(int64(o.dedup.queue), o.dedup.key, int64(o.dedup.seq))
	case opPutMove:
		m := o.move
		_, err = s.putMove.Exec(int64(m.id), int64(m.queue), m.destination, m.rate, string(m.status), m.failure, m.started, m.moved, m.toMove)
	case opDropMove:
		_, err = s.dropMove.Exec(int64(o.move.id))
	}
	return err
}

func (s *sqliteStore) writeQueue(q *queueRow) error {
	attributes, err := json.Marshal(q.attributes)
	if err != nil {
		return err
	}
	tags, err := json.Marshal(q.tags)
	if err != nil {
		return err
	}
	_, err = s.putQueue.Exec(q.id, q.name, string(attributes), string(tags), q.created, q.modified, int64(q.floor))
	return err
}

// orNull keeps the columns that most messages do not use one byte long.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Close takes the log over, writes the WAL back and closes the file.
func (s *sqliteStore) Close() error {
	err := s.closeLog()
	if s.readers != nil {
		err = errors.Join(err, s.readers.Close())
	}
	if s.db != nil {
		err = errors.Join(err, s.db.Close())
	}
	return err
}

// primaryCode is SQLite's primary result code of err; a full disk has the same one when it is the log that met it.
func primaryCode(err error) int {
	if errors.Is(err, syscall.ENOSPC) {
		return sqlitefile.CodeFull
	}
	return sqlitefile.Primary(err)
}
