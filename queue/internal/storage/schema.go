// The schema of the queue file, how its version is found, and how a new file is created.

package storage

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

	"github.com/muster-scale/muster/internal/sqlitefile"
)

// ApplicationID marks queue files in the SQLite header: "MUSQ".
const ApplicationID = 0x4d555351

// SchemaVersion is the version of a file without a log. Files of versions 1 and 2 have neither seals of
// pages nor checksums; upgrade.go copies them.
const SchemaVersion = 3

// loggedVersion is the version of a file to which a log belongs. Programs that know no log refuse it.
// After closing, the log is empty and the version is SchemaVersion again.
const loggedVersion = 1000 + SchemaVersion

// schema is the SQL that creates the tables of a new file. The order of the tables fixes their root
// pages, see RootOfMeta.
const schema = `
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
	seq         INTEGER PRIMARY KEY,
	queue_id    INTEGER NOT NULL,
	sent        INTEGER NOT NULL,
	visible     INTEGER NOT NULL,
	received    INTEGER NOT NULL,
	first       INTEGER NOT NULL,
	count       INTEGER NOT NULL,
	carried     INTEGER NOT NULL,
	row_sum     INTEGER NOT NULL, -- CRC-32C of the columns before it
	content_sum INTEGER NOT NULL, -- CRC-32C of the content, as it was sent
	message_id  BLOB NOT NULL,
	group_id    TEXT,
	dedup_id    TEXT,
	source      TEXT,
	attributes  TEXT, -- JSON
	body        TEXT NOT NULL -- last, so that loading never reads overflow pages
);
CREATE TABLE deduplication (
	queue_id   INTEGER NOT NULL,
	dedup_id   TEXT NOT NULL,
	seq        INTEGER NOT NULL,
	message_id BLOB NOT NULL,
	expires    INTEGER NOT NULL,
	PRIMARY KEY (queue_id, dedup_id)
) WITHOUT ROWID;
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
`

// Offsets in the header of an SQLite file, in bytes (sqlite.org/fileformat2.html, section 1.3):
// user_version and application_id are big-endian numbers of four bytes.
const (
	HeaderSize        = 100
	HeaderVersion     = 60
	headerApplication = 68
	headerMagic       = "SQLite format 3\x00"
)

// standing says what there is at the path of a queue file.
type standing uint8

// The standings of a file.
const (
	// absent means that there is no file, present that there is one of the present version, and Older
	// that there is one from before pages were sealed.
	absent  standing = iota
	present          // a file of the present version
	Older            // a file of a version before the pages were sealed
)

// Inspect determines the standing of path without changing anything. It reads the first page itself,
// because SQLite may create files beside a file that it opens. The first page is trusted if its seal is
// right. If not, a power cut may have left it half written; then the write-ahead log has the right one.
func Inspect(ctx context.Context, path string) (standing, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return absent, nil
	}
	if err != nil {
		return absent, err
	}
	defer f.Close()
	page := make([]byte, sqlitefile.PageBytes)
	n, err := io.ReadFull(f, page)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return absent, err
	}
	// The usual case: an intact file, whose header can be believed.
	if sqlitefile.CheckPage(1, page[:n]) {
		return present, checkHeader(page[:n])
	}
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		if version, err := CheckLogged(ctx, path, ""); err == nil {
			return standingOf(version), nil
		}
	}
	err = checkHeader(page[:n])
	switch {
	case err == nil && !sqlitefile.HasSeals(page) && standingOf(versionOf(page)) == Older:
		return Older, nil
	case err == nil || Exists(path+sqlitefile.MarkSuffix):
		return present, fmt.Errorf("%w: its first page is damaged", ErrCorruptFile)
	}
	return absent, err
}

// versionOf returns the user_version of an SQLite header.
func versionOf(header []byte) int { return int(binary.BigEndian.Uint32(header[HeaderVersion:])) }

// standingOf returns the standing of a file with a known version.
func standingOf(version int) standing {
	if version == SchemaVersion || version == loggedVersion {
		return present
	}
	return Older
}

// Exists says whether there is a file, or anything else, at path.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// CheckLogged returns the version of the file at path as SQLite sees it together with its write-ahead
// log, and an error if it is not a queue file. After a power cut the first page may be half written,
// and complete only in the log. It only reads.
func CheckLogged(ctx context.Context, path, vfs string) (version int, err error) {
	pages, err := sqlitefile.Seal(vfs, false)
	if err != nil {
		return 0, err
	}
	defer pages.Unmount()
	db, err := sql.Open("sqlite", Dsn(path, pages.Name())+"&mode=ro")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	var id uint32
	err = db.QueryRowContext(ctx, "SELECT a.application_id, v.user_version FROM pragma_application_id a, "+
		"pragma_user_version v").Scan(&id, &version)
	if err != nil {
		return 0, err
	}
	return version, checkMarks(id, version)
}

// checkHeader returns an error if header is not the beginning of a queue file of a known version.
func checkHeader(header []byte) error {
	switch {
	case len(header) < HeaderSize:
		return fmt.Errorf("%w: it is shorter than an SQLite header; move it away or use another directory",
			ErrForeignFile)
	case string(header[:len(headerMagic)]) != headerMagic:
		return fmt.Errorf("%w: it is not an SQLite file; move it away or use another directory", ErrForeignFile)
	}
	return checkMarks(binary.BigEndian.Uint32(header[headerApplication:]), versionOf(header))
}

