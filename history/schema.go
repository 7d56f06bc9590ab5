package history

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/internal/sqlitefile"
)

// applicationID marks the file as a history of Muster: "MuHi".
const applicationID = 0x4d754869

// migrations lead from each version of the file to the next; the file's user_version counts those done. They are only
// ever added to.
var migrations = []string{`
CREATE TABLE streams (
	id     INTEGER PRIMARY KEY,
	fleet  TEXT NOT NULL UNIQUE,
	epoch  INTEGER NOT NULL,
	seq    INTEGER NOT NULL,           -- of the last record
	folded INTEGER NOT NULL DEFAULT 0  -- learned records before this instant were folded
) STRICT;
CREATE TABLE records (
	id     INTEGER PRIMARY KEY,
	fleet  INTEGER NOT NULL REFERENCES streams (id),
	seq    INTEGER NOT NULL,
	epoch  INTEGER NOT NULL,
	at     INTEGER NOT NULL,           -- nanoseconds since 1970, UTC
	kind   TEXT NOT NULL,
	shared BLOB REFERENCES shared (hash),
	body   BLOB                        -- JSON
) STRICT;
CREATE UNIQUE INDEX records_seq ON records (fleet, seq);
CREATE INDEX records_at ON records (fleet, at);
CREATE INDEX records_kind ON records (fleet, kind, seq);
CREATE INDEX records_shared ON records (shared) WHERE shared IS NOT NULL;
CREATE TABLE shared (
	hash    BLOB PRIMARY KEY,          -- SHA-256 of content
	content BLOB NOT NULL              -- JSON
) STRICT, WITHOUT ROWID;
`}

// dsn names the file for the driver; options are pairs of key and value. vfs is the file system that SQLite uses; empty
// is the operating system's.
func dsn(path, vfs string, options ...string) string {
	q := url.Values{}
	if vfs != "" {
		q.Set("vfs", vfs)
	}
	for i := 0; i+1 < len(options); i += 2 {
		q.Add(options[i], options[i+1])
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// create makes an empty file, for its owner alone, unless there is one.
func create(path string) error {
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// peek refuses a file that is not a history this program can read. It opens the file as immutable, so that it leaves no
// trace, neither in the file nor beside it.
func peek(ctx context.Context, path string) error {
	stat, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !stat.Mode().IsRegular() {
		return fmt.Errorf("found %s, allowed is a file; give another path", stat.Mode().Type())
	}
	if stat.Size() == 0 {
		return nil
	}
	err = checkMarks(ctx, path, "", "immutable", "1")
	// After a power cut the first page may be half written, and whole only in the log.
	if err != nil && len(beginning(path+"-wal")) > 0 && checkMarks(ctx, path, "") == nil {
		return nil
	}
	return err
}

// rollBack lets SQLite undo a change of the file at path that the power cut short, if journal is that of one of ours. It
// does so before anything else is read: until then the first page may be half written.
func rollBack(ctx context.Context, path, vfs string, journal []byte) error {
	if !ownJournal(journal) {
		return nil
	}
	db, err := sql.Open("sqlite", dsn(path, vfs, "mode", "rw"))
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = pragma(ctx, db, "schema_version")
	return err
}

// beginning returns the first bytes of the file at path, none if it cannot be read.
func beginning(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, 2*pageSize)
	n, _ := io.ReadFull(f, b) // what is missing says enough
	return b[:n]
}

// ownJournal tells whether a rollback journal was left while one of our files was made; once complete, they keep a log
// instead. A journal begins with a mark, at 16 the size of the file before, at 20 the place of the first page it saves:
// a page's number, and the page, with our application id at 68.
func ownJournal(b []byte) bool {
	if len(b) < 28 || string(b[:8]) != "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" {
		return false
	}
	if binary.BigEndian.Uint32(b[16:]) == 0 {
		return true // the file was empty
	}
	at := int64(binary.BigEndian.Uint32(b[20:]))
	return at+76 <= int64(len(b)) && binary.BigEndian.Uint32(b[at:]) == 1 && binary.BigEndian.Uint32(b[at+4+68:]) == applicationID
}

// checkMarks says whether SQLite finds our marks in the file at path; it only reads.
func checkMarks(ctx context.Context, path, vfs string, options ...string) error {
	db, err := sql.Open("sqlite", dsn(path, vfs, append(options, "mode", "ro")...))
	if err != nil {
		return err
	}
	defer db.Close()
	id, err := pragma(ctx, db, "application_id")
	if err != nil {
		return err
	}
	if id != applicationID {
		return fmt.Errorf("found an SQLite file of another program (application id %#x), allowed is a history of Muster (%#x); give another path", id, applicationID)
	}
	version, err := pragma(ctx, db, "user_version")
	if err != nil {
		return err
	}
	return checkVersion(version)
}

func checkVersion(found int) error {
	if found > len(migrations) {
		return fmt.Errorf("found version %d of the file, this program knows versions up to %d; use the newer program that wrote it, or give another path", found, len(migrations))
	}
	return nil
}

// migrate brings the file to the version len(steps) in one transaction, and in WAL mode.
func migrate(ctx context.Context, db *sql.DB, steps []string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	version, err := pragma(ctx, tx, "user_version")
	if err != nil {
		return err
	}
	if err := checkVersion(version); err != nil {
		return err
	}
	for v := version; v < len(steps); v++ {
		if _, err := tx.ExecContext(ctx, steps[v]); err != nil {
			return fmt.Errorf("bring the file from version %d to %d: %w", v, v+1, err)
		}
	}
	if version < len(steps) {
		set := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(steps))
		if _, err := tx.ExecContext(ctx, set); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	// Only now: the marks of a new file are then in the file itself, where peek looks, and not in the log beside it.
	_, err = db.ExecContext(ctx, "PRAGMA journal_mode = WAL")
	return err
}

// verify reads the structure of the whole file and says what is damaged.
func verify(ctx context.Context, db *sql.DB) error {
	damage, err := sqlitefile.Check(ctx, db, "")
	if err == nil && damage != "" {
		err = fmt.Errorf("%w: %s", errDamaged, damage)
	}
	return err
}

func pragma(ctx context.Context, db rowQuerier, name string) (int, error) {
	var text string
	if err := db.QueryRowContext(ctx, "PRAGMA "+name).Scan(&text); err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// rowQuerier is a database or a transaction.
type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}
