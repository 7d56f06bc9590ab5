// The calls about messages: Send, Receive, Delete, ChangeVisibility and Counts. Each call of a batch
// has three parts, which Batcher shares: a new... function validates and builds the writer's request,
// the writer runs it, and a function such as sentOf turns the request into the result.

package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
	"github.com/muster-scale/muster/queue/internal/writer"
)

// lookup returns the settings of a queue. They may change before the request runs; the writer looks the
// queue up again.
func (s *Service) lookup(name string) (machine.Settings, error) {
	st := s.writer.Lock()
	defer s.writer.Unlock()
	q := st.Names[name]
	if q == nil {
		return machine.Settings{}, rules.NoQueue(name)
	}
	return q.Settings, nil
}

// Send stores messages and returns one outcome for each, in order. An invalid message is refused alone,
// in Sent.Err; the others are on disk when Send returns. An error means that nothing was stored, unless
// ctx ended: then the outcome is unknown. A FIFO queue without ContentBasedDeduplication refuses all
// messages if one has no deduplication id, as AWS does.
func (s *Service) Send(ctx context.Context, name string, messages []Outgoing) ([]Sent, error) {
	c, out, err := s.newSend(name, messages)
	if err != nil || c == nil {
		return out, err
	}
	c.Answer = writer.NewReply()
	return sentOf(c, out, s.writer.Do(ctx, c, c.Answer))
}

// newSend validates messages and gives ids to the valid ones. c is nil if every message was refused;
// out then is the complete result. The size limit of a batch counts all messages, refused ones too.
func (s *Service) newSend(name string, messages []Outgoing) (c *writer.Send, out []Sent, err error) {
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
	c = &writer.Send{Queue: name, Fifo: set.Fifo, Outgoing: make([]writer.Sending, 0, len(messages))}
	for i := range messages {
		m, err := prepare(&messages[i], &set)
		if err != nil {
			out[i].Err = err
			continue
		}
		identify(m.Record)
		out[i].ID = rules.FormatUUID(m.Record.ID)
		c.Outgoing = append(c.Outgoing, m)
	}
	if len(c.Outgoing) == 0 {
		c = nil
	}
	return c, out, nil
}

// sentOf completes out with the outcome of c. err is that of the writer.
func sentOf(c *writer.Send, out []Sent, err error) ([]Sent, error) {
	if err != nil {
		return nil, err
	}
	if c.Fifo {
		numbered(c, out)
	}
	return out, nil
}

// numbered fills in the sequence numbers of a FIFO queue. Refused messages have an entry in out and
// none in c.Outgoing, so the two are walked side by side. A duplicate takes the id of the message that
// was stored first.
func numbered(c *writer.Send, out []Sent) {
	next := 0
	for i := range out {
		if out[i].Err == nil {
			m := &c.Outgoing[next]
			next++
			out[i] = Sent{ID: rules.FormatUUID(m.Stored.ID), SequenceNumber: formatSequence(m.Stored.Seq),
				Duplicate: m.Duplicate}
		}
	}
}

// prepare validates a message and returns the record to store. A negative delay means the delay of the
// queue.
func prepare(m *Outgoing, set *machine.Settings) (writer.Sending, error) {
	if err := m.check(set); err != nil {
		return writer.Sending{}, err
	}
	extra, err := encodeExtras(m)
	if err != nil {
		return writer.Sending{}, err
	}
	delay := int64(-1)
	if m.Delay != nil {
		delay = m.Delay.Milliseconds()
	}
	if set.Fifo {
		delay = -1 // check accepts only 0 here, and AWS takes that as the queue's delay
	}
	return writer.Sending{Record: &machine.Record{Group: m.GroupID, Dedup: m.deduplicationID(set), Attributes: extra,
		Body: m.Body, Digest: m.Digest}, Delay: delay}, nil
}

// newID returns a random version 4 UUID.
func newID() (id [16]byte) {
	rand.Read(id[:]) // never returns an error
	return versionUUID(id)
}

// Receive takes up to o.Max visible messages. They are then in flight for the visibility timeout. With
// a wait it returns as soon as there is at least one message, or none when the wait is over. Waiting
// receives are served in the order of their calls. If ctx ends during the wait, the result is its
// error, or the messages if some were received at that moment.
func (s *Service) Receive(ctx context.Context, name string, o ReceiveOptions) ([]Message, error) {
	c, err := s.newReceive(name, o)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.writer.Alive(), ctx.Err()); err != nil {
		return nil, err
	}
	if err := s.writer.Receive(ctx, c); err != nil {
		return nil, err
	}
	if len(c.Out) == 0 {
		return nil, ctx.Err()
	}
	return s.open(c)
}

// newReceive validates o and fills in the defaults of the queue. A timeout of -1 lets the writer take
// the queue's timeout at the time of the receive.
func (s *Service) newReceive(name string, o ReceiveOptions) (*writer.Receive, error) {
	set, err := s.lookup(name)
	if err != nil {
		return nil, err
	}
	if err := checkReceive(o, set.Fifo); err != nil {
		return nil, err
	}
	c := &writer.Receive{Queue: name, Fifo: set.Fifo, Max: max(1, o.Max), Timeout: -1, Attempt: o.Attempt}
	c.WaitFor = time.Duration(set.Wait) * time.Millisecond
	if o.Wait != nil {
		c.WaitFor = *o.Wait
	}
	c.Wait = c.WaitFor > 0
	if o.Visibility != nil {
		c.Timeout = o.Visibility.Milliseconds()
	}
	return c, nil
}

