package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"
)

// DamagedMessage is a message whose content is not what was sent: a bit of it changed on the disk, or cannot be read. It is
// never delivered.
type DamagedMessage struct {
	// Queue is where it is, and Sequence its number there.
	Queue    string
	Sequence uint64
	// Sent is when it was sent.
	Sent time.Time
	// Cause says what was found.
	Cause error
}

// Error says which message it is and what becomes of it.
func (d *DamagedMessage) Error() string {
	return fmt.Sprintf("message %d of queue %s, sent %s: %v; it is set aside, and stays in the file until its queue is purged: `muster queue check` tells more",
		d.Sequence, d.Queue, d.Sent.UTC().Format(time.RFC3339), d.Cause)
}

// Unwrap returns ErrDamagedMessage and the cause, for errors.Is.
func (d *DamagedMessage) Unwrap() []error { return []error{ErrDamagedMessage, d.Cause} }

// damaged returns err as that of a message, if it says that its content is damaged.
func damaged(queue string, d delivery, err error) error {
	if !errors.Is(err, errDamagedContent) {
		return err
	}
	return &DamagedMessage{queue, d.seq, fromMillis(d.sent), err}
}

// Damaged returns the messages of all queues that were set aside since the service was opened, because their content is
// damaged.
func (s *Service) Damaged() []*DamagedMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*DamagedMessage
	for _, name := range slices.Sorted(maps.Keys(s.st.names)) {
		q := s.st.names[name]
		for _, seq := range slices.Sorted(maps.Keys(q.damaged)) {
			out = append(out, &DamagedMessage{name, seq, fromMillis(q.damaged[seq].sent), errDamagedContent})
		}
	}
	return out
}

// setAside takes a message out of its queue whose content was found damaged when it was to be delivered.
func (s *Service) setAside(d *DamagedMessage) {
	moved := false
	c := &call{answer: newReply(), run: func(st *state, _ int64) error {
		q := st.names[d.Queue]
		moved = q != nil && st.setAside(q, d.Sequence)
		return nil
	}}
	if err := s.do(context.Background(), c, c.answer); err == nil && moved {
		s.log.Error("queue: a message is damaged", slog.Any("error", d))
	}
}

// setAside moves a message to those that are damaged. Its row stays in the store, and says nothing of this: whoever opens
// the store again finds out when the message is to be delivered.
func (st *state) setAside(q *queue, seq uint64) bool {
	ref, e := q.find(seq)
	if ref == 0 {
		return false
	}
	n := e.numbers
	st.note(q, seq)
	q.drop(ref)
	q.damaged[seq] = n
	st.noteUndo(func() { delete(q.damaged, seq) })
	return true
}

// forgetDamaged deletes a damaged message, and says whether there was one.
func (st *state) forgetDamaged(q *queue, seq uint64) bool {
	n, ok := q.damaged[seq]
	if ok {
		delete(q.damaged, seq)
		st.noteUndo(func() { q.damaged[seq] = n })
		st.ops = append(st.ops, op{kind: opRemove, seq: seq})
	}
	return ok
}
