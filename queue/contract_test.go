package queue

import (
	"fmt"
	"testing"

	"github.com/anishathalye/porcupine"
)

// The contract of one message of a standard queue, as a machine that does one
// operation after the other: it is not received while it is in flight, each
// receive counts one more, any receipt
// changes when it is visible again, the newest alone deletes it, and a delete is
// for ever. A history of calls at the same time is right if some
// order of them, in which each comes between its call and its answer, is one
// that the machine could go through.

// deedKind is what is asked about a message.
type deedKind uint8

const (
	aSend    deedKind = iota
	aReceive          // with the answer that it was handed out
	aMiss             // a receive that had room for it and did not hand it out
	aDelete
	aChange
	aCut // the power was cut
)

// asked is one thing asked about one message. Times are milliseconds.
type asked struct {
	kind     deedKind
	from, to int64  // when it was called and answered
	lasts    int64  // delay of a send, visibility of a receive or change
	count    uint32 // of the receive whose receipt is used
	unheard  bool   // the answer was lost: the operation may have happened or not
}

// told is the answer.
type told struct {
	count   uint32 // of receives
	refusal refusal
}

type refusal uint8

const (
	accepted    refusal = iota
	goneAlready         // the message was deleted
)

// condition is the state of a message. Each thing happens as early as it may:
// a lease that began earlier ends earlier, so nothing is lost by that.
type condition struct {
	stage   stage
	count   uint32
	visible int64 // it is not received earlier
	now     int64
	lazy    bool // its first receive may be unwritten, and be lost with the power
}

type stage uint8

const (
	unsent stage = iota
	kept
	deleted
)

// next returns the conditions that may follow; none if a could not be answered so.
func (c condition) next(a asked, t told) (after []condition) {
	if a.unheard {
		after = append(after, c)
	}
	c.now = max(c.now, a.from)
	if a.kind == aReceive && c.stage == kept {
		c.now = max(c.now, c.visible)
	}
	if c.now <= a.to {
		after = append(after, c.follow(a, t)...)
	}
	return after
}

func (c condition) follow(a asked, t told) []condition {
	was := c
	switch {
	case a.kind == aSend && c.stage == unsent:
		c.stage, c.visible = kept, c.now+a.lasts
	case a.kind == aReceive && c.stage == kept && (a.unheard || t.count == c.count+1):
		c.lazy = c.count == 0
		c.count, c.visible = c.count+1, c.now+a.lasts
	case a.kind == aMiss && (c.stage != kept || c.visible > c.now):
	case a.kind == aDelete && c.stage == kept && a.count >= c.count:
		c.stage = deleted
	case a.kind == aDelete:
	case a.kind == aChange && t.refusal == goneAlready && c.stage == deleted:
	case a.kind == aChange && t.refusal == accepted && c.stage == kept:
		c.count, c.visible, c.lazy = max(c.count, a.count), c.now+a.lasts, false
	case a.kind == aCut && c.lazy:
		c.count, c.visible, c.lazy = 0, c.now, false
		return []condition{was, c}
	case a.kind == aCut:
	default:
		return nil
	}
	return []condition{c}
}

// contract is the machine for the checker.
func contract() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{condition{}} },
		Step: func(state, input, output any) (after []any) {
			for _, c := range state.(condition).next(input.(asked), output.(told)) {
				after = append(after, c)
			}
			return after
		},
		DescribeOperation: func(input, output any) string {
			a, t := input.(asked), output.(told)
			name := []string{"send", "receive", "not received", "delete", "change", "power cut"}[a.kind]
			return fmt.Sprintf("%s at %d-%d, with receipt %d for %d ms (unheard %t): receive %d, refusal %d", name,
				a.from, a.to, a.count, a.lasts, a.unheard, t.count, t.refusal)
		},
		DescribeState: func(state any) string { return fmt.Sprintf("%+v", state) },
	}
	return m.ToModel()
}

