package history

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history/internal/rules"
	"github.com/muster-scale/muster/internal/sqlitefile"
)

const (
	// busyTimeout is how long a write waits for another process, such as a backup, to release the file.
	busyTimeout = 5 * time.Second
	// pageSize is the size of a page of the file in bytes: the default of SQLite.
	pageSize = 4096
)

// Options are the choices for [Open]. The zero value is usable.
type Options struct {
	// MaxBytes bounds the file, at least 1 MiB; zero means 4 GiB. Beyond it appends fail with [ErrFull].
	MaxBytes int64
}

// History is a [muster.History] in one SQLite file. Several goroutines may use it. Its [Reader] never waits for writes.
type History struct {
	*Reader
	// writer is the only connection that writes. mark counts its commits outside of the tables; identity ties mark and
	// tables together, so that the mark of another file is noticed.
	writer   *sql.DB
	mark     *sqlitefile.Mark
	identity uint64
	// broken is set after a failed sync: from then on nothing is acknowledged.
	broken atomic.Pointer[error]
}

// Open opens the history at path, and creates a missing one with its directory. It upgrades older files. It refuses,
// and leaves unchanged, a file that is damaged, newer than this program or no history.
func Open(path string, o Options) (*History, error) {
	path, o, err := checkOptions(path, o)
	if err != nil {
		return nil, err
	}
	h, err := open(context.Background(), path, o)
	if err != nil {
		return nil, explain(path, "open", err)
	}
	return h, nil
}

// checkOptions returns the absolute path and the options with their defaults.
func checkOptions(path string, o Options) (string, Options, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", o, explain(path, "open", err)
	}
	o.MaxBytes = cmp.Or(o.MaxBytes, 4<<30)
	if o.MaxBytes < 1<<20 {
		return "", o, fmt.Errorf("open: history %s: found a bound of %d bytes, at least 1 MiB is allowed", path,
			o.MaxBytes)
	}
	return path, o, nil
}

// open opens the file on the disk, in the order that keeps a refused file unchanged: an interrupted creation is rolled
// back, the first page is checked, and only then is the file opened for writing.
func open(ctx context.Context, path string, o Options) (*History, error) {
	if err := create(path); err != nil {
		return nil, err
	}
	mark := sqlitefile.MarkPath(path + sqlitefile.MarkSuffix)
	_, missing := os.Lstat(string(mark))
	if err := rollBack(ctx, path, "", beginning(path+"-journal"), missing == nil); err != nil {
		return nil, err
	}
	sealed, err := peek(ctx, path)
	if err != nil {
		return nil, err
	}
	return openFile(ctx, path, "", o, form{sealed, len(beginning(path+"-wal")) > 0}, mark)
}

// form describes a file before it is opened.
type form struct {
	sealed bool // its pages are
	logged bool // its write-ahead log has content
}

// openFile opens the file at path, on the SQLite file system vfs; empty is the operating system's.
func openFile(ctx context.Context, path, vfs string, o Options, is form, place sqlitefile.MarkPlace) (_ *History,
	err error) {
	h := &History{}
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	if h.Reader, err = openReader(path, vfs, is.sealed); err != nil {
		return nil, err
	}
	if is.sealed {
		vfs = h.pages.Name()
	}
	if h.writer, err = openWriter(path, vfs, o); err != nil {
		return nil, err
	}
	// A refused file must stay unchanged. Closing the writer would write its log back, and closing the reader leaves an
	// empty log behind.
	first := h.writer
	if is.logged {
		first = h.db
	}
	if err := verify(ctx, first, h.pages); err != nil {
		return nil, err
	}
	at, version, err := readPosition(ctx, first)
	if err == nil {
		err = checkVersion(version)
	}
	if err != nil {
		return nil, err
	}
	if version < positioned {
		at = sqlitefile.Position{Identity: rand.Uint64()}
		if err := place.Create(sqlitefile.NewMark(at)); err != nil {
			return nil, fmt.Errorf("%w: make the mark: %w", errDisk, err)
		}
	}
	h.identity = at.Identity
	if h.mark, err = openMark(place, at); err != nil {
		return nil, err
	}
	return h, migrate(ctx, h.writer, migrations, at.Identity)
}

// openWriter opens the writing connection. Every commit is synced (synchronous FULL), and transactions take the write
// lock at their start (immediate), so that none fails halfway because another process writes.
func openWriter(path, vfs string, o Options) (*sql.DB, error) {
	writer, err := sql.Open("sqlite", dsn(path, vfs, "mode", "rw", "_txlock", "immediate",
		"_busy_timeout", strconv.FormatInt(busyTimeout.Milliseconds(), 10), "_synchronous", "FULL",
		// On macOS the usual sync leaves the drive's cache alone; this one does not.
		"_pragma", "fullfsync(1)", "_pragma", "trusted_schema(0)",
		"_pragma", fmt.Sprintf("page_size(%d)", pageSize),
		"_pragma", fmt.Sprintf("max_page_count(%d)", o.MaxBytes/pageSize),
		"_pragma", "journal_size_limit(67108864)"))
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	return writer, nil
}

