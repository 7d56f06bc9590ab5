package queue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// fact is what the clients of a history know of one message: what they asked
// for, and what they were answered.
type fact struct {
	queue     string
	id        string // as answered
	body      string
	batch     int // number of the send, whose messages come together
	acked     bool
	removing  bool   // a delete, or a purge of its queue, was started
	deleted   uint32 // an acknowledged delete used the receipt of this receive
	purged    bool   // a purge of its queue was acknowledged
	received  uint32 // the newest receive that was answered
	notBefore int64  // it is not visible earlier, as far as was acknowledged
	changes   int    // of its visibility, begun so far
	changing  int    // how many of them are not answered yet
	turn      int    // the turn of the ledger when the last one began or was answered
}

// ledger keeps the facts of one history. It is safe for concurrent use.
type ledger struct {
	mu      sync.Mutex
	facts   []fact
	purging int
	turns   int // counts the changes of visibility, at their begin and at their end
	batches int
	queues  map[string]queueFact
}

// queueFact is the same for a queue.
type queueFact struct{ created, removing, removed bool }

// view is the ledger at one moment.
type view struct {
	facts  []fact
	queues map[string]queueFact
}

func newLedger() *ledger { return &ledger{queues: map[string]queueFact{}} }

func (l *ledger) view() view {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := view{slices.Clone(l.facts), map[string]queueFact{}}
	for name, q := range l.queues {
		v.queues[name] = q
	}
	return v
}

// sending notes messages about to be sent and returns their numbers.
func (l *ledger) sending(queue string, sizes []int, notBefore int64) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.batches++
	var numbers []int
	for _, size := range sizes {
		n := len(l.facts)
		body := strconv.Itoa(n) + "|" + strings.Repeat(string(rune('a'+n%26)), size)
		l.facts = append(l.facts, fact{
			queue: queue, body: body, batch: l.batches, notBefore: notBefore, removing: queue == "side" &&
				l.purging > 0,
		})
		numbers = append(numbers, n)
	}
	return numbers
}

func (l *ledger) body(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.facts[n].body
}

// turn is how many changes of visibility began or were answered so far.
func (l *ledger) turn() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.turns
}

// change notes that a change of the visibility of a message begins (1) or was answered (-1) and returns how many began
// so far. An outdated receipt may end the lease of another client, so nothing is known of the lease then.
func (l *ledger) change(number, one int) (begun int) {
	l.note(func(f *fact) {
		l.turns++
		f.changes += max(0, one)
		f.changing += one
		f.notBefore, f.turn = 0, l.turns
		begun = f.changes
	}, number)
	return begun
}

// note changes the facts with the given numbers.
func (l *ledger) note(change func(*fact), numbers ...int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range numbers {
		change(&l.facts[n])
	}
}

// purge notes the purge of the queue "side"; call done when it is acknowledged.
func (l *ledger) purge() (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.purging++
	var surely []int
	for n := range l.facts {
		if f := &l.facts[n]; f.queue == "side" {
			f.removing = true
			if f.acked {
				surely = append(surely, n)
			}
		}
	}
	return func() {
		l.note(func(f *fact) { f.purged = true }, surely...)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.purging--
	}
}

// noteQueue changes what is known of a queue.
func (l *ledger) noteQueue(name string, change func(*queueFact)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[name]
	change(&q)
	l.queues[name] = q
}

// number is the message that a body belongs to.
func number(body string) (int, error) {
	digits, _, found := strings.Cut(body, "|")
	n, err := strconv.Atoi(digits)
	if !found || err != nil {
		return 0, fmt.Errorf("the body %.20q was never sent", body)
	}
	return n, nil
}

// attributesOf are the user attributes that message n is sent with.
func attributesOf(n int) map[string]Attribute {
	if n%2 == 0 {
		return nil
	}
	return map[string]Attribute{"n": {"Number", []byte(strconv.Itoa(n))}, "b": {"Binary.x", []byte{0, 255, byte(n)}}}
}