// TestTheContractAllowsAndForbids gives the checker histories of one message.
func TestTheContractAllowsAndForbids(t *testing.T) {
	// A step takes from one number to the next two; the times are the same numbers.
	type step struct {
		a        asked
		t        told
		from, to int64
	}
	send := step{asked{kind: aSend}, told{}, 0, 1}
	receive := func(from, to int64, count uint32, lasts int64) step {
		return step{asked{kind: aReceive, lasts: lasts}, told{count: count}, from, to}
	}
	remove := func(from, to int64, count uint32) step {
		return step{asked{kind: aDelete, count: count}, told{}, from, to}
	}
	change := func(from, to int64, count uint32, lasts int64, r refusal) step {
		return step{asked{kind: aChange, count: count, lasts: lasts}, told{refusal: r}, from, to}
	}
	miss := func(at int64) step { return step{asked{kind: aMiss}, told{}, at, at} }
	cutAt := func(at int64) step { return step{asked{kind: aCut}, told{}, at, at} }
	unheard := func(s step) step {
		s.a.unheard = true
		return s
	}
	for _, row := range []struct {
		name  string
		steps []step
		fine  bool
	}{
		{"received and deleted", []step{send, receive(2, 3, 1, 10), remove(4, 5, 1), miss(20)}, true},
		{"received before it was sent", []step{receive(0, 1, 1, 1), {asked{kind: aSend}, told{}, 2, 3}}, false},
		{"received while it is being sent", []step{{asked{kind: aSend}, told{}, 0, 9}, receive(2, 3, 1, 1)}, true},
		{"received before its delay is over",
			[]step{{asked{kind: aSend, lasts: 10}, told{}, 0, 1}, receive(5, 6, 1, 1)}, false},
		{"not received though it waits", []step{send, miss(2)}, false},
		{"not received while it is delayed", []step{{asked{kind: aSend, lasts: 10}, told{}, 0, 1}, miss(5)}, true},
		{"not received while it is held", []step{send, receive(2, 3, 1, 10), miss(11)}, true},
		{"not received though its lease is over", []step{send, receive(2, 3, 1, 10), miss(14)}, false},
		{"received again after the lease", []step{send, receive(2, 3, 1, 10), receive(12, 13, 2, 10)}, true},
		{"received again during the lease", []step{send, receive(2, 3, 1, 10), receive(5, 6, 2, 10)}, false},
		{"a poll that waits until the lease is over", []step{send, receive(2, 3, 1, 10), receive(4, 12, 2, 10)}, true},
		{"one receive handed out twice", []step{send, receive(2, 3, 1, 1), receive(9, 10, 1, 1)}, false},
		{"a count that leaves one out", []step{send, receive(2, 3, 1, 1), receive(9, 10, 3, 1)}, false},
		{"received after the delete", []step{send, receive(2, 3, 1, 1), remove(4, 5, 1), receive(9, 10, 2, 1)}, false},
		{"an old receipt that deletes", []step{send, receive(2, 3, 1, 1), receive(9, 10, 2, 1), remove(11, 12, 1),
			miss(50)}, false},
		{"an old receipt that deletes nothing", []step{send, receive(2, 3, 1, 1), receive(9, 10, 2, 1),
			remove(11, 12, 1), receive(50, 51, 3, 1)}, true},
		{"deleted while it is received again: first",
			[]step{send, receive(2, 3, 1, 1), remove(8, 12, 1), receive(9, 10, 2, 1), miss(50)}, false},
		{"deleted while it is received again: last",
			[]step{send, receive(2, 3, 1, 1), remove(8, 12, 1), receive(9, 10, 2, 1), receive(50, 51, 3, 1)}, true},
		{"handed back and received", []step{send, receive(2, 3, 1, 10), change(4, 5, 1, 0, accepted),
			receive(6, 7, 2, 1)}, true},
		{"prolonged and received all the same", []step{send, receive(2, 3, 1, 5), change(4, 5, 1, 50, accepted),
			receive(9, 10, 2, 1)}, false},
		{"an old receipt that prolongs",
			[]step{send, receive(2, 3, 1, 1), receive(9, 10, 2, 1), change(11, 12, 1, 5, accepted), miss(15)}, true},
		{"an old receipt that hands back", []step{send, receive(2, 3, 1, 1), receive(9, 10, 2, 9),
			change(11, 12, 1, 0, accepted), receive(13, 14, 3, 1)}, true},
		{"an old receipt that counts back",
			[]step{send, receive(2, 3, 1, 1), receive(9, 10, 2, 9), change(11, 12, 1, 0, accepted),
				receive(13, 14, 2, 1)}, false},
		{"an old receipt that is refused", []step{send, receive(2, 3, 1, 1), receive(9, 10, 2, 1),
			change(11, 12, 1, 5, goneAlready)}, false},
		{"the newest receipt that is refused", []step{send, receive(2, 3, 1, 1), change(11, 12, 1, 5, goneAlready)},
			false},
		{"prolonged after the delete", []step{send, receive(2, 3, 1, 1), remove(4, 5, 1), change(6, 7, 1, 5, accepted)},
			false},
		{"said to be deleted though it is not", []step{send, receive(2, 3, 1, 1), change(6, 7, 1, 5, goneAlready)},
			false},
		{"lost with the power", []step{send, cutAt(2), miss(5)}, false},
		{"an unheard send that is lost", []step{unheard(send), cutAt(2), miss(5)}, true},
		{"an unheard send that is there", []step{unheard(send), cutAt(2), receive(5, 6, 1, 1)}, true},
		{"a first receive that the power took", []step{send, receive(2, 3, 1, 10), cutAt(4), receive(5, 6, 1, 1)},
			true},
		{"a second receive that the power took", []step{send, receive(2, 3, 1, 1), receive(5, 6, 2, 10), cutAt(7),
			receive(8, 9, 2, 1)}, false},
		{"a changed receive that the power took", []step{send, receive(2, 3, 1, 10), change(4, 5, 1, 10, accepted),
			cutAt(6), receive(8, 9, 1, 1)}, false},
		{"a delete that the power took", []step{send, receive(2, 3, 1, 1), remove(4, 5, 1), cutAt(6),
			receive(8, 9, 2, 1)}, false},
		{"an unheard delete that the power took", []step{send, receive(2, 3, 1, 1), unheard(remove(4, 5, 1)), cutAt(6),
			receive(8, 9, 2, 1)}, true},
		{"an unheard receive that holds", []step{send, unheard(receive(2, 3, 0, 10)), cutAt(4), miss(5),
			receive(12, 13, 2, 1)}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			var history []porcupine.Operation
			for i, s := range row.steps {
				s.a.from, s.a.to = s.from, s.to
				history = append(history, porcupine.Operation{ClientId: i, Input: s.a, Output: s.t, Call: s.from,
					Return: s.to})
			}
			if got := porcupine.CheckOperations(contract(), history); got != row.fine {
				t.Errorf("allowed: %t", got)
			}
		})
	}
}
