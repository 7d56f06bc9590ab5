package sqlitetree

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/tree"
)

// busyTimeout is how long a step waits for the steps of other processes.
const busyTimeout = 20 * time.Second

// Store is a [tree.Store] in one SQLite file. It is safe for use by several goroutines, and any number of processes of
// one machine may have the file open at once. What a step stored is on disk when Step returns.
type Store struct {
	path    string
	writer  *sql.DB // one connection, because SQLite has one writer anyway
	readers *sql.DB // read-only connections
	// The prepared statements of a step. All belong to the writer; a transaction binds them with StmtContext.
	root, node, waiting, claimed,
	putRoot, putNode *sql.Stmt
	// broken is set once a sync failed: from then on nothing is acknowledged. A later sync could succeed although the
	// earlier data was lost.
	broken atomic.Pointer[error]
}

// Open opens the file at path. If there is none, it creates the file and its directory. It refuses a file that is
// damaged, newer than this program or of another program, and leaves it unchanged.
func Open(path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, explain(path, "open", err)
	}
	s, err := open(context.Background(), path)
	if err != nil {
		return nil, explain(path, "open", err)
	}
	return s, nil
}

// open opens the connections and checks the file.
func open(ctx context.Context, path string) (s *Store, err error) {
	if err := ensure(ctx, path); err != nil {
		return nil, err
	}
	s = &Store{path: path}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	timeout := strconv.FormatInt(busyTimeout.Milliseconds(), 10)
	// The readers come first: they check the file before the writer could change it.
	if s.readers, err = sql.Open("sqlite", dsn(path, "mode", "rw", "_busy_timeout", timeout, "_pragma",
		"query_only(1)")); err != nil {
		return s, err
	}
	s.readers.SetMaxOpenConns(2)
	if err := checkFile(ctx, s.readers); err != nil {
		return s, err
	}
	// _txlock=immediate takes the write lock at BEGIN. With SQLite's default a step would read first, and fail instead
	// of waiting when another process wrote meanwhile. synchronous=FULL syncs the log at each commit. trusted_schema=0
	// keeps a manipulated file from calling functions.
	s.writer, err = sql.Open("sqlite", dsn(path, "mode", "rw", "_txlock", "immediate", "_busy_timeout", timeout,
		"_synchronous", "FULL",
		// On macOS the usual sync leaves data in the drive's cache; fullfsync flushes it.
		"_pragma", "fullfsync(1)", "_pragma", "trusted_schema(0)", "_pragma", "journal_size_limit(67108864)"))
	if err != nil {
		return s, err
	}
	s.writer.SetMaxOpenConns(1)
	return s, s.prepare(ctx)
}

// nodeColumns are the columns of a node, in the order of scan and keep.
const nodeColumns = "id, parent, key, body, depth, attempts, children, state, claimer, reason"

// prepare compiles the statements of a step, because a step is short and runs thousands of times.
func (s *Store) prepare(ctx context.Context) error {
	for _, p := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&s.root, "SELECT number, body FROM roots WHERE id = ?"},
		{&s.node, "SELECT " + nodeColumns + " FROM nodes WHERE root = ? AND id = ?"},
		{&s.waiting, "SELECT " + nodeColumns + " FROM nodes WHERE root = ? AND state = 1 ORDER BY place LIMIT ?"},
		{&s.claimed, "SELECT " + nodeColumns + " FROM nodes WHERE root = ? AND claimer = ? AND state = 2 LIMIT ?"},
		{&s.putRoot, "INSERT INTO roots (id, body) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body " +
			"RETURNING number"},
		// The parent, key and depth of a node never change, so an update leaves them out.
		{&s.putNode, "INSERT INTO nodes (root, " + nodeColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON " +
			"CONFLICT (root, id) DO UPDATE SET " +
			"body = excluded.body, attempts = excluded.attempts, children = excluded.children, state = " +
			"excluded.state, claimer = excluded.claimer, reason = excluded.reason"},
	} {
		var err error
		if *p.to, err = s.writer.PrepareContext(ctx, p.text); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the file. Steps in progress fail.
func (s *Store) Close() error {
	var failures []error
	for _, db := range []*sql.DB{s.readers, s.writer} {
		if db != nil {
			failures = append(failures, db.Close())
		}
	}
	if err := errors.Join(failures...); err != nil {
		return explain(s.path, "close", err)
	}
	return nil
}

// refusal wraps an error that step returned, to distinguish it from a failure of the file.
type refusal struct{ err error }

// Error returns the text of the step's error. Step unwraps it before any caller sees it.
func (r refusal) Error() string { return r.err.Error() }

// errNothing ends a transaction that changes nothing, by a rollback.
var errNothing = errors.New("nothing to keep")

// Step implements [tree.Store]. It calls step exactly once.
func (s *Store) Step(ctx context.Context, want tree.Want, step func(tree.View) (tree.Change, error)) error {
	if err := want.Check(); err != nil {
		return err
	}
	if broken := s.broken.Load(); broken != nil {
		return *broken
	}
	err := s.step(ctx, want, step)
	if err == nil || errors.Is(err, errNothing) {
		return nil
	}
	if r, ok := errors.AsType[refusal](err); ok {
		return r.err
	}
	err = explain(s.path, fmt.Sprintf("change the tree %s", want.Root), err)
	// Only the first lost sync is kept: later errors follow from it.
	if sqlitefile.LostSync(err) {
		s.broken.CompareAndSwap(nil, &err)
	}
	return err
}

// eraseBatch is how many nodes one transaction erases. Other processes wait for it, so it is short.
const eraseBatch = 2000

// Erase implements [tree.Eraser]. It erases in batches; an interrupted call can be repeated.
func (s *Store) Erase(ctx context.Context, root string) error {
	if broken := s.broken.Load(); broken != nil {
		return *broken
	}
	for {
		result, err := s.writer.ExecContext(ctx, `DELETE FROM nodes WHERE place IN (
			SELECT place FROM nodes WHERE root = (SELECT number FROM roots WHERE id = ?) LIMIT ?)`, root, eraseBatch)
		n := int64(0)
		if err == nil {
			n, err = result.RowsAffected()
		}
		if err != nil {
			err = explain(s.path, fmt.Sprintf("erase the nodes of the tree %s", root), err)
			if sqlitefile.LostSync(err) {
				s.broken.CompareAndSwap(nil, &err)
			}
			return err
		}
		if n < eraseBatch {
			return nil
		}
	}
}

// step makes a step in one transaction. The transaction takes the write lock at its beginning (_txlock=immediate), so
// that the view is still true when the change is written.
func (s *Store) step(ctx context.Context, want tree.Want, step func(tree.View) (tree.Change, error)) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // has no effect after a commit
	number, view, err := s.view(ctx, tx, want)
	if err != nil {
		return err
	}
	// step runs inside the transaction: other processes wait meanwhile, so it must be as quick as the steps of package
	// tree are.
	change, err := step(view)
	switch {
	case err != nil:
		return refusal{err}
	case change.Root.ID == "":
		return errNothing
	case change.Root.ID != want.Root:
		return refusal{fmt.Errorf("keep a change: found one of the tree %q in a step of %q", change.Root.ID, want.Root)}
	}
	if err := s.keep(ctx, tx, number, change); err != nil {
		return err
	}
	return tx.Commit()
}

