package queue

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-scale/muster/internal/durable"
)

// applicationID marks our files in the SQLite header: "MUSQ".
const applicationID = 0x4d555351

// migrations bring a file from version i to i+1; the version is their number.
var migrations = []string{`
CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE queues (
	id         INTEGER PRIMARY KEY,
	name       TEXT NOT NULL UNIQUE,
	attributes TEXT NOT NULL, -- JSON, in SQS naming
	tags       TEXT NOT NULL, -- JSON
	created    INTEGER NOT NULL, -- times are Unix milliseconds
	modified   INTEGER NOT NULL,
	floor      INTEGER NOT NULL  -- messages up to this seq are purged
);
CREATE TABLE messages (
	seq        INTEGER PRIMARY KEY,
	queue_id   INTEGER NOT NULL,
	sent       INTEGER NOT NULL,
	visible    INTEGER NOT NULL,
	received   INTEGER NOT NULL,
	first      INTEGER NOT NULL,
	count      INTEGER NOT NULL,
	carried    INTEGER NOT NULL,
	message_id BLOB NOT NULL,
	group_id   TEXT,
	dedup_id   TEXT,
	sequence   TEXT, -- unused: it is made of seq
	source     TEXT,
	attributes TEXT, -- JSON
	body       TEXT NOT NULL -- last, so that loading never reads overflow pages
);
CREATE TABLE deduplication (
	queue_id   INTEGER NOT NULL,
	dedup_id   TEXT NOT NULL,
	seq        INTEGER NOT NULL,
	message_id BLOB NOT NULL,
	expires    INTEGER NOT NULL,
	PRIMARY KEY (queue_id, dedup_id)
) WITHOUT ROWID;
`, `
CREATE TABLE moves (
	id          INTEGER PRIMARY KEY,
	queue_id    INTEGER NOT NULL,
	destination TEXT NOT NULL, -- empty: back to where each message came from
	rate        INTEGER NOT NULL, -- messages per second; 0: as fast as possible
	status      TEXT NOT NULL,
	failure     TEXT NOT NULL,
	started     INTEGER NOT NULL,
	moved       INTEGER NOT NULL,
	to_move     INTEGER NOT NULL
);
`}

// loggedVersion is the version of a file to which a log belongs. Programs that
// know no log refuse it, and read it again once it was closed: the log is empty
// then, and the version that of the schema.
const loggedVersion = 1002

// SQLite's header: where the version and the application id are.
const (
	headerSize        = 100
	headerVersion     = 60
	headerApplication = 68
	headerMagic       = "SQLite format 3\x00"
)

// inspect looks at the file at path without touching it. It reports whether
// there is a file at all.
func inspect(ctx context.Context, path string) (exists bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open queue file: %w", err)
	}
	defer f.Close()
	var header [headerSize]byte
	if _, err := io.ReadFull(f, header[:]); err != nil {
		return true, fmt.Errorf("open queue file %s: %w: it is shorter than an SQLite header; move it away or use another directory", path, ErrForeignFile)
	}
	err = checkHeader(path, header[:])
	if log, statErr := os.Stat(path + "-wal"); err != nil && statErr == nil && log.Size() > 0 && checkLogged(ctx, path, "") == nil {
		return true, nil
	}
	return true, err
}

// checkLogged says whether the file at path is ours according to itself and to
// the log beside it. After a power cut the header may be half written, and
// whole only in the log. It only reads.
func checkLogged(ctx context.Context, path, vfs string) error {
	db, err := sql.Open("sqlite", dsn(path, vfs)+"&mode=ro")
	if err != nil {
		return err
	}
	defer db.Close()
	var id uint32
	var version int
	err = db.QueryRowContext(ctx, "SELECT a.application_id, v.user_version FROM pragma_application_id a, pragma_user_version v").Scan(&id, &version)
	if err != nil {
		return err
	}
	return checkMarks(path, id, version)
}

// checkHeader says whether the first bytes of the file at path are ours.
func checkHeader(path string, header []byte) error {
	if len(header) < headerSize || string(header[:len(headerMagic)]) != headerMagic {
		return fmt.Errorf("open queue file %s: %w: it is not an SQLite file; move it away or use another directory", path, ErrForeignFile)
	}
	return checkMarks(path, binary.BigEndian.Uint32(header[headerApplication:]), int(binary.BigEndian.Uint32(header[headerVersion:])))
}

func checkMarks(path string, id uint32, version int) error {
	if id != applicationID {
		return fmt.Errorf("open queue file %s: %w: application id %#x found, %#x expected; move it away or use another directory", path, ErrForeignFile, id, applicationID)
	}
	return checkVersion(path, version)
}

func checkVersion(path string, version int) error {
	if version > len(migrations) && version != loggedVersion {
		return fmt.Errorf("open queue file %s: %w: schema %d found, this program knows up to %d; use the newer program or another directory", path, ErrNewerFile, version, len(migrations))
	}
	return nil
}

// create makes a new file under another name and renames it when it is
// complete, so that a crash never leaves half a file behind.
func create(ctx context.Context, path string) (err error) {
	fresh := path + ".new"
	for _, leftover := range []string{fresh, fresh + "-journal"} {
		if err := os.Remove(leftover); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("create queue file: %w", err)
		}
	}
	f, err := os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("create queue file: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("create queue file: %w", err)
	}
	if err := initialize(ctx, fresh, ""); err != nil {
		return fmt.Errorf("create queue file %s: %w", fresh, err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("create queue file: %w", err)
	}
	return durable.SyncDir(filepath.Dir(path))
}

// initialize brings the empty file at path to the newest schema, and to WAL
// mode: changing that in a file in use may leave a first page half written.
func initialize(ctx context.Context, path, vfs string) error {
	db, err := sql.Open("sqlite", dsn(path, vfs, "synchronous(FULL)", "fullfsync(1)"))
	if err != nil {
		return err
	}
	err = migrate(ctx, db, 0)
	if err == nil {
		_, err = db.ExecContext(ctx, "PRAGMA journal_mode = WAL")
	}
	return errors.Join(err, db.Close())
}

// migrate brings the file forward in one transaction.
func migrate(ctx context.Context, db *sql.DB, version int) error {
	if version == len(migrations) {
		return nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer tx.Rollback() // after Commit this does nothing
	for _, text := range migrations[version:] {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("migrate from schema %d: %w", version, err)
		}
	}
	if version == 0 {
		secret := make([]byte, secretBytes)
		rand.Read(secret) // never fails
		if _, err := tx.ExecContext(ctx, `INSERT INTO meta VALUES ('secret', ?), ('epoch', 0)`, secret); err != nil {
			return fmt.Errorf("migrate: write the receipt key: %w", err)
		}
	}
	stamp := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(migrations))
	if _, err := tx.ExecContext(ctx, stamp); err != nil {
		return fmt.Errorf("migrate: stamp the file: %w", err)
	}
	return tx.Commit()
}
