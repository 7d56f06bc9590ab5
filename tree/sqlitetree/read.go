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
// A quote within a text of JSON has a backslash before it: what is looked for is never a part of one.
func (s *Store) Roots(ctx context.Context) ([]tree.Root, error) {
	roots, err := s.roots(ctx,
		`SELECT body FROM roots WHERE instr(body, CAST('"state":"removed"' AS BLOB)) = 0 ORDER BY id`)
	if err != nil {
		return nil, explain(s.path, "list the trees", err)
	}
	return roots, nil
}

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

// Running returns roots that run, at most so many, without reading the others into memory. It never waits for steps.
// What skip knows need not be left out.
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

func (s *Store) nodes(ctx context.Context, root string, f tree.Filter) ([]tree.Node, error) {
	var number int64
	if err := s.readers.QueryRowContext(ctx, "SELECT number FROM roots WHERE id = ?", root).Scan(&number); err != nil {
		return nil, err
	}
	query, args := "SELECT "+nodeColumns+" FROM nodes WHERE root = ? AND id > ?", []any{number, f.After[:]}
	switch {
	case len(f.States) == 1 && f.States[0] == tree.Failed:
		query += " AND state = 5" // as the index has it
	case len(f.States) > 0:
		query += " AND state IN (?" + strings.Repeat(", ?", len(f.States)-1) + ")"
		for _, state := range f.States {
			args = append(args, state)
		}
	}
	return scanAll(s.readers.QueryContext(ctx, query+" ORDER BY id LIMIT ?", append(args, f.Limit)...))
}
