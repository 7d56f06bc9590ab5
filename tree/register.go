package tree

import (
	"fmt"
	"slices"
)

// Registration is a batch of children that the work on a node named.
type Registration struct {
	// Root and Parent are as [Begin] returned them.
	Root   Root
	Parent ID
	// Children are at most [MaxBatch]. One that is named twice counts once.
	Children []Child
	// Sent are nodes that were sent since the last step, at most [MaxBatch].
	Sent []ID
}

// Check returns an error if the batch is too large or a child is not allowed.
func (r Registration) Check() error {
	if len(r.Children) > MaxBatch || len(r.Sent) > MaxBatch {
		return fmt.Errorf("register children: found %d and %d sent ones, at most %d are allowed at once",
			len(r.Children), len(r.Sent), MaxBatch)
	}
	for _, c := range r.Children {
		if err := c.Check(); err != nil {
			return err
		}
	}
	return nil
}

// ids returns the IDs of the parent, the children and the sent nodes in this order, each once. [Register] relies on the
// order.
func (r Registration) ids() []ID {
	ids := make([]ID, 0, 1+len(r.Children)+len(r.Sent))
	add := func(id ID) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	add(r.Parent)
	for _, c := range r.Children {
		add(NodeID(r.Root.ID, r.Parent, c.Key, r.Root.Visited))
	}
	for _, id := range r.Sent {
		add(id)
	}
	return ids
}

// Want returns the input of [Register].
func (r Registration) Want() Want { return Want{Root: r.Root.ID, IDs: r.ids()} }

// Register counts the new children of a node in progress, and returns those to send before the next step. The verdict
// is [Work]. If a limit of the root would be exceeded, the verdict is [Parked]: no child of the batch is counted, the
// root is paused, and the work must stop. Register fails with [ErrSettled] if the node is settled, and with [ErrDepth]
// if it may have no children.
func Register(v View, r Registration) (Change, Outcome, error) {
	l, parent, err := openAt(v)
	if err == nil {
		err = r.Check()
	}
	switch {
	case err != nil:
		return Change{}, Outcome{}, err
	case parent.settled(l.root):
		return Change{}, Outcome{}, ErrSettled
	case l.root.Limits.left(int(parent.Depth)) == 0 && len(r.Children) > 0:
		return Change{}, Outcome{}, ErrDepth
	}
	l.out.Verdict = Work
	l.mark(v.Nodes, r.Sent)
	known, fresh := l.split(v, r)
	if reason := l.breach(parent, int64(len(fresh))); reason != "" {
		l.pause(reason)
		parent.Attempts = max(0, parent.Attempts-1) // the work did not fail
		parent = l.park(parent)
		return l.change(parent)
	}
	l.resend(known)
	parent.Children += int64(len(fresh))
	if len(fresh) > 0 {
		l.put(parent)
	}
	for _, n := range fresh {
		if n.State = Waiting; l.room() > 0 {
			n.State, n.Claimer = Claimed, parent.ID
			l.out.Send = append(l.out.Send, n)
		}
		l.create(n)
	}
	return l.change(parent)
}

// split returns the children that are new, and the known ones that this parent claims and may not have sent.
func (l *ledger) split(v View, r Registration) (known, fresh []Node) {
	parent := v.Nodes[0]
	// The nodes of the view have the order of the children, without repetitions and without the parent, which may name
	// itself where each key is visited once.
	next := 1
	for _, c := range r.Children {
		id := NodeID(l.root.ID, parent.ID, c.Key, l.root.Visited)
		if !(next < len(v.Nodes) && v.Nodes[next].ID == id) {
			continue // seen in this batch, or the parent itself
		}
		n := v.Nodes[next]
		next++
		switch {
		case n.State == Absent:
			fresh = append(fresh, Node{ID: id, Parent: parent.ID, Key: c.Key, Body: c.Body, Depth: parent.Depth + 1})
		case n.State == Claimed && n.Claimer == parent.ID:
			known = append(known, n)
		}
	}
	return known, fresh
}

// breach returns the limit that more new nodes would exceed, in words; "" if none.
func (l *ledger) breach(parent Node, more int64) string {
	switch limits := l.root.Limits; {
	case more == 0:
		return ""
	case parent.Children+more > limits.FanOut:
		return fmt.Sprintf("node %s (%.80q) named more than %d children, the limit of its fan-out", parent.ID,
			parent.Key, limits.FanOut)
	case l.root.Counts.Created+more > limits.Nodes:
		return fmt.Sprintf("there would be more than %d nodes, the limit", limits.Nodes)
	}
	return ""
}
