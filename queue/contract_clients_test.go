package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// service is what the clients of a history call: that of a Service, or one with
// a fault.
type service struct {
	send    func(context.Context, string, []Outgoing) ([]Sent, error)
	receive func(context.Context, string, ReceiveOptions) ([]Message, error)
	remove  func(context.Context, string, []string) []error
	change  func(context.Context, string, []VisibilityChange) []error
}

func serviceOf(s *Service) service { return service{s.Send, s.Receive, s.Delete, s.ChangeVisibility} }

// logbook holds what was asked about each message and answered. Its clock counts
// calls and answers, so it tells exactly which came first.
type logbook struct {
	mu     sync.Mutex
	clock  int64
	dark   bool // the power is cut: no answer is heard any more
	begun  map[*question]bool
	of     map[int][]porcupine.Operation // by message
	doubts map[int][]porcupine.Operation // of this life, good only if it ends in order
	next   int                           // message
	gone   int                           // deletes started
	held   []ticket
	wrong  []error
}

// ticket is a receipt, known to all clients.
type ticket struct {
	receipt string
	message int
	count   uint32
}

// question is a call that was not answered yet.
type question struct {
	client   int
	at       int64
	messages []int // nil is all there are
	asked    asked
	gone     int  // deletes started before it
	alone    bool // none of them is still going on
}

func newLogbook() *logbook {
	return &logbook{begun: map[*question]bool{}, of: map[int][]porcupine.Operation{},
		doubts: map[int][]porcupine.Operation{}}
}

// milliseconds is the time as the service counts it.
func milliseconds() int64 { return time.Now().UnixMilli() }

func (l *logbook) tick() int64 {
	l.clock++
	return l.clock
}

// ask notes a call; nil is that the power is cut.
func (l *logbook) ask(client int, a asked, messages ...int) *question {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dark {
		return nil
	}
	a.from = milliseconds()
	q := &question{client: client, at: l.tick(), messages: messages, asked: a, gone: l.gone, alone: true}
	for other := range l.begun {
		q.alone = q.alone && other.asked.kind != aDelete
	}
	if a.kind == aDelete {
		l.gone++
		for _, n := range messages {
			l.excuse(n)
		}
	}
	l.begun[q] = true
	return q
}

// excuse forgets that receives missed message n which is now deleted, if another receive, which is not answered yet,
// may have taken it from them: its answer may leave out what is deleted meanwhile.
func (l *logbook) excuse(n int) {
	since := l.clock
	for other := range l.begun {
		if other.asked.kind == aReceive {
			since = min(since, other.at)
		}
	}
	l.doubts[n] = slices.DeleteFunc(l.doubts[n], func(o porcupine.Operation) bool {
		return o.Input.(asked).kind == aMiss && o.Return > since
	})
}

func (q *question) operation(a asked, t told, now int64) porcupine.Operation {
	a.to = milliseconds()
	return porcupine.Operation{ClientId: q.client, Input: a, Call: q.at, Output: t, Return: now}
}

// hear lets note write down an answer, unless the power was cut before it came.
func (l *logbook) hear(q *question, note func(now int64)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun[q] {
		delete(l.begun, q)
		note(l.tick())
	}
}

// write notes an answer about message n.
func (l *logbook) write(n int, q *question, t told, now int64) {
	l.of[n] = append(l.of[n], q.operation(q.asked, t, now))
}

// doubt notes an answer that says what cannot be done. If the power is cut, the
// reason may be lost with it.
func (l *logbook) doubt(n int, q *question, a asked, t told, now int64) {
	l.doubts[n] = append(l.doubts[n], q.operation(a, t, now))
}

// cut ends a life by a power cut: who waits for an answer gets none.
func (l *logbook) cut(take func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dark {
		return
	}
	l.dark = true
	take()
	now := l.tick()
	for q := range l.begun {
		a := q.asked
		a.unheard = true
		messages := q.messages
		if messages == nil {
			for n := range l.next {
				messages = append(messages, n)
			}
		}
		for _, n := range messages {
			l.of[n] = append(l.of[n], q.operation(a, told{}, now))
		}
	}
	power := &question{client: -1, at: l.tick(), asked: asked{kind: aCut, from: milliseconds()}}
	now = l.tick()
	for n := range l.of {
		l.write(n, power, told{}, now)
	}
	clear(l.begun)
	clear(l.doubts)
}

// live begins the next life; the doubts of one that ended in order are certain.
func (l *logbook) live() {
	for n, operations := range l.doubts {
		l.of[n] = append(l.of[n], operations...)
	}
	clear(l.doubts)
	l.dark = false
}

// visitor is a client.
type visitor struct {
	*logbook
	service
	ctx    context.Context
	number int
	chance *rand.Rand
}

