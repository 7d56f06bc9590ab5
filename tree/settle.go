package tree

import (
	"fmt"
	"time"
)

// Result is the end of an attempt.
type Result struct {
	// Sent are the children that were sent since the last step.
	Sent []ID
	// Took is how long the slot was busy.
	Took time.Duration
	// At is when it ended.
	At time.Time
}

// SettleWant returns the input of [Finish], [Fail] and [GiveBack].
func SettleWant(root string, node ID) Want { return BeginWant(root, node) }

// Finish records that the work on a node is done. All its children were registered before. The verdict is [Settled].
func Finish(v View, r Result) (Change, Outcome, error) {
	return ending(v, r, func(l *ledger, n Node) Node { return l.settle(v, n, Done, "", r.Took, r.At) })
}

// Fail records that an attempt failed, and why. The verdict is [Again], or [Settled] after the last attempt that the
// limits allow, which makes the node failed. The children that it named remain.
func Fail(v View, r Result, reason string) (Change, Outcome, error) {
	return ending(v, r, func(l *ledger, n Node) Node {
		if int(n.Attempts) >= l.root.Limits.Attempts {
			return l.settle(v, n, Failed, reason, r.Took, r.At)
		}
		n.Reason = cut(reason)
		return l.again(n, r.Took)
	})
}

// GiveBack records that an attempt was interrupted: it does not count. The verdict is [Again].
func GiveBack(v View, r Result) (Change, Outcome, error) {
	return ending(v, r, func(l *ledger, n Node) Node {
		n.Attempts = max(0, n.Attempts-1)
		return l.again(n, r.Took)
	})
}

// ending is the common part of all ends of an attempt. If the node is settled already, the result is what its claimer
// still owes. Otherwise end gets the node after its sent children were marked.
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

// again leaves the node for another attempt.
func (l *ledger) again(n Node, took time.Duration) Node {
	l.put(n)
	l.spend(took)
	l.out.Verdict = Again
	return n
}

// settle ends a node, releases waiting nodes in its place, and ends the round if it was the last open node. The order
// matters: finish comes before release, so that nothing is released for an ended root.
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

// spend adds slot time.
func (l *ledger) spend(took time.Duration) {
	l.root.SlotTime += max(0, took)
	l.checkSlotTime()
}

// checkSlotTime pauses the root once its slot time has reached the limit.
func (l *ledger) checkSlotTime() {
	if most := l.root.Limits.SlotTime; most > 0 && l.root.SlotTime >= most {
		l.pause(fmt.Sprintf("its slots worked for %s, the limit is %s", l.root.SlotTime.Round(time.Millisecond), most))
	}
}

// SentWant returns the input of [MarkSent]: the nodes that were sent for a claimer, and the nodes it still claims.
func SentWant(root string, claimer ID, sent []ID) Want {
	return Want{Root: root, IDs: sent, Claimer: &claimer}
}

// MarkSent records that nodes were sent, and returns the nodes that their claimer has still to send.
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

// Announced records that a completion was announced. The view needs no nodes.
func Announced(v View, id string) (Change, error) {
	l, err := open(v)
	if err != nil || l.root.Pending != id {
		return Change{}, err // of another round, or recorded already
	}
	l.root.Pending = ""
	return Change{Root: l.root}, nil
}
