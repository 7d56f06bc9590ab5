package treetest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/muster-scale/muster/tree"
)

// Memory is a [Store] without a disk. It is not safe for use by several goroutines. Its zero value is empty and ready.
type Memory struct {
	grown map[string]*grown
}

// grown is a root with its nodes.
type grown struct {
	root  tree.Root
	place map[tree.ID]int32
	nodes []tree.Node
	// waiting and claimed hold the places of nodes that were in that state when they came in; who reads them looks
	// again.
	waiting []int32
	claimed map[tree.ID][]int32
}

// Step implements [Store].
func (m *Memory) Step(_ context.Context, want tree.Want, step func(tree.View) (tree.Change, error)) error {
	if err := want.Check(); err != nil {
		return err
	}
	g := m.grown[want.Root]
	c, err := step(g.view(want))
	if err != nil || c.Root.ID == "" {
		return err
	}
	if c.Root.ID != want.Root {
		return fmt.Errorf("keep a change: found one of the tree %q in a step of %q", c.Root.ID, want.Root)
	}
	if g == nil {
		g = &grown{place: map[tree.ID]int32{}, claimed: map[tree.ID][]int32{}}
		if m.grown == nil {
			m.grown = map[string]*grown{}
		}
		m.grown[c.Root.ID] = g
	}
	g.root = c.Root
	for _, n := range c.Nodes {
		g.put(n)
	}
	return nil
}

func (g *grown) view(want tree.Want) tree.View {
	v := tree.View{Nodes: make([]tree.Node, len(want.IDs))}
	for i, id := range want.IDs {
		v.Nodes[i].ID = id
	}
	if g == nil {
		return v
	}
	v.Root = g.root
	for i, id := range want.IDs {
		if at, ok := g.place[id]; ok {
			v.Nodes[i] = g.nodes[at]
		}
	}
	if want.Waiting > 0 {
		g.waiting, v.Waiting = g.still(g.waiting, want.Waiting,
			func(n tree.Node) bool { return n.State == tree.Waiting })
	}
	if want.Claimer != nil && len(g.claimed[*want.Claimer]) > 0 {
		left, found := g.still(g.claimed[*want.Claimer], tree.MaxBatch,
			func(n tree.Node) bool { return n.State == tree.Claimed && n.Claimer == *want.Claimer })
		if g.claimed[*want.Claimer], v.Claimed = left, found; len(left) == 0 {
			delete(g.claimed, *want.Claimer)
		}
	}
	return v
}

// still returns the first nodes at the places that are what is tells, and the places without those at the front that
// are not.
func (g *grown) still(places []int32, most int, is func(tree.Node) bool) (left []int32, found []tree.Node) {
	for len(places) > 0 && !is(g.nodes[places[0]]) {
		places = places[1:]
	}
	for _, at := range places {
		if len(found) == most {
			break
		}
		n := g.nodes[at]
		if is(n) && !slices.ContainsFunc(found, func(f tree.Node) bool { return f.ID == n.ID }) {
			found = append(found, n)
		}
	}
	return places, found
}

func (g *grown) put(n tree.Node) {
	at, there := g.place[n.ID]
	if !there {
		at = int32(len(g.nodes))
		g.place[n.ID] = at
		g.nodes = append(g.nodes, tree.Node{})
	}
	before := g.nodes[at]
	g.nodes[at] = n
	switch {
	case n.State == tree.Waiting && before.State != tree.Waiting:
		g.waiting = append(g.waiting, at)
	case n.State == tree.Claimed && (before.State != tree.Claimed || before.Claimer != n.Claimer):
		g.claimed[n.Claimer] = append(g.claimed[n.Claimer], at)
	}
}

// Roots implements [Store].
func (m *Memory) Roots(context.Context) ([]tree.Root, error) {
	roots := []tree.Root{}
	for _, id := range slices.Sorted(maps.Keys(m.grown)) {
		if r := m.grown[id].root; r.State != tree.Removed {
			roots = append(roots, r)
		}
	}
	return roots, nil
}

// Erase implements [Eraser].
func (m *Memory) Erase(_ context.Context, root string) error {
	g := m.grown[root]
	if g == nil {
		return tree.ErrNoRoot
	}
	m.grown[root] = &grown{root: g.root, place: map[tree.ID]int32{}, claimed: map[tree.ID][]int32{}}
	return nil
}

// Nodes implements [Store].
func (m *Memory) Nodes(_ context.Context, root string, f tree.Filter) ([]tree.Node, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	g := m.grown[root]
	if g == nil {
		return nil, tree.ErrNoRoot
	}
	var found []tree.Node
	for _, n := range g.nodes {
		if bytes.Compare(n.ID[:], f.After[:]) > 0 && (len(f.States) == 0 || slices.Contains(f.States, n.State)) {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, func(a, b tree.Node) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return found[:min(len(found), f.Limit)], nil
}
