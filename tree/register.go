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
	// Sent are nodes that were sent since the last step: at most [MaxBatch].
	Sent []ID
}

// Check says what is wrong with the batch.
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

// ids returns the parent, the children and then what was sent, each once.
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

// Want returns what [Register] reads.
func (r Registration) Want() Want { return Want{Root: r.Root.ID, IDs: r.ids()} }

// Register counts the children of a node that is being worked on, those that are not counted yet, and returns which of
// them to send before the next step. The verdict is [Work], or [Parked] when a limit of the root is reached: then none
// of the batch was counted, the root is paused, and the work is to stop. It fails with [ErrSettled] when the node is
// settled, and with [ErrDepth] when it may have no children.
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
	known, fresh := l.sift(v, r)
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

// sift parts the children into those known, as far as this parent claims them, and the fresh ones.
func (l *ledger) sift(v View, r Registration) (known, fresh []Node) {
	parent := v.Nodes[0]
	// The nodes of the view are in the order of the children, but for repetitions and for an entity that names itself.
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

// breach says which limit so many more nodes would break.
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
