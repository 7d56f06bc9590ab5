// Package pglease keeps the sessions and claims of package leader in PostgreSQL, in the schema of package
// history/pghistory.
//
//	h, err := pghistory.Open(ctx, url) // makes the tables
//	s := pglease.New(h.DB())
//
// Every write is one conditional statement, and waits for the server's disk.
package pglease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lib/pq"

	"github.com/muster-scale/muster/history/pghistory"
	"github.com/muster-scale/muster/leader"
)

// ErrNoTables says that no controller has used the database yet.
var ErrNoTables = errors.New("the database has no tables of Muster yet: the first muster up makes them")

// undefinedTable is PostgreSQL's code for a table that does not exist.
const undefinedTable = "42P01"

// Store is a [leader.Store] in PostgreSQL. Several goroutines may use it.
type Store struct{ db *sql.DB }

// New returns the store in a database that pghistory.Open has prepared.
func New(db *sql.DB) *Store { return &Store{db} }

var _ leader.Store = (*Store)(nil)

// write runs a statement that changes one row, or none if it is refused.
func (s *Store) write(ctx context.Context, refused error, what, statement string, args ...any) error {
	err := pghistory.Transact(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
		var one int
		err := tx.QueryRowContext(ctx, statement+" RETURNING 1, "+pghistory.Durable, args...).Scan(&one, new(string))
		if errors.Is(err, sql.ErrNoRows) {
			return refused
		}
		return err
	})
	if err == nil || errors.Is(err, refused) {
		return err
	}
	return fmt.Errorf("%s in PostgreSQL: %w", what, err)
}

// Beat implements [leader.Sessions]. The same beat again is a write that was repeated.
func (s *Store) Beat(ctx context.Context, x leader.Session) error {
	const what = "renew the session of this controller"
	if x.Beat == 1 {
		return s.write(ctx, leader.ErrEvicted, what, `INSERT INTO muster.sessions AS s (id, name, beat) VALUES ($1, $2, 1)
			ON CONFLICT (id) DO UPDATE SET beat = 1 WHERE s.beat = 1 AND s.name = $2`, x.ID, x.Name)
	}
	return s.write(ctx, leader.ErrEvicted, what, `UPDATE muster.sessions SET beat = $3::bigint
		WHERE id = $1 AND name = $2 AND beat IN ($3::bigint, $3::bigint - 1)`, x.ID, x.Name, x.Beat)
}

// Evict implements [leader.Sessions].
func (s *Store) Evict(ctx context.Context, x leader.Session) error {
	return s.write(ctx, leader.ErrEvicted, "evict the controller "+x.Name,
		"DELETE FROM muster.sessions WHERE id = $1 AND beat = $2", x.ID, x.Beat)
}

// Take implements [leader.Claims].
func (s *Store) Take(ctx context.Context, fleet string, was, to leader.Claim) error {
	what := "change the claim on fleet " + fleet
	if was == (leader.Claim{}) {
		return s.write(ctx, leader.ErrTaken, what, `INSERT INTO muster.claims AS c (fleet, holder, name, successor, term)
			VALUES ($1, $2, $3, $4, $5) ON CONFLICT (fleet) DO UPDATE SET term = $5
			WHERE (c.holder, c.name, c.successor, c.term) = ($2, $3, $4, $5)`, fleet, to.Holder, to.Name, to.For, to.Term)
	}
	return s.write(ctx, leader.ErrTaken, what, `UPDATE muster.claims SET holder = $2, name = $3, successor = $4, term = $5
		WHERE fleet = $1 AND ((holder, name, successor, term) = ($6, $7, $8, $9)
			OR (holder, name, successor, term) = ($2, $3, $4, $5))`,
		fleet, to.Holder, to.Name, to.For, to.Term, was.Holder, was.Name, was.For, was.Term)
}

// Read implements [leader.Claims]. The claims are read first, by a statement of its own, so the holder of a claim whose
// session is missing was evicted.
func (s *Store) Read(ctx context.Context, claims bool) (b leader.Board, err error) {
	if claims {
		b.Claims = map[string]leader.Claim{}
		err = s.each(ctx, "SELECT fleet, holder, name, successor, term FROM muster.claims", func(rows *sql.Rows) error {
			var fleet string
			var c leader.Claim
			err := rows.Scan(&fleet, &c.Holder, &c.Name, &c.For, &c.Term)
			b.Claims[fleet] = c
			return err
		})
	}
	if err == nil {
		err = s.each(ctx, "SELECT id, name, beat FROM muster.sessions ORDER BY id", func(rows *sql.Rows) error {
			var x leader.Session
			err := rows.Scan(&x.ID, &x.Name, &x.Beat)
			b.Sessions = append(b.Sessions, x)
			return err
		})
	}
	if e, ok := errors.AsType[*pq.Error](err); ok && e.Code == undefinedTable {
		return leader.Board{}, ErrNoTables
	}
	if err != nil {
		return leader.Board{}, fmt.Errorf("read the controllers in PostgreSQL: %w", err)
	}
	return b, nil
}

// each calls scan for each row of a query.
func (s *Store) each(ctx context.Context, query string, scan func(*sql.Rows) error) error {
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
