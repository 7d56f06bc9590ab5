// Upgrades from schema versions 1 and 2, whose pages have no seals and whose rows have no checksums.
// The file is copied, not changed, so that a crash or a full disk during the upgrade loses nothing.

package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage/oplog"
)

// OlderLogged is the version of a file of schema version 2 to which a log belongs.
const OlderLogged = 1002

// Upgrade replaces the file at path, of version 1 or 2, by one of the present version. The old file
// stays as it is until the new one is complete. That needs room for a second file.
func Upgrade(ctx context.Context, at Place, path string, logs oplog.Place) error {
	old, err := openOlder(ctx, path, at.VFS)
	if err != nil {
		return err
	}
	if old.version == OlderLogged {
		if err := old.readLog(ctx, logs); err != nil {
			return errors.Join(err, old.db.Close())
		}
	}
	err = Create(ctx, at, path, func(s *SqliteStore) error {
		if err := old.copyTo(ctx, s); err != nil {
			return err
		}
		return old.end(at, path)
	})
	if err := errors.Join(err, old.db.Close()); err != nil {
		return fmt.Errorf("bring it forward from version %d to %d: %w", old.version, SchemaVersion, err)
	}
	if err := logs.Remove(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// olderFile is a file of version 1 or 2.
type olderFile struct {
	db      *sql.DB
	version int
	logged  []machine.Op // operations of its log
}

// end closes the file, which writes its write-ahead log back. If the log remained, it would be applied
// to the new file of the same name.
func (f *olderFile) end(at Place, path string) error {
	if err := f.db.Close(); err != nil {
		return err
	}
	if size, err := at.Size(path + "-wal"); err == nil && size > 0 {
		return fmt.Errorf("its write-ahead log %s-wal could not be written back", path)
	}
	return at.Sync(path)
}

// readLog reads the log of a file that was not closed.
func (f *olderFile) readLog(ctx context.Context, logs oplog.Place) error {
	var generation int64
	if err := f.db.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'log'").Scan(&generation); err != nil {
		return err
	}
	content, err := logs.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: its log, queues.log, is missing, and with it the latest messages", ErrCorruptFile)
	}
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	f.logged, err = oplog.ReadOlder(content, uint64(generation))
	if err != nil {
		return fmt.Errorf("%w: its log, queues.log: %w", ErrCorruptFile, err)
	}
	return nil
}

// openOlder opens an older file and lets SQLite check all of it. Its pages have no seals, so damage
// inside a value can go unnoticed.
func openOlder(ctx context.Context, path, vfs string) (*olderFile, error) {
	db, err := sql.Open("sqlite", Dsn(path, vfs))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	old := &olderFile{db: db}
	damage, err := sqlitefile.Check(ctx, db, "")
	if err == nil && damage != "" {
		err = fmt.Errorf("%w: %s", ErrCorruptFile, damage)
	}
	if err == nil {
		err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&old.version)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return old, nil
}

// UpgradeBatch is the number of rows that one transaction copies.
const UpgradeBatch = 1000

// copyTo copies the content of the file. The statement at the end stores epoch and secret, so receipts
// stay valid and sequences stay unique.
func (f *olderFile) copyTo(ctx context.Context, s *SqliteStore) error {
	queues, err := LoadQueues(f.db)
	if err != nil {
		return err
	}
	dedup, err := loadDedup(f.db)
	if err != nil {
		return err
	}
	var moves []machine.MoveRow
	// Version 1 had no table of moves.
	if f.version > 1 {
		if moves, err = loadMoves(f.db); err != nil {
			return err
		}
	}
	// Queues, deduplication and moves are few and fit into one transaction.
	var ops []machine.Op
	for i := range queues {
		ops = append(ops, machine.Op{Kind: machine.OpPutQueue, Queue: &queues[i]})
	}
	for i := range dedup {
		ops = append(ops, machine.Op{Kind: machine.OpPutDedup, Dedup: &dedup[i]})
	}
	for i := range moves {
		ops = append(ops, machine.Op{Kind: machine.OpPutMove, Move: &moves[i]})
	}
	if err := s.Commit(ops); err != nil {
		return err
	}
	if err := f.copyMessages(ctx, s); err != nil {
		return err
	}
	if err := f.copyLog(s); err != nil {
		return err
	}
	var secret []byte
	var epoch int64
	err = f.db.QueryRowContext(ctx,
		`SELECT (SELECT value FROM meta WHERE key = 'secret'), (SELECT value FROM meta WHERE key = 'epoch')`).Scan(&secret, &epoch)
	if err != nil {
		return err
	}
	return s.Execute(nil, &TableChange{Epoch: uint64(epoch), Secret: secret})
}

// copyLog applies the changes of the log to the copied tables.
func (f *olderFile) copyLog(s *SqliteStore) error {
	added := oplog.NewPending()
	for i := range f.logged {
		added.Add(&f.logged[i])
	}
	var ops []machine.Op
	for o := range added.Ops {
		ops = append(ops, *o)
	}
	return s.Commit(ops)
}

// copyMessages copies the messages and adds the missing checksums.
func (f *olderFile) copyMessages(ctx context.Context, s *SqliteStore) error {
	rows, err := f.db.QueryContext(ctx, `SELECT seq, queue_id, sent, visible, received, first, count, carried,
		message_id, group_id, dedup_id, source, attributes, body FROM messages ORDER BY seq`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var ops []machine.Op
	for rows.Next() {
		o := machine.Op{Kind: machine.OpInsert, Record: &machine.Record{}}
		var id []byte
		var group, dedup, source sql.NullString
		r, c := &o.Row, o.Record
		if err := rows.Scan(&r.Seq, &r.Queue, &r.Sent, &r.Visible, &r.Received, &r.First, &r.Count, &r.Carried,
			&id, &group, &dedup, &source, &c.Attributes, &c.Body); err != nil {
			return err
		}
		copy(c.ID[:], id)
		c.Group, c.Dedup, c.Source = group.String, dedup.String, source.String
		c.Sum = c.Checksum()
		if ops = append(ops, o); len(ops) == UpgradeBatch {
			if err := s.Commit(ops); err != nil {
				return err
			}
			ops = ops[:0]
		}
	}
	return errors.Join(rows.Err(), s.Commit(ops))
}
