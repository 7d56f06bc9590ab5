package pghistory

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lib/pq"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history/internal/rules"
)

// migrations upgrade the tables from each version to the next. Migrations are only ever added.
var migrations = []string{`
CREATE TABLE muster.streams (
	id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	fleet  text COLLATE "C" NOT NULL UNIQUE,
	epoch  bigint NOT NULL,
	seq    bigint NOT NULL,            -- of the last record
	folded bigint NOT NULL DEFAULT 0   -- learned records before this time were folded
);
CREATE TABLE muster.shared (
	hash    bytea PRIMARY KEY,         -- SHA-256 of content
	content bytea NOT NULL             -- JSON
);
CREATE TABLE muster.records (
	fleet  bigint NOT NULL REFERENCES muster.streams (id),
	seq    bigint NOT NULL,
	epoch  bigint NOT NULL,
	at     bigint NOT NULL,            -- nanoseconds since 1970, UTC
	kind   text COLLATE "C" NOT NULL,
	shared bytea REFERENCES muster.shared (hash),
	body   bytea NOT NULL,             -- JSON; empty for none
	PRIMARY KEY (fleet, seq)
);
CREATE INDEX records_at ON muster.records (fleet, at);
CREATE INDEX records_kind ON muster.records (fleet, kind, seq);
CREATE INDEX records_shared ON muster.records (shared) WHERE shared IS NOT NULL;
`, `
CREATE TABLE muster.sessions (         -- of controllers: see package leader
	id   text COLLATE "C" PRIMARY KEY,
	name text NOT NULL,
	beat bigint NOT NULL
);
CREATE TABLE muster.claims (           -- of controllers on fleets
	fleet     text COLLATE "C" PRIMARY KEY,
	holder    text NOT NULL,
	name      text NOT NULL,
	successor text NOT NULL,
	term      bigint NOT NULL
);
`}

// The keys of the server's advisory locks: "MuHi" with a number.
const (
	lockMigrate = 0x4d754869_00000001
	lockPrune   = 0x4d754869_00000002
)

// Store is a [muster.History] in PostgreSQL. Several goroutines, processes and machines may use it.
type Store struct{ db *sql.DB }

// Open opens the history in the database of a URL (see [CheckURL]), and makes or upgrades its tables.
func Open(ctx context.Context, url string) (*Store, error) {
	db, err := Connect(url)
	if err != nil {
		return nil, err
	}
	s := &Store{db}
	if err := migrate(ctx, db); err != nil {
		db.Close()
		return nil, failed("open the history", err)
	}
	return s, nil
}

// migrate brings the tables to the newest version. A user without the right to create needs tables that are there.
func migrate(ctx context.Context, db *sql.DB) error {
	return Transact(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(lockMigrate)); err != nil {
			return err
		}
		var there bool
		if err := tx.QueryRowContext(ctx, "SELECT to_regclass('muster.version') IS NOT NULL").Scan(&there); err != nil {
			return err
		}
		if !there {
			if _, err := tx.ExecContext(ctx, `CREATE SCHEMA IF NOT EXISTS muster;
				CREATE TABLE muster.version (version bigint NOT NULL); INSERT INTO muster.version VALUES (0)`); err != nil {
				return err
			}
		}
		var version int
		if err := tx.QueryRowContext(ctx, "SELECT version FROM muster.version").Scan(&version); err != nil {
			return err
		}
		if version > len(migrations) {
			return fmt.Errorf("found version %d of the tables, this program knows versions up to %d; use the newer "+
				"program that made them, or another database", version, len(migrations))
		}
		for v := version; v < len(migrations); v++ {
			if _, err := tx.ExecContext(ctx, migrations[v]); err != nil {
				return fmt.Errorf("bring the tables from version %d to %d: %w", v, v+1, err)
			}
		}
		if version == len(migrations) {
			return nil
		}
		_, err := tx.ExecContext(ctx, "UPDATE muster.version SET version = $1", len(migrations))
		return err
	})
}

// DB returns the database, for what else controllers share in it.
func (s *Store) DB() *sql.DB { return s.db }

// Close closes the connections. Everything acknowledged is on disk already.
func (s *Store) Close() error { return s.db.Close() }

