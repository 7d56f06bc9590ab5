package joblog

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/muster-scale/muster/internal/sqlitefile"
)

const (
	failuresFile = "failures.db"
	// failuresKeep is longer than a queue can keep a message, 14 days. failuresMost bounds the number
	// kept; the oldest go first.
	failuresKeep = 15 * 24 * time.Hour
	failuresMost = 20_000
	// failuresTidy is the number of writes between two checks of these bounds.
	failuresTidy = 200
	// maxPending bounds the failures that wait to be written.
	maxPending = 1000
	// maxAsked bounds the messages of one SQL query.
	maxAsked = 500
)

// failuresSchema is the schema of failures.db: the last failure of each message, as JSON. at is in Unix
// milliseconds.
const failuresSchema = `
CREATE TABLE failures (
	message TEXT PRIMARY KEY,
	at      INTEGER NOT NULL,
	failure TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX failures_at ON failures (at);
`

// failuresShared describes the file. Its application id is "MuFa" in ASCII.
func failuresShared() sqlitefile.Shared {
	return sqlitefile.Shared{Application: 0x4d754661, Version: 1, Schema: failuresSchema, Patience: 5 * time.Second}
}

// Failures keeps the last failure of each message, in a file that all workers of a data directory
// share. Its methods never block; a goroutine writes the changes soon after, in order. If the file
// cannot be written, that is reported once and the changes are dropped, because the log has them too.
// It is safe for concurrent use.
type Failures struct {
	path   string
	failed func(error)

	mu      sync.Mutex
	pending map[string]*Failure // by message; nil means to forget it
	order   []string
	closed  bool

	// wake says that something waits, done that Close was called, over that the goroutine has ended.
	wake, done, over chan struct{}
	db               *sql.DB
	writes           int
	told             bool // failed was called
}

// OpenFailures returns the failures kept below dir. The file is opened with the first write. failed,
// which may be nil, is called once if nothing can be kept.
func OpenFailures(dir string, failed func(error)) *Failures {
	f := &Failures{
		path: filepath.Join(dir, failuresFile), failed: failed, pending: map[string]*Failure{},
		wake: make(chan struct{}, 1), done: make(chan struct{}), over: make(chan struct{}),
	}
	go f.run()
	return f
}

// Keep stores a failure of the message with the given id, in place of an earlier one. The id differs
// from failure.Message if the message was moved.
func (f *Failures) Keep(message string, failure Failure) {
	r := Record{Failure: &failure}.bounded()
	f.put(message, r.Failure)
}

// Forget removes the failure of a message that was finished.
func (f *Failures) Forget(message string) { f.put(message, nil) }

// put adds a change to those that wait. Only the last change of a message is written.
func (f *Failures) put(message string, failure *Failure) {
	if message == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, waits := f.pending[message]; !waits {
		if f.closed || len(f.order) >= maxPending {
			return
		}
		f.order = append(f.order, message)
	}
	f.pending[message] = failure
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Close writes the waiting changes.
func (f *Failures) Close() {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return
	}
	f.closed = true
	f.mu.Unlock()
	close(f.done)
	<-f.over
}

// run writes the changes, with a pause between two writes, until Close.
func (f *Failures) run() {
	defer close(f.over)
	for last := false; !last; {
		select {
		case <-f.wake:
		case <-f.done:
			last = true
		}
		if err := f.write(); err != nil && !f.told {
			f.told = true
			if f.failed != nil {
				f.failed(fmt.Errorf("keep the last failures of messages in %s: %w", f.path, err))
			}
		}
		if !last {
			select {
			case <-time.After(writeGap):
			case <-f.done:
			}
		}
	}
	if f.db != nil {
		_ = f.db.Close()
	}
}

// write writes the waiting changes in one transaction.
func (f *Failures) write() error {
	f.mu.Lock()
	order, pending := f.order, f.pending
	// Changes that cannot be written are not kept: the log has the failures too, and memory stays
	// bounded.
	f.order, f.pending = nil, map[string]*Failure{}
	f.mu.Unlock()
	if len(order) == 0 {
		return nil
	}
	ctx := context.Background()
	if f.db == nil {
		keeps := slices.ContainsFunc(order, func(m string) bool { return pending[m] != nil })
		if _, err := os.Stat(f.path); errors.Is(err, os.ErrNotExist) && !keeps {
			return nil // without a file there is nothing to forget
		}
		db, err := failuresShared().Open(ctx, f.path)
		if err != nil {
			return err
		}
		f.db = db
	}
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, message := range order {
		if err := store(ctx, tx, message, pending[message]); err != nil {
			return err
		}
	}
	if f.writes%failuresTidy == 0 {
		if err := tidy(ctx, tx, time.Now(), failuresMost); err != nil {
			return err
		}
	}
	f.writes++
	return tx.Commit()
}

// store writes one change.
func store(ctx context.Context, tx *sql.Tx, message string, failure *Failure) error {
	if failure == nil {
		_, err := tx.ExecContext(ctx, `DELETE FROM failures WHERE message = ?`, message)
		return err
	}
	text, err := json.Marshal(failure)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO failures (message, at, failure) VALUES (?1, ?2, ?3)
		ON CONFLICT DO UPDATE SET at = ?2, failure = ?3`, message, failure.At.UnixMilli(), string(text))
	return err
}

// tidy removes failures that are too old or too many.
func tidy(ctx context.Context, tx *sql.Tx, now time.Time, most int) error {
	oldest := now.Add(-failuresKeep).UnixMilli()
	if _, err := tx.ExecContext(ctx, `DELETE FROM failures WHERE at < ?`, oldest); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM failures WHERE message IN
		(SELECT message FROM failures ORDER BY at DESC, message LIMIT -1 OFFSET ?)`, most)
	return err
}

// LastFailures returns the failures kept below dir of the messages with the given ids. Messages without
// one are left out.
func LastFailures(ctx context.Context, dir string, messages []string) (map[string]Failure, error) {
	path := filepath.Join(dir, failuresFile)
	found := map[string]Failure{}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) || len(messages) == 0 {
		return found, nil
	}
	db, err := failuresShared().Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read the last failures of messages from %s: %w", path, err)
	}
	defer db.Close()
	for some := range slices.Chunk(messages, maxAsked) {
		part, err := query(ctx, db, some)
		if err != nil {
			return nil, fmt.Errorf("read the last failures of messages from %s: %w", path, err)
		}
		maps.Copy(found, part)
	}
	return found, nil
}

// query reads the failures of up to maxAsked messages.
func query(ctx context.Context, db *sql.DB, messages []string) (map[string]Failure, error) {
	args := make([]any, len(messages))
	for i, m := range messages {
		args[i] = m
	}
	places := "?" + strings.Repeat(", ?", len(messages)-1)
	rows, err := db.QueryContext(ctx, `SELECT message, failure FROM failures WHERE message IN (`+places+`)`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]Failure{}
	for rows.Next() {
		var message, text string
		if err := rows.Scan(&message, &text); err != nil {
			return nil, err
		}
		var f Failure
		if json.Unmarshal([]byte(text), &f) == nil {
			found[message] = f
		}
	}
	return found, rows.Err()
}
