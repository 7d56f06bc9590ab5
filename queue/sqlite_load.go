package queue

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/muster-scale/muster/internal/sqlitefile"
)

// Load reads the numbers of all messages in one scan and, once everything was
// readable, counts the opening.
func (s *sqliteStore) Load(begin func(saved) error, visit func(row, label) error) (err error) {
	defer func() {
		if err != nil {
			err = s.openError(err)
		}
	}()
	if err := s.takeOver(); err != nil {
		return err
	}
	kept, err := s.saved()
	if err != nil {
		return err
	}
	if err = begin(kept); err != nil {
		return err
	}
	if err = s.scan(visit); err != nil {
		return err
	}
	for range 2 {
		_, err = s.db.Exec(`UPDATE meta SET value = ? WHERE key = 'epoch'`, int64(kept.epoch))
		if primaryCode(err) != sqlitefile.CodeFull {
			break
		}
		s.giveReserve()
	}
	return err
}

func (s *sqliteStore) saved() (kept saved, err error) {
	err = s.db.QueryRow(`SELECT (SELECT value FROM meta WHERE key = 'secret'), (SELECT value + 1 FROM meta WHERE key = 'epoch')`).Scan(&kept.secret, &kept.epoch)
	if err != nil {
		return kept, err
	}
	if len(kept.secret) != secretBytes {
		return kept, fmt.Errorf("%w: the receipt key has %d bytes, not %d", ErrCorruptFile, len(kept.secret), secretBytes)
	}
	if kept.queues, err = s.loadQueues(); err != nil {
		return kept, err
	}
	if kept.dedup, err = s.loadDedup(); err != nil {
		return kept, err
	}
	kept.moves, err = s.loadMoves()
	return kept, err
}

// scan reads the numbers of all messages. It asks the driver itself, since
// converting ten million rows takes longer than reading them.
func (s *sqliteStore) scan(visit func(row, label) error) error {
	ctx := context.Background()
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(raw any) error {
		c, ok := raw.(driver.QueryerContext)
		if !ok {
			return fmt.Errorf("%w: the SQLite driver cannot be queried: found a connection of type %T", ErrStorage, raw)
		}
		rows, err := c.QueryContext(ctx, `SELECT seq, queue_id, sent, visible, received, first, count, carried, group_id, source FROM messages ORDER BY seq`, nil)
		if err != nil {
			return err
		}
		return errors.Join(scanRows(rows, visit), rows.Close())
	})
}

func scanRows(rows driver.Rows, visit func(row, label) error) error {
	values := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(values); err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
		f := fields{values: values}
		r := row{
			numbers: numbers{seq: uint64(f.number())},
			queue:   uint32(f.number()),
		}
		r.sent, r.visible, r.received, r.first = f.number(), f.number(), f.number(), f.number()
		r.count, r.carried = uint32(f.number()), uint32(f.number())
		text := label{f.text(), f.text()}
		if f.wrong {
			return fmt.Errorf("%w: message %d has a column of another type than the schema says: found %v", ErrCorruptFile, r.seq, values)
		}
		if err := visit(r, text); err != nil {
			return err
		}
	}
}

// fields takes the columns of a row one by one.
type fields struct {
	values []driver.Value
	wrong  bool // one was of another type
}

func (f *fields) next() driver.Value {
	v := f.values[0]
	f.values = f.values[1:]
	return v
}

func (f *fields) number() int64 {
	n, ok := f.next().(int64)
	f.wrong = f.wrong || !ok
	return n
}

// text is empty for NULL.
func (f *fields) text() string {
	switch v := f.next().(type) {
	case nil:
	case string:
		return v
	default:
		f.wrong = true
	}
	return ""
}

func (s *sqliteStore) loadQueues() ([]queueRow, error) {
	rows, err := s.db.Query(`SELECT id, name, attributes, tags, created, modified, floor FROM queues ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []queueRow
	for rows.Next() {
		var q queueRow
		var attributes, tags []byte
		if err := rows.Scan(&q.id, &q.name, &attributes, &tags, &q.created, &q.modified, &q.floor); err != nil {
			return nil, err
		}
		if err := errors.Join(json.Unmarshal(attributes, &q.attributes), json.Unmarshal(tags, &q.tags)); err != nil {
			return nil, fmt.Errorf("%w: attributes of queue %q: %w", ErrCorruptFile, q.name, err)
		}
		out = append(out, q)
	}
	return out, rows.Err()
}

func (s *sqliteStore) loadDedup() ([]dedupRow, error) {
	rows, err := s.db.Query(`SELECT queue_id, dedup_id, seq, message_id, expires FROM deduplication`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []dedupRow
	for rows.Next() {
		var d dedupRow
		var id []byte
		if err := rows.Scan(&d.queue, &d.key, &d.seq, &id, &d.expires); err != nil {
			return nil, err
		}
		copy(d.id[:], id)
		out = append(out, d)
	}
	return out, rows.Err()
}

func (s *sqliteStore) loadMoves() ([]moveRow, error) {
	rows, err := s.db.Query(`SELECT id, queue_id, destination, rate, status, failure, started, moved, to_move FROM moves ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []moveRow
	for rows.Next() {
		var m moveRow
		if err := rows.Scan(&m.id, &m.queue, &m.destination, &m.rate, &m.status, &m.failure, &m.started, &m.moved, &m.toMove); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, rows.Err()
}

// Record returns the content of a message.
func (s *sqliteStore) Record(seq uint64) (*record, error) {
	s.mu.RLock()
	p, ok := s.pending.rows[seq]
	s.mu.RUnlock()
	switch {
	case !ok || p.change == opUpdate:
		return s.stored(seq)
	case p.change == opInsert:
		return p.record, nil
	case p.change == opRemove:
		return nil, nil
	}
	r, err := s.stored(p.origin)
	if r == nil && err == nil {
		return s.stored(seq) // the log was taken over at this moment
	}
	if r != nil {
		r.source = p.source
	}
	return r, err
}

// stored reads the content of a message from its table by its rowid.
func (s *sqliteStore) stored(seq uint64) (*record, error) {
	var id []byte
	var group, dedup, source sql.NullString
	var r record
	err := s.read.QueryRow(int64(seq)).Scan(&id, &group, &dedup, &source, &r.attributes, &r.body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: read a message from %s: %w", ErrStorage, s.path, err)
	}
	copy(r.id[:], id)
	r.group, r.dedup, r.source = group.String, dedup.String, source.String
	return &r, nil
}
