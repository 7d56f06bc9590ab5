package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/protocol"
)

// fakeQueue is a queue in memory, on the clock of the test's bubble. Its faults are set by the tests.
type fakeQueue struct {
	mu       sync.Mutex
	messages []*fakeMessage
	arrived  chan struct{}
	// Each fault, when not nil, decides whether its call fails; call counts from 1.
	receiveFault, deleteFault, changeFault func(call int) error
	seen                                   calls
	// hangChange makes every change hang until its context ends.
	hangChange bool
	// hidden is what each change asked for, deleted the ids of deleted messages, in order.
	hidden  []time.Duration
	deleted []string
	// delivered counts the receives of each message.
	delivered map[string]int
}

// calls are the calls that a queue has seen; outstanding receives have not returned, cut ones were cut off.
type calls struct {
	receives, outstanding, cut, deletes, changes int
	waits                                        []time.Duration
}

func (q *fakeQueue) calls() calls {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.seen
}

type fakeMessage struct {
	worker.Message
	visibleAt time.Time
	deliver   int
}

func newFakeQueue(ids ...string) *fakeQueue {
	q := &fakeQueue{arrived: make(chan struct{}, 1)}
	q.send(ids...)
	return q
}

func (q *fakeQueue) send(ids ...string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		q.messages = append(q.messages, &fakeMessage{Message: worker.Message{ID: id, Queue: "q", Body: "secret-" + id}})
	}
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

// sendGroups sends messages named by group and number, such as "a1", to a FIFO queue.
func (q *fakeQueue) sendGroups(ids ...string) {
	q.mu.Lock()
	for _, id := range ids {
		q.messages = append(q.messages,
			&fakeMessage{Message: worker.Message{ID: id, Queue: "q.fifo", Group: id[:1], Body: "secret-" + id}})
	}
	q.mu.Unlock()
	q.send()
}

func (q *fakeQueue) Receive(ctx context.Context, limit int, wait, visibility time.Duration) ([]worker.Message, error) {
	q.mu.Lock()
	q.seen.receives++
	q.seen.outstanding++
	q.seen.waits = append(slices.Clip(q.seen.waits), wait)
	var err error
	if q.receiveFault != nil {
		err = q.receiveFault(q.seen.receives)
	}
	q.mu.Unlock()
	defer func() { q.mu.Lock(); q.seen.outstanding--; q.mu.Unlock() }()
	if err != nil {
		return nil, err
	}
	deadline := time.After(wait)
	for {
		taken, next := q.take(limit, visibility)
		if len(taken) > 0 {
			return taken, nil
		}
		select {
		case <-q.arrived:
		case <-next:
		case <-deadline:
			return nil, nil
		case <-ctx.Done():
			q.mu.Lock()
			q.seen.cut++
			q.mu.Unlock()
			return nil, ctx.Err()
		}
	}
}

// take hands out what is visible, or a channel that fires when something next is.
func (q *fakeQueue) take(limit int, visibility time.Duration) ([]worker.Message, <-chan time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	var taken []worker.Message
	var next time.Time
	locked := map[string]bool{}
	for _, m := range q.messages {
		if m.Group != "" && m.visibleAt.After(now) {
			locked[m.Group] = true
		}
	}
	for _, m := range q.messages {
		if m.visibleAt.After(now) {
			if next.IsZero() || m.visibleAt.Before(next) {
				next = m.visibleAt
			}
			continue
		}
		if len(taken) == limit {
			break
		}
		if locked[m.Group] {
			continue
		}
		m.deliver++
		m.visibleAt = now.Add(visibility)
		m.Handle = fmt.Sprintf("%s#%d", m.ID, m.deliver)
		m.ReceiveCount = m.deliver
		taken = append(taken, m.Message)
		if q.delivered == nil {
			q.delivered = map[string]int{}
		}
		q.delivered[m.ID] = m.deliver
	}
	if next.IsZero() {
		return taken, nil
	}
	return taken, time.After(next.Sub(now))
}

