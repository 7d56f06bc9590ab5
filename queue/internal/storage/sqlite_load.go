// Reading: all rows at the start, and single contents later.

package storage

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage/oplog"
)

// Load reads the numbers of all messages in one scan, with the changes of the log. Only after all of it
// was readable does it write: it moves the log to the tables and counts the opening.
func (s *SqliteStore) Load(begin func(machine.Saved) error, visit func(machine.Row, machine.Label) error) (err error) {
	defer func() {
		if err != nil {
			err = s.openError(err)
		}
	}()
	// Queues come first: without them the rows of messages have no place.
	kept, err := s.saved()
	if err != nil {
		return err
	}
	if err = begin(kept); err != nil {
		return err
	}
	if err = s.scanAll(visit); err != nil {
		return err
	}
	// Storing the epoch needs a little room. On a full disk the reserve is released for it; if that
	// does not help, the store opens all the same, and the next transaction stores the epoch.
	for range 2 {
		if err = s.takeOver(kept.Epoch); !errors.Is(err, ErrStorageFull) {
			break
		}
		s.giveReserve()
	}
	if errors.Is(err, ErrStorageFull) {
		s.spent, s.Epoch, err = true, kept.Epoch, nil
	}
	return err
}

// scanAll visits the rows of the tables as the log changed them. New rows of the log come last: their
// sequences are larger than all in the tables.
func (s *SqliteStore) scanAll(visit func(machine.Row, machine.Label) error) error {
	changed := map[uint64]oplog.PendingRow{} // by sequence in the tables
	for _, p := range s.pending.Rows {
		if p.Change != machine.OpInsert {
			changed[p.Origin] = p
		}
	}
	dead := map[uint64]bool{}
	for _, seq := range s.dead {
		dead[seq] = true
	}
	found := uint64(0)
	groups := map[uint64]string{} // groups of moved messages, by new sequence
	err := s.scan(func(r machine.Row, text machine.Label) error {
		found++
		switch {
		case len(dead) > 0 && dead[r.Seq]:
			return nil
		case len(changed) == 0:
			return visit(r, text)
		}
		// A row that the log removed is not visited. A moved row is visited later, under its new
		// sequence, with the group it has here.
		switch p, ok := changed[r.Seq]; {
		case !ok:
			return visit(r, text)
		case p.Change == machine.OpUpdate:
			return visit(p.Row, text)
		case p.Change == machine.OpMove:
			groups[p.Row.Seq] = text.Group
		}
		return nil
	})
	// Dead rows count too: they are still in the table.
	if err == nil && found != s.at.Rows {
		err = fmt.Errorf("%w: the table of messages holds %d, and %d were acknowledged", ErrCorruptFile, found,
			s.at.Rows)
	}
	for _, seq := range slices.Sorted(maps.Keys(s.pending.Rows)) {
		if err != nil {
			return err
		}
		switch p := s.pending.Rows[seq]; p.Change {
		case machine.OpInsert:
			err = visit(p.Row, machine.Label{Group: p.Record.Group, Source: p.Record.Source})
		case machine.OpMove:
			err = visit(p.Row, machine.Label{Group: groups[seq], Source: p.Source})
		}
	}
	return err
}

// saved reads everything but messages, and counts this opening in the epoch it returns.
func (s *SqliteStore) saved() (kept machine.Saved, err error) {
	err = s.readers.QueryRow(`SELECT (SELECT value FROM meta WHERE key = 'secret'), (SELECT value + 1 FROM meta WHERE key = 'epoch')`).Scan(&kept.Secret, &kept.Epoch)
	if err != nil {
		return kept, err
	}
	if len(kept.Secret) != SecretBytes {
		return kept, fmt.Errorf("%w: the receipt key has %d bytes, not %d", ErrCorruptFile, len(kept.Secret),
			SecretBytes)
	}
	if kept.Queues, err = LoadQueues(s.readers); err != nil {
		return kept, err
	}
	if kept.Dedup, err = loadDedup(s.readers); err != nil {
		return kept, err
	}
	kept.Dedup = s.pending.DedupAfter(kept.Dedup)
	kept.Moves, err = loadMoves(s.readers)
	return kept, err
}

// scan reads the numbers of all messages. It bypasses database/sql, whose conversions of ten million
// rows take longer than reading them. The body is not selected, so overflow pages are not read.
func (s *SqliteStore) scan(visit func(machine.Row, machine.Label) error) error {
	ctx := context.Background()
	conn, err := s.readers.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(raw any) error {
		c, ok := raw.(driver.QueryerContext)
		if !ok {
			return fmt.Errorf("%w: the SQLite driver cannot be queried: found a connection of type %T", ErrStorage, raw)
		}
		rows, err := c.QueryContext(ctx,
			`SELECT seq, queue_id, sent, visible, received, first, count, carried, group_id, source FROM messages ORDER BY seq`, nil)
		if err != nil {
			return err
		}
		return errors.Join(scanRows(rows, visit), rows.Close())
	})
}

