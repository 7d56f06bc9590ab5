package pghistory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/lib/pq"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history/internal/rules"
)

// selectRecords selects the records of the fleet $1 together with what they share; conditions and order are appended.
const selectRecords = `SELECT r.seq, r.epoch, r.at, r.kind, r.body, s.content
	FROM muster.records r JOIN muster.streams f ON f.id = r.fleet LEFT JOIN muster.shared s ON s.hash = r.shared
	WHERE f.fleet = $1 `

// Read implements [muster.History]. All records are of one snapshot.
func (s *Store) Read(ctx context.Context, fleet string, since time.Time, yield func(muster.Record) bool) error {
	// The clock may have been set back, so the records of a time on need not follow each other.
	err := s.each(ctx, yield, selectRecords+"AND r.at >= $2 ORDER BY r.seq", fleet, rules.Nanoseconds(since))
	return failed(fmt.Sprintf("read the records of fleet %q", fleet), err)
}

// Last returns up to n records of a fleet, newest first, of the given kinds or of all. n is 1 to [rules.MaxLast].
func (s *Store) Last(ctx context.Context, fleet string, n int, kinds ...muster.RecordKind) ([]muster.Record, error) {
	return s.Before(ctx, fleet, math.MaxInt64, n, kinds...)
}

// Before is [Store.Last] of the records with sequence numbers below seq.
func (s *Store) Before(ctx context.Context, fleet string, seq int64, n int, kinds ...muster.RecordKind) (
	[]muster.Record, error,
) {
	if err := rules.CheckLast(n); err != nil {
		return nil, err
	}
	query, args := selectRecords+"AND r.seq < $3 ", []any{fleet, n, seq}
	if len(kinds) > 0 {
		var names pq.StringArray
		for _, k := range kinds {
			names = append(names, string(k))
		}
		query, args = query+"AND r.kind = ANY($4) ", append(args, names)
	}
	var last []muster.Record
	err := s.each(ctx, func(r muster.Record) bool {
		last = append(last, r)
		return true
	}, query+"ORDER BY r.seq DESC LIMIT $2", args...)
	return last, failed(fmt.Sprintf("read the last records of fleet %q", fleet), err)
}

// Get returns the record of a fleet with the given sequence number, or an error that is [rules.ErrNoRecord].
func (s *Store) Get(ctx context.Context, fleet string, seq int64) (muster.Record, error) {
	r, err := scan(s.db.QueryRowContext(ctx, selectRecords+"AND r.seq = $2", fleet, seq).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return muster.Record{}, rules.NoRecord(fleet, seq)
	}
	if err != nil {
		return muster.Record{}, failed(fmt.Sprintf("read record %d of fleet %q", seq, fleet), err)
	}
	return r, nil
}

// Fleets returns the names of the fleets that have a stream, sorted.
func (s *Store) Fleets(ctx context.Context) ([]string, error) {
	var fleets []string
	err := s.db.QueryRowContext(ctx, "SELECT array(SELECT fleet::text FROM muster.streams ORDER BY fleet)").
		Scan((*pq.StringArray)(&fleets))
	if len(fleets) == 0 {
		fleets = nil
	}
	return fleets, failed("list the fleets", err)
}

// each calls yield with the records of a query until yield returns false.
func (s *Store) each(ctx context.Context, yield func(muster.Record) bool, query string, args ...any) error {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scan(rows.Scan)
		if err != nil {
			return err
		}
		if !yield(r) {
			return nil
		}
	}
	return rows.Err()
}

// scan reads the record of one row of selectRecords, with the Scan of the row. Empty content reads back as nil, as it
// does from the other histories.
func scan(scan func(...any) error) (muster.Record, error) {
	var r muster.Record
	var at int64
	if err := scan(&r.Position.Seq, &r.Position.Epoch, &at, &r.Kind, &r.Body, &r.Shared); err != nil {
		return muster.Record{}, err
	}
	r.At = rules.Instant(at)
	if len(r.Body) == 0 {
		r.Body = nil
	}
	return r, nil
}
