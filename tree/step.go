package tree

import (
	"fmt"
	"slices"
	"time"
)

// Outcome is what is to be done once a change is kept. It can be had again: whoever is to do it and crashes gets it
// anew from the next [Begin] of the same node.
type Outcome struct {
	// Verdict says what [Begin] found.
	Verdict Verdict
	// Root is the root after the change, and Node the node that the step was about.
	Root Root
	Node Node
	// Send are the nodes to send. Once they are in the queue, [MarkSent] or the next step of their claimer says so.
	Send []Node
	// Announce holds the completion to announce, if there is one. After that, [Announced] says so.
	Announce []Completion
}

// Verdict is what to do with a message.
type Verdict string

// The verdicts.
const (
	// Work on the node.
	Work Verdict = "work"
	// Settled nodes are not worked on; their message goes once the outcome is seen to.
	Settled Verdict = "settled"
	// Parked nodes wait in the store until their root goes on; their message goes.
	Parked Verdict = "parked"
	// Again means that the attempt failed and another may follow, of the same message.
	Again Verdict = "again"
)

// ledger is a change in the making.
type ledger struct {
	root  Root
	nodes []Node
	out   Outcome
}

func open(v View) (*ledger, error) {
	if v.Root.ID == "" {
		return nil, ErrNoRoot
	}
	if v.Root.State == Removed {
		return nil, ErrRemoved
	}
	v.Root.Levels = slices.Clone(v.Root.Levels) // the view's own stays as it is
	return &ledger{root: v.Root}, nil
}

// openAt begins a step about the first node of the view.
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

// put keeps a node's new value, in place of an earlier one of the same change.
func (l *ledger) put(n Node) {
	for i := range l.nodes {
		if l.nodes[i].ID == n.ID {
			l.nodes[i] = n
			return
		}
	}
	l.nodes = append(l.nodes, n)
}

func (l *ledger) change(about Node) (Change, Outcome, error) {
	l.out.Root, l.out.Node = l.root, about
	return Change{Root: l.root, Nodes: l.nodes}, l.out, nil
}

// count returns the counter that a node's state belongs to.
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

// move brings a node into a state, and the counts with it.
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

// create counts a new node.
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

// release lets the claimer send waiting nodes, as far as there is room.
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

// mark takes down that nodes were sent, when they are still claimed.
func (l *ledger) mark(nodes []Node, sent []ID) {
	for _, n := range nodes {
		if n.State == Claimed && slices.Contains(sent, n.ID) && !l.has(n.ID) {
			l.move(n, Sent, ID{})
		}
	}
}

// resend asks for the claimed nodes that were not sent.
func (l *ledger) resend(claimed []Node) {
	for _, n := range claimed {
		if n.State == Claimed && !l.has(n.ID) &&
			!slices.ContainsFunc(l.out.Send, func(s Node) bool { return s.ID == n.ID }) {
			l.out.Send = append(l.out.Send, n)
		}
	}
}

// finish ends the round if no node is open and none is to come.
func (l *ledger) finish(at time.Time) {
	if l.root.Counts.Open() > 0 || l.root.Holding || l.root.Ended() {
		return
	}
	l.end(Complete, at)
}

func (l *ledger) end(s RootState, at time.Time) {
	l.root.State, l.root.Reason, l.root.FinishedAt = s, "", at
	l.root.Pending = CompletionID(l.root.ID, l.root.Round)
	l.out.Announce = l.root.Owing()
}

func (l *ledger) pause(reason string) {
	if l.root.State == Running {
		l.root.State, l.root.Reason = Paused, cut(reason)
	}
}

// park lets a node wait in the store, but for one that no message brings back.
func (l *ledger) park(n Node) Node {
	l.out.Verdict = Parked
	if n.State != Waiting && !(l.root.Manifest && n.Depth == 0) {
		n = l.move(n, Waiting, ID{})
	}
	return n
}

// BeginWant returns what [Begin] reads.
func BeginWant(root string, node ID) Want {
	return Want{Root: root, IDs: []ID{node}, Claimer: &node, Waiting: releases}
}

// releases is how many waiting nodes one that is settled may let go: more than one, so that a root that goes on after a
// pause comes up to its limit.
const releases = 10

// Begin counts an attempt at the node that a received message names, and says whether to work on it. The view is that
// of [BeginWant].
func Begin(v View, at time.Time) (Change, Outcome, error) {
	l, n, err := openAt(v)
	if err != nil {
		return Change{}, Outcome{}, err
	}
	switch {
	case n.settled(l.root):
		return Change{}, settled(v, n), nil
	case l.root.State == Paused, n.State == Waiting && l.room() == 0: // an earlier message of a node that was put back
		n = l.park(n)
		return l.change(n)
	case int(n.Attempts) >= l.root.Limits.Attempts:
		reason := fmt.Sprintf("its work was begun %d times and never came to an end", n.Attempts)
		if n.Reason != "" {
			reason += "; before that: " + n.Reason
		}
		n = l.settle(v, n, Failed, reason, 0, at)
		return l.change(n)
	}
	n.Attempts++
	n = l.move(n, Sent, ID{}) // it came, so it was sent
	l.out.Verdict = Work
	return l.change(n)
}

// Owed returns what is still to be done for the settled node that the view, of [BeginWant], begins with. It changes
// nothing.
func Owed(v View) (Change, Outcome, error) {
	_, n, err := openAt(v)
	if err != nil {
		return Change{}, Outcome{}, err
	}
	return Change{}, settled(v, n), nil
}

// settled is the outcome for a node whose message came again: what its claimer may still owe.
func settled(v View, n Node) Outcome {
	l := &ledger{}
	if !v.Root.Ended() {
		l.resend(v.Claimed)
	}
	return Outcome{Verdict: Settled, Root: v.Root, Node: n, Send: l.out.Send, Announce: v.Root.Owing()}
}
