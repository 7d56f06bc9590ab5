package queue

import (
	"strings"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
)

// Limits of the SQS protocol that this package holds to.
const (
	// MaxBatch is the largest number of messages in one call.
	MaxBatch = 10
	// MaxBytes is the largest size of a message, and of all messages of one
	// Send together: bodies plus user attributes, in bytes.
	MaxBytes = 1 << 20
	// MaxAttributes is the largest number of user attributes of a message.
	MaxAttributes = 10
	// MaxTraceBytes is the largest length of an AWSTraceHeader.
	MaxTraceBytes = 1_024
	// MaxDelay is the longest time a message may be delayed.
	MaxDelay = 15 * time.Minute
	// MaxVisibility is the longest time, counted from its receive, that a
	// message may stay in flight.
	MaxVisibility = machine.MaxVisibility
	// MaxWait is the longest time a Receive may wait.
	MaxWait = 20 * time.Second
	// MaxInFlight is the largest number of messages in flight per queue.
	MaxInFlight = machine.MaxInFlight
	// MaxQueues is the largest number of queues of one service.
	MaxQueues = 10_000
)

// Attribute is a user attribute of a message.
type Attribute struct {
	// Type is String, Number or Binary, optionally followed by a dot and a label.
	Type string `json:"type"`
	// Value holds the text, or the bytes of a Binary.
	Value []byte `json:"value"`
}

// IsBinary says whether the value is bytes, and no text.
func (a Attribute) IsBinary() bool {
	base, _, _ := strings.Cut(a.Type, ".")
	return base == "Binary"
}

// Outgoing is a message to send.
type Outgoing struct {
	// Body is 1 byte to MaxBytes of UTF-8, without the control characters XML forbids.
	Body string
	// Delay is 0 to MaxDelay; nil means the queue's DelaySeconds.
	Delay *time.Duration
	// Attributes are the user attributes, at most MaxAttributes.
	Attributes map[string]Attribute
	// Trace is the system attribute AWSTraceHeader, if any.
	Trace string
	// GroupID is the group whose messages are received in order, which a FIFO
	// queue needs. On a standard queue it names the tenant: one that takes more
	// than its share is received after the others.
	GroupID string
	// DeduplicationID is what a FIFO queue knows a message by that is sent twice
	// within five minutes; with ContentBasedDeduplication it may be empty.
	// Standard queues refuse it.
	DeduplicationID string
	// Digest is the MD5 of Body, or zero. Nobody checks it.
	Digest [16]byte
}

// Sent is the outcome for one message of a Send.
type Sent struct {
	// ID is the message's id, a UUID; empty if Err is set.
	ID string
	// SequenceNumber is a number of 20 digits that grows within a group; empty
	// on standard queues.
	SequenceNumber string
	// Duplicate says that the message was sent before, and is not stored again;
	// ID and SequenceNumber are those of the first.
	Duplicate bool
	// Err is why this message, and only this one, was refused.
	Err error
}

// Message is a received message.
type Message struct {
	// ID is the UUID given on sending; it stays the same in a dead-letter queue.
	ID string
	// Receipt is the opaque handle of this receive, for Delete and ChangeVisibility.
	Receipt string
	// Body is what was sent.
	Body string
	// Attributes are the user attributes; nil if there are none. Read only.
	Attributes map[string]Attribute
	// Trace is the AWSTraceHeader given on sending, if any.
	Trace string
	// GroupID is the group given on sending, if any.
	GroupID string
	// DeduplicationID is the one given on sending, or the hash of the body; FIFO
	// queues only.
	DeduplicationID string
	// SequenceNumber is that of Sent; FIFO queues only.
	SequenceNumber string
	// Source is the queue it was dead-lettered from, if any.
	Source string
	// Sent is when it was sent; a move to a dead-letter queue keeps it, save on
	// FIFO queues.
	Sent time.Time
	// FirstReceived is when it was received for the first time in any queue.
	FirstReceived time.Time
	// ReceiveCount counts the receives in all queues, this one included.
	ReceiveCount int
	// Digest is the one given on sending, or zero: it is kept in memory only, so
	// that not every receive has to make it again.
	Digest [16]byte
}

// ReceiveOptions says what a Receive asks for.
type ReceiveOptions struct {
	// Max is 1 to MaxBatch messages; 0 means 1.
	Max int
	// Visibility is 0 to MaxVisibility; nil means the queue's VisibilityTimeout.
	Visibility *time.Duration
	// Wait is 0 to MaxWait; nil means the queue's ReceiveMessageWaitTimeSeconds.
	Wait *time.Duration
	// Attempt names the attempt, on FIFO queues. Repeated within five minutes it
	// gives the same messages under the same receipts and a new visibility
	// timeout, unless one of them was deleted, changed or has become visible. It
	// is forgotten on a restart.
	Attempt string
}

// VisibilityChange asks that a message in flight becomes visible after Timeout.
type VisibilityChange struct {
	// Receipt is the handle of the receive that holds the message.
	Receipt string
	// Timeout is 0 to MaxVisibility from now; the sum since the receive may not
	// exceed MaxVisibility.
	Timeout time.Duration
	// Returned says that whoever received the message gives it back: until it is visible it waits for its retry, and
	// nobody works on it. Otherwise it is held on.
	Returned bool
}

// Counts are exact numbers of one queue at one instant.
type Counts struct {
	// At is when the numbers were taken.
	At time.Time
	// Visible, InFlight and Delayed count messages; every message is in one of
	// them, save those of Damaged.
	Visible, InFlight, Delayed int
	// Damaged counts the messages that were set aside since the service was
	// opened, because their content is damaged.
	Damaged int
	// Runnable is how many receivers could each get a message now: Visible, or
	// on a FIFO queue the number of groups that may be received from.
	Runnable int
	// OldestSent is when the oldest visible message was sent; zero when none is visible.
	OldestSent time.Time
	// Returned counts the messages in flight that their receivers gave back; ReturnedSent are they by the time they
	// were sent, the oldest first, in at most MaxSentGroups groups.
	Returned     int
	ReturnedSent []SentGroup
	// Unsure counts those in flight since before the service was opened, which may have been given back before.
	Unsure int
	// DeadLetters counts the messages in the queue for dead letters, DeadLetterQueue; -1 when there is none.
	DeadLetters     int
	DeadLetterQueue string
	// Sent, Deleted and Received count since the service was opened. Received
	// counts redeliveries too; Deleted counts only deletes that removed a message.
	Sent, Deleted, Received uint64
}
