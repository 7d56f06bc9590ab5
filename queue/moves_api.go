// Moves of messages out of a dead-letter queue: as a task in the background (StartMove, as SQS offers
// it), or at once (Redrive, for `muster queue redrive`).

package queue

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
	"github.com/muster-scale/muster/queue/internal/writer"
)

// MoveStatus is the state of a move.
type MoveStatus = machine.MoveStatus

// The statuses of a move, in the words of SQS.
const (
	MoveRunning   = machine.MoveRunning
	MoveCompleted = machine.MoveCompleted
	MoveCancelled = machine.MoveCancelled
	MoveFailed    = machine.MoveFailed
)

// MaxMoveRate is the largest rate limit of a move, in messages per second.
const MaxMoveRate = 500

// Move is a task that moves the messages of a dead-letter queue.
type Move struct {
	// ID names the move; it is never used again.
	ID string
	// Source is the dead-letter queue.
	Source string
	// Destination is the queue to which the messages go; empty means the queue each came from.
	Destination string
	// PerSecond limits the rate, in messages per second; 0 means no limit.
	PerSecond int
	// Status is the state of the move.
	Status MoveStatus
	// Failure is the reason of MoveFailed, in the words of SQS; empty otherwise.
	Failure string
	// Started is the time at which the move was started.
	Started time.Time
	// Moved counts the messages moved so far, ToMove those that were visible at the start.
	Moved, ToMove int
}

// StartMove starts to move the messages that are visible in a dead-letter queue, to another queue or,
// if destination is empty, to the queue each came from. It returns the id of the move. Messages arrive
// as if sent now, and keep their ids. At most perSecond messages are moved in a second, 1 to
// MaxMoveRate; 0 means no limit. The move continues after a restart. A queue has at most one running
// move. The error is ErrNotFound if a queue does not exist, otherwise ErrInvalidParameter.
func (s *Service) StartMove(ctx context.Context, source, destination string, perSecond int) (string, error) {
	if perSecond < 0 || perSecond > MaxMoveRate {
		return "", rules.Refuse(ErrInvalidParameter,
			"Value for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: You must enter a number "+
				"that's between 1 and %d.", MaxMoveRate)
	}
	var id string
	c := &writer.Call{Answer: writer.NewReply(), Run: func(st *machine.State, now int64) error {
		q, err := movable(st, source, destination)
		switch {
		case err != nil:
			return err
		case !st.HasSources(source):
			return rules.Refuse(ErrInvalidParameter, "Source queue must be configured as a Dead Letter Queue.")
		case q.Moving() != nil:
			return rules.Refuse(ErrInvalidParameter,
				"There is already a task running. Only one active task is allowed for a source queue arn at a given "+
					"time.")
		}
		id = strconv.FormatUint(st.StartMove(q, now, destination, int64(perSecond)).ID, 10)
		return nil
	}}
	err := s.writer.Do(ctx, c, c.Answer)
	if err != nil {
		return "", err
	}
	return id, nil
}

// movable returns the source queue if its messages may be moved to the destination: both exist, differ
// and are of the same type. An empty destination is checked later, message by message.
func movable(st *machine.State, source, destination string) (*machine.Queue, error) {
	q := st.Names[source]
	if q == nil {
		return nil, rules.Refuse(ErrNotFound, "The resource that you specified for the SourceArn parameter doesn't "+
			"exist.")
	}
	if destination == "" {
		return q, nil
	}
	switch to := st.Names[destination]; {
	case to == nil:
		return nil, rules.Refuse(ErrNotFound,
			"The resource that you specified for the DestinationArn parameter doesn't exist.")
	case to == q:
		return nil, rules.Refuse(ErrInvalidParameter, "Source queue arn and destination queue arn cannot be the same.")
	case to.Fifo != q.Fifo:
		return nil, rules.Refuse(ErrInvalidParameter,
			"The source queue and destination queue must be of the same queue type.")
	}
	return q, nil
}

// Moves returns the last moves out of a queue, the newest first; at most ten are kept. The error is
// ErrNotFound if the queue does not exist.
func (s *Service) Moves(source string) ([]Move, error) {
	st := s.writer.Lock()
	defer s.writer.Unlock()
	q := st.Names[source]
	if q == nil {
		return nil, rules.Refuse(ErrNotFound, "The resource that you specified for the SourceArn parameter doesn't "+
			"exist.")
	}
	var out []Move
	for _, m := range slices.Backward(q.Moves) {
		out = append(out, Move{
			ID: strconv.FormatUint(m.ID, 10), Source: source, Destination: m.Destination, PerSecond: int(m.Rate),
			Status: m.Status, Failure: m.Failure, Started: rules.FromMillis(m.Started), Moved: int(m.Moved),
			ToMove: int(m.ToMove),
		})
	}
	return out, nil
}

// CancelMove ends a running move and returns the number of messages it moved; they stay moved. The
// error is ErrNotFound for an unknown move and ErrUnsupported for one that has ended.
func (s *Service) CancelMove(ctx context.Context, id string) (moved int, err error) {
	c := &writer.Call{Answer: writer.NewReply(), Run: func(st *machine.State, _ int64) error {
		q, m := findMove(st, id)
		switch {
		case m == nil:
			return rules.Refuse(ErrNotFound, "Task does not exist.")
		case m.Status != machine.MoveRunning:
			return rules.Refuse(ErrUnsupported, "Only active tasks can be cancelled.")
		}
		ended := *m
		ended.Status = machine.MoveCancelled
		st.PutMove(q, &ended)
		moved = int(ended.Moved)
		return nil
	}}
	err = s.writer.Do(ctx, c, c.Answer)
	return moved, err
}

// findMove returns the move with that id and its source queue, or nil. Moves are few, so a scan will
// do.
func findMove(st *machine.State, id string) (*machine.Queue, *machine.MoveRow) {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return nil, nil
	}
	for _, q := range st.IDs {
		for _, m := range q.Moves {
			if m.ID == n {
				return q, m
			}
		}
	}
	return nil, nil
}

// Redrive moves up to limit visible messages out of a queue and returns when they are on disk. They go
// to destination or, if that is empty, to the queue each came from. It stops with an error and the
// number moved so far at a message without a destination. It moves in steps, between which other
// requests are served.
func (s *Service) Redrive(ctx context.Context, source, destination string, limit int) (moved int, err error) {
	for moved < limit {
		var step int
		c := &writer.Call{Answer: writer.NewReply(), Run: func(st *machine.State, now int64) error {
			q, err := movable(st, source, destination)
			if err != nil {
				return err
			}
			step, err = redriveSome(st, q, now, destination, min(limit-moved, machine.MoveBatch))
			return err
		}}
		if err := s.writer.Do(ctx, c, c.Answer); err != nil {
			return moved, err
		}
		if step == 0 {
			break
		}
		moved += step
	}
	return moved, nil
}

// redriveSome moves up to limit messages in one step. It returns an error only if it could move none:
// the next step then starts at that message and reports it.
func redriveSome(st *machine.State, q *machine.Queue, now int64, destination string, limit int) (moved int, err error) {
	st.Expire(q, now)
	for moved < limit {
		ref := q.First()
		if ref == 0 {
			break
		}
		to, failure := st.MoveTarget(q, ref, destination)
		if to == nil {
			if moved == 0 {
				return 0, rules.Refuse(ErrNotFound, "A message of %s has nowhere to go: %s. Name a destination.",
					q.Saved.Name,
					failure)
			}
			break
		}
		st.Redrive(q, ref, to, now)
		moved++
	}
	return moved, nil
}
