package sqlitetree

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/internal/sqlitefile"
)

// This file has the layout of the file, its creation, and the checks of a file that exists already. A file is created
// complete or not at all, and a file that fails a check is never written.

// applicationID is SQLite's mark for the kind of a file: "MuTr" for trees of Muster.
const applicationID = 0x4d755472

// version is the file's user_version. A change of the schema needs a new one and a migration.
const version = 1

// schema creates an empty file. Nodes refer to their root by a number, which is much shorter than its name in a million
// rows. The partial indexes serve the three queries that must not scan finished nodes.
const schema = `
CREATE TABLE roots (
	number INTEGER PRIMARY KEY,
	id     TEXT NOT NULL UNIQUE,
	body   BLOB NOT NULL              -- JSON
) STRICT;
CREATE TABLE nodes (
	place    INTEGER PRIMARY KEY,     -- in the order in which they were created
	root     INTEGER NOT NULL REFERENCES roots (number),
	id       BLOB NOT NULL,           -- 16 bytes
	parent   BLOB NOT NULL,
	key      TEXT NOT NULL,
	body     TEXT NOT NULL,           -- empty once it is done
	depth    INTEGER NOT NULL,
	attempts INTEGER NOT NULL,
	children INTEGER NOT NULL,
	state    INTEGER NOT NULL,        -- 1 waiting, 2 claimed, 3 sent, 4 done, 5 failed
	claimer  BLOB NOT NULL,
	reason   TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX nodes_id ON nodes (root, id);
CREATE INDEX nodes_waiting ON nodes (root, place) WHERE state = 1;
CREATE INDEX nodes_claimed ON nodes (root, claimer) WHERE state = 2;
CREATE INDEX nodes_failed ON nodes (root, id) WHERE state = 5;
`

// dsn returns the driver's name for the file; options are pairs of key and value.
func dsn(path string, options ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(options); i += 2 {
		q.Add(options[i], options[i+1])
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// ensure creates an empty file unless there is one. The file is built elsewhere and moved into place as a whole, so
// that several processes that start together never see a part of it.
func ensure(ctx context.Context, path string) error {
	stat, err := os.Stat(path)
	switch {
	case err == nil && !stat.Mode().IsRegular():
		return fmt.Errorf("found %s, allowed is a file; give another path", stat.Mode().Type())
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// Create fails if another process was faster. Its file is as good, and is used.
	content, err := empty(ctx)
	if err != nil {
		return fmt.Errorf("make an empty file: %w", err)
	}
	if err := durable.Create(path, content); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// empty returns the content of a file without trees. It builds one in a temporary directory.
func empty(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "muster-trees-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.db")
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	// The journal mode is a property of the file: readers do not wait for a writer, and a commit is one sync.
	_, err = db.ExecContext(ctx,
		fmt.Sprintf("PRAGMA journal_mode = WAL; BEGIN; %s PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
			schema, applicationID, version))
	if err := errors.Join(err, db.Close()); err != nil { // the last close moves the write-ahead log into the file
		return nil, err
	}
	return os.ReadFile(path)
}

// checkFile returns an error if the file does not hold readable trees of this version.
func checkFile(ctx context.Context, db *sql.DB) error {
	var id, found int
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if id != applicationID {
		return fmt.Errorf("found an SQLite file of another program (application id %#x), allowed are trees of Muster "+
			"(%#x); give another path", id, applicationID)
	}
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&found); err != nil {
		return err
	}
	if found != version {
		return fmt.Errorf("found version %d of the file, this program knows version %d; use the program that wrote "+
			"it, or give another path", found, version)
	}
	// Only the roots are checked: there may be millions of nodes, and a damaged one is found when it is read.
	damage, err := sqlitefile.Check(ctx, db, "roots")
	if err == nil && damage != "" {
		err = fmt.Errorf("%w: %s", errDamaged, damage)
	}
	return err
}