// checkMarks checks application id and version.
func checkMarks(id uint32, version int) error {
	if id != ApplicationID {
		return fmt.Errorf("%w: application id %#x found, %#x expected; move it away or use another directory",
			ErrForeignFile, id, ApplicationID)
	}
	return checkVersion(version)
}

// checkVersion refuses versions of newer programs.
func checkVersion(version int) error {
	if version > SchemaVersion && version != loggedVersion && version != OlderLogged {
		return fmt.Errorf("%w: schema %d found, this program knows up to %d; use the newer program or another "+
			"directory", ErrNewerFile, version, SchemaVersion)
	}
	return nil
}

// Create creates a new file and its mark under other names, and renames them when they are complete,
// the file last. So a crash never leaves half a file, nor a file without its mark. fill, if not nil,
// writes the first content.
func Create(ctx context.Context, at Place, path string, fill func(*SqliteStore) error) (err error) {
	fresh := path + ".new"
	if err := RemoveNew(at, path); err != nil {
		return err
	}
	identity := NewIdentity()
	err = errors.Join(
		at.Create(fresh, sqlitefile.Blank(ApplicationID, 0)),
		at.Create(fresh+sqlitefile.MarkSuffix, sqlitefile.NewMark(sqlitefile.Position{Identity: identity})))
	if err != nil {
		return fmt.Errorf("create queue file: %w", err)
	}
	if err := Initialize(ctx, fresh, at.VFS, identity); err != nil {
		return fmt.Errorf("create queue file %s: %w", fresh, err)
	}
	if fill != nil {
		if err := fillFile(ctx, at, fresh, fill); err != nil {
			return fmt.Errorf("create queue file %s: %w", fresh, err)
		}
	}
	for _, suffix := range []string{sqlitefile.MarkSuffix, ""} {
		if err := at.Rename(fresh+suffix, path+suffix); err != nil {
			return fmt.Errorf("create queue file: %w", err)
		}
		// Without a sync after each rename a power cut may keep only the later one.
		if err := at.Sync(path); err != nil {
			return err
		}
	}
	return nil
}

// RemoveNew removes the remains of an incomplete new file for path.
func RemoveNew(at Place, path string) error {
	for _, suffix := range []string{"", "-journal", "-wal", "-shm", sqlitefile.MarkSuffix} {
		if err := at.Remove(path + ".new" + suffix); err != nil {
			return fmt.Errorf("create queue file: %w", err)
		}
	}
	return nil
}

// fillFile opens a new file, without a log, and lets fill write to it.
func fillFile(ctx context.Context, at Place, path string, fill func(*SqliteStore) error) error {
	s, err := OpenFile(ctx, path, at.VFS, nil, at.Mark(path+sqlitefile.MarkSuffix), false)
	if err != nil {
		return err
	}
	return errors.Join(fill(s), s.Close())
}

// NewIdentity returns a random number. Tables, mark and log of one queue file all carry it, so that a
// part of another file is recognized.
func NewIdentity() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never returns an error
	return binary.LittleEndian.Uint64(b[:])
}

// Initialize creates the tables in the blank file at path and switches it to WAL mode. This happens
// before the file gets its name: switching the mode of a file in use may leave a half-written first
// page.
func Initialize(ctx context.Context, path, vfs string, identity uint64) (err error) {
	pages, err := sqlitefile.Seal(vfs, false)
	if err != nil {
		return err
	}
	defer pages.Unmount()
	db, err := sql.Open("sqlite", Dsn(path, pages.Name(), "synchronous(FULL)", "fullfsync(1)"))
	if err != nil {
		return err
	}
	err = makeTables(ctx, db, identity)
	if err == nil {
		_, err = db.ExecContext(ctx, "PRAGMA journal_mode = WAL")
	}
	return errors.Join(err, db.Close())
}

// makeTables creates the tables and the receipt key in one transaction.
func makeTables(ctx context.Context, db *sql.DB, identity uint64) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after Commit this does nothing
	secret := make([]byte, SecretBytes)
	rand.Read(secret) // never returns an error
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return fmt.Errorf("make the tables: %w", err)
	}
	at := encodePosition(sqlitefile.Position{Identity: identity}, 0)
	if _, err := tx.ExecContext(ctx, `INSERT INTO meta VALUES ('secret', ?), ('epoch', 0), ('position', ?)`, secret,
		at); err != nil {
		return fmt.Errorf("write the receipt key: %w", err)
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", SchemaVersion)); err != nil {
		return fmt.Errorf("stamp the file: %w", err)
	}
	return tx.Commit()
}

// RepairedName is the name of the new file that a repair has completed but not yet put in the place of
// the damaged one.
const RepairedName = "queues.db.repaired"

// RepairCutShort is the error that a repair was interrupted, so that there are two sets of files.
func RepairCutShort(dir string) error {
	return fmt.Errorf("%w: a repair of it was interrupted; run `muster queue check --repair --data %s` again to "+
		"finish it", ErrCorruptFile, Absolute(dir))
}

// The root pages of tables and indexes, in the order in which the schema creates them. Package check
// needs them to read a file whose schema table is damaged, so the order of schema must never change.
const (
	RootOfSchema = iota + 1
	RootOfMeta
	RootOfQueues
	RootOfNames
	RootOfMessages
	RootOfDedup
	RootOfMoves
)

// SecretBytes is the length of the key of the receipt handles.
const SecretBytes = 32