// view reads want, and the root's number in the table; 0 if there is no root.
func (s *Store) view(ctx context.Context, tx *sql.Tx, want tree.Want) (number int64, v tree.View, err error) {
	v.Nodes = make([]tree.Node, len(want.IDs))
	for i, id := range want.IDs {
		v.Nodes[i].ID = id
	}
	var body []byte
	err = tx.StmtContext(ctx, s.root).QueryRowContext(ctx, want.Root).Scan(&number, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, v, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &v.Root)
	}
	if err != nil {
		return 0, v, fmt.Errorf("read the root: %w", err)
	}
	one := tx.StmtContext(ctx, s.node)
	for i, id := range want.IDs {
		n, err := scan(one.QueryRowContext(ctx, number, id[:]))
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return 0, v, fmt.Errorf("read node %s: %w", id, err)
		}
		v.Nodes[i] = n
	}
	// The count saves a query in the usual case. The order of places passes over no node for ever.
	if want.Waiting > 0 && v.Root.Counts.Waiting > 0 {
		if v.Waiting, err = scanAll(tx.StmtContext(ctx, s.waiting).QueryContext(ctx, number,
			want.Waiting)); err != nil {
			return 0, v, fmt.Errorf("read waiting nodes: %w", err)
		}
	}
	if want.Claimer != nil {
		if v.Claimed, err = scanAll(tx.StmtContext(ctx, s.claimed).QueryContext(ctx, number, want.Claimer[:],
			tree.MaxBatch)); err != nil {
			return 0, v, fmt.Errorf("read claimed nodes: %w", err)
		}
	}
	return number, v, nil
}

// keep writes a change. It inserts the root and its nodes or updates them.
func (s *Store) keep(ctx context.Context, tx *sql.Tx, number int64, c tree.Change) error {
	body, err := json.Marshal(c.Root)
	if err != nil {
		return fmt.Errorf("write the root: %w", err)
	}
	if err := tx.StmtContext(ctx, s.putRoot).QueryRowContext(ctx, c.Root.ID, body).Scan(&number); err != nil {
		return fmt.Errorf("write the root: %w", err)
	}
	put := tx.StmtContext(ctx, s.putNode)
	for _, n := range c.Nodes {
		if _, err := put.ExecContext(ctx, number, n.ID[:], n.Parent[:], n.Key, n.Body, n.Depth, n.Attempts, n.Children,
			n.State, n.Claimer[:], n.Reason); err != nil {
			return fmt.Errorf("write node %s: %w", n.ID, err)
		}
	}
	return nil
}

// scanner is one row of a result.
type scanner interface{ Scan(into ...any) error }

// scan reads a node from the columns nodeColumns. The file may have been edited or damaged, so it checks what Go's
// types do not.
func scan(row scanner) (n tree.Node, err error) {
	var id, parent, claimer []byte
	if err := row.Scan(&id, &parent, &n.Key, &n.Body, &n.Depth, &n.Attempts, &n.Children, &n.State, &claimer,
		&n.Reason); err != nil {
		return n, err
	}
	for _, c := range []struct {
		from []byte
		to   *tree.ID
	}{{id, &n.ID}, {parent, &n.Parent}, {claimer, &n.Claimer}} {
		if len(c.from) != len(c.to) {
			return n, fmt.Errorf("found an id of %d bytes: %w", len(c.from), errDamaged)
		}
		copy(c.to[:], c.from)
	}
	if n.State < tree.Waiting || n.State > tree.Failed {
		return n, fmt.Errorf("found the state %d: %w", n.State, errDamaged)
	}
	return n, nil
}

// scanAll reads all nodes of a result. It takes the error of the query too, for calls in one expression.
func scanAll(rows *sql.Rows, err error) (nodes []tree.Node, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		n, err := scan(rows)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, rows.Err()
}
