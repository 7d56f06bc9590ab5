package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage/oplog"
)

// SqliteStore keeps the operations in one SQLite file in WAL mode. Statements
// touch rows by their rowid only; there is no secondary index. What was
// committed last may be in a log beside the file, see package oplog.
// Damage of any of its files is found by what the others say, see mark.go.
type SqliteStore struct {
	Path    string
	Pages   *sqlitefile.Pages
	Db      *sql.DB // one connection, the writer's
	readers *sql.DB
	Reserve reserve // nil if there is none
	spent   bool    // the reserve was given up
	Epoch   uint64  // that the next transaction begins, since there was no room for it at the opening; 0 if none
	at      sqlitefile.Position
	mark    *sqlitefile.Mark
	dead    []uint64   // rows that count no more
	Log     *oplog.Log // nil if there is none
	mu      sync.RWMutex
	pending oplog.Pending // what the log adds to the tables; mu guards it, but the writer alone changes it
	ready   bool          // everything below is prepared, but read, which always is
	Most    int           // pages of the write-ahead log, from which on it is written back
	failed  bool          // it is not known what the disk holds
	begin, commit, rollback,
	insert, update, move, remove,
	putQueue, dropQueue, dropMoves,
	putDedup, dropDedup, putMove, dropMove, putMeta, logged, read *sql.Stmt
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

// Dsn names a file; every pragma is applied to every connection. vfs is the
// file system that SQLite uses; empty is the operating system's.
func Dsn(path, vfs string, pragmas ...string) string {
	q := url.Values{"_pragma": append(pragmas, "busy_timeout(5000)", "trusted_schema(OFF)")}
	if vfs != "" {
		q.Set("vfs", vfs)
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// OpenSQLite opens, or creates, the queue file in dir, which is locked.
func OpenSQLite(ctx context.Context, dir string) (*SqliteStore, error) {
	path := filepath.Join(dir, "queues.db")
	logs := dirLog{filepath.Join(dir, "queues.log")}
	kept := &fileReserve{path: filepath.Join(dir, reserveName)}
	if err := kept.own(); err != nil {
		return nil, openError(path, nil, err)
	}
	if Exists(filepath.Join(dir, RepairedName)) {
		return nil, fmt.Errorf("open queue file %s: %w", path, RepairCutShort(dir))
	}
	found, err := Inspect(ctx, path)
	if err == nil {
		switch found {
		case absent:
			if err = missing(path, logs.path); err == nil {
				err = Create(ctx, SystemPlace(), path, nil)
			}
		case Older:
			err = Upgrade(ctx, SystemPlace(), path, logs)
		}
	}
	if err != nil {
		return nil, openError(path, nil, err)
	}
	s, spent, err := openWithin(path, kept, func(alone bool) (*SqliteStore, error) {
		return OpenFile(ctx, path, "", &oplog.Log{Place: logs, After: oplog.StartAfter},
			sqlitefile.MarkPath(path+sqlitefile.MarkSuffix), alone)
	})
	if err != nil {
		return nil, err
	}
	s.Reserve = kept
	s.spent = spent || s.Reserve.Take() != nil // then the first send tries again
	if size := min(oplog.MaxBytes, kept.size/oplog.Share); size >= oplog.LeastBytes {
		s.Log.Size = size
	}
	s.Most = int(max(leastWALPages, min(mostWALPages, kept.size*2/3/pageSize)))
	return s, nil
}

// openWithin opens a queue file on a disk that may be full. SQLite needs some room
// beside the file, which the reserve has; where that is gone too, one connection
// alone needs none, and nothing can be written until there is room.
func openWithin(path string, kept reserve, open func(alone bool) (*SqliteStore, error)) (s *SqliteStore, spent bool,
	err error) {
	if s, err = open(false); PrimaryCode(err) != sqlitefile.CodeFull {
		return s, false, err
	}
	if kept.Give() == nil {
		if s, err = open(false); PrimaryCode(err) != sqlitefile.CodeFull {
			return s, true, err
		}
	}
	// With a write-ahead log the files are left as they are: whoever is alone would have to write it back.
	if log, statErr := os.Stat(path + "-wal"); statErr == nil && log.Size() > 0 {
		return nil, true, err
	}
	s, err = open(true)
	return s, true, err
}

// OpenFile opens the queue file at path, which is complete, its mark and the log
// that may be beside it; without a log all goes to the tables. With alone it has
// one connection, which needs no room beside the file.
func OpenFile(ctx context.Context, path, vfs string, l *oplog.Log, m sqlitefile.MarkPlace, alone bool) (_ *SqliteStore,
	err error) {
	s := &SqliteStore{Path: path, Log: l, pending: oplog.NewPending(), Most: mostWALPages}
	defer func() {
		if err != nil {
			err = s.openError(err)
			s.Close()
		}
	}()
	if s.Pages, err = sqlitefile.Seal(vfs, false); err != nil {
		return nil, err
	}
	s.Pages.WriteLast(RootOfMeta) // with the position
	vfs = s.Pages.Name()
	// The readers cannot write: the last connection to close would write back what it believes to be the write-ahead
	// log, and remove it. So they look first. Where the system's sync leaves the drive's cache alone (macOS), fullfsync
	// asks for the one that does not. The write-ahead log is written back after the mark was written, see
	// writeBackLong.
	pragmas := []string{"journal_mode(WAL)", "synchronous(FULL)", "fullfsync(1)", "wal_autocheckpoint(0)"}
	if alone {
		// The file has its journal mode. The driver sets pragmas in the order of their names, and that of the journal
		// mode would make the file beside that a connection alone does without.
		pragmas[0] = "locking_mode(EXCLUSIVE)"
	}
	if s.Db, err = sql.Open("sqlite", Dsn(path, vfs, pragmas...)); err != nil {
		return nil, err
	}
	s.Db.SetMaxOpenConns(1)
	if s.readers = s.Db; !alone {
		if s.readers, err = sql.Open("sqlite", Dsn(path, vfs, "query_only(ON)")+"&mode=ro"); err != nil {
			return nil, err
		}
		s.readers.SetMaxOpenConns(maxReaders)
	}
	if err = s.verify(ctx, m); err != nil {
		return nil, err
	}
	const reading = `SELECT content_sum, message_id, group_id, dedup_id, source, attributes, body FROM messages WHERE seq=?`
	if s.read, err = s.readers.PrepareContext(ctx, reading); err != nil {
		return nil, prepareError(reading, err)
	}
	return s, nil
}

// arm prepares to write.
func (s *SqliteStore) arm() error {
	if s.ready {
		return nil
	}
	err := s.prepare(context.Background())
	s.ready = err == nil
	return err
}

// openError says what an error on opening means.
func (s *SqliteStore) openError(err error) error { return openError(s.Path, s.Pages, err) }

// openError is that of a file of which some pages may have been found damaged.
func openError(path string, pages *sqlitefile.Pages, err error) error {
	damaged := errors.Is(err, ErrCorruptFile)
	switch PrimaryCode(err) {
	case sqlitefile.CodeCorrupt, sqlitefile.CodeNotADB:
		damaged = true
	}
	var where string
	if pages != nil {
		if found := pages.Damaged(); len(found) > 0 {
			damaged, where = true, fmt.Sprintf(" (pages found damaged: %v)", found)
		}
	}
	switch {
	case !damaged && PrimaryCode(err) == sqlitefile.CodeFull:
		return fmt.Errorf("open queue file %s: %w: %w; SQLite needs about 100 KiB beside the file: free so much", path,
			ErrStorageFull, err)
	case !damaged:
		return fmt.Errorf("open queue file %s: %w", path, err)
	case !errors.Is(err, ErrCorruptFile):
		err = fmt.Errorf("%w: %w", ErrCorruptFile, err)
	}
	return fmt.Errorf("open queue file %s: %w%s; nothing was changed: `muster queue check --data %s` tells what is "+
		"whole and what is missing, with --repair "+
		"it goes on with what is whole and keeps the damaged files; or restore all files of the directory from "+
		"a backup",
		path, err, where, Absolute(filepath.Dir(path)))
}

// Absolute is a directory as it can be named from anywhere.
func Absolute(dir string) string {
	if found, err := filepath.Abs(dir); err == nil {
		return found
	}
	return dir
}

// verify checks version, schema and position. The messages are checked by Load,
// which reads them all.
func (s *SqliteStore) verify(ctx context.Context, m sqlitefile.MarkPlace) error {
	var version int
	if err := s.readers.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if err := checkVersion(version); err != nil {
		return err
	}
	if standingOf(version) != present {
		return fmt.Errorf("%w: found schema %d, want %d", ErrCorruptFile, version, SchemaVersion)
	}
	for _, table := range []string{"sqlite_schema", "meta", "queues"} {
		damage, err := sqlitefile.Check(ctx, s.readers, table)
		if err != nil {
			return err
		}
		if damage != "" {
			return fmt.Errorf("%w: table %s: %s", ErrCorruptFile, table, damage)
		}
	}
	logBytes, err := s.readPosition(ctx)
	if err != nil {
		return err
	}
	if err := s.readDead(ctx); err != nil {
		return err
	}
	if s.mark, err = openMark(m, s.at); err != nil {
		return err
	}
	return s.readLog(version == loggedVersion, logBytes)
}

func (s *SqliteStore) prepare(ctx context.Context) error {
	statements := []struct {
		to   **sql.Stmt
		text string
	}{
		{&s.begin, "BEGIN IMMEDIATE"},
		{&s.commit, "COMMIT"},
		{&s.rollback, "ROLLBACK"},
		{&s.insert, `INSERT INTO messages VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`},
		{&s.update, `UPDATE messages SET visible=?, received=?, first=?, count=?, row_sum=? WHERE seq=?`},
		{&s.move, `UPDATE messages SET seq=?, queue_id=?, sent=?, visible=?, received=?, first=?, count=?, carried=?, row_sum=?, source=? WHERE seq=?`},
		{&s.remove, `DELETE FROM messages WHERE seq=?`},
		{&s.putQueue, `INSERT INTO queues VALUES (?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET
			attributes=excluded.attributes, tags=excluded.tags, modified=excluded.modified, floor=excluded.floor`},
		{&s.dropQueue, `DELETE FROM queues WHERE id=?`},
		{&s.dropMoves, `DELETE FROM moves WHERE queue_id=?`},
		{&s.putDedup, `INSERT OR REPLACE INTO deduplication VALUES (?,?,?,?,?)`},
		{&s.dropDedup, `DELETE FROM deduplication WHERE queue_id=? AND dedup_id=? AND seq=?`},
		{&s.putMove, `INSERT OR REPLACE INTO moves VALUES (?,?,?,?,?,?,?,?,?)`},
		{&s.dropMove, `DELETE FROM moves WHERE id=?`},
		{&s.putMeta, `INSERT OR REPLACE INTO meta VALUES (?, ?)`},
		{&s.logged, "PRAGMA wal_checkpoint(NOOP)"},
	}
	for _, st := range statements {
		var err error
		if *st.to, err = s.Db.PrepareContext(ctx, st.text); err != nil {
			return s.writeError("open", prepareError(st.text, err))
		}
	}
	return nil
}

// prepareError calls the file damaged if it lacks what the statement names, and not if it could not be read.
func prepareError(text string, err error) error {
	if PrimaryCode(err) == sqlitefile.CodeError {
		err = fmt.Errorf("%w: %w", ErrCorruptFile, err)
	}
	return fmt.Errorf("prepare %.40q: %w", text, err)
}

func (s *SqliteStore) writeError(step string, err error) error {
	switch PrimaryCode(err) {
	case sqlitefile.CodeFull:
		return fmt.Errorf("%w: %s %s: %w", ErrStorageFull, step, s.Path, err)
	case sqlitefile.CodeBusy:
		return fmt.Errorf("%w: %s %s: %w; end the program that holds it, then repeat", ErrStorageBusy, step, s.Path,
			err)
	case sqlitefile.CodeCorrupt:
		return fmt.Errorf("%s %s: %w: %w (pages found damaged: %v); stop the program, then `muster queue check "+
			"--data %s` tells what is whole, and with --repair "+
			"goes on with it", step, s.Path, ErrCorruptFile, err, s.Pages.Damaged(), Absolute(filepath.Dir(s.Path)))
	}
	return fmt.Errorf("%s %s: %w", step, s.Path, err)
}

// write writes an operation and returns by how many rows the messages grew.
func (s *SqliteStore) write(o *machine.Op) (grown int64, err error) {
	r := &o.Row
	switch o.Kind {
	case machine.OpInsert:
		c := o.Record
		_, err = s.insert.Exec(int64(r.Seq), int64(r.Queue), r.Sent, r.Visible, r.Received, r.First, int64(r.Count),
			int64(r.Carried), int64(r.Checksum()),
			int64(c.Sum), c.ID[:], orNull(c.Group), orNull(c.Dedup), orNull(c.Source), orNull(string(c.Attributes)),
			c.Body)
		return 1, err
	case machine.OpUpdate:
		_, err = s.update.Exec(r.Visible, r.Received, r.First, int64(r.Count), int64(r.Checksum()), int64(r.Seq))
	case machine.OpMove:
		_, err = s.move.Exec(int64(r.Seq), int64(r.Queue), r.Sent, r.Visible, r.Received, r.First, int64(r.Count),
			int64(r.Carried), int64(r.Checksum()),
			orNull(o.Source), int64(o.Seq))
	case machine.OpRemove:
		result, err := s.remove.Exec(int64(o.Seq))
		if err != nil {
			return 0, err
		}
		gone, err := result.RowsAffected()
		return -gone, err
	case machine.OpPutQueue:
		err = s.writeQueue(o.Queue)
	default:
		err = s.writeRare(o)
	}
	return 0, err
}

func (s *SqliteStore) writeRare(o *machine.Op) (err error) {
	switch o.Kind {
	case machine.OpDropQueue:
		if _, err = s.dropQueue.Exec(o.Queue.ID); err == nil {
			_, err = s.dropMoves.Exec(o.Queue.ID)
		}
	case machine.OpPutDedup:
		d := o.Dedup
		_, err = s.putDedup.Exec(int64(d.Queue), d.Key, int64(d.Seq), d.ID[:], d.Expires)
	case machine.OpDropDedup:
		_, err = s.dropDedup.Exec(int64(o.Dedup.Queue), o.Dedup.Key, int64(o.Dedup.Seq))
	case machine.OpPutMove:
		m := o.Move
		_, err = s.putMove.Exec(int64(m.ID), int64(m.Queue), m.Destination, m.Rate, string(m.Status), m.Failure,
			m.Started, m.Moved, m.ToMove)
	case machine.OpDropMove:
		_, err = s.dropMove.Exec(int64(o.Move.ID))
	}
	return err
}

func (s *SqliteStore) writeQueue(q *machine.QueueRow) error {
	attributes, err := json.Marshal(q.Attributes)
	if err != nil {
		return err
	}
	tags, err := json.Marshal(q.Tags)
	if err != nil {
		return err
	}
	_, err = s.putQueue.Exec(q.ID, q.Name, string(attributes), string(tags), q.Created, q.Modified, int64(q.Floor))
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
func (s *SqliteStore) Close() error {
	err := s.closeLog()
	if s.readers != nil && s.readers != s.Db {
		err = errors.Join(err, s.readers.Close())
	}
	if s.Db != nil {
		err = errors.Join(err, s.Db.Close())
	}
	s.Pages.Unmount()
	if s.spent && s.Reserve != nil {
		s.Reserve.Keep() // of what closing freed: the next opening needs some
	}
	return errors.Join(err, s.mark.Close())
}

// PrimaryCode is SQLite's primary result code of err; a full disk has the same one when it is the log that met it.
func PrimaryCode(err error) int {
	if errors.Is(err, syscall.ENOSPC) || sqlitefile.NoRoom(err) {
		return sqlitefile.CodeFull
	}
	return sqlitefile.Primary(err)
}
