package history

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/sqlitefile"
)

const (
	busyTimeout = 5 * time.Second
	pageSize    = 4096
)

// Options are the choices for [Open]. The zero value is usable.
type Options struct {
	// MaxBytes bounds the file, at least 1 MiB; zero means 4 GiB. Beyond it appends fail with [ErrFull].
	MaxBytes int64
}

// History is a [muster.History] in one SQLite file. It is safe for use by several goroutines; its [Reader] never waits for
// writes.
type History struct {
	*Reader
	writer *sql.DB
	// broken is set once a sync failed: from then on nothing is acknowledged.
	broken atomic.Pointer[error]
}

// Open opens the history at path, and makes it, with its directory, when there is none. Older files are brought forward.
// It refuses, and leaves as it is, a file that is damaged, newer than this program or not a history.
func Open(path string, o Options) (*History, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, explain(path, "open", err)
	}
	o.MaxBytes = cmp.Or(o.MaxBytes, 4<<30)
	if o.MaxBytes < 1<<20 {
		return nil, fmt.Errorf("open: history %s: found a bound of %d bytes, at least 1 MiB is allowed", path, o.MaxBytes)
	}
	h, err := open(context.Background(), path, o)
	if err != nil {
		return nil, explain(path, "open", err)
	}
	return h, nil
}

func open(ctx context.Context, path string, o Options) (*History, error) {
	if err := create(path); err != nil {
		return nil, err
	}
	if err := rollBack(ctx, path, "", beginning(path+"-journal")); err != nil {
		return nil, err
	}
	if err := peek(ctx, path); err != nil {
		return nil, err
	}
	return openFile(ctx, path, "", o)
}

// openFile opens the file at path, on the file system of SQLite named vfs; empty is the operating system's.
func openFile(ctx context.Context, path, vfs string, o Options) (*History, error) {
	writer, err := sql.Open("sqlite", dsn(path, vfs, "mode", "rw", "_txlock", "immediate",
		"_busy_timeout", strconv.FormatInt(busyTimeout.Milliseconds(), 10), "_synchronous", "FULL",
		// Where the system's sync leaves the drive's cache alone (macOS), ask for the one that does not.
		"_pragma", "fullfsync(1)", "_pragma", "trusted_schema(0)",
		"_pragma", fmt.Sprintf("page_size(%d)", pageSize),
		"_pragma", fmt.Sprintf("max_page_count(%d)", o.MaxBytes/pageSize),
		"_pragma", "journal_size_limit(67108864)"))
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	if err := verify(ctx, writer); err != nil {
		writer.Close()
		return nil, err
	}
	if err := migrate(ctx, writer, migrations); err != nil {
		writer.Close()
		return nil, err
	}
	reader, err := openReader(path, vfs)
	if err != nil {
		writer.Close()
		return nil, err
	}
	return &History{Reader: reader, writer: writer}, nil
}

// Close ends reading and writing. Everything acknowledged is on disk already.
func (h *History) Close() error {
	// The writer goes last: the last connection to close tidies up the log beside the file.
	if err := errors.Join(h.Reader.Close(), h.writer.Close()); err != nil {
		return explain(h.path, "close", err)
	}
	return nil
}

// Begin implements [muster.History].
func (h *History) Begin(ctx context.Context, fleet string) (muster.Position, error) {
	if err := checkFleet(fleet); err != nil {
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

// Append implements [muster.History]. After an error other than [muster.ErrConflict] nothing was acknowledged; Begin tells
// where the stream is.
func (h *History) Append(ctx context.Context, fleet string, after muster.Position, records ...muster.Record) (muster.Position, error) {
	if err := checkAppend(fleet, records); err != nil {
		return muster.Position{}, err
	}
	next := muster.Position{Epoch: after.Epoch, Seq: after.Seq + int64(len(records))}
	err := h.write(ctx, fmt.Sprintf("append to fleet %q", fleet), func(tx *sql.Tx) error {
		stream, err := advance(ctx, tx, fleet, after, next)
		if err != nil {
			return err
		}
		for i, r := range records {
			if err := insert(ctx, tx, stream, muster.Position{Epoch: after.Epoch, Seq: after.Seq + int64(i) + 1}, r); err != nil {
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
	// No stream reads as epoch 0, which no writer ever has.
	if found != after || found.Epoch == 0 {
		return 0, conflict(fleet, after, found)
	}
	_, err = tx.ExecContext(ctx, "UPDATE streams SET seq = ? WHERE id = ?", next.Seq, stream)
	return stream, err
}

func insert(ctx context.Context, tx *sql.Tx, stream int64, p muster.Position, r muster.Record) error {
	var hash any // NULL when nothing is shared
	if len(r.Shared) > 0 {
		sum := sha256.Sum256(r.Shared)
		hash = sum[:]
		_, err := tx.ExecContext(ctx, "INSERT INTO shared (hash, content) VALUES (?, ?) ON CONFLICT DO NOTHING", hash, r.Shared)
		if err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO records (fleet, seq, epoch, at, kind, shared, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
		stream, p.Seq, p.Epoch, r.At.UnixNano(), string(r.Kind), hash, r.Body)
	return err
}

// write runs do in one transaction that is on disk when write returns nil, and without trace otherwise.
func (h *History) write(ctx context.Context, attempted string, do func(*sql.Tx) error) error {
	if broken := h.broken.Load(); broken != nil {
		return *broken
	}
	err := func() error {
		tx, err := h.writer.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := do(tx); err != nil {
			return err
		}
		return tx.Commit()
	}()
	if err == nil || errors.Is(err, muster.ErrConflict) {
		return err
	}
	err = explain(h.path, attempted, err)
	if sqlitefile.LostSync(err) {
		h.broken.CompareAndSwap(nil, &err)
	}
	return err
}