// Begin implements [muster.History].
func (s *Store) Begin(ctx context.Context, fleet string) (muster.Position, error) {
	if err := rules.CheckFleet(fleet); err != nil {
		return muster.Position{}, err
	}
	var p muster.Position
	err := Transact(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `INSERT INTO muster.streams AS s (fleet, epoch, seq) VALUES ($1, 1, 0)
			ON CONFLICT (fleet) DO UPDATE SET epoch = s.epoch + 1 RETURNING epoch, seq, `+Durable, fleet).
			Scan(&p.Epoch, &p.Seq, new(string))
	})
	if err != nil {
		return muster.Position{}, failed(fmt.Sprintf("begin the stream of fleet %q", fleet), err)
	}
	return p, nil
}

// advance moves a stream and adds the records, if the stream is where the writer thinks. Each array has one value for
// each record. It returns the number of streams moved: 0 or 1.
const advance = `
WITH moved AS (
	UPDATE muster.streams SET seq = $4 WHERE fleet = $1 AND epoch = $2 AND seq = $3 RETURNING id, ` + Durable + `
), contents AS (
	INSERT INTO muster.shared (hash, content) SELECT DISTINCT ON (h) h, c
		FROM unnest($5::bytea[], $6::bytea[]) AS u (h, c) ON CONFLICT DO NOTHING
), added AS (
	INSERT INTO muster.records (fleet, seq, epoch, at, kind, shared, body)
	SELECT moved.id, $3 + u.n, $2, u.at, u.kind, nullif(u.hash, ''::bytea), u.body
		FROM moved, unnest($7::bigint[], $8::text[], $9::bytea[], $10::bytea[]) WITH ORDINALITY
			AS u (at, kind, hash, body, n)
)
SELECT count(*) FROM moved`

// Append implements [muster.History]. After an error other than [muster.ErrConflict] the append may have happened, if
// the connection broke during the commit; Begin returns where the stream is.
func (s *Store) Append(ctx context.Context, fleet string, after muster.Position,
	records ...muster.Record) (muster.Position, error) {
	if err := rules.CheckAppend(fleet, records); err != nil {
		return muster.Position{}, err
	}
	next := muster.Position{Epoch: after.Epoch, Seq: after.Seq + int64(len(records))}
	var times pq.Int64Array
	var kinds pq.StringArray
	var hashes, bodies, sharedHashes, sharedContents pq.ByteaArray
	for _, r := range records {
		hash := []byte{}
		if len(r.Shared) > 0 {
			sum := sha256.Sum256(r.Shared)
			hash = sum[:]
			if n := len(sharedHashes); n == 0 || string(sharedHashes[n-1]) != string(hash) {
				sharedHashes, sharedContents = append(sharedHashes, hash), append(sharedContents, r.Shared)
			}
		}
		times, kinds = append(times, r.At.UnixNano()), append(kinds, string(r.Kind))
		hashes, bodies = append(hashes, hash), append(bodies, append([]byte{}, r.Body...))
	}
	err := Transact(ctx, s.db, func(ctx context.Context, tx *sql.Tx) error {
		var moved int
		err := tx.QueryRowContext(ctx, advance, fleet, after.Epoch, after.Seq, next.Seq, sharedHashes, sharedContents,
			times, kinds, hashes, bodies).Scan(&moved)
		if err != nil || moved == 1 && after.Epoch > 0 {
			return err
		}
		var found muster.Position
		err = tx.QueryRowContext(ctx, "SELECT epoch, seq FROM muster.streams WHERE fleet = $1", fleet).
			Scan(&found.Epoch, &found.Seq)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return rules.Conflict(fleet, after, found)
	})
	if err != nil {
		return muster.Position{}, failed(fmt.Sprintf("append to fleet %q", fleet), err)
	}
	return next, nil
}

// failed adds to an error the operation and, where it is known, what to do.
func failed(what string, err error) error {
	if err == nil || errors.Is(err, muster.ErrConflict) {
		return err
	}
	if e, ok := errors.AsType[*pq.Error](err); ok {
		switch e.Code {
		case "42501": // insufficient_privilege
			return fmt.Errorf("%s in PostgreSQL: %w; let the user create the schema muster once (GRANT CREATE ON "+
				"DATABASE), or read and write its tables", what, err)
		case "28P01", "28000": // the password, or the user, is not accepted
			return fmt.Errorf("%s in PostgreSQL: %w; check the user in the URL, and PGPASSWORD or the file that "+
				"PGPASSFILE names", what, err)
		case "53100": // disk_full
			return fmt.Errorf("%s in PostgreSQL: %w: the server's disk is full, nothing was written; free it or keep "+
				"less history: %w", what, rules.ErrFull, err)
		}
	}
	return fmt.Errorf("%s in PostgreSQL: %w", what, err)
}
