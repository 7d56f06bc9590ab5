package queue

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// Move is a task that moves the messages of a dead-letter queue.
type Move struct {
	// ID names the move; it is never used again.
	ID string
	// Source is the dead-letter queue.
	Source string
	// Destination is where the messages go; empty means where each came from.
	Destination string
	// PerSecond limits the messages moved in a second; 0 means no limit.
	PerSecond int
	// Status says how far it has come.
	Status MoveStatus
	// Failure is why it failed, in the words of SQS; empty otherwise.
	Failure string
	// Started is when it was started.
	Started time.Time
	// Moved and ToMove count messages: those moved so far, and those that were
	// visible when it started.
	Moved, ToMove int
}

// StartMove begins to move the messages that are visible in a dead-letter
// queue, to another queue or, if destination is empty, back to where each came
// from. They arrive as if sent now, keeping their ids. At most perSecond
// messages are moved in a second, 1 to MaxMoveRate; 0 means no limit. The move
// goes on after a restart. One move at a time may run for a queue. The error
// is ErrNotFound if a queue does not exist, or ErrInvalidParameter.
func (s *Service) StartMove(ctx context.Context, source, destination string, perSecond int) (string, error) {
	if perSecond < 0 || perSecond > MaxMoveRate {
		return "", refuse(ErrInvalidParameter,
			"Value for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: You must enter a number "+
				"that's between 1 and %d.", MaxMoveRate)
	}
	var id string
	c := &call{answer: newReply(), run: func(st *state, now int64) error {
		q, err := movable(st, source, destination)
		switch {
		case err != nil:
			return err
		case !st.hasSources(source):
			return refuse(ErrInvalidParameter, "Source queue must be configured as a Dead Letter Queue.")
		case q.moving() != nil:
			return refuse(ErrInvalidParameter,
				"There is already a task running. Only one active task is allowed for a source queue arn at a given time.")
		}
		id = strconv.FormatUint(st.startMove(q, now, destination, int64(perSecond)).id, 10)
		return nil
	}}
	err := s.do(ctx, c, c.answer)
	if err != nil {
		return "", err
	}
	return id, nil
}

// movable is the source of a move, if it and the destination may be so.
func movable(st *state, source, destination string) (*queue, error) {
	q := st.names[source]
	if q == nil {
		return nil, refuse(ErrNotFound, "The resource that you specified for the SourceArn parameter doesn't exist.")
	}
	if destination == "" {
		return q, nil
	}
	switch to := st.names[destination]; {
	case to == nil:
		return nil, refuse(ErrNotFound, "The resource that you specified for the DestinationArn parameter doesn't exist.")
	case to == q:
		return nil, refuse(ErrInvalidParameter, "Source queue arn and destination queue arn cannot be the same.")
	case to.fifo != q.fifo:
		return nil, refuse(ErrInvalidParameter, "The source queue and destination queue must be of the same queue type.")
	}
	return q, nil
}

// hasSources says whether a queue is the dead-letter queue of any.
func (st *state) hasSources(name string) bool {
	for _, q := range st.names {
		if q.deadLetterQueue() == name {
			return true
		}
	}
	return false
}

// Moves returns the last moves out of a queue, the newest first; at most ten
// are kept. The error is ErrNotFound if the queue does not exist.
func (s *Service) Moves(source string) ([]Move, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.st.names[source]
	if q == nil {
		return nil, refuse(ErrNotFound, "The resource that you specified for the SourceArn parameter doesn't exist.")
	}
	var out []Move
	for _, m := range slices.Backward(q.moves) {
		out = append(out, Move{
			ID: strconv.FormatUint(m.id, 10), Source: source, Destination: m.destination, PerSecond: int(m.rate),
			Status: m.status, Failure: m.failure, Started: fromMillis(m.started), Moved: int(m.moved), ToMove: int(m.toMove),
		})
	}
	return out, nil
}

// CancelMove ends a running move; what it moved stays moved. It returns how
// many that are. The error is ErrNotFound for an unknown move and
// ErrUnsupported for one that is over.
func (s *Service) CancelMove(ctx context.Context, id string) (moved int, err error) {
	c := &call{answer: newReply(), run: func(st *state, _ int64) error {
		q, m := st.findMove(id)
		switch {
		case m == nil:
			return refuse(ErrNotFound, "Task does not exist.")
		case m.status != MoveRunning:
			return refuse(ErrUnsupported, "Only active tasks can be cancelled.")
		}
		ended := *m
		ended.status = MoveCancelled
		st.putMove(q, &ended)
		moved = int(ended.moved)
		return nil
	}}
	err = s.do(ctx, c, c.answer)
	return moved, err
}

func (st *state) findMove(id string) (*queue, *moveRow) {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return nil, nil
	}
	for _, q := range st.ids {
		for _, m := range q.moves {
			if m.id == n {
				return q, m
			}
		}
	}
	return nil, nil
}

// Redrive moves up to limit visible messages out of a queue at once, and
// returns when they are on disk: to another queue or, if destination is empty,
// back to where each came from. It stops, with an error and the number moved
// so far, at a message that has nowhere to go.
func (s *Service) Redrive(ctx context.Context, source, destination string, limit int) (moved int, err error) {
	for moved < limit {
		var step int
		c := &call{answer: newReply(), run: func(st *state, now int64) error {
			q, err := movable(st, source, destination)
			if err != nil {
				return err
			}
			step, err = st.redriveSome(q, now, destination, min(limit-moved, moveBatch))
			return err
		}}
		if err := s.do(ctx, c, c.answer); err != nil {
			return moved, err
		}
		if step == 0 {
			break
		}
		moved += step
	}
	return moved, nil
}

// redriveSome moves up to limit messages. It fails only if it can move none.
func (st *state) redriveSome(q *queue, now int64, destination string, limit int) (moved int, err error) {
	st.expire(q, now)
	for moved < limit {
		ref := q.first()
		if ref == 0 {
			break
		}
		to, failure := st.moveTarget(q, ref, destination)
		if to == nil {
			if moved == 0 {
				return 0, refuse(ErrNotFound, "A message of %s has nowhere to go: %s. Name a destination.", q.saved.name, failure)
			}
			break
		}
		st.redrive(q, ref, to, now)
		moved++
	}
	return moved, nil
}
