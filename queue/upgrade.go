package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/muster-scale/muster/internal/sqlitefile"
)

// olderLogged is the version of an older file to which a log belongs.
const olderLogged = 1002

// upgrade makes a file of the present version of the one at path, whose version is 1 or 2, and which is left as it is until
// the new one is complete and takes its place. That needs room for a second file.
func upgrade(ctx context.Context, path string, logs logPlace) error {
	old, err := openOlder(ctx, path)
	if err != nil {
		return err
	}
	if old.version == olderLogged {
		return errors.Join(fmt.Errorf("%w: an older program was not closed, and its log is of a form that this one does not read; "+
			"start that program on the directory and stop it, then use this one", ErrNewerFile), old.db.Close())
	}
	err = create(ctx, path, func(s *sqliteStore) error {
		if err := old.copyTo(ctx, s); err != nil {
			return err
		}
		return old.db.Close() // it writes its log back, so that nothing of it is left beside the new file
	})
	if err := errors.Join(err, old.db.Close()); err != nil {
		return fmt.Errorf("bring it forward from version %d to %d: %w", old.version, schemaVersion, err)
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
}

func openOlder(ctx context.Context, path string) (*olderFile, error) {
	db, err := sql.Open("sqlite", dsn(path, ""))
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

// upgradeBatch is how many rows one transaction copies.
const upgradeBatch = 1000

// copyTo copies what the file holds.
func (f *olderFile) copyTo(ctx context.Context, s *sqliteStore) error {
	queues, err := loadQueues(f.db)
	if err != nil {
		return err
	}
	dedup, err := loadDedup(f.db)
	if err != nil {
		return err
	}
	var moves []moveRow
	if f.version > 1 {
		if moves, err = loadMoves(f.db); err != nil {
			return err
		}
	}
	var ops []op
	for i := range queues {
		ops = append(ops, op{kind: opPutQueue, queue: &queues[i]})
	}
	for i := range dedup {
		ops = append(ops, op{kind: opPutDedup, dedup: &dedup[i]})
	}
	for i := range moves {
		ops = append(ops, op{kind: opPutMove, move: &moves[i]})
	}
	if err := s.Commit(ops); err != nil {
		return err
	}
	if err := f.copyMessages(ctx, s); err != nil {
		return err
	}
	var secret []byte
	var epoch int64
	err = f.db.QueryRowContext(ctx, `SELECT (SELECT value FROM meta WHERE key = 'secret'), (SELECT value FROM meta WHERE key = 'epoch')`).Scan(&secret, &epoch)
	if err != nil {
		return err
	}
	return s.execute(nil, &tableChange{epoch: uint64(epoch), secret: secret})
}

func (f *olderFile) copyMessages(ctx context.Context, s *sqliteStore) error {
	rows, err := f.db.QueryContext(ctx, `SELECT seq, queue_id, sent, visible, received, first, count, carried,
		message_id, group_id, dedup_id, source, attributes, body FROM messages ORDER BY seq`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var ops []op
	for rows.Next() {
		o := op{kind: opInsert, record: &record{}}
		var id []byte
		var group, dedup, source sql.NullString
		r, c := &o.row, o.record
		if err := rows.Scan(&r.seq, &r.queue, &r.sent, &r.visible, &r.received, &r.first, &r.count, &r.carried,
			&id, &group, &dedup, &source, &c.attributes, &c.body); err != nil {
			return err
		}
		copy(c.id[:], id)
		c.group, c.dedup, c.source = group.String, dedup.String, source.String
		c.sum = c.checksum()
		if ops = append(ops, o); len(ops) == upgradeBatch {
			if err := s.Commit(ops); err != nil {
				return err
			}
			ops = ops[:0]
		}
	}
	return errors.Join(rows.Err(), s.Commit(ops))
}
