package queue

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

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

// Record reads the content of a message by its rowid.
func (s *sqliteStore) Record(seq uint64) (*record, error) {
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
