package sqsapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/muster-scale/muster/queue"
)

// fault is an error as the protocol shows it.
type fault struct {
	shape    string // name of the JSON shape
	code     string // code of the Query protocol, also sent with JSON
	status   int    // HTTP status
	modelled bool   // SDKs know the shape as a type
	text     string
}

// Error returns the text, so that a fault can travel as an error.
func (f *fault) Error() string { return f.text }

// sender says whether the caller is at fault.
func (f *fault) sender() bool { return f.status < http.StatusInternalServerError }

const simple = "AWS.SimpleQueueService."

// faults maps the errors of package queue; the first match counts.
var faults = []struct {
	kind error
	fault
}{
	{queue.ErrQueueNotFound, fault{"QueueDoesNotExist", simple + "NonExistentQueue", 400, true, "The specified queue does not exist."}},
	{queue.ErrQueueExists, fault{"QueueNameExists", "QueueAlreadyExists", 400, true, ""}},
	{queue.ErrReceiptHandleInvalid, fault{"ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 400, true, ""}},
	{queue.ErrOverLimit, fault{"OverLimit", "OverLimit", 403, true, ""}},
	{queue.ErrNotFound, fault{"ResourceNotFoundException", "ResourceNotFoundException", 404, true, ""}},
	{queue.ErrPurgeInProgress, fault{"PurgeQueueInProgress", simple + "PurgeQueueInProgress", 403, true, ""}},
	{queue.ErrDeletedRecently, fault{"QueueDeletedRecently", simple + "QueueDeletedRecently", 400, true, ""}},
	{queue.ErrTooManyQueues, fault{"OverLimit", "OverLimit", 403, true, ""}},
	{queue.ErrUnsupported, fault{"UnsupportedOperation", simple + "UnsupportedOperation", 400, true, ""}},
	{queue.ErrInvalidParameter, fault{"InvalidParameterValueException", "InvalidParameterValue", 400, false, ""}},
	{queue.ErrMissingParameter, fault{"MissingRequiredParameterException", "MissingParameter", 400, false, ""}},
	{queue.ErrInvalidAttributeName, fault{"InvalidAttributeName", "InvalidAttributeName", 400, true, ""}},
	{queue.ErrInvalidAttributeValue, fault{"InvalidAttributeValue", "InvalidAttributeValue", 400, true, ""}},
	{queue.ErrInvalidContents, fault{"InvalidMessageContents", "InvalidMessageContents", 400, true, ""}},
	{queue.ErrEmptyBatch, fault{"EmptyBatchRequest", simple + "EmptyBatchRequest", 400, true, ""}},
	{queue.ErrTooManyEntries, fault{"TooManyEntriesInBatchRequest", simple + "TooManyEntriesInBatchRequest", 400, true, ""}},
	{queue.ErrBatchTooLong, fault{"BatchRequestTooLong", simple + "BatchRequestTooLong", 400, true, ""}},
	{queue.ErrStorageFull, fault{"ServiceUnavailable", "ServiceUnavailable", 503, false, ""}},
	{queue.ErrStorageBusy, fault{"ServiceUnavailable", "ServiceUnavailable", 503, false, ""}},
	{queue.ErrClosed, fault{"ServiceUnavailable", "ServiceUnavailable", 503, false, ""}},
	{context.Canceled, fault{"RequestCanceled", "RequestCanceled", 499, false, ""}},
}

// faultOf is what the protocol shows for err.
func faultOf(err error) *fault {
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	for _, row := range faults {
		if errors.Is(err, row.kind) {
			f := row.fault
			if f.text == "" {
				f.text = err.Error()
			}
			return &f
		}
	}
	return &fault{"InternalFailure", "InternalFailure", http.StatusInternalServerError, false, err.Error()}
}

func unknownAttribute(name string) error {
	return &queue.Error{Kind: queue.ErrInvalidAttributeName, Text: "Unknown Attribute " + clip(name) + "."}
}

// unknownAction is what the Query protocol says of an action that is none, or not
// one of a queue URL.
func unknownAction(name string) error {
	return &fault{"InvalidAction", "InvalidAction", http.StatusBadRequest, false, "The action " + clip(name) + " is not valid for this endpoint."}
}

// noAction is what AWS says of a request that names no action, in the JSON
// protocol also of one that it does not know.
func noAction(status int, found string) error {
	return &fault{"UnknownOperationException", "UnknownOperationException", status, false, "Found " + found + ". An action of SQS must be named, such as SendMessage."}
}

func missing(parameter string) error {
	return &queue.Error{Kind: queue.ErrMissingParameter, Text: "The request must contain the parameter " + parameter + "."}
}

func invalid(value any, parameter, reason string) error {
	return &queue.Error{Kind: queue.ErrInvalidParameter, Text: fmt.Sprintf("Value %v for parameter %s is invalid. Reason: %s", value, parameter, reason)}
}

func malformed(format string, args ...any) error {
	return &fault{"SerializationException", "MalformedInput", http.StatusBadRequest, false, fmt.Sprintf(format, args...)}
}

func forbidden(code, format string, args ...any) error {
	return &fault{code, code, http.StatusForbidden, false, fmt.Sprintf(format, args...)}
}
