package treetest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/muster-scale/muster/tree"
)

// Memory is a [tree.Store] in memory. It is not safe for use by several goroutines: a simulation has one, and a lock
// would hide a race in a test. Its zero value is empty and ready.
type Memory struct {
	accounts map[string]*account
}

// account is a root with its nodes.
type account struct {
	root  tree.Root
	place map[tree.ID]int32
	nodes []tree.Node
	// waiting and claimed hold the places of nodes that entered such a state, in order. A node may have left the state
	// since: readers check, and drop outdated places from the front.
	waiting []int32
	claimed map[tree.ID][]int32
}

// Step implements [tree.Store].
func (m *Memory) Step(_ context.Context, want tree.Want, step func(tree.View) (tree.Change, error)) error {
	if err := want.Check(); err != nil {
		return err
	}
	g := m.accounts[want.Root]
	c, err := step(g.view(want))
	if err != nil || c.Root.ID == "" {
		return err
	}
	if c.Root.ID != want.Root {
		return fmt.Errorf("keep a change: found one of the tree %q in a step of %q", c.Root.ID, want.Root)
	}
	if g == nil {
		g = &account{place: map[tree.ID]int32{}, claimed: map[tree.ID][]int32{}}
		if m.accounts == nil {
			m.accounts = map[string]*account{}
		}
		m.accounts[c.Root.ID] = g
	}
	g.root = c.Root
	for _, n := range c.Nodes {
		g.put(n)
	}
	return nil
}

// view returns the view of want; g may be nil, for a root that does not exist.
func (g *account) view(want tree.Want) tree.View {
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

// still returns the nodes at the given places for which is holds, at most `most` of them and each once. left is places
// without its outdated beginning.
func (g *account) still(places []int32, most int, is func(tree.Node) bool) (left []int32, found []tree.Node) {
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

// put stores a node and indexes its new state.
func (g *account) put(n tree.Node) {
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

// Roots implements [tree.Store].
func (m *Memory) Roots(context.Context) ([]tree.Root, error) {
	roots := []tree.Root{}
	for _, id := range slices.Sorted(maps.Keys(m.accounts)) {
		if r := m.accounts[id].root; r.State != tree.Removed {
			roots = append(roots, r)
		}
	}
	return roots, nil
}

// Erase implements [tree.Eraser].
func (m *Memory) Erase(_ context.Context, root string) error {
	g := m.accounts[root]
	if g == nil {
		return tree.ErrNoRoot
	}
	m.accounts[root] = &account{root: g.root, place: map[tree.ID]int32{}, claimed: map[tree.ID][]int32{}}
	return nil
}

// Nodes implements [tree.Store].
func (m *Memory) Nodes(_ context.Context, root string, f tree.Filter) ([]tree.Node, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	g := m.accounts[root]
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
