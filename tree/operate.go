package tree

import (
	"fmt"
	"time"
)

// Spec is a tree to submit.
type Spec struct {
	// ID is the root's name, see [CheckRootID]. Submitting the same tree again changes nothing.
	ID string
	// Queue is the URL of a standard queue for the messages. A FIFO queue is refused: it would drop a message that is
	// sent again as a duplicate.
	Queue string
	// Node is the root node.
	Node Child
	// Limits, Visited, Manifest and Final are those of [Root].
	Limits   Limits
	Visited  bool
	Manifest bool
	Final    Final
	// Before are the levels of a similar earlier tree. They are the forecast for depths of which little is known yet.
	// Levels beyond [MaxBefore] are dropped.
	Before []Level
}

// Check returns s with its defaults, or an error for a value that is not allowed.
func (s Spec) Check() (Spec, error) {
	limits, err := s.Limits.WithDefaults()
	if err != nil {
		return s, err
	}
	s.Limits = limits
	if err := CheckRootID(s.ID); err != nil {
		return s, err
	}
	if err := s.Node.Check(); err != nil {
		return s, err
	}
	for _, q := range []string{s.Queue, s.Final.Queue} {
		if len(q) > maxQueue {
			return s, fmt.Errorf("submit a tree: found a queue's URL of %d bytes, at most %d are allowed", len(q),
				maxQueue)
		}
	}
	if fifo := len(s.Queue) >= 5 && s.Queue[len(s.Queue)-5:] == ".fifo"; fifo || s.Queue == "" {
		return s, fmt.Errorf("submit a tree: found the queue %q, allowed is the URL of a standard queue", s.Queue)
	}
	return s, Child{Key: "final", Body: s.Final.Body}.Check()
}

// rootNode returns the root node's ID.
func (s Spec) rootNode() ID { return NodeID(s.ID, ID{}, s.Node.Key, s.Visited) }

// SubmitWant returns what [Submit] reads.
func SubmitWant(s Spec) Want {
	return Want{Root: s.ID, IDs: []ID{s.rootNode()}, Claimer: &ID{}}
}

// Submit creates a root and its root node, which the operator then sends. With a manifest there is nothing to send:
// [Register] takes the list as the root node's children, and [Finish] ends the root node.
//
// If the root exists already with the same root node and queue, Submit changes nothing and returns what the earlier
// submission has not sent yet. For another tree of the same name it fails with [ErrState].
func Submit(v View, s Spec, at time.Time) (Change, Outcome, error) {
	s, err := s.Check()
	if err != nil {
		return Change{}, Outcome{}, err
	}
	n := Node{ID: s.rootNode(), Key: s.Node.Key, Body: s.Node.Body, State: Claimed}
	if v.Root.State == Removed {
		if v.Root.Counts.Created > 0 {
			return Change{}, Outcome{}, fmt.Errorf("submit the tree %s: one of that name is being removed; remove it "+
				"again, or give this one another name: %w", s.ID, ErrState)
		}
		v.Root = Root{}
	}
	if v.Root.ID != "" {
		if v.Root.Queue != s.Queue || v.Root.Visited != s.Visited || v.Root.Manifest != s.Manifest ||
			len(v.Nodes) == 0 || v.Nodes[0].State == Absent {
			return Change{}, Outcome{}, fmt.Errorf("submit the tree %s: another tree has that name; choose another "+
				"name: %w", s.ID, ErrState)
		}
		l := &ledger{}
		if !v.Root.Ended() && !s.Manifest {
			l.resend(v.Claimed)
		}
		return Change{}, Outcome{Verdict: Work, Root: v.Root, Node: v.Nodes[0], Send: l.out.Send}, nil
	}
	l := &ledger{root: Root{
		ID: s.ID, Queue: s.Queue, State: Running, Limits: s.Limits, Visited: s.Visited, Manifest: s.Manifest,
		Final: s.Final,
		Round: 1, SubmittedAt: at, Before: s.Before[:min(len(s.Before), MaxBefore)],
	}}
	l.out.Verdict = Work
	if s.Manifest {
		n.State = Sent // the submitter works on it: it lists the children
	} else {
		l.out.Send = []Node{n}
	}
	l.create(n)
	return l.change(n)
}

