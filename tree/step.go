package tree

import (
	"fmt"
	"slices"
	"time"
)

// Outcome is what the caller must do once the change is stored. It is never lost: after a crash the next [Begin] of the
// same node returns it again.
type Outcome struct {
	// Verdict says what to do with the message.
	Verdict Verdict
	// Root is the root after the change, and Node the node that the step was about.
	Root Root
	Node Node
	// Send are the nodes to send. Once they are in the queue, [MarkSent] or the claimer's next step records that.
	Send []Node
	// Announce holds the completion to announce, if any. [Announced] then records that.
	Announce []Completion
}

// Verdict says what to do with a message.
type Verdict string

// The verdicts.
const (
	// Work: work on the node.
	Work Verdict = "work"
	// Settled: the node needs no work. Carry out the outcome, then delete the message.
	Settled Verdict = "settled"
	// Parked: the node waits in the store until its root continues. Delete the message.
	Parked Verdict = "parked"
	// Again: the attempt failed and another may follow. Keep the message.
	Again Verdict = "again"
)

// ledger is a change under construction. Its methods keep the counts consistent with the states of nodes; no other code
// changes a state.
type ledger struct {
	root  Root
	nodes []Node
	out   Outcome
}

// open starts a step on the view's root.
func open(v View) (*ledger, error) {
	if v.Root.ID == "" {
		return nil, ErrNoRoot
	}
	if v.Root.State == Removed {
		return nil, ErrRemoved
	}
	v.Root.Levels = slices.Clone(v.Root.Levels) // the store may still use the slice of the view
	return &ledger{root: v.Root}, nil
}

// openAt starts a step about the first node of the view.
func openAt(v View) (*ledger, Node, error) {
	l, err := open(v)
	if err == nil && (len(v.Nodes) == 0 || v.Nodes[0].State == Absent) {
		err = ErrNoNode
	}
	if err != nil {
		return nil, Node{}, err
	}
	return l, v.Nodes[0], nil
}

// put stores a node's new value, which replaces an earlier one of the same change.
func (l *ledger) put(n Node) {
	for i := range l.nodes {
		if l.nodes[i].ID == n.ID {
			l.nodes[i] = n
			return
		}
	}
	l.nodes = append(l.nodes, n)
}

// change ends the step.
func (l *ledger) change(about Node) (Change, Outcome, error) {
	l.out.Root, l.out.Node = l.root, about
	return Change{Root: l.root, Nodes: l.nodes}, l.out, nil
}

// count returns the counter for nodes in a state.
func (l *ledger) count(s State) *int64 {
	c := &l.root.Counts
	switch s {
	case Waiting:
		return &c.Waiting
	case Claimed, Sent:
		return &c.Out
	case Done:
		return &c.Done
	}
	return &c.Failed
}

// move changes a node's state, and the counts with it. It returns the new node.
func (l *ledger) move(n Node, to State, claimer ID) Node {
	*l.count(n.State)--
	*l.count(to)++
	level := &l.root.Levels[n.Depth]
	for _, s := range []struct {
		state State
		by    int64
	}{{n.State, -1}, {to, 1}} {
		switch s.state {
		case Done:
			level.Done += s.by
			level.Bred += s.by * n.Children
			level.BredSquares += s.by * n.Children * n.Children
		case Failed:
			level.Failed += s.by
		}
	}
	n.State, n.Claimer = to, claimer
	l.put(n)
	return n
}

// create adds a new node to the counts.
func (l *ledger) create(n Node) {
	for len(l.root.Levels) <= int(n.Depth) {
		l.root.Levels = append(l.root.Levels, Level{})
	}
	l.root.Levels[n.Depth].Created++
	l.root.Counts.Created++
	*l.count(n.State)++
	l.put(n)
}

// room returns how many more nodes may be out.
func (l *ledger) room() int64 {
	switch {
	case l.root.State != Running:
		return 0
	case l.root.Limits.Parallel == 0:
		return MaxNodes
	}
	return max(0, l.root.Limits.Parallel-l.root.Counts.Out)
}

