package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
)

// lookup returns the settings of a queue.
func (s *Service) lookup(name string) (machine.Settings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.st.Names[name]
	if q == nil {
		return machine.Settings{}, noQueue(name)
	}
	return q.Settings, nil
}

// Send stores messages and returns one outcome for each, in order. A message
// that is not valid is refused alone, in Sent.Err; the others are on disk when
// Send returns. An error means that nothing was stored, unless ctx ended:
// then the outcome is unknown. A FIFO queue without ContentBasedDeduplication
// refuses all messages if one has no deduplication id.
func (s *Service) Send(ctx context.Context, name string, messages []Outgoing) ([]Sent, error) {
	c, out, err := s.newSend(name, messages)
	if err != nil || c == nil {
		return out, err
	}
	c.answer = newReply()
	return c.sent(out, s.do(ctx, c, c.answer))
}

// newSend validates messages. There is no request if every one is refused.
func (s *Service) newSend(name string, messages []Outgoing) (c *send, out []Sent, err error) {
	if err := checkBatch(len(messages)); err != nil {
		return nil, nil, err
	}
	set, err := s.lookup(name)
	if err != nil {
		return nil, nil, err
	}
	if set.Fifo && !set.ContentDedup &&
		slices.ContainsFunc(messages, func(m Outgoing) bool { return m.DeduplicationID == "" }) {
		return nil, nil, rules.Refuse(ErrInvalidParameter, noDeduplication)
	}
	total := 0
	for i := range messages {
		total += messages[i].size()
	}
	if total > MaxBytes && len(messages) > 1 {
		return nil, nil, rules.Refuse(ErrBatchTooLong,
			"Batch requests cannot be longer than %d bytes. You have sent %d bytes.", MaxBytes, total)
	}
	out = make([]Sent, len(messages))
	c = &send{queue: name, fifo: set.Fifo, outgoing: make([]sending, 0, len(messages))}
	for i := range messages {
		m, err := prepare(&messages[i], &set)
		if err != nil {
			out[i].Err = err
			continue
		}
		identify(m.record)
		out[i].ID = rules.FormatUUID(m.record.ID)
		c.outgoing = append(c.outgoing, m)
	}
	if len(c.outgoing) == 0 {
		c = nil
	}
	return c, out, nil
}

// sent is what became of the messages.
func (c *send) sent(out []Sent, err error) ([]Sent, error) {
	if err != nil {
		return nil, err
	}
	if c.fifo {
		c.number(out)
	}
	return out, nil
}

// number says of each message of a FIFO queue what it is stored as.
func (c *send) number(out []Sent) {
	next := 0
	for i := range out {
		if out[i].Err == nil {
			m := &c.outgoing[next]
			next++
			out[i] = Sent{ID: rules.FormatUUID(m.stored.ID), SequenceNumber: formatSequence(m.stored.Seq),
				Duplicate: m.duplicate}
		}
	}
}

// prepare validates a message and turns it into what is stored.
func prepare(m *Outgoing, set *machine.Settings) (sending, error) {
	if err := m.check(set); err != nil {
		return sending{}, err
	}
	extra, err := encodeExtras(m)
	if err != nil {
		return sending{}, err
	}
	delay := int64(-1)
	if m.Delay != nil {
		delay = m.Delay.Milliseconds()
	}
	if set.Fifo {
		delay = -1 // only 0 is accepted, and means the queue's
	}
	return sending{record: &machine.Record{Group: m.GroupID, Dedup: m.deduplicationID(set), Attributes: extra,
		Body: m.Body, Digest: m.Digest}, delay: delay}, nil
}

func newID() (id [16]byte) {
	rand.Read(id[:]) // never fails
	return versionUUID(id)
}

