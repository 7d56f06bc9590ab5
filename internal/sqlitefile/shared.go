package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Shared describes a small SQLite file that several processes read and write at once. Its write-ahead
// log is not synced with each commit: a power cut may lose the last commits; the death of a process
// loses none.
type Shared struct {
	// Application is the application_id of the file, Version its user_version, and Schema the SQL that
	// creates its tables.
	Application, Version int
	Schema               string
	// Patience is the longest time to wait while other processes write.
	Patience time.Duration
}

// Open opens the file at path, and creates it and its directory if necessary. It refuses a file of
// another application or of a later version before changing anything. The caller must import the driver
// "sqlite".
func (s Shared) Open(ctx context.Context, path string) (*sql.DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	q := url.Values{
		"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {"trusted_schema(0)"},
		"_busy_timeout": {strconv.FormatInt(s.Patience.Milliseconds(), 10)},
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := s.prepare(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// prepare brings an open file to schema and modes.
func (s Shared) prepare(ctx context.Context, db *sql.DB) error {
	if err := s.migrate(ctx, db); err != nil {
		return err
	}
	if err := s.keepLog(ctx, db); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, "PRAGMA synchronous=NORMAL")
	return err
}

// keepLog switches the file to WAL mode. It retries by itself: the busy timeout of SQLite does not
// apply to this, and several processes may open a new file at once.
func (s Shared) keepLog(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	for {
		_, err := db.ExecContext(ctx, "PRAGMA journal_mode=WAL")
		if Primary(err) != CodeBusy {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// migrate creates the schema of an empty file, and checks that of any other.
func (s Shared) migrate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var application, version, tables int
	for _, q := range []struct {
		text string
		into *int
	}{
		{"PRAGMA application_id", &application}, {"PRAGMA user_version", &version},
		{"SELECT count(*) FROM sqlite_schema", &tables},
	} {
		if err := tx.QueryRowContext(ctx, q.text).Scan(q.into); err != nil {
			return err
		}
	}
	switch {
	case application == 0 && version == 0 && tables == 0:
	case application != s.Application:
		return fmt.Errorf("it is an SQLite file of something else (application id %#x)", application)
	case version > s.Version:
		return fmt.Errorf("it has version %d, this program knows versions up to %d", version, s.Version)
	default:
		return nil
	}
	text := fmt.Sprintf("%s PRAGMA application_id=%d; PRAGMA user_version=%d", s.Schema, s.Application, s.Version)
	if _, err := tx.ExecContext(ctx, text); err != nil {
		return err
	}
	return tx.Commit()
}
