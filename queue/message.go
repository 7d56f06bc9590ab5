// The plain types of the API: messages, options and counts, and the limits of the SQS protocol.

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

// IsBinary says whether the value is bytes rather than text.
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
	// GroupID is required on a FIFO queue: messages of one group are received in order. On a standard
	// queue it names the tenant. A tenant that takes more than its share is received after the others.
	GroupID string
	// DeduplicationID identifies a message on a FIFO queue: a second one within five minutes is a
	// duplicate. It may be empty with ContentBasedDeduplication. Standard queues refuse it.
	DeduplicationID string
	// Digest is the MD5 of Body, or zero. It is kept for the receiver's reply and not checked.
	Digest [16]byte
}

// Sent is the outcome for one message of a Send.
type Sent struct {
	// ID is the message's id, a UUID; empty if Err is set.
	ID string
	// SequenceNumber is a number of 20 digits that grows within a group; empty on standard queues.
	SequenceNumber string
	// Duplicate says that the message was sent before and is not stored again. ID and SequenceNumber
	// are those of the first.
	Duplicate bool
	// Err says why this message alone was refused.
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
	// Source is the queue from which the message was moved to this dead-letter queue, if any.
	Source string
	// Sent is the time of sending. A move to a dead-letter queue keeps it, except on FIFO queues.
	Sent time.Time
	// FirstReceived is the time of the first receive in any queue.
	FirstReceived time.Time
	// ReceiveCount counts the receives in all queues, this one included.
	ReceiveCount int
	// Digest is the one given on sending, or zero. It is kept in memory only, and saves the endpoint
	// the hash on every receive.
	Digest [16]byte
}

// ReceiveOptions are the parameters of a Receive. The zero value receives one message with the settings
// of the queue.
type ReceiveOptions struct {
	// Max is 1 to MaxBatch messages; 0 means 1.
	Max int
	// Visibility is 0 to MaxVisibility; nil means the queue's VisibilityTimeout.
	Visibility *time.Duration
	// Wait is 0 to MaxWait; nil means the queue's ReceiveMessageWaitTimeSeconds.
	Wait *time.Duration
	// Attempt is the ReceiveRequestAttemptId of a FIFO queue. A second receive with it within five
	// minutes gets the same messages with the same receipts and a new visibility timeout, unless one of
	// them was deleted, changed or has become visible. A restart forgets attempts.
	Attempt string
}

// VisibilityChange makes a message in flight visible after Timeout.
type VisibilityChange struct {
	// Receipt is the handle of the receive.
	Receipt string
	// Timeout is 0 to MaxVisibility from now. The sum since the receive may not exceed MaxVisibility.
	Timeout time.Duration
	// Returned says that the receiver returns the message (nack): until it is visible again it waits
	// for its retry, and no worker works on it. If false, the receiver prolongs its lease.
	Returned bool
}

// Counts are exact numbers of one queue at one instant.
type Counts struct {
	// At is the time at which the numbers were taken.
	At time.Time
	// Visible, InFlight and Delayed count messages. Every message is in exactly one of them, except the
	// damaged ones.
	Visible, InFlight, Delayed int
	// Damaged counts the messages that were set aside since the service was opened because their
	// content is damaged.
	Damaged int
	// Runnable is the number of receivers that could each get a message now. On a standard queue it is
	// Visible, on a FIFO queue the number of groups whose first message is visible.
	Runnable int
	// OldestSent is the time of sending of the oldest visible message; zero if none is visible.
	OldestSent time.Time
	// Returned counts the messages in flight that their receivers returned. ReturnedSent says when they
	// were sent: at most MaxSentGroups groups, the oldest first.
	Returned     int
	ReturnedSent []SentGroup
	// Unsure counts the messages that were in flight when the service was opened. The file does not say
	// whether their receivers had returned them.
	Unsure int
	// DeadLetters counts the messages in the dead-letter queue, whose name is DeadLetterQueue. It is -1
	// if the queue has none.
	DeadLetters     int
	DeadLetterQueue string
	// Sent, Deleted and Received count since the service was opened. Received includes redeliveries.
	// Deleted includes only deletes that removed a message.
	Sent, Deleted, Received uint64
}
