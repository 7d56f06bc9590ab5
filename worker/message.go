package worker

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Queue delivers messages. Several goroutines use an implementation, and its methods return soon after ctx ends. Its
// errors have the same text while the fault is the same, so that the log can show changes.
type Queue interface {
	// Receive waits up to wait for messages and returns at most max of them, hidden from others for visibility. It
	// returns none, without error, when none came.
	Receive(ctx context.Context, max int, wait, visibility time.Duration) ([]Message, error)
	// Delete removes a message for good. Deleting it twice is not an error.
	Delete(ctx context.Context, m Message) error
	// ChangeVisibility hides a message in flight for d from now on; 0 makes it visible at once. It fails with [ErrGone]
	// when the message is no longer in flight, and with [ErrAway] when no worker can receive a message.
	ChangeVisibility(ctx context.Context, m Message, d time.Duration) error
}

// Returner is an optional ability of a [Queue]: it tells a message that returns, to wait for its retry, from an
// extension.
type Returner interface {
	// Return is ChangeVisibility for a message that is not worked on any more.
	Return(ctx context.Context, m Message, d time.Duration) error
}

// giveBackTo returns a message to a queue, where it becomes visible after d.
func giveBackTo(ctx context.Context, q Queue, m Message, d time.Duration) error {
	if to, ok := q.(Returner); ok {
		return to.Return(ctx, m, d)
	}
	return q.ChangeVisibility(ctx, m, d)
}

// The errors of a queue that refuses, of work that is stopped, and of work that never began. [ErrLeaseLost],
// [ErrStopped] and [ErrTimeLimit] are causes of the context given to the work.
var (
	// ErrGone means that a message is no longer in flight under this receipt handle: it was deleted, or its visibility
	// timeout ended.
	ErrGone = errors.New("the message is not held any more")
	// ErrAway means that nothing listens at the queue's endpoint on this machine, so that no worker can receive a
	// message. A queue returns it only when that is certain: an endpoint that is unreachable or does not answer may
	// serve others.
	ErrAway = errors.New("nothing listens at the queue's endpoint")
	// ErrLeaseLost means that another worker may soon receive the message. The work must stop at once.
	ErrLeaseLost = errors.New("the lease on the message is lost")
	// ErrStopped means that the grace of the operator's stop is over. The message returns to the queue.
	ErrStopped = errors.New("the worker is stopping and its grace is over")
	// ErrTimeLimit means that the work took longer than Options.TimeLimit. It must stop at once; the message has
	// failed.
	ErrTimeLimit = errors.New("the time limit for a message is over")
	// ErrNotBegun is the result of work that never began, because its program is not running. The message returns to
	// the queue and the attempt does not count.
	ErrNotBegun = errors.New("the work did not begin")
)

// Message is one received message.
type Message struct {
	// from is the queue it was received from, if there are several.
	from Queue

	// ID stays the same over all deliveries of the message.
	ID string
	// Queue is the name of its queue.
	Queue string
	// Body is passed on unchanged and never logged.
	Body string
	// Handle is the receipt handle of this delivery.
	Handle string
	// Group is the message group, empty for a message without one.
	Group string
	// ReceiveCount counts the deliveries, including this one; 0 means unknown.
	ReceiveCount int
	// Attempt counts how often work on the message began, including this time and not counting interruptions; 0 means
	// unknown. Run sets it, from Options.Attempts or else from ReceiveCount.
	Attempt int
	// SenderID is the account that sent the message, as the queue knows it; empty means unknown.
	SenderID string
	// SentAt and FirstReceivedAt are by the queue's clock; zero means unknown.
	SentAt, FirstReceivedAt time.Time
	// Deadline is when this delivery's visibility timeout would end without extension. Run sets it.
	Deadline time.Time
	// Attributes are the sender's, by name.
	Attributes map[string]Attribute
	// Node is the tree node of the message, to which the work may add children; nil for other messages.
	Node *Node
}

// Attribute is one attribute that the sender gave a message.
type Attribute struct {
	// Type is "String", "Number" or "Binary", optionally with a label after a dot.
	Type string
	// Text is the value of a String or Number, Binary that of a Binary.
	Text   string
	Binary []byte
}

// ordered tells whether the message must wait for earlier ones of its group. Groups of standard queues are only for
// fairness.
func (m Message) ordered() bool { return m.Group != "" && strings.HasSuffix(m.Queue, FifoSuffix) }

// FifoSuffix ends the name of every FIFO queue, and of no other: SQS demands it.
const FifoSuffix = ".fifo"

// LeaseKey is the key under which the context of a message's work holds a context that ends with the lease; see
// [LeaseLost].
type LeaseKey struct{}

// LeaseLost returns a channel that is closed when the lease on the message of ctx is lost, even if ctx ended before for
// another reason. Work that is stopping gently must then stop at once. The channel is nil when ctx is not one of Run's.
func LeaseLost(ctx context.Context) <-chan struct{} {
	if lease, ok := ctx.Value(LeaseKey{}).(context.Context); ok {
		return lease.Done()
	}
	return nil
}
