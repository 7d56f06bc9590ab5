package queue

import (
	"errors"

	"github.com/muster-scale/muster/queue/internal/rules"
	"github.com/muster-scale/muster/queue/internal/storage"
	"github.com/muster-scale/muster/queue/internal/writer"
)

// The kinds of refusal. Every error of this package matches one of them with errors.Is. Errors about a
// request are of type *Error and carry the text that the SQS protocol shows. Errors about storage are
// wrapped with their cause.
var (
	// ErrQueueNotFound says that no queue has that name.
	ErrQueueNotFound = rules.ErrQueueNotFound
	// ErrQueueExists says that a queue of that name exists with other attributes.
	ErrQueueExists = rules.ErrQueueExists
	// ErrReceiptHandleInvalid says that a receipt handle was not made by this
	// queue: it is forged, damaged, or belongs to another queue.
	ErrReceiptHandleInvalid = rules.ErrReceiptHandleInvalid
	// ErrOverLimit says that too many messages are in flight.
	ErrOverLimit = rules.ErrOverLimit
	// ErrUnsupported says that the operation is not offered, or not possible in this state.
	ErrUnsupported = rules.ErrUnsupported
	// ErrInvalidParameter says that a value is outside of what is allowed.
	ErrInvalidParameter = rules.ErrInvalidParameter
	// ErrMissingParameter says that a required value is absent or empty.
	ErrMissingParameter = rules.ErrMissingParameter
	// ErrInvalidAttributeName says that a queue attribute is unknown or not settable.
	ErrInvalidAttributeName = rules.ErrInvalidAttributeName
	// ErrInvalidAttributeValue says that the value of a queue attribute is not allowed.
	ErrInvalidAttributeValue = rules.ErrInvalidAttributeValue
	// ErrInvalidContents says that a body holds characters that are not allowed.
	ErrInvalidContents = rules.ErrInvalidContents
	// ErrEmptyBatch says that a call names no message.
	ErrEmptyBatch = rules.ErrEmptyBatch
	// ErrTooManyEntries says that a call names more than MaxBatch messages.
	ErrTooManyEntries = rules.ErrTooManyEntries
	// ErrBatchTooLong says that the messages of one call are larger than MaxBytes together.
	ErrBatchTooLong = rules.ErrBatchTooLong
	// ErrNotFound says that an object of the request other than its queue does not exist.
	ErrNotFound = rules.ErrNotFound
	// ErrPurgeInProgress says that the queue was purged less than 60 s ago. Only a strict service
	// refuses this.
	ErrPurgeInProgress = rules.ErrPurgeInProgress
	// ErrDeletedRecently says that a queue of that name was deleted less than 60 s ago. Only a strict
	// service refuses this.
	ErrDeletedRecently = rules.ErrDeletedRecently
	// ErrTooManyQueues says that the service already holds MaxQueues queues or MaxScopes scopes.
	ErrTooManyQueues = rules.ErrTooManyQueues

	// ErrStorage says that writing to disk failed. The outcome of the calls in
	// progress is unknown, no later write is accepted, and a restart is needed.
	ErrStorage = storage.ErrStorage
	// ErrStorageFull says that there is no room for the message. Nothing was
	// changed; deleting messages or freeing disk space helps.
	ErrStorageFull = storage.ErrStorageFull
	// ErrStorageBusy says that another program kept the queue file locked for
	// seconds. Nothing was changed; the call may be repeated.
	ErrStorageBusy = storage.ErrStorageBusy
	// ErrLocked says that another process has the directory open.
	ErrLocked = storage.ErrLocked
	// ErrUnsafeDirectory says that users other than the owner may change the directory, or that one of
	// its files is a link.
	ErrUnsafeDirectory = storage.ErrUnsafeDirectory
	// ErrForeignFile says that the file is not a queue file of this product.
	ErrForeignFile = storage.ErrForeignFile
	// ErrNewerFile says that a newer version of this product wrote the file.
	ErrNewerFile = storage.ErrNewerFile
	// ErrCorruptFile says that the file is damaged.
	ErrCorruptFile = storage.ErrCorruptFile
	// ErrDamagedMessage says that the content of a message differs from what was sent. The message is
	// not delivered; see DamagedMessage.
	ErrDamagedMessage = errors.New("message is damaged")
	// ErrClosed says that the service was closed.
	ErrClosed = writer.ErrClosed
)

// Error is a refused request. Kind is one of the sentinels above. Text says what was found and what is
// allowed, in the words of the SQS protocol. Queue is the name of a queue that does not exist; it is
// empty with other kinds.
type Error = rules.Error
