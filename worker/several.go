package worker

import (
	"context"
	"errors"
	"sync"
	"time"
)

// turnWait is how long a receive waits at one of several queues before the next queue has its turn.
const turnWait = time.Second

// Several combines queues, at least one, into a single Queue. A worker that serves it receives from each in turn, and
// waits at none while another has messages. Several goroutines may use it if they may use each queue.
func Several(queues ...Queue) Queue {
	if len(queues) == 1 {
		return queues[0]
	}
	return &several{queues: queues}
}

type several struct {
	queues []Queue
	mu     sync.Mutex
	turn   int
}

// Receive implements [Queue]. An unreachable queue does not stop the service of the others. It is an error only if all
// are unreachable, because an error makes the worker pause.
func (s *several) Receive(ctx context.Context, limit int, wait, visibility time.Duration) ([]Message, error) {
	s.mu.Lock()
	first := s.turn
	s.turn = (s.turn + 1) % len(s.queues)
	s.mu.Unlock()
	var failures []error
	var empty Queue
	for i := range s.queues {
		q := s.queues[(first+i)%len(s.queues)]
		messages, err := s.receive(ctx, q, limit, 0, visibility)
		switch {
		case len(messages) > 0:
			return messages, nil
		case err != nil:
			failures = append(failures, err)
		case empty == nil:
			empty = q
		}
	}
	switch {
	case empty == nil:
		return nil, errors.Join(failures...)
	case wait == 0:
		return nil, nil
	}
	return s.receive(ctx, empty, limit, min(wait, turnWait), visibility)
}

func (s *several) receive(ctx context.Context, q Queue, limit int, wait, visibility time.Duration) ([]Message, error) {
	messages, err := q.Receive(ctx, limit, wait, visibility)
	for i := range messages {
		messages[i].from = q
	}
	return messages, err
}

// Delete implements [Queue].
func (s *several) Delete(ctx context.Context, m Message) error { return m.from.Delete(ctx, m) }

// ChangeVisibility implements [Queue].
func (s *several) ChangeVisibility(ctx context.Context, m Message, d time.Duration) error {
	return m.from.ChangeVisibility(ctx, m, d)
}

// Return implements [Returner].
func (s *several) Return(ctx context.Context, m Message, d time.Duration) error {
	return giveBackTo(ctx, m.from, m, d)
}
