// Damaged messages: how one is found, reported and taken out of its queue.

package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
	"github.com/muster-scale/muster/queue/internal/writer"
)

// DamagedMessage reports a message whose stored content differs from what was sent: bits changed on the
// disk, or cannot be read. It is never delivered.
type DamagedMessage struct {
	// Queue is the queue that holds the message. Sequence is its number in the file.
	Queue    string
	Sequence uint64
	// Sent is the time at which the message was sent.
	Sent time.Time
	// Cause says how the damage was noticed.
	Cause error
}

// Error names the message, the damage and what happens next.
func (d *DamagedMessage) Error() string {
	return fmt.Sprintf("message %d of queue %s, sent %s: %v; it is set aside and stays in the file until its queue "+
		"is purged; `muster queue check` shows details",
		d.Sequence, d.Queue, d.Sent.UTC().Format(time.RFC3339), d.Cause)
}

// Unwrap returns ErrDamagedMessage and the cause, for errors.Is.
func (d *DamagedMessage) Unwrap() []error { return []error{ErrDamagedMessage, d.Cause} }

// damaged returns err as a *DamagedMessage if it says that the content of d is damaged, and err itself
// otherwise.
func damaged(queue string, d machine.Delivery, err error) error {
	if !errors.Is(err, machine.ErrDamagedContent) {
		return err
	}
	return &DamagedMessage{queue, d.Seq, rules.FromMillis(d.Sent), err}
}

// Damaged returns the messages of all queues that were set aside since the service was opened, by queue
// and sequence. A restart forgets the list: the message is found again when it is to be delivered.
func (s *Service) Damaged() []*DamagedMessage {
	st := s.writer.Lock()
	defer s.writer.Unlock()
	var out []*DamagedMessage
	for _, name := range slices.Sorted(maps.Keys(st.Names)) {
		q := st.Names[name]
		for _, seq := range slices.Sorted(maps.Keys(q.Damaged)) {
			out = append(out, &DamagedMessage{name, seq, rules.FromMillis(q.Damaged[seq].Sent),
				machine.ErrDamagedContent})
		}
	}
	return out
}

// setAside takes a damaged message out of its queue and logs it once. The message may be gone by now;
// then nothing happens.
func (s *Service) setAside(d *DamagedMessage) {
	moved := false
	c := &writer.Call{Answer: writer.NewReply(), Run: func(st *machine.State, _ int64) error {
		q := st.Names[d.Queue]
		moved = q != nil && st.SetAside(q, d.Sequence)
		return nil
	}}
	if err := s.writer.Do(context.Background(), c, c.Answer); err == nil && moved {
		s.log.Error("queue: a message is damaged", slog.Any("error", d))
	}
}
