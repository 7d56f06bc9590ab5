package sqlitetree

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/muster-scale/muster/tree"
)

// Roots implements [tree.Store]. It never waits for steps.
//
// The query filters by a piece of the JSON text, which saves decoding every removed root. The piece cannot occur inside
// a string of the JSON, because there a quote has a backslash before it.
func (s *Store) Roots(ctx context.Context) ([]tree.Root, error) {
	roots, err := s.roots(ctx,
		`SELECT body FROM roots WHERE instr(body, CAST('"state":"removed"' AS BLOB)) = 0 ORDER BY id`)
	if err != nil {
		return nil, explain(s.path, "list the trees", err)
	}
	return roots, nil
}

// roots reads and decodes the bodies that a query returns. The result is empty, not nil, if there are none.
func (s *Store) roots(ctx context.Context, query string, args ...any) ([]tree.Root, error) {
	rows, err := s.readers.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	roots := []tree.Root{}
	for rows.Next() {
		var body []byte
		if err := rows.Scan(&body); err != nil {
			return nil, err
		}
		var r tree.Root
		if err := json.Unmarshal(body, &r); err != nil {
			return nil, err
		}
		roots = append(roots, r)
	}
	return roots, rows.Err()
}

// Running returns running roots, at most limit of them, and reads no others into memory. It never waits for steps. The
// third argument may name roots to skip; this store need not use it, because reading a root is cheap here.
func (s *Store) Running(ctx context.Context, limit int, _ func(id string) bool) ([]tree.Root, error) {
	roots, err := s.roots(ctx,
		`SELECT body FROM roots WHERE instr(body, CAST('"state":"running"' AS BLOB)) > 0 ORDER BY id LIMIT ?`, limit)
	if err != nil {
		return nil, explain(s.path, "list the trees that run", err)
	}
	return roots, nil
}

// Nodes implements [tree.Store]. It never waits for steps.
func (s *Store) Nodes(ctx context.Context, root string, f tree.Filter) ([]tree.Node, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	nodes, err := s.nodes(ctx, root, f)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, tree.ErrNoRoot
	case err != nil:
		return nil, explain(s.path, fmt.Sprintf("list nodes of the tree %s", root), err)
	}
	return nodes, nil
}

// nodes reads a page of nodes. It fails with sql.ErrNoRows if the root does not exist.
func (s *Store) nodes(ctx context.Context, root string, f tree.Filter) ([]tree.Node, error) {
	var number int64
	if err := s.readers.QueryRowContext(ctx, "SELECT number FROM roots WHERE id = ?", root).Scan(&number); err != nil {
		return nil, err
	}
	// Pages continue after an ID instead of an offset: nodes that are added meanwhile shift no page.
	query, args := "SELECT "+nodeColumns+" FROM nodes WHERE root = ? AND id > ?", []any{number, f.After[:]}
	switch {
	case len(f.States) == 1 && f.States[0] == tree.Failed:
		query += " AND state = 5" // as a constant, so that SQLite uses the partial index nodes_failed
	case len(f.States) > 0:
		query += " AND state IN (?" + strings.Repeat(", ?", len(f.States)-1) + ")"
		for _, state := range f.States {
			args = append(args, state)
		}
	}
	return scanAll(s.readers.QueryContext(ctx, query+" ORDER BY id LIMIT ?", append(args, f.Limit)...))
}