// scanRows decodes the rows of scan. The order of the fields is that of its SELECT.
func scanRows(rows driver.Rows, visit func(machine.Row, machine.Label) error) error {
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
		r := machine.Row{
			Numbers: machine.Numbers{Seq: uint64(f.number())},
			Queue:   uint32(f.number()),
		}
		r.Sent, r.Visible, r.Received, r.First = f.number(), f.number(), f.number(), f.number()
		r.Count, r.Carried = uint32(f.number()), uint32(f.number())
		text := machine.Label{Group: f.text(), Source: f.text()}
		if f.wrong {
			return fmt.Errorf("%w: message %d has a column of another type than the schema says: found %v",
				ErrCorruptFile, r.Seq, values)
		}
		if err := visit(r, text); err != nil {
			return err
		}
	}
}

// fields takes the columns of a row in order. SQLite does not enforce column types, so each one is
// checked.
type fields struct {
	values []driver.Value
	wrong  bool // a column had another type
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

// text returns the empty text for NULL.
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

// LoadQueues reads the queues by id. Upgrades use it too.
func LoadQueues(db *sql.DB) ([]machine.QueueRow, error) {
	rows, err := db.Query(`SELECT id, name, attributes, tags, created, modified, floor FROM queues ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []machine.QueueRow
	for rows.Next() {
		var q machine.QueueRow
		var attributes, tags []byte
		if err := rows.Scan(&q.ID, &q.Name, &attributes, &tags, &q.Created, &q.Modified, &q.Floor); err != nil {
			return nil, err
		}
		if err := errors.Join(json.Unmarshal(attributes, &q.Attributes), json.Unmarshal(tags, &q.Tags)); err != nil {
			return nil, fmt.Errorf("%w: attributes of queue %q: %w", ErrCorruptFile, q.Name, err)
		}
		out = append(out, q)
	}
	return out, rows.Err()
}

// loadDedup reads deduplication; expired rows are dropped by machine.Load.
func loadDedup(db *sql.DB) ([]machine.DedupRow, error) {
	rows, err := db.Query(`SELECT queue_id, dedup_id, seq, message_id, expires FROM deduplication`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []machine.DedupRow
	for rows.Next() {
		var d machine.DedupRow
		var id []byte
		if err := rows.Scan(&d.Queue, &d.Key, &d.Seq, &id, &d.Expires); err != nil {
			return nil, err
		}
		copy(d.ID[:], id)
		out = append(out, d)
	}
	return out, rows.Err()
}

// loadMoves reads the moves by id, so by age.
func loadMoves(db *sql.DB) ([]machine.MoveRow, error) {
	rows, err := db.Query(`SELECT id, queue_id, destination, rate, status, failure, started, moved, to_move FROM moves ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []machine.MoveRow
	for rows.Next() {
		var m machine.MoveRow
		if err := rows.Scan(&m.ID, &m.Queue, &m.Destination, &m.Rate, &m.Status, &m.Failure, &m.Started, &m.Moved,
			&m.ToMove); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, rows.Err()
}

// Record returns the content of a message, or nil if there is none. The log is consulted first: it may
// hold the message, or know that it was moved or removed.
func (s *SqliteStore) Record(seq uint64) (*machine.Record, error) {
	s.mu.RLock()
	p, ok := s.pending.Rows[seq]
	s.mu.RUnlock()
	switch {
	case !ok || p.Change == machine.OpUpdate:
		return s.stored(seq)
	case p.Change == machine.OpInsert:
		return p.Record, nil
	case p.Change == machine.OpRemove:
		return nil, nil
	}
	// The message was moved in the log. The table still has it under its old sequence.
	r, err := s.stored(p.Origin)
	if r == nil && err == nil {
		return s.stored(seq) // the log was just moved to the tables
	}
	if r != nil {
		r.Source = p.Source
	}
	return r, err
}

// stored reads the content of a message from the table. The error matches machine.ErrDamagedContent if
// it differs from what was sent.
func (s *SqliteStore) stored(seq uint64) (*machine.Record, error) {
	var id []byte
	var group, dedup, source sql.NullString
	var r machine.Record
	err := s.read.QueryRow(int64(seq)).Scan(&r.Sum, &id, &group, &dedup, &source, &r.Attributes, &r.Body)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case PrimaryCode(err) == sqlitefile.CodeCorrupt:
		return nil, fmt.Errorf("%w: %w", machine.ErrDamagedContent, err)
	case err != nil:
		return nil, fmt.Errorf("%w: read a message from %s: %w", ErrStorage, s.Path, err)
	}
	copy(r.ID[:], id)
	r.Group, r.Dedup, r.Source = group.String, dedup.String, source.String
	return &r, r.Verify()
}
