// Opening, writing and closing the SQLite file. sqlite_commit.go has commits and the log,
// sqlite_load.go has reading.

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

// SqliteStore keeps the operations in one SQLite file in WAL mode. Statements find rows by rowid only;
// there is no secondary index. The latest commits may be in a log beside the file, see package oplog.
// Damage to one file is detected by what the others say, see mark.go. The writer alone calls Commit and
// Load; Record may be called concurrently.
type SqliteStore struct {
	Path  string
	Pages *sqlitefile.Pages
	Db    *sql.DB // the writer's only connection
	// readers are the connections for reading contents; Db if that is the only one.
	readers *sql.DB
	Reserve reserve // nil if there is none
	spent   bool    // the reserve is released
	Epoch   uint64  // the epoch that the next transaction stores, because the disk was full at opening; else 0
	// at is the position of the tables: identity, last transaction and number of rows.
	at      sqlitefile.Position
	mark    *sqlitefile.Mark
	dead    []uint64   // dead rows, see DeadKey
	Log     *oplog.Log // nil if there is none
	mu      sync.RWMutex
	pending oplog.Pending // changes that are only in the log; guarded by mu, changed by the writer alone
	ready   bool          // the statements below are prepared; read always is
	Most    int           // pages of the write-ahead log from which it is written back
	failed  bool          // it is unknown what the disk holds
	begin, commit, rollback,
	insert, update, move, remove,
	putQueue, dropQueue, dropMoves,
	putDedup, dropDedup, putMove, dropMove, putMeta, logged, read *sql.Stmt
}

// The write-ahead log is written back when it has this many pages, at most two thirds of the reserve:
// then it can be written back, and its room used again, on a full disk.
const (
	mostWALPages  = 4000
	leastWALPages = 100
)

// maxReaders bounds the connections that read bodies.
const maxReaders = 4

// Dsn returns the data source name of a file. Every pragma applies to every connection. vfs is the file
// system that SQLite uses; empty means that of the operating system.
func Dsn(path, vfs string, pragmas ...string) string {
	q := url.Values{"_pragma": append(pragmas, "busy_timeout(5000)", "trusted_schema(OFF)")}
	if vfs != "" {
		q.Set("vfs", vfs)
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// OpenSQLite opens or creates the queue file in dir, which must be locked.
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
	// From here on an absent file is created, but only if nothing shows that there was one, and an
	// older one is upgraded.
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
	s.spent = spent || s.Reserve.Take() != nil // the next send tries to take it again
	// Log and write-ahead log must fit into the reserve, since on a full disk the reserve is all the
	// room there is to empty them.
	if size := min(oplog.MaxBytes, kept.size/oplog.Share); size >= oplog.LeastBytes {
		s.Log.Size = size
	}
	s.Most = int(max(leastWALPages, min(mostWALPages, kept.size*2/3/pageSize)))
	return s, nil
}

// openWithin opens a queue file on a disk that may be full. SQLite needs some room beside the file,
// which the reserve can provide. If there is none at all, a single exclusive connection needs no room,
// and nothing can be written until there is some. spent says that the reserve was released.
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
	// A write-ahead log with content must stay as it is: an exclusive connection would have to write it
	// back.
	if log, statErr := os.Stat(path + "-wal"); statErr == nil && log.Size() > 0 {
		return nil, true, err
	}
	s, err = open(true)
	return s, true, err
}

// OpenFile opens the complete queue file at path with its mark m and log l. Without a log all
// operations go to the tables. alone opens one exclusive connection, which needs no room beside the
// file.
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
	s.Pages.WriteLast(RootOfMeta) // it holds the position, see writeBackLong
	vfs = s.Pages.Name()
	// The readers cannot write: the last connection to close would otherwise write back, and remove, a
	// write-ahead log that may be damaged. So the readers verify the file first. fullfsync matters on
	// macOS, where a plain sync does not reach past the drive's cache. The write-ahead log is written
	// back after the mark, see writeBackLong, so automatic checkpoints are off.
	pragmas := []string{"journal_mode(WAL)", "synchronous(FULL)", "fullfsync(1)", "wal_autocheckpoint(0)"}
	if alone {
		// The file is in WAL mode already. The driver applies pragmas in the order of their names, and
		// journal_mode before locking_mode would create the shared-memory file that an exclusive
		// connection does without.
		pragmas[0] = "locking_mode(EXCLUSIVE)"
	}
	if s.Db, err = sql.Open("sqlite", Dsn(path, vfs, pragmas...)); err != nil {
		return nil, err
	}
	s.Db.SetMaxOpenConns(1)
	// Readers need connections of their own: a long read on the writer's would delay commits.
	if s.readers = s.Db; !alone {
		if s.readers, err = sql.Open("sqlite", Dsn(path, vfs, "query_only(ON)")+"&mode=ro"); err != nil {
			return nil, err
		}
		s.readers.SetMaxOpenConns(maxReaders)
	}
	if err = s.verify(ctx, m); err != nil {
		return nil, err
	}
	// read is prepared at once: a file that lacks its columns must be refused on opening.
	const reading = `SELECT content_sum, message_id, group_id, dedup_id, source, attributes, body FROM messages WHERE seq=?`
	if s.read, err = s.readers.PrepareContext(ctx, reading); err != nil {
		return nil, prepareError(reading, err)
	}
	return s, nil
}

