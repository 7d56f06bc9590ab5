package history

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/internal/sqlitefile"
)

// This file has the tables of the database and the checks of a file before it is used. They make sure that a file that
// is not a history, or is newer than this program, is refused without a change.

// applicationID marks the file as a history of Muster: "MuHi".
const applicationID = 0x4d754869

// migrations upgrade the file from each version to the next; its user_version counts those applied. Migrations are only
// ever added.
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
`, `
CREATE TABLE position (                -- of the tables; the mark beside the file says how far they were at least
	identity INTEGER NOT NULL,
	commits  INTEGER NOT NULL
) STRICT;
INSERT INTO position VALUES (0, 0);
`}

// dsn returns the driver's name for the file; options are alternating keys and values. vfs is the SQLite file system;
// empty is the operating system's.
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

// create creates a file without tables, readable by its owner alone, unless one exists. Its pages have room for seals.
func create(path string) error {
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	switch stat, err := os.Stat(path); {
	case err == nil && stat.Mode().IsRegular() && stat.Size() == 0:
		if err := os.Remove(path); err != nil { // an older program was interrupted after creating it
			return err
		}
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if content, err := os.ReadFile(path + sqlitefile.MarkSuffix); err == nil {
		if marked, err := sqlitefile.ParseMark(content); err != nil || marked.Commit > 0 {
			return fmt.Errorf("%w: it is missing, and its mark %s says that there was one", errDamaged,
				path+sqlitefile.MarkSuffix)
		}
	}
	err := durable.Create(path, sqlitefile.Blank(applicationID, 0))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// peek refuses a file that is not a readable history, and tells whether its pages are sealed. It changes nothing,
// unless there is a write-ahead log.
func peek(ctx context.Context, path string) (sealed bool, err error) {
	stat, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	if !stat.Mode().IsRegular() {
		return false, fmt.Errorf("found %s, allowed is a file; give another path", stat.Mode().Type())
	}
	return firstPage(ctx, path, "", beginning(path), len(beginning(path+"-wal")) > 0)
}

// firstPage does the work of peek for a file with the given first bytes. After a power cut they may be half written and
// complete only in the log, so only SQLite can read them.
func firstPage(ctx context.Context, path, vfs string, begin []byte, logged bool) (sealed bool, err error) {
	if len(begin) >= pageSize && sqlitefile.CheckPage(1, begin[:pageSize]) {
		return true, checkHeader(begin)
	}
	if logged {
		if sealed, err := readFirstPage(ctx, path, vfs); err == nil {
			return sealed, nil
		}
	}
	switch err := checkMarks(ctx, path, vfs, "immutable", "1"); {
	case err != nil:
		return false, err
	case len(begin) > 100 && sqlitefile.HasSeals(begin):
		return true, fmt.Errorf("%w: its first page", errDamaged)
	}
	return false, nil
}

// readFirstPage lets SQLite read the first page, and tells whether it has room for a seal.
func readFirstPage(ctx context.Context, path, vfs string) (sealed bool, err error) {
	db, err := sql.Open("sqlite", dsn(path, vfs, "mode", "ro"))
	if err != nil {
		return false, err
	}
	defer db.Close()
	var page []byte
	if err := db.QueryRowContext(ctx, "SELECT data FROM sqlite_dbpage WHERE pgno = 1").Scan(&page); err != nil {
		return false, err
	}
	return sqlitefile.HasSeals(page), checkHeader(page)
}

// checkHeader checks the application id and the version in the header of an SQLite file.
func checkHeader(b []byte) error {
	if id := binary.BigEndian.Uint32(b[68:]); id != applicationID {
		return foreign(int(id))
	}
	return checkVersion(int(binary.BigEndian.Uint32(b[60:])))
}

// foreign is the error for an SQLite file with the application id of another program.
func foreign(id int) error {
	return fmt.Errorf("found an SQLite file of another program (application id %#x), allowed is a history of Muster "+
		"(%#x); give another path", id, applicationID)
}

// rollBack lets SQLite undo an interrupted change of the file at path, if journal belongs to a history. It comes before
// any other read, because the first page may be half written. marked says that the file has a mark, as every sealed one
// has.
func rollBack(ctx context.Context, path, vfs string, journal []byte, marked bool) error {
	if len(journal) == 0 || !marked && !ownJournal(journal) {
		return nil
	}
	if marked {
		pages, err := sqlitefile.Seal(vfs, false)
		if err != nil {
			return err
		}
		defer pages.Unmount()
		vfs = pages.Name()
	}
	db, err := sql.Open("sqlite", dsn(path, vfs, "mode", "rw"))
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = pragma(ctx, db, "schema_version")
	return err
}

// beginning returns the first bytes of the file at path; none if it cannot be read.
func beginning(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, 2*pageSize)
	n, _ := io.ReadFull(f, b) // a short file is allowed
	return b[:n]
}

// ownJournal tells whether a rollback journal belongs to a history whose creation was interrupted; a complete history
// has a log instead. A journal begins with a magic number. At 16 it has the earlier size of the file, at 20 the offset
// of the first saved page: a page number, and the page, with the application id at 68.
func ownJournal(b []byte) bool {
	if len(b) < 28 || string(b[:8]) != "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" {
		return false
	}
	if binary.BigEndian.Uint32(b[16:]) == 0 {
		return true // the file was empty
	}
	at := int64(binary.BigEndian.Uint32(b[20:]))
	return at+76 <= int64(len(b)) && binary.BigEndian.Uint32(b[at:]) == 1 &&
		binary.BigEndian.Uint32(b[at+4+68:]) == applicationID
}

// checkMarks lets SQLite check the application id and the version of the file at path, without a change.
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
		return foreign(id)
	}
	version, err := pragma(ctx, db, "user_version")
	if err != nil {
		return err
	}
	return checkVersion(version)
}

// checkVersion refuses a file of a newer program, whose tables this one may misread.
func checkVersion(found int) error {
	if found > len(migrations) {
		return fmt.Errorf("found version %d of the file, this program knows versions up to %d; use the newer program "+
			"that wrote it, or give another path", found, len(migrations))
	}
	return nil
}

// positioned is the first version with the table position.
const positioned = 2

// migrate upgrades the file to the version len(steps) in one transaction, and switches it to WAL mode. A file without
// an identity gets the given one.
func migrate(ctx context.Context, db *sql.DB, steps []string, identity uint64) error {
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
	if version < positioned {
		if _, err := tx.ExecContext(ctx, "UPDATE position SET identity = ?", int64(identity)); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	// Only now, so that the application id of a new file is in the file itself, where peek reads it, and not in the
	// log.
	_, err = db.ExecContext(ctx, "PRAGMA journal_mode = WAL")
	return err
}

// verify checks the structure of the whole file and returns its damage. pages is nil for a file without seals.
func verify(ctx context.Context, db *sql.DB, pages *sqlitefile.Pages) error {
	damage, err := sqlitefile.Check(ctx, db, "")
	switch {
	case err == nil && damage != "":
		err = fmt.Errorf("%w: %s", errDamaged, damage)
	case err != nil && pages != nil && len(pages.Damaged()) > 0:
		err = fmt.Errorf("%w: pages %v: %w", errDamaged, pages.Damaged(), err)
	}
	return err
}

// readPosition returns the number of commits in the tables, and the version of the file.
func readPosition(ctx context.Context, db rowQuerier) (at sqlitefile.Position, version int, err error) {
	if version, err = pragma(ctx, db, "user_version"); err != nil || version < positioned {
		return at, version, err
	}
	var identity, commits int64
	err = db.QueryRowContext(ctx, "SELECT identity, commits FROM position").Scan(&identity, &commits)
	if errors.Is(err, sql.ErrNoRows) || sqlitefile.Primary(err) == sqlitefile.CodeError {
		err = fmt.Errorf("%w: it does not say how far its tables are: %w", errDamaged, err)
	}
	return sqlitefile.Position{Identity: uint64(identity), Commit: uint64(commits)}, version, err
}

// openMark opens the mark of tables that are at a position. With an empty mark file a person accepts the tables as they
// are.
func openMark(place sqlitefile.MarkPlace, at sqlitefile.Position) (*sqlitefile.Mark, error) {
	if content, err := place.Read(); err == nil && len(content) == 0 {
		if err := place.Create(sqlitefile.NewMark(at)); err != nil {
			return nil, fmt.Errorf("%w: make the mark: %w", errDisk, err)
		}
	}
	m, err := sqlitefile.OpenMark(place, at)
	_, behind := errors.AsType[*sqlitefile.BehindError](err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: its mark is missing, so it cannot be said whether its end is, too", errIncomplete)
	case behind || errors.Is(err, sqlitefile.ErrDamagedMark) || errors.Is(err, sqlitefile.ErrForeignMark):
		return nil, fmt.Errorf("%w: %w", errIncomplete, err)
	}
	return m, err
}

// pragma reads a pragma of SQLite whose value is a whole number.
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
