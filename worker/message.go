package worker

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Queue is where messages come from. Implementations are safe for use by several goroutines, and return soon after ctx
// ends. Their errors keep the same text while the same thing is wrong, so that a log can tell a change.
type Queue interface {
	// Receive waits up to wait for messages and returns at most max of them, hidden from others for visibility. It
	// returns none, without error, when none came.
	Receive(ctx context.Context, max int, wait, visibility time.Duration) ([]Message, error)
	// Delete removes a message for good. Deleting it twice is not an error.
	Delete(ctx context.Context, m Message) error
	// ChangeVisibility hides a message that is held for the duration d from now on; 0 gives it back at once. It fails
	// with [ErrGone] when the message is not held any more, and with [ErrAway] when no worker can receive a message.
	ChangeVisibility(ctx context.Context, m Message, d time.Duration) error
}

// Returner is the ability of a [Queue] to tell a message that is given back, and waits for its retry, from one that is
// held on.
type Returner interface {
	// Return is ChangeVisibility for a message that nobody works on any more.
	Return(ctx context.Context, m Message, d time.Duration) error
}

// giveBackTo gives a message back to a queue, where it is visible after the duration d.
func giveBackTo(ctx context.Context, q Queue, m Message, d time.Duration) error {
	if to, ok := q.(Returner); ok {
		return to.Return(ctx, m, d)
	}
	return q.ChangeVisibility(ctx, m, d)
}

// The reasons for which a queue refuses, for which work is stopped, and for which it never began. [ErrLeaseLost],
// [ErrStopped] and [ErrTimeLimit] are causes of the context given to the work.
var (
	// ErrGone means that a message is no longer held under this receipt handle: it was deleted, or its visibility
	// ended.
	ErrGone = errors.New("the message is not held any more")
	// ErrAway means that nothing listens at the queue's endpoint, which is on this machine: no worker can receive a
	// message until something does. A queue returns it only when it knows that; an endpoint that cannot be reached, or
	// does not answer, may serve others.
	ErrAway = errors.New("nothing listens at the queue's endpoint")
	// ErrLeaseLost means that the message may soon be seen by another worker. The work must stop at once.
	ErrLeaseLost = errors.New("the lease on the message is lost")
	// ErrStopped means that the operator's stop has waited as long as it may. The message is given back.
	ErrStopped = errors.New("the worker is stopping and its grace is over")
	// ErrTimeLimit means that the work took longer than Options.TimeLimit. It must stop at once; the message has
	// failed.
	ErrTimeLimit = errors.New("the time limit for a message is over")
	// ErrNotBegun is returned by work that never began, because the program it is for is not there. The message is
	// given back and the attempt does not count.
	ErrNotBegun = errors.New("the work did not begin")
)

// Message is one received message.
type Message struct {
	// from is the queue it was received from, where there are several.
	from Queue

	// ID stays the same over all deliveries of the message.
	ID string
	// Queue is the name of the queue it came from.
	Queue string
	// Body is passed on byte for byte, and never logged.
	Body string
	// Handle is the receipt handle of this delivery.
	Handle string
	// Group is the message group, empty for a message without one.
	Group string
	// ReceiveCount counts the deliveries, this one included; 0 means unknown.
	ReceiveCount int
	// Attempt counts how often work on the message began, this time included and interruptions not; 0 means unknown.
	// Run sets it, from Options.Attempts or else from ReceiveCount.
	Attempt int
	// SenderID is the account that sent the message, as the queue knows it; empty means unknown.
	SenderID string
	// SentAt and FirstReceivedAt are the queue's; zero means unknown.
	SentAt, FirstReceivedAt time.Time
	// Deadline is when the hold of this delivery would end without extension. Run sets it.
	Deadline time.Time
	// Attributes are the sender's, by name.
	Attributes map[string]Attribute
	// Node is the node of a tree that the message names, where what does the work may name children; else nil.
	Node *Node
}

// Attribute is one attribute that the sender gave a message.
type Attribute struct {
	// Type is "String", "Number" or "Binary", with a label after a dot perhaps.
	Type string
	// Text is the value of a String or Number, Binary that of a Binary.
	Text   string
	Binary []byte
}

// ordered tells whether the message must not be worked on together with others of its group. Groups of other queues
// only share them out fairly.
func (m Message) ordered() bool { return m.Group != "" && strings.HasSuffix(m.Queue, FifoSuffix) }

// FifoSuffix ends the names of FIFO queues, and of no others: SQS demands it.
const FifoSuffix = ".fifo"

// LeaseKey is where the context of a message's work holds a context that ends with the lease on the message; see
// [LeaseLost].
type LeaseKey struct{}

// LeaseLost returns a channel that is closed when the lease on the message is lost for whose work ctx was given, even
// when ctx had ended for another reason before. Work that takes time to stop must give up that time then. The channel
// is nil when ctx is not one of Run's.
func LeaseLost(ctx context.Context) <-chan struct{} {
	if lease, ok := ctx.Value(LeaseKey{}).(context.Context); ok {
		return lease.Done()
	}
	return nil
}