// Pause stops a running root: its nodes are neither sent nor started. Work in progress may finish. Pausing a paused
// root changes nothing.
func Pause(v View, reason string) (Change, error) {
	l, err := open(v)
	switch {
	case err != nil:
		return Change{}, err
	case l.root.Ended():
		return Change{}, refuse(l.root, "pause")
	}
	l.pause(reason)
	return Change{Root: l.root}, nil
}

// Resume lets a paused root continue, with new limits; for a running root it only sets the limits. Call [Release] after
// it to send the waiting nodes.
func Resume(v View, limits Limits) (Change, error) {
	l, err := open(v)
	if err != nil {
		return Change{}, err
	}
	if l.root.Ended() {
		return Change{}, refuse(l.root, "resume")
	}
	if limits, err = limits.WithDefaults(); err != nil {
		return Change{}, err
	}
	if c := l.root.Counts; limits.Nodes < c.Created || limits.SlotTime > 0 && limits.SlotTime <= l.root.SlotTime {
		return Change{}, fmt.Errorf("resume the tree %s: it has %d nodes and spent %s, so limits of %d nodes and %s "+
			"would pause it again; raise them",
			l.root.ID, c.Created, l.root.SlotTime, limits.Nodes, limits.SlotTime)
	}
	l.root.Limits, l.root.State, l.root.Reason = limits, Running, ""
	return Change{Root: l.root}, nil
}

// ReleaseWant returns what [Release] reads.
func ReleaseWant(root string) Want {
	return Want{Root: root, Waiting: MaxBatch, Claimer: &ID{}}
}

// Release claims waiting nodes for the operator to send, as many as the limits allow. If an operator claimed nodes
// before and may not have sent them, it returns those first. Once it returns none, the root continues by itself.
func Release(v View) (Change, Outcome, error) {
	l, err := open(v)
	if err != nil {
		return Change{}, Outcome{}, err
	}
	if !l.root.Ended() {
		l.resend(v.Claimed)
		if len(l.out.Send) == 0 {
			l.release(v.Waiting, ID{})
		}
	}
	return l.change(Node{})
}

// Retry opens the failed nodes of the view again; they wait, see [Release]. Retrying nodes of a complete root starts
// its next round. more tells that further calls follow: until the last one the round cannot end.
func Retry(v View, more bool, at time.Time) (Change, Outcome, error) {
	l, err := open(v)
	if err != nil {
		return Change{}, Outcome{}, err
	}
	if l.root.State == Cancelled {
		return Change{}, Outcome{}, refuse(l.root, "retry")
	}
	if l.root.Pending != "" {
		return Change{}, Outcome{}, fmt.Errorf("retry the tree %s: the end of its round %d was not announced yet: %w",
			l.root.ID, l.root.Round, ErrState)
	}
	for _, n := range v.Nodes {
		if n.State != Failed {
			continue
		}
		if l.root.State == Complete {
			l.root.State, l.root.FinishedAt = Running, time.Time{}
			l.root.Round++
		}
		n.Attempts = 0
		l.move(n, Waiting, ID{})
	}
	l.root.Holding = more && !l.root.Ended()
	if l.root.State != Complete {
		l.finish(at)
	}
	return l.change(Node{})
}

// Cancel ends a root. Its open nodes count as failed, and their messages are deleted when received. Cancelling a root
// that has ended changes nothing.
func Cancel(v View, at time.Time) (Change, Outcome, error) {
	l, err := open(v)
	if err != nil {
		return Change{}, Outcome{}, err
	}
	if l.root.Ended() {
		return Change{}, Outcome{Root: l.root, Announce: l.root.Owing()}, nil
	}
	c := &l.root.Counts
	c.Failed += c.Open()
	c.Waiting, c.Out = 0, 0
	for i := range l.root.Levels {
		level := &l.root.Levels[i]
		level.Failed += level.Open()
	}
	l.root.Holding = false
	l.end(Cancelled, at)
	return l.change(Node{})
}

// refuse returns the error for an operation that the root's state does not allow.
func refuse(r Root, what string) error {
	return fmt.Errorf("%s the tree %s: it is %s: %w", what, r.ID, r.State, ErrState)
}
