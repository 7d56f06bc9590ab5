package rules

import (
	"errors"
	"fmt"
)

// The kinds of refusal, which package queue has under the same names. An error about a request is an *Error and matches
// one of them with errors.Is.
var (
	// ErrQueueNotFound says that no queue has that name.
	ErrQueueNotFound = errors.New("queue does not exist")
	// ErrQueueExists says that a queue of that name exists with other attributes.
	ErrQueueExists = errors.New("queue exists with other attributes")
	// ErrReceiptHandleInvalid says that a receipt handle was not made by this
	// queue: it is forged, damaged, or belongs to another queue.
	ErrReceiptHandleInvalid = errors.New("receipt handle is invalid")
	// ErrOverLimit says that too many messages are in flight.
	ErrOverLimit = errors.New("too many messages in flight")
	// ErrUnsupported says that the operation is not offered, or not possible in this state.
	ErrUnsupported = errors.New("operation is not supported")
	// ErrInvalidParameter says that a value is outside of what is allowed.
	ErrInvalidParameter = errors.New("parameter is invalid")
	// ErrMissingParameter says that a required value is absent or empty.
	ErrMissingParameter = errors.New("parameter is missing")
	// ErrInvalidAttributeName says that a queue attribute is unknown or not settable.
	ErrInvalidAttributeName = errors.New("attribute name is invalid")
	// ErrInvalidAttributeValue says that the value of a queue attribute is not allowed.
	ErrInvalidAttributeValue = errors.New("attribute value is invalid")
	// ErrInvalidContents says that a body holds characters that are not allowed.
	ErrInvalidContents = errors.New("message contents are invalid")
	// ErrEmptyBatch says that a call names no message.
	ErrEmptyBatch = errors.New("batch is empty")
	// ErrTooManyEntries says that a call names more than MaxBatch messages.
	ErrTooManyEntries = errors.New("batch has too many entries")
	// ErrBatchTooLong says that the messages of one call are larger than MaxBytes together.
	ErrBatchTooLong = errors.New("batch is too long")
	// ErrNotFound says that an object of the request other than its queue does not exist.
	ErrNotFound = errors.New("resource does not exist")
	// ErrPurgeInProgress says that the queue was purged less than 60 s ago. Only a strict service
	// refuses this.
	ErrPurgeInProgress = errors.New("queue was purged a moment ago")
	// ErrDeletedRecently says that a queue of that name was deleted less than 60 s ago. Only a strict
	// service refuses this.
	ErrDeletedRecently = errors.New("queue was deleted a moment ago")
	// ErrTooManyQueues says that the service holds as many queues, or scopes, as it may.
	ErrTooManyQueues = errors.New("too many queues")
)

// Error is a refused request.
type Error struct {
	// Kind is one of the sentinels above, which errors.Is finds.
	Kind error
	// Text says what was found and what is allowed, in the words of the SQS protocol.
	Text string
	// Queue is the name of a queue that does not exist; empty with other kinds.
	Queue string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the kind, for errors.Is.
func (e *Error) Unwrap() error { return e.Kind }

// Refuse returns an *Error of kind with a formatted text.
func Refuse(kind error, format string, args ...any) error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// Outside returns the refusal of a value for a parameter, in the sentence that AWS uses for most of
// them.
func Outside(parameter string, value any, reason string) error {
	return Refuse(ErrInvalidParameter, "Value %v for parameter %s is invalid. Reason: %s", value, parameter, reason)
}

// NoQueue returns the refusal of a request for a queue that does not exist.
func NoQueue(name string) error {
	name = Clip(name)
	return &Error{Kind: ErrQueueNotFound, Text: "The specified queue does not exist: " + name, Queue: name}
}