// arm prepares the statements for writing. It runs before the first write, so that a file that Load
// refuses has only been read.
func (s *SqliteStore) arm() error {
	if s.ready {
		return nil
	}
	err := s.prepare(context.Background())
	s.ready = err == nil
	return err
}

// openError explains an error on opening this file.
func (s *SqliteStore) openError(err error) error { return openError(s.Path, s.Pages, err) }

// openError explains an error on opening a file: it says whether the file is damaged, and what to do.
// pages, if not nil, lists the damaged pages met so far.
func openError(path string, pages *sqlitefile.Pages, err error) error {
	// SQLite reports damage with codes of its own, and the seals with SQLITE_CORRUPT.
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
		return fmt.Errorf("open queue file %s: %w: %w; SQLite needs about 100 KiB beside the file: free that much",
			path, ErrStorageFull, err)
	case !damaged:
		return fmt.Errorf("open queue file %s: %w", path, err)
	case !errors.Is(err, ErrCorruptFile):
		err = fmt.Errorf("%w: %w", ErrCorruptFile, err)
	}
	return fmt.Errorf("open queue file %s: %w%s; nothing was changed; `muster queue check --data %s` shows what is "+
		"intact and what is missing, and with --repair it moves what is intact to new files and keeps the damaged "+
		"ones; or restore all files of the directory from a backup",
		path, err, where, Absolute(filepath.Dir(path)))
}

// Absolute returns the absolute path of dir, or dir itself if that is unknown.
func Absolute(dir string) string {
	if found, err := filepath.Abs(dir); err == nil {
		return found
	}
	return dir
}

// verify checks version, schema, position, mark and log. Load checks the messages, which it reads
// anyway.
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
	// Only the small tables are checked here. Messages are read, and so checked, by Load; a check of
	// millions of them would double the time of opening.
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

// prepare prepares the statements for writing.
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

// prepareError calls the file damaged if it lacks a table or column of the statement, but not if it
// could not be read.
func prepareError(text string, err error) error {
	if PrimaryCode(err) == sqlitefile.CodeError {
		err = fmt.Errorf("%w: %w", ErrCorruptFile, err)
	}
	return fmt.Errorf("prepare %.40q: %w", text, err)
}

// writeError explains an error of a write: full, locked by another program, damaged, or anything else.
func (s *SqliteStore) writeError(step string, err error) error {
	switch PrimaryCode(err) {
	case sqlitefile.CodeFull:
		return fmt.Errorf("%w: %s %s: %w", ErrStorageFull, step, s.Path, err)
	case sqlitefile.CodeBusy:
		return fmt.Errorf("%w: %s %s: %w; end the program that holds it, then repeat", ErrStorageBusy, step, s.Path,
			err)
	case sqlitefile.CodeCorrupt:
		return fmt.Errorf("%s %s: %w: %w (pages found damaged: %v); stop the program, then `muster queue check "+
			"--data %s` shows what is intact, and --repair moves it to new files",
			step, s.Path, ErrCorruptFile, err, s.Pages.Damaged(), Absolute(filepath.Dir(s.Path)))
	}
	return fmt.Errorf("%s %s: %w", step, s.Path, err)
}

// write writes an operation and returns by how many rows the table of messages grew. verify compares
// that sum with the mark, so it must be exact.
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

// writeRare writes operations on queues, deduplication and moves.
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

// writeQueue stores a queue. Its name never changes.
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

// orNull returns NULL for an empty text, which takes one byte in a row.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Close moves the log to the tables, writes the write-ahead log back and closes the file.
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
		s.Reserve.Keep() // closing freed some room, which the next opening needs
	}
	return errors.Join(err, s.mark.Close())
}

// PrimaryCode returns SQLite's primary result code of err. A full disk gives the same code whether
// SQLite or the log met it.
func PrimaryCode(err error) int {
	if errors.Is(err, syscall.ENOSPC) || sqlitefile.NoRoom(err) {
		return sqlitefile.CodeFull
	}
	return sqlitefile.Primary(err)
}