// Receive takes up to o.Max visible messages, which then are in flight for
// the visibility timeout. With a wait it returns as soon as there is at least
// one message, or none when the time is over; receives that wait are served
// in the order in which they came. When ctx ends while waiting, the result is
// its error, or the messages if some were handed out at that moment.
func (s *Service) Receive(ctx context.Context, name string, o ReceiveOptions) ([]Message, error) {
	c, err := s.newReceive(name, o)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.alive(), ctx.Err()); err != nil {
		return nil, err
	}
	if !s.serveNow(c) {
		c.answer = newReply()
		err := s.submit(ctx, c)
		if err == nil {
			err = s.await(ctx, c, c.patience)
		}
		if err != nil && c.taken == 0 {
			return nil, err
		}
		if err != nil {
			c.out = c.out[:c.taken]
		}
	}
	if len(c.out) == 0 {
		return nil, ctx.Err()
	}
	return s.open(c)
}

// newReceive validates what is asked for.
func (s *Service) newReceive(name string, o ReceiveOptions) (*receive, error) {
	set, err := s.lookup(name)
	if err != nil {
		return nil, err
	}
	if err := checkReceive(o, set.Fifo); err != nil {
		return nil, err
	}
	c := &receive{queue: name, fifo: set.Fifo, max: max(1, o.Max), timeout: -1, attempt: o.Attempt}
	c.patience = time.Duration(set.Wait) * time.Millisecond
	if o.Wait != nil {
		c.patience = *o.Wait
	}
	c.wait = c.patience > 0
	if o.Visibility != nil {
		c.timeout = o.Visibility.Milliseconds()
	}
	return c, nil
}

// await waits for the answer to c, for at most wait if it is parked.
func (s *Service) await(ctx context.Context, c *receive, wait time.Duration) error {
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case err := <-c.answer.waiting:
			return err
		case <-timer.C:
		case <-ctx.Done():
		case <-s.done:
		}
		// Messages may be on their way at this very moment; only the writer
		// knows, and it answers either way.
		if err := s.submit(context.WithoutCancel(ctx), withdraw{c}); err != nil {
			<-s.done
			return c.answer.final()
		}
	}
	select {
	case err := <-c.answer.waiting:
		return err
	case <-s.done:
		return c.answer.final()
	}
}

