package curves

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/muster-scale/muster/internal/sqlitefile"
)

const (
	// applicationID marks the file as curves of Muster: "MuCu".
	applicationID = 0x4d754375
	// fileVersion is the version of the tables.
	fileVersion = 1
	// busyTimeout is how long a write waits for another process that reads the file.
	busyTimeout = "5000"
)

const schema = `
CREATE TABLE fleets (
	id   INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE buckets (
	fleet INTEGER NOT NULL,
	level INTEGER NOT NULL,            -- of the widths, 0 is the finest
	start INTEGER NOT NULL,            -- seconds since 1970
	body  BLOB NOT NULL,               -- the number of samples, then each column, as bucket.encode packs them
	PRIMARY KEY (fleet, level, start)
) STRICT, WITHOUT ROWID;
`

// Open opens the file at path, and creates a missing one readable by its owner alone. An empty path keeps the curves in
// memory. A file that is damaged is moved aside and begun anew; moved then says where it is. A file of another program,
// or of a newer version, is refused and left unchanged.
func Open(ctx context.Context, path string) (s *Store, moved string, err error) {
	db, err := open(ctx, path)
	if damaged(err) && path != "" {
		moved = path + ".damaged"
		if err = os.Rename(path, moved); err == nil {
			os.Remove(path + "-wal")
			os.Remove(path + "-shm")
			db, err = open(ctx, path)
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("open the curves of the fleets in %s: %w", path, err)
	}
	return &Store{db: database{db}, open: map[string]*[len(levels)]opened{}}, moved, nil
}

// damaged tells whether SQLite says that a file is damaged or is none of its own.
func damaged(err error) bool {
	code := sqlitefile.Primary(err)
	return code == sqlitefile.CodeCorrupt || code == sqlitefile.CodeNotADB
}

func open(ctx context.Context, path string) (_ *sql.DB, err error) {
	q := url.Values{"_busy_timeout": {busyTimeout}}
	q.Add("_pragma", "trusted_schema(0)")
	name := "file::memory:?" + q.Encode()
	if path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		f.Close()
		name = (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			db.Close()
		}
	}()
	// One connection: reads are short, and memory has one database for each connection.
	db.SetMaxOpenConns(1)
	var id, version int
	if err := db.QueryRowContext(ctx, "SELECT application_id, user_version FROM pragma_application_id, "+
		"pragma_user_version").Scan(&id, &version); err != nil {
		return nil, err
	}
	switch {
	case id == applicationID && version == fileVersion:
	case id == 0 && version == 0:
		if _, err := db.ExecContext(ctx, fmt.Sprintf("BEGIN; %s PRAGMA application_id = %d; PRAGMA user_version = %d; "+
			"COMMIT", schema, applicationID, fileVersion)); err != nil {
			return nil, err
		}
	case id == applicationID:
		return nil, fmt.Errorf("found version %d of the file, this program knows version %d; use the newer program "+
			"that wrote it, or move the file away", version, fileVersion)
	default:
		return nil, fmt.Errorf("found an SQLite file of another program (application id %#x); move it away", id)
	}
	// Curves may lose their last seconds in a power cut, so commits need not reach the disk at once.
	_, err = db.ExecContext(ctx, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
	return db, err
}

// database reads and writes buckets.
type database struct{ db *sql.DB }

func (d database) close() error { return d.db.Close() }

// write adds buckets to the file, merged with those that are there, and removes old ones if prune is set.
func (d database) write(ctx context.Context, rows []row, now time.Time, prune bool) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	insert, err := tx.PrepareContext(ctx, "INSERT INTO buckets (fleet, level, start, body) VALUES (?, ?, ?, ?) "+
		"ON CONFLICT DO NOTHING")
	if err != nil {
		return err
	}
	defer insert.Close()
	ids := map[string]int64{}
	for _, r := range rows {
		id, ok := ids[r.fleet]
		if !ok {
			if id, err = fleetID(ctx, tx, r.fleet); err != nil {
				return err
			}
			ids[r.fleet] = id
		}
		added, err := insert.ExecContext(ctx, id, r.level, r.start.Unix(), r.encode())
		if err != nil {
			return err
		}
		if n, err := added.RowsAffected(); err == nil && n == 0 {
			if err := merge(ctx, tx, id, r); err != nil {
				return err
			}
		}
	}
	if prune {
		if err := removeOld(ctx, tx, now); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// fleetID returns the number of a fleet in the file, and adds a fleet that is new.
func fleetID(ctx context.Context, tx *sql.Tx, name string) (id int64, err error) {
	if _, err := tx.ExecContext(ctx, "INSERT INTO fleets (name) VALUES (?) ON CONFLICT DO NOTHING", name); err != nil {
		return 0, err
	}
	return id, tx.QueryRowContext(ctx, "SELECT id FROM fleets WHERE name = ?", name).Scan(&id)
}

// merge folds a bucket into an earlier part of it that is in the file.
func merge(ctx context.Context, tx *sql.Tx, fleet int64, r row) error {
	var text []byte
	err := tx.QueryRowContext(ctx, "SELECT body FROM buckets WHERE fleet = ? AND level = ? AND start = ?", fleet,
		r.level, r.start.Unix()).Scan(&text)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE buckets SET body = ? WHERE fleet = ? AND level = ? AND start = ?",
		decode(text).with(r.bucket).encode(), fleet, r.level, r.start.Unix())
	return err
}

// removeOld removes what is older than each width is kept, and fleets without buckets.
func removeOld(ctx context.Context, tx *sql.Tx, now time.Time) error {
	for i, l := range levels {
		// The primary key begins with the fleet, so the fleets are listed first.
		if _, err := tx.ExecContext(ctx, "DELETE FROM buckets WHERE (fleet, level, start) IN (SELECT b.fleet, "+
			"b.level, b.start FROM fleets f JOIN buckets b ON b.fleet = f.id AND b.level = ? AND b.start < ?)", i,
			now.Add(-l.keep).Unix()); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM fleets WHERE NOT EXISTS (SELECT 1 FROM buckets b WHERE b.fleet = "+
		"fleets.id)")
	return err
}

// read calls put with the buckets of a fleet, oldest first.
func (d database) read(ctx context.Context, fleet string, level int, from, to time.Time, put func(opened)) error {
	rows, err := d.db.QueryContext(ctx, `SELECT b.start, b.body FROM buckets b JOIN fleets f ON f.id = b.fleet
		WHERE f.name = ? AND b.level = ? AND b.start >= ? AND b.start < ? ORDER BY b.start`, fleet, level, from.Unix(),
		to.Unix())
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var start int64
		var text sql.RawBytes
		if err := rows.Scan(&start, &text); err != nil {
			return err
		}
		put(opened{time.Unix(start, 0).UTC(), decode(text)})
	}
	return rows.Err()
}