// visit does random things until it did so many, or the power is cut. It sleeps
// in a bubble of testing/synctest.
func (v *visitor) visit(steps int) {
	for range steps {
		// Half seconds, so that clients often call at the same instant, and just when a lease ends.
		time.Sleep(time.Duration(v.chance.IntN(4)) * time.Second / 2)
		alive := true
		switch n := v.chance.IntN(10); {
		case n < 3:
			alive = v.post()
		case n < 6:
			alive = v.take(v.chance.IntN(3), time.Duration(v.chance.IntN(3)/2)*time.Second)
		case n < 8:
			alive = v.settle(aDelete)
		default:
			alive = v.settle(aChange)
		}
		if !alive {
			return
		}
	}
}

func (v *visitor) fail(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.dark {
		v.wrong = append(v.wrong, err)
	}
}

// lasting is a random time.
func (v *visitor) lasting(of ...time.Duration) time.Duration { return of[v.chance.IntN(len(of))] }

// post sends a message or two.
func (v *visitor) post() bool {
	delay := v.lasting(0, 0, time.Second)
	v.mu.Lock()
	var numbers []int
	var out []Outgoing
	for range 1 + v.chance.IntN(2) {
		numbers = append(numbers, v.next)
		out = append(out, Outgoing{Body: strconv.Itoa(v.next) + "|", Delay: &delay})
		v.next++
	}
	v.mu.Unlock()
	q := v.ask(v.number, asked{kind: aSend, lasts: delay.Milliseconds()}, numbers...)
	if q == nil {
		return false
	}
	sent, err := v.send(v.ctx, "side", out)
	for i := range sent {
		err = errors.Join(err, sent[i].Err)
	}
	if err != nil {
		v.fail(fmt.Errorf("send: %w", err))
		return false
	}
	v.hear(q, func(now int64) {
		for _, n := range numbers {
			v.write(n, q, told{}, now)
		}
	})
	return true
}

// take receives up to limit messages, ten if it is 0.
func (v *visitor) take(limit int, wait time.Duration) bool {
	if limit == 0 {
		limit = MaxBatch
	}
	lease := v.lasting(time.Second, 2*time.Second, 5*time.Second)
	q := v.ask(v.number, asked{kind: aReceive, lasts: lease.Milliseconds()})
	if q == nil {
		return false
	}
	got, err := v.receive(v.ctx, "side", ReceiveOptions{Max: limit, Wait: &wait, Visibility: &lease})
	if err != nil {
		v.fail(fmt.Errorf("receive: %w", err))
		return false
	}
	v.hear(q, func(now int64) {
		here := map[int]bool{}
		for _, m := range got {
			n, err := number(m.Body)
			if err != nil || n >= v.next {
				v.wrong = append(v.wrong, fmt.Errorf("receive: body %q was never sent", m.Body))
				continue
			}
			here[n] = true
			v.write(n, q, told{count: uint32(m.ReceiveCount)}, now)
			v.held = append(v.held, ticket{m.Receipt, n, uint32(m.ReceiveCount)})
		}
		// What waits for its turn, or came in the last moment, is not missing.
		// A delete meanwhile, with the receipt of a receive that a power cut
		// undid, may have taken the place of a message in the answer.
		if len(got) == limit || wait > 0 || !q.alone || q.gone != v.gone {
			return
		}
		for n := range v.next {
			if !here[n] {
				v.doubt(n, q, asked{kind: aMiss, from: q.asked.from}, told{}, now)
			}
		}
	})
	return true
}

// settle uses a receipt of any client, of the latest ones more often.
func (v *visitor) settle(kind deedKind) bool {
	v.mu.Lock()
	if len(v.held) == 0 {
		v.mu.Unlock()
		return true
	}
	at := len(v.held) - 1 - v.chance.IntN(len(v.held))
	if v.chance.IntN(2) == 0 {
		at = max(0, len(v.held)-1-v.chance.IntN(4))
	}
	k := v.held[at]
	v.mu.Unlock()
	lease := v.lasting(0, time.Second, 3*time.Second)
	q := v.ask(v.number, asked{kind: kind, count: k.count, lasts: lease.Milliseconds()}, k.message)
	if q == nil {
		return false
	}
	var err error
	if kind == aDelete {
		err = v.remove(v.ctx, "side", []string{k.receipt})[0]
	} else {
		err = v.change(v.ctx, "side", []VisibilityChange{{Receipt: k.receipt, Timeout: lease}})[0]
	}
	answer := told{}
	switch {
	case err == nil:
	case kind == aChange && errors.Is(err, ErrInvalidParameter):
		answer.refusal = goneAlready
	default:
		v.fail(fmt.Errorf("use receipt %d of message %d: %w", k.count, k.message, err))
		return false
	}
	v.hear(q, func(now int64) {
		if answer.refusal != accepted {
			v.doubt(k.message, q, q.asked, answer, now)
		} else {
			v.write(k.message, q, answer, now)
		}
	})
	return true
}