// Close closes the history. Everything acknowledged is on disk already.
func (h *History) Close() error {
	if h.Reader == nil {
		return nil // it could not be opened
	}
	failures := []error{h.db.Close()}
	// The writer closes last: the last connection removes the log.
	if h.writer != nil {
		failures = append(failures, h.writer.Close())
	}
	h.pages.Unmount()
	if err := errors.Join(append(failures, h.mark.Close())...); err != nil {
		return explain(h.path, "close", err)
	}
	return nil
}

// Begin implements [muster.History].
func (h *History) Begin(ctx context.Context, fleet string) (muster.Position, error) {
	if err := rules.CheckFleet(fleet); err != nil {
		return muster.Position{}, err
	}
	var p muster.Position
	err := h.write(ctx, fmt.Sprintf("begin the stream of fleet %q", fleet), func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `INSERT INTO streams (fleet, epoch, seq) VALUES (?, 1, 0)
			ON CONFLICT (fleet) DO UPDATE SET epoch = epoch + 1 RETURNING epoch, seq`, fleet).Scan(&p.Epoch, &p.Seq)
	})
	if err != nil {
		return muster.Position{}, err
	}
	return p, nil
}

// Append implements [muster.History]. After an error other than [muster.ErrConflict] nothing was acknowledged; Begin
// returns where the stream is.
func (h *History) Append(ctx context.Context, fleet string, after muster.Position,
	records ...muster.Record) (muster.Position, error) {
	if err := rules.CheckAppend(fleet, records); err != nil {
		return muster.Position{}, err
	}
	next := muster.Position{Epoch: after.Epoch, Seq: after.Seq + int64(len(records))}
	err := h.write(ctx, fmt.Sprintf("append to fleet %q", fleet), func(tx *sql.Tx) error {
		stream, err := advance(ctx, tx, fleet, after, next)
		if err != nil {
			return err
		}
		for i, r := range records {
			if err := insert(ctx, tx, stream, muster.Position{Epoch: after.Epoch, Seq: after.Seq + int64(i) + 1},
				r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return muster.Position{}, err
	}
	return next, nil
}

// advance moves the stream of a fleet from after to next and returns its row.
func advance(ctx context.Context, tx *sql.Tx, fleet string, after, next muster.Position) (int64, error) {
	var stream int64
	var found muster.Position
	err := tx.QueryRowContext(ctx, "SELECT id, epoch, seq FROM streams WHERE fleet = ?", fleet).
		Scan(&stream, &found.Epoch, &found.Seq)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	// A missing stream reads as epoch 0, which no writer has.
	if found != after || found.Epoch == 0 {
		return 0, rules.Conflict(fleet, after, found)
	}
	_, err = tx.ExecContext(ctx, "UPDATE streams SET seq = ? WHERE id = ?", next.Seq, stream)
	return stream, err
}

// insert writes one record. Shared content is stored once under its SHA-256; a policy that thousands of decisions share
// takes its bytes once.
func insert(ctx context.Context, tx *sql.Tx, stream int64, p muster.Position, r muster.Record) error {
	var hash any // NULL when nothing is shared
	if len(r.Shared) > 0 {
		sum := sha256.Sum256(r.Shared)
		hash = sum[:]
		_, err := tx.ExecContext(ctx, "INSERT INTO shared (hash, content) VALUES (?, ?) ON CONFLICT DO NOTHING", hash,
			r.Shared)
		if err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO records (fleet, seq, epoch, at, kind, shared, body) VALUES (?, ?, ?, "+
		"?, ?, ?, ?)",
		stream, p.Seq, p.Epoch, r.At.UnixNano(), string(r.Kind), hash, r.Body)
	return err
}

// write runs do in one transaction. When write returns nil it is on disk; otherwise it left no trace.
func (h *History) write(ctx context.Context, attempted string, do func(*sql.Tx) error) error {
	if broken := h.broken.Load(); broken != nil {
		return *broken
	}
	var commit int64
	err := func() error {
		tx, err := h.writer.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := do(tx); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx,
			"UPDATE position SET commits = commits + 1 RETURNING commits").Scan(&commit); err != nil {
			return err
		}
		return tx.Commit()
	}()
	if err == nil {
		// The mark need not be on disk yet: the only case it then misses is a log lost right after a power cut.
		h.mark.Write(sqlitefile.Position{Identity: h.identity, Commit: uint64(commit)}, false)
	}
	if err == nil || errors.Is(err, muster.ErrConflict) {
		return err
	}
	err = explain(h.path, attempted, err)
	if sqlitefile.LostSync(err) {
		h.broken.CompareAndSwap(nil, &err)
	}
	return err
}