// release claims waiting nodes, as many as there is room for.
func (l *ledger) release(waiting []Node, claimer ID) {
	for _, n := range waiting {
		if l.room() == 0 {
			return
		}
		if n.State == Waiting && !l.has(n.ID) {
			l.out.Send = append(l.out.Send, l.move(n, Claimed, claimer))
		}
	}
}

// has tells whether the change has a new value for the node.
func (l *ledger) has(id ID) bool {
	return slices.ContainsFunc(l.nodes, func(n Node) bool { return n.ID == id })
}

// mark records the nodes that were sent, if they are still claimed.
func (l *ledger) mark(nodes []Node, sent []ID) {
	for _, n := range nodes {
		if n.State == Claimed && slices.Contains(sent, n.ID) && !l.has(n.ID) {
			l.move(n, Sent, ID{})
		}
	}
}

// resend returns claimed nodes for sending that this change does not settle or mark. They may be in the queue already:
// a duplicate is harmless, a missing message is not.
func (l *ledger) resend(claimed []Node) {
	for _, n := range claimed {
		if n.State == Claimed && !l.has(n.ID) &&
			!slices.ContainsFunc(l.out.Send, func(s Node) bool { return s.ID == n.ID }) {
			l.out.Send = append(l.out.Send, n)
		}
	}
}

// finish ends the round if no node is open and none will come.
func (l *ledger) finish(at time.Time) {
	if l.root.Counts.Open() > 0 || l.root.Holding || l.root.Ended() {
		return
	}
	l.end(Complete, at)
}

// end ends the round in the given state, with a completion to announce.
func (l *ledger) end(s RootState, at time.Time) {
	l.root.State, l.root.Reason, l.root.FinishedAt = s, "", at
	l.root.Pending = CompletionID(l.root.ID, l.root.Round)
	l.out.Announce = l.root.Owing()
}

// pause pauses a running root.
func (l *ledger) pause(reason string) {
	if l.root.State == Running {
		l.root.State, l.root.Reason = Paused, cut(reason)
	}
}

// park puts a node back into the store. The root node of a manifest stays out, because no message would bring it back.
func (l *ledger) park(n Node) Node {
	l.out.Verdict = Parked
	if n.State != Waiting && !(l.root.Manifest && n.Depth == 0) {
		n = l.move(n, Waiting, ID{})
	}
	return n
}

// BeginWant returns the input of [Begin].
func BeginWant(root string, node ID) Want {
	return Want{Root: root, IDs: []ID{node}, Claimer: &node, Waiting: releases}
}

// releases is how many waiting nodes one settled node may release. More than one, so that a root that continues after a
// pause comes back to its limit.
const releases = 10

// Begin counts an attempt at the node of a received message, and says whether to work on it. The view is that of
// [BeginWant].
func Begin(v View, at time.Time) (Change, Outcome, error) {
	l, n, err := openAt(v)
	if err != nil {
		return Change{}, Outcome{}, err
	}
	switch {
	case n.settled(l.root):
		return Change{}, settled(v, n), nil
	case l.root.State == Paused, n.State == Waiting && l.room() == 0: // or an old message of a parked node
		n = l.park(n)
		return l.change(n)
	case int(n.Attempts) >= l.root.Limits.Attempts:
		reason := fmt.Sprintf("its work was started %d times and never ended", n.Attempts)
		if n.Reason != "" {
			reason += "; before that: " + n.Reason
		}
		n = l.settle(v, n, Failed, reason, 0, at)
		return l.change(n)
	}
	n.Attempts++
	n = l.move(n, Sent, ID{}) // its message arrived, so it was sent
	l.out.Verdict = Work
	return l.change(n)
}

// Owed returns what the settled first node of the view, of [BeginWant], has still to send or announce. It changes
// nothing.
func Owed(v View) (Change, Outcome, error) {
	_, n, err := openAt(v)
	if err != nil {
		return Change{}, Outcome{}, err
	}
	return Change{}, settled(v, n), nil
}

// settled is the outcome for a settled node whose message arrived again: what the node may still owe.
func settled(v View, n Node) Outcome {
	l := &ledger{}
	if !v.Root.Ended() {
		l.resend(v.Claimed)
	}
	return Outcome{Verdict: Settled, Root: v.Root, Node: n, Send: l.out.Send, Announce: v.Root.Owing()}
}