// open turns deliveries into messages: it adds receipts, and reads from disk the contents that are not
// in memory. A message that cannot be read is left out. Its error is returned only if no other message
// remains; the left-out message becomes visible again when its timeout ends, unless it is damaged and
// set aside.
func (s *Service) open(c *writer.Receive) ([]Message, error) {
	out := make([]Message, 0, len(c.Out))
	var failed error
	for i, d := range c.Out {
		rec := c.Records[i]
		if rec == nil {
			var err error
			if rec, err = s.contents.Record(d.Seq); err != nil {
				failed = s.unreadable(c.Queue, d, err)
				continue
			}
			if rec == nil {
				continue // purged or deleted after the receive
			}
		}
		m, err := messageOf(rec, d, s.receipts.make(d), c.Fifo)
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
		s.log.Error("queue: a received message could not be read; it becomes visible again", "queue", c.Queue, "error",
			failed)
	}
	return out, nil
}

// unreadable returns err as a *DamagedMessage if it says that the content of d is damaged. It then sets
// the message aside, so that it is not delivered again.
func (s *Service) unreadable(queue string, d machine.Delivery, err error) error {
	err = damaged(queue, d, err)
	if d, ok := errors.AsType[*DamagedMessage](err); ok {
		s.setAside(d)
	}
	return err
}

// Delete deletes messages by the handles of their receives and returns one error for each, nil for a
// deleted one. Deleting a message that is gone succeeds. An outdated handle, of a message that was
// received again since, succeeds too and deletes nothing: another receiver works on the message. On a
// FIFO queue a handle whose visibility timeout has ended fails with ErrInvalidParameter.
func (s *Service) Delete(ctx context.Context, name string, handles []string) []error {
	return s.settleAll(ctx, &writer.Settle{Queue: name}, len(handles), func(i int) VisibilityChange {
		return VisibilityChange{Receipt: handles[i]}
	})
}

// ChangeVisibility makes messages in flight visible after a time and returns one error for each. A
// timeout of 0 makes a message visible at once. A standard queue accepts every handle of a message,
// also one of an earlier receive or one whose timeout has ended. A FIFO queue refuses both with
// ErrInvalidParameter. Every queue refuses the handle of a message that is gone.
func (s *Service) ChangeVisibility(ctx context.Context, name string, changes []VisibilityChange) []error {
	change := &writer.Settle{Queue: name, Change: true}
	return s.settleAll(ctx, change, len(changes), func(i int) VisibilityChange { return changes[i] })
}

// settleAll runs c over n targets, which at returns, and waits for the commit.
func (s *Service) settleAll(ctx context.Context, c *writer.Settle, n int, at func(int) VisibilityChange) []error {
	if errs := s.newSettle(c, n, at); errs != nil {
		return errs
	}
	c.Answer = writer.NewReply()
	return errorsOf(c, s.writer.Do(ctx, c, c.Answer))
}

// newSettle reads the receipts into c. If no target is valid it returns the errors, and c must not be
// submitted; otherwise it returns nil and keeps the errors of the refused targets in c.Refused.
func (s *Service) newSettle(c *writer.Settle, n int, at func(int) VisibilityChange) []error {
	errs := make([]error, n)
	if n == 0 {
		return errs
	}
	if err := checkBatch(n); err != nil {
		return fill(errs, err)
	}
	if _, err := s.lookup(c.Queue); err != nil {
		return fill(errs, err)
	}
	c.Targets = make([]writer.Target, n)
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
		c.Targets[i] = writer.Target{Delivery: d, Handle: to.Receipt, Timeout: to.Timeout.Milliseconds()}
		if to.Returned {
			c.Targets[i].FlightState = machine.Returned
		}
	}
	if valid == 0 {
		return errs
	}
	c.Refused = errs
	return nil
}

// errorsOf returns one error for each target of c. err is that of the writer, and counts for every
// target that was not refused before.
func errorsOf(c *writer.Settle, err error) []error {
	if err != nil {
		return fill(c.Refused, err)
	}
	for i := range c.Targets {
		if c.Refused[i] == nil {
			c.Refused[i] = c.Targets[i].Err
		}
	}
	return c.Refused
}

// fill sets err in every entry that has none, and returns errs.
func fill(errs []error, err error) []error {
	for i := range errs {
		if errs[i] == nil {
			errs[i] = err
		}
	}
	return errs
}

// Counts returns the exact numbers of a queue. It is cheap and does not wait for a commit, so it may
// include up to one group of requests that is not on disk yet.
func (s *Service) Counts(name string) (Counts, error) {
	st := s.writer.Lock()
	defer s.writer.Unlock()
	q := st.Names[name]
	if q == nil {
		return Counts{}, rules.NoQueue(name)
	}
	now := s.writer.Tick()
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
		if dead := st.Names[q.DeadLetterQueue()]; dead != nil && dead != q {
			c.DeadLetters, c.DeadLetterQueue = dead.Len(), q.DeadLetterQueue()
		}
	}
	return c, nil
}

// Subscribe returns a channel that is signalled when messages of the named queue become receivable, and
// when the queue becomes empty. Signals are coalesced: at most one is pending. The queue need not exist
// yet. cancel ends the subscription; the channel is never closed.
func (s *Service) Subscribe(name string) (wake <-chan struct{}, cancel func()) {
	return s.writer.Subscribe(name)
}
