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

// DamagedMessage is a message whose content is not what was sent: a bit of it changed on the disk, or cannot be read.
// It is never delivered.
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
	return fmt.Sprintf("message %d of queue %s, sent %s: %v; it is set aside, and stays in the file until its queue "+
		"is purged: `muster queue check` tells more",
		d.Sequence, d.Queue, d.Sent.UTC().Format(time.RFC3339), d.Cause)
}

// Unwrap returns ErrDamagedMessage and the cause, for errors.Is.
func (d *DamagedMessage) Unwrap() []error { return []error{ErrDamagedMessage, d.Cause} }

// damaged returns err as that of a message, if it says that its content is damaged.
func damaged(queue string, d machine.Delivery, err error) error {
	if !errors.Is(err, machine.ErrDamagedContent) {
		return err
	}
	return &DamagedMessage{queue, d.Seq, rules.FromMillis(d.Sent), err}
}

// Damaged returns the messages of all queues that were set aside since the service was opened, because their content is
// damaged.
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

// setAside takes a message out of its queue whose content was found damaged when it was to be delivered.
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
