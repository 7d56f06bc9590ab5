package tree

import (
	"fmt"
	"time"
)

// Result is how an attempt at a node ended.
type Result struct {
	// Sent are the children that were sent since the last step.
	Sent []ID
	// Took is how long the slot was busy with it.
	Took time.Duration
	// At is when it ended.
	At time.Time
}

// SettleWant returns what [Finish], [Fail] and [GiveBack] read.
func SettleWant(root string, node ID) Want { return BeginWant(root, node) }

// Finish takes down that the work on a node is done. The node's children were all registered before. The verdict is
// [Settled].
func Finish(v View, r Result) (Change, Outcome, error) {
	return ending(v, r, func(l *ledger, n Node) Node { return l.settle(v, n, Done, "", r.Took, r.At) })
}

// Fail takes down that an attempt at a node failed, and why. The verdict is [Again], or [Settled] after the last
// attempt that the limits allow, which makes the node failed. Children it named stay.
func Fail(v View, r Result, reason string) (Change, Outcome, error) {
	return ending(v, r, func(l *ledger, n Node) Node {
		if int(n.Attempts) >= l.root.Limits.Attempts {
			return l.settle(v, n, Failed, reason, r.Took, r.At)
		}
		n.Reason = cut(reason)
		return l.again(n, r.Took)
	})
}

// GiveBack takes back an attempt that was interrupted: it does not count. The verdict is [Again].
func GiveBack(v View, r Result) (Change, Outcome, error) {
	return ending(v, r, func(l *ledger, n Node) Node {
		n.Attempts = max(0, n.Attempts-1)
		return l.again(n, r.Took)
	})
}

// ending is what all ends of an attempt share: end is not asked for a node that is settled already, and gets the node
// after its children were marked as sent.
func ending(v View, r Result, end func(*ledger, Node) Node) (Change, Outcome, error) {
	l, n, err := openAt(v)
	if err != nil {
		return Change{}, Outcome{}, err
	}
	if n.settled(l.root) {
		return Change{}, settled(v, n), nil
	}
	l.mark(v.Claimed, r.Sent)
	return l.change(end(l, n))
}

// again leaves a node to another attempt.
func (l *ledger) again(n Node, took time.Duration) Node {
	l.put(n)
	l.spend(took)
	l.out.Verdict = Again
	return n
}

// settle brings a node to its end, lets others go in its place and ends the round when it was the last.
func (l *ledger) settle(v View, n Node, to State, reason string, took time.Duration, at time.Time) Node {
	n.Reason = cut(reason)
	if to == Done {
		n.Body = ""
	}
	n = l.move(n, to, ID{})
	l.root.Pace = l.root.Pace.add(at)
	l.out.Verdict = Settled
	l.resend(v.Claimed)
	l.root.SlotTime += max(0, took)
	l.finish(at)
	l.checkSlotTime()
	l.release(v.Waiting, n.ID)
	return n
}

// spend adds up the time of slots.
func (l *ledger) spend(took time.Duration) {
	l.root.SlotTime += max(0, took)
	l.checkSlotTime()
}

// checkSlotTime pauses the root when it has spent what it may.
func (l *ledger) checkSlotTime() {
	if most := l.root.Limits.SlotTime; most > 0 && l.root.SlotTime >= most {
		l.pause(fmt.Sprintf("its slots worked for %s, the limit is %s", l.root.SlotTime.Round(time.Millisecond), most))
	}
}

// SentWant returns what [MarkSent] reads: the nodes that were sent for a claimer, and what it still claims.
func SentWant(root string, claimer ID, sent []ID) Want {
	return Want{Root: root, IDs: sent, Claimer: &claimer}
}

// MarkSent takes down that nodes were sent, and returns what else their claimer is to send.
func MarkSent(v View) (Change, Outcome, error) {
	l, err := open(v)
	if err != nil {
		return Change{}, Outcome{}, err
	}
	for _, n := range v.Nodes {
		if n.State == Claimed {
			l.move(n, Sent, ID{})
		}
	}
	if !l.root.Ended() {
		l.resend(v.Claimed)
	}
	return l.change(Node{})
}

// Announced takes down that a completion was announced. The view needs no nodes.
func Announced(v View, id string) (Change, error) {
	l, err := open(v)
	if err != nil || l.root.Pending != id {
		return Change{}, err // another round's, or told already
	}
	l.root.Pending = ""
	return Change{Root: l.root}, nil
}