// open adds receipts and contents to what was received.
func (s *Service) open(c *receive) ([]Message, error) {
	out := make([]Message, 0, len(c.out))
	var failed error
	for i, d := range c.out {
		rec := c.records[i]
		if rec == nil {
			var err error
			if rec, err = s.contents.Record(d.Seq); err != nil {
				failed = s.unreadable(c.queue, d, err)
				continue
			}
			if rec == nil {
				continue // purged meanwhile
			}
		}
		m, err := messageOf(rec, d, s.receipts.make(d), c.fifo)
		if err != nil {
			failed = err
			continue
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		return nil, failed
	}
	if failed != nil && !errors.Is(failed, ErrDamagedMessage) {
		s.log.Error("queue: a received message could not be read; it becomes visible again", "queue", c.queue, "error",
			failed)
	}
	return out, nil
}

// unreadable sets a received message aside if its content is damaged, and returns what is wrong with it.
func (s *Service) unreadable(queue string, d machine.Delivery, err error) error {
	err = damaged(queue, d, err)
	if d, ok := errors.AsType[*DamagedMessage](err); ok {
		s.setAside(d)
	}
	return err
}

// Delete deletes messages by the handles of their receives and returns one
// error for each, nil for a deleted one. Deleting a message that is gone
// succeeds. So does an outdated handle, of a message that was received again
// since; it deletes nothing, since somebody else holds the message now. On a
// FIFO queue a handle whose visibility timeout ran out fails with
// ErrInvalidParameter.
func (s *Service) Delete(ctx context.Context, name string, handles []string) []error {
	return s.settleAll(ctx, &settleAll{queue: name}, len(handles), func(i int) VisibilityChange {
		return VisibilityChange{Receipt: handles[i]}
	})
}

// ChangeVisibility makes messages in flight visible after a time and returns
// one error for each. Changing to 0 hands a message back. On a standard queue
// every handle of a message will do, also one of an earlier receive or one whose
// time ran out. A FIFO queue refuses both with ErrInvalidParameter. So does every
// queue for a message that is gone.
func (s *Service) ChangeVisibility(ctx context.Context, name string, changes []VisibilityChange) []error {
	change := &settleAll{queue: name, change: true}
	return s.settleAll(ctx, change, len(changes), func(i int) VisibilityChange { return changes[i] })
}

func (s *Service) settleAll(ctx context.Context, c *settleAll, n int, at func(int) VisibilityChange) []error {
	if errs := s.newSettle(c, n, at); errs != nil {
		return errs
	}
	c.answer = newReply()
	return c.errors(s.do(ctx, c, c.answer))
}

// newSettle reads the receipts. If there is nothing to do it returns the errors.
func (s *Service) newSettle(c *settleAll, n int, at func(int) VisibilityChange) []error {
	errs := make([]error, n)
	if n == 0 {
		return errs
	}
	if err := checkBatch(n); err != nil {
		return fill(errs, err)
	}
	if _, err := s.lookup(c.queue); err != nil {
		return fill(errs, err)
	}
	c.targets = make([]target, n)
	valid := 0
	for i := range n {
		to := at(i)
		d, err := s.receipts.read(to.Receipt)
		if err == nil {
			err = checkVisibility(to.Timeout, "Must be between 0 and 43200.")
		}
		if err != nil {
			errs[i] = err
			continue
		}
		valid++
		c.targets[i] = target{Delivery: d, handle: to.Receipt, timeout: to.Timeout.Milliseconds()}
		if to.Returned {
			c.targets[i].hands = machine.Returned
		}
	}
	if valid == 0 {
		return errs
	}
	c.refused = errs
	return nil
}

// errors is what became of each target.
func (c *settleAll) errors(err error) []error {
	if err != nil {
		return fill(c.refused, err)
	}
	for i := range c.targets {
		if c.refused[i] == nil {
			c.refused[i] = c.targets[i].err
		}
	}
	return c.refused
}

// fill gives err to every entry that has none yet.
func fill(errs []error, err error) []error {
	for i := range errs {
		if errs[i] == nil {
			errs[i] = err
		}
	}
	return errs
}

// Counts returns the exact numbers of a queue. It is cheap and does not wait
// for a commit; it may be ahead of one by a group of requests.
func (s *Service) Counts(name string) (Counts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.st.Names[name]
	if q == nil {
		return Counts{}, noQueue(name)
	}
	now := s.tick()
	q.Advance(now)
	c := Counts{
		At: rules.FromMillis(now), Visible: q.Visible(), Runnable: q.Runnable(), InFlight: q.InFlight.Len(),
		Delayed: q.Delayed.Len(),
		Damaged: len(q.Damaged), Sent: q.Sent, Deleted: q.Deleted, Received: q.Received,
	}
	if sent, _, ok := q.Oldest(); ok {
		c.OldestSent = rules.FromMillis(sent)
	}
	c.Returned, c.Unsure, c.ReturnedSent, c.DeadLetters = q.Retries.Len(), q.Unsure, sentGroups(q.Retries.Nodes), -1
	if q.Settings.Redrive != nil {
		if dead := s.st.Names[q.DeadLetterQueue()]; dead != nil && dead != q {
			c.DeadLetters, c.DeadLetterQueue = dead.Len(), q.DeadLetterQueue()
		}
	}
	return c, nil
}

// Subscribe returns a channel that is signalled whenever messages of the named
// queue become receivable, or the queue goes from holding messages to holding
// none. Signals are coalesced: one is kept while nobody reads. The queue need
// not exist yet. cancel ends the subscription; the channel is never closed.
func (s *Service) Subscribe(name string) (wake <-chan struct{}, cancel func()) {
	ch := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakes[name] = append(s.wakes[name], ch)
	return ch, func() { s.unsubscribe(name, ch) }
}

func (s *Service) unsubscribe(name string, ch chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range s.wakes[name] {
		if c == ch {
			s.wakes[name] = append(s.wakes[name][:i:i], s.wakes[name][i+1:]...)
			break
		}
	}
	if len(s.wakes[name]) == 0 {
		delete(s.wakes, name)
	}
}
