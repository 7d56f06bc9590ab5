package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/worker"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

const (
	// ledgerFile is the ledger's name in its directory.
	ledgerFile = "attempts.db"
	// ledgerApplication marks the file as a ledger of Muster: "MuAt".
	ledgerApplication = 0x4d754174
	// ledgerVersion is the file's user_version.
	ledgerVersion = 1
	// ledgerSchema makes the file. touched is when an attempt at the message last began, in seconds since 1970.
	ledgerSchema = `
CREATE TABLE attempts (
	queue    TEXT NOT NULL,
	id       TEXT NOT NULL,
	attempts INTEGER NOT NULL,
	touched  INTEGER NOT NULL,
	PRIMARY KEY (queue, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempts_touched ON attempts (touched);
`
	// ledgerKeep exceeds the 14 days for which a queue keeps a message, plus the longest time in flight after that.
	ledgerKeep = 15 * 24 * time.Hour
	// ledgerMost bounds the stored messages; the oldest are dropped first.
	ledgerMost = 100_000
	// ledgerPatience is how long to wait for the file while others write.
	ledgerPatience = 5 * time.Second
	// ledgerTidy is how many attempts lie between two applications of these bounds.
	ledgerTidy = 1000
)

// Ledger counts attempts in a small SQLite file that several workers on a machine may share. It implements [Attempts].
// A count survives the process in any case. A power cut may lose the last counts; the queue's receive count then takes
// their place. A message is stored while it is worked on and between its failures: at most 100,000 messages, each for
// at most 15 days. Several goroutines may use it.
type Ledger struct {
	db     *sql.DB
	path   string
	begins atomic.Int64
	most   int64
}

// OpenLedger opens the ledger in the directory dir, and creates both if they are missing.
func OpenLedger(ctx context.Context, dir string) (*Ledger, error) {
	path, err := filepath.Abs(filepath.Join(dir, ledgerFile))
	if err != nil {
		return nil, fmt.Errorf("open the ledger of attempts in %s: %w", dir, err)
	}
	l, err := openLedger(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open the ledger of attempts %s: %w; give another directory, or move the file away: "+
			"attempts then count from the beginning", path, err)
	}
	return l, nil
}

func openLedger(ctx context.Context, path string) (*Ledger, error) {
	shared := sqlitefile.Shared{
		Application: ledgerApplication, Version: ledgerVersion, Schema: ledgerSchema, Patience: ledgerPatience,
	}
	db, err := shared.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	l := &Ledger{db: db, path: path, most: ledgerMost}
	if err := l.tidy(ctx, time.Now()); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return l, nil
}

// Close closes the file. All counts are in it already.
func (l *Ledger) Close() error {
	if err := l.db.Close(); err != nil {
		return fmt.Errorf("close the ledger of attempts %s: %w", l.path, err)
	}
	return nil
}

// Begin implements [Attempts].
func (l *Ledger) Begin(ctx context.Context, m worker.Message) (int, error) {
	now := time.Now()
	if l.begins.Add(1)%ledgerTidy == 0 {
		if err := l.tidy(ctx, now); err != nil {
			return 0, l.failed("tidy up", err)
		}
	}
	var n int
	err := l.db.QueryRowContext(ctx, `INSERT INTO attempts (queue, id, attempts, touched) VALUES (?1, ?2, 1, ?3)
		ON CONFLICT DO UPDATE SET attempts = attempts + 1, touched = ?3 RETURNING attempts`, m.Queue, m.ID, now.Unix()).Scan(&n)
	return n, l.failed("count an attempt in", err)
}

// GiveBack implements [Attempts].
func (l *Ledger) GiveBack(ctx context.Context, m worker.Message) error {
	_, err := l.db.ExecContext(ctx, `UPDATE attempts SET attempts = attempts - 1 WHERE queue = ?1 AND id = ?2;
		DELETE FROM attempts WHERE queue = ?1 AND id = ?2 AND attempts <= 0`, m.Queue, m.ID)
	return l.failed("give an attempt back in", err)
}

// Forget implements [Attempts].
func (l *Ledger) Forget(ctx context.Context, m worker.Message) error {
	_, err := l.db.ExecContext(ctx, `DELETE FROM attempts WHERE queue = ? AND id = ?`, m.Queue, m.ID)
	return l.failed("forget a message in", err)
}

// tidy deletes messages that are too old or too many.
func (l *Ledger) tidy(ctx context.Context, now time.Time) error {
	if _, err := l.db.ExecContext(ctx, `DELETE FROM attempts WHERE touched < ?`,
		now.Add(-ledgerKeep).Unix()); err != nil {
		return err
	}
	_, err := l.db.ExecContext(ctx, `DELETE FROM attempts WHERE (queue, id) IN
		(SELECT queue, id FROM attempts ORDER BY touched DESC, queue, id LIMIT -1 OFFSET ?)`, l.most)
	return err
}

func (l *Ledger) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s the ledger of attempts %s: %w", what, l.path, err)
}
