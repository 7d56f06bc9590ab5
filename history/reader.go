package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history/internal/rules"
	"github.com/muster-scale/muster/internal/sqlitefile"
)

// Reader reads a history that another process may be writing. It never waits for the writer, and sees what was durable
// when a call began. Several goroutines may use it.
type Reader struct {
	path  string
	db    *sql.DB
	pages *sqlitefile.Pages // nil for a file without seals
}

// OpenReadOnly opens the history at path for reading. It is an error if the file does not exist or if [Open] would
// refuse it.
func OpenReadOnly(path string) (*Reader, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, explain(path, "open to read", err)
	}
	r, err := openToRead(context.Background(), path)
	if err != nil {
		return nil, explain(path, "open to read", err)
	}
	return r, nil
}

// openToRead opens a history of another process, or of none. It refuses a file that lacks commits that its mark counts:
// a reader must not present an old state as the current one.
func openToRead(ctx context.Context, path string) (_ *Reader, err error) {
	sealed, err := peek(ctx, path)
	if err != nil {
		return nil, err
	}
	r, err := openReader(path, "", sealed)
	if err != nil {
		return nil, err
	}
	// Read the mark before the tables, which another process may be writing. A read-only user may have no mark.
	marked, err := sqlitefile.MarkPath(path + sqlitefile.MarkSuffix).Read()
	at, _, failed := readPosition(ctx, r.db)
	if p, wrong := sqlitefile.ParseMark(marked); failed == nil && err == nil && wrong == nil &&
		p.Identity == at.Identity && p.Commit > at.Commit {
		failed = fmt.Errorf("%w: %w", errIncomplete, &sqlitefile.BehindError{Found: at, Marked: p})
	}
	if failed != nil {
		r.Close()
		return nil, failed
	}
	return r, nil
}

// openReader opens the file at path for reading; sealed says that its pages have seals.
func openReader(path, vfs string, sealed bool) (*Reader, error) {
	r := &Reader{path: path}
	if sealed {
		var err error
		if r.pages, err = sqlitefile.Seal(vfs, false); err != nil {
			return nil, err
		}
		vfs = r.pages.Name()
	}
	db, err := sql.Open("sqlite", dsn(path, vfs, "mode", "ro", "_busy_timeout", "5000", "_pragma", "trusted_schema(0)"))
	if err != nil {
		r.pages.Unmount()
		return nil, err
	}
	// Each connection has a page cache of its own; more of them would only cost memory.
	db.SetMaxOpenConns(8)
	r.db = db
	return r, nil
}

// Close closes the reader.
func (r *Reader) Close() error {
	err := r.db.Close()
	r.pages.Unmount()
	return err
}

// selectRecords selects the records of one fleet together with what they share; conditions and order are appended.
const selectRecords = `SELECT r.seq, r.epoch, r.at, r.kind, r.body, s.content
	FROM records r JOIN streams f ON f.id = r.fleet LEFT JOIN shared s ON s.hash = r.shared WHERE f.fleet = ? `

// Read implements [muster.History]: it calls yield with the records of a fleet from the time since on, in the order in
// which they were appended. A fleet without records is no error. All records are of one snapshot; yield must be quick
// and must not read the same history.
func (r *Reader) Read(ctx context.Context, fleet string, since time.Time, yield func(muster.Record) bool) error {
	// The clock may have been set back, so the first record of that time need not be the oldest.
	const query = selectRecords + `AND r.at >= ? AND r.seq >=
		(SELECT min(n.seq) FROM records n JOIN streams m ON m.id = n.fleet WHERE m.fleet = ? AND n.at >= ?) ORDER BY r.seq`
	from := rules.Nanoseconds(since)
	if err := r.each(ctx, yield, query, fleet, from, fleet, from); err != nil {
		return explain(r.path, fmt.Sprintf("read the records of fleet %q", fleet), err)
	}
	return nil
}

// Last returns up to n records of a fleet, newest first, of the given kinds or of all. n is 1 to [MaxLast].
func (r *Reader) Last(ctx context.Context, fleet string, n int, kinds ...muster.RecordKind) ([]muster.Record, error) {
	if err := rules.CheckLast(n); err != nil {
		return nil, err
	}
	query, args := selectRecords, []any{fleet}
	if len(kinds) > 0 {
		query += "AND r.kind IN (?" + strings.Repeat(", ?", len(kinds)-1) + ") "
		for _, k := range kinds {
			args = append(args, string(k))
		}
	}
	var last []muster.Record
	err := r.each(ctx, func(record muster.Record) bool {
		last = append(last, record)
		return true
	}, query+"ORDER BY r.seq DESC LIMIT ?", append(args, n)...)
	if err != nil {
		return nil, explain(r.path, fmt.Sprintf("read the last records of fleet %q", fleet), err)
	}
	return last, nil
}

// Get returns the record of a fleet with the given sequence number, or [ErrNoRecord].
func (r *Reader) Get(ctx context.Context, fleet string, seq int64) (muster.Record, error) {
	rows := r.db.QueryRowContext(ctx, selectRecords+"AND r.seq = ?", fleet, seq)
	record, err := scan(rows.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return muster.Record{}, rules.NoRecord(fleet, seq)
	}
	if err != nil {
		return muster.Record{}, explain(r.path, fmt.Sprintf("read record %d of fleet %q", seq, fleet), err)
	}
	return record, nil
}

// Fleets returns the names of the fleets that have a stream, sorted.
func (r *Reader) Fleets(ctx context.Context) ([]string, error) {
	rows, err := r.db.QueryContext(ctx, "SELECT fleet FROM streams ORDER BY fleet")
	if err != nil {
		return nil, explain(r.path, "list the fleets", err)
	}
	defer rows.Close()
	var fleets []string
	for rows.Next() {
		var fleet string
		if err := rows.Scan(&fleet); err != nil {
			return nil, explain(r.path, "list the fleets", err)
		}
		fleets = append(fleets, fleet)
	}
	if err := rows.Err(); err != nil {
		return nil, explain(r.path, "list the fleets", err)
	}
	return fleets, nil
}

// each calls yield with the records of a query until yield returns false.
func (r *Reader) each(ctx context.Context, yield func(muster.Record) bool, query string, args ...any) error {
	rows, err := r.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		record, err := scan(rows.Scan)
		if err != nil {
			return err
		}
		if !yield(record) {
			return nil
		}
	}
	return rows.Err()
}

// scan reads the record of one row of selectRecords, with the Scan of the row.
func scan(scan func(...any) error) (muster.Record, error) {
	var r muster.Record
	var at int64
	if err := scan(&r.Position.Seq, &r.Position.Epoch, &at, &r.Kind, &r.Body, &r.Shared); err != nil {
		return muster.Record{}, err
	}
	r.At = rules.Instant(at)
	r.Body, r.Shared = orNone(r.Body), orNone(r.Shared)
	return r, nil
}

// orNone returns nil for empty content, so that a record reads back as it was appended, on disk and in memory alike.
func orNone(content []byte) []byte {
	if len(content) == 0 {
		return nil
	}
	return content
}