func (q *fakeQueue) find(handle string) (int, error) {
	i := slices.IndexFunc(q.messages, func(m *fakeMessage) bool { return m.Handle == handle })
	if i < 0 {
		return 0, worker.ErrGone
	}
	return i, nil
}

func (q *fakeQueue) Delete(_ context.Context, m worker.Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen.deletes++
	if q.deleteFault != nil {
		if err := q.deleteFault(q.seen.deletes); err != nil {
			return err
		}
	}
	i, err := q.find(m.Handle)
	if err != nil {
		return err
	}
	q.messages = slices.Delete(q.messages, i, i+1)
	q.deleted = append(q.deleted, m.ID)
	return nil
}

func (q *fakeQueue) ChangeVisibility(ctx context.Context, m worker.Message, d time.Duration) error {
	if q.hangChange {
		<-ctx.Done()
		return ctx.Err()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen.changes++
	if q.changeFault != nil {
		if err := q.changeFault(q.seen.changes); err != nil {
			return err
		}
	}
	i, err := q.find(m.Handle)
	if err != nil {
		return err
	}
	q.messages[i].visibleAt = time.Now().Add(d)
	q.hidden = append(q.hidden, d)
	return nil
}

// state returns what was deleted and what the changes asked for.
func (q *fakeQueue) state() (deleted []string, hidden []time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.deleted), slices.Clone(q.hidden)
}

// visibleIn returns how long the message is still hidden.
func (q *fakeQueue) visibleIn(id string) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.messages {
		if m.ID == id {
			return max(0, time.Until(m.visibleAt))
		}
	}
	return -1
}

// deliveries returns how often the message was received; the last count is kept when it is deleted.
func (q *fakeQueue) deliveries(id string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.delivered[id]
}

// takeOver lets another worker receive the message.
func (q *fakeQueue) takeOver(id string, visibility time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.messages {
		if m.ID == id {
			m.deliver++
			m.visibleAt, m.Handle = time.Now().Add(visibility), fmt.Sprintf("%s#%d", m.ID, m.deliver)
		}
	}
}

var errAway = errors.New("connection refused")

// fakeController answers reports as its rule says and remembers them.
type fakeController struct {
	mu      sync.Mutex
	reports []protocol.Report
	times   []time.Time
	// rule is called for each report with its number, from 1.
	rule func(n int, r protocol.Report) (protocol.Directive, error)
	// takes is how long each report is under way.
	takes time.Duration
}

func (c *fakeController) Report(ctx context.Context, r protocol.Report) (protocol.Directive, error) {
	c.mu.Lock()
	c.reports = append(c.reports, r)
	c.times = append(c.times, time.Now())
	n, rule := len(c.reports), c.rule
	c.mu.Unlock()
	if c.takes > 0 {
		select {
		case <-time.After(c.takes):
		case <-ctx.Done():
			return protocol.Directive{}, ctx.Err()
		}
	}
	return rule(n, r)
}

func (c *fakeController) all() []protocol.Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.reports)
}

func (c *fakeController) last() protocol.Report {
	all := c.all()
	return all[len(all)-1]
}

// states returns the states reported, without repeats.
func (c *fakeController) states() []protocol.WorkerState {
	var states []protocol.WorkerState
	for _, r := range c.all() {
		states = append(states, r.State)
	}
	return slices.Compact(states)
}

var work = protocol.Directive{Ask: protocol.Work}

// keepWorking asks for nothing but work.
func keepWorking(int, protocol.Report) (protocol.Directive, error) { return work, nil }

// release asks for a drain and grants every token.
func release(_ int, r protocol.Report) (protocol.Directive, error) {
	if r.Token != "" {
		return protocol.Directive{Ask: protocol.Leave, Token: r.Token}, nil
	}
	return protocol.Directive{Ask: protocol.Drain}, nil
}
