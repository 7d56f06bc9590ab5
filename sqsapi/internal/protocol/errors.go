package protocol

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/muster-scale/muster/queue"
)

// Fault is an error as the protocol shows it.
type Fault struct {
	// Shape is the name of the JSON shape.
	Shape string
	// Code is that of the Query protocol, also sent with JSON.
	Code     string
	status   int  // of HTTP
	modelled bool // SDKs know the shape as a type
	// Text is the message to people.
	Text string
}

// Error returns the text, so that a fault can travel as an error.
func (f *Fault) Error() string { return f.Text }

// Sender says whether the caller is at fault.
func (f *Fault) Sender() bool { return f.status < http.StatusInternalServerError }

// CodePrefix begins most codes of errors that SDKs know as types.
const CodePrefix = "AWS.SimpleQueueService."

// faults maps the errors of package queue; the first match counts.
var faults = []struct {
	kind error
	Fault
}{
	{queue.ErrQueueNotFound, Fault{"QueueDoesNotExist", CodePrefix + "NonExistentQueue", 400, true,
		"The specified queue does not exist."}},
	{queue.ErrQueueExists, Fault{"QueueNameExists", "QueueAlreadyExists", 400, true, ""}},
	{queue.ErrReceiptHandleInvalid, Fault{"ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 400, true, ""}},
	{queue.ErrOverLimit, Fault{"OverLimit", "OverLimit", 403, true, ""}},
	{queue.ErrNotFound, Fault{"ResourceNotFoundException", "ResourceNotFoundException", 404, true, ""}},
	{queue.ErrPurgeInProgress, Fault{"PurgeQueueInProgress", CodePrefix + "PurgeQueueInProgress", 403, true, ""}},
	{queue.ErrDeletedRecently, Fault{"QueueDeletedRecently", CodePrefix + "QueueDeletedRecently", 400, true, ""}},
	{queue.ErrTooManyQueues, Fault{"OverLimit", "OverLimit", 403, true, ""}},
	{queue.ErrUnsupported, Fault{"UnsupportedOperation", CodePrefix + "UnsupportedOperation", 400, true, ""}},
	{queue.ErrInvalidParameter, Fault{"InvalidParameterValueException", "InvalidParameterValue", 400, false, ""}},
	{queue.ErrMissingParameter, Fault{"MissingRequiredParameterException", "MissingParameter", 400, false, ""}},
	{queue.ErrInvalidAttributeName, Fault{"InvalidAttributeName", "InvalidAttributeName", 400, true, ""}},
	{queue.ErrInvalidAttributeValue, Fault{"InvalidAttributeValue", "InvalidAttributeValue", 400, true, ""}},
	{queue.ErrInvalidContents, Fault{"InvalidMessageContents", "InvalidMessageContents", 400, true, ""}},
	{queue.ErrEmptyBatch, Fault{"EmptyBatchRequest", CodePrefix + "EmptyBatchRequest", 400, true, ""}},
	{queue.ErrTooManyEntries, Fault{"TooManyEntriesInBatchRequest", CodePrefix + "TooManyEntriesInBatchRequest", 400,
		true, ""}},
	{queue.ErrBatchTooLong, Fault{"BatchRequestTooLong", CodePrefix + "BatchRequestTooLong", 400, true, ""}},
	{queue.ErrStorageFull, Fault{"ServiceUnavailable", "ServiceUnavailable", 503, false, ""}},
	{queue.ErrStorageBusy, Fault{"ServiceUnavailable", "ServiceUnavailable", 503, false, ""}},
	{queue.ErrClosed, Fault{"ServiceUnavailable", "ServiceUnavailable", 503, false, ""}},
	{context.Canceled, Fault{"RequestCanceled", "RequestCanceled", 499, false, ""}},
}

// FaultOf returns what the protocol shows for err.
func FaultOf(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	for _, row := range faults {
		if errors.Is(err, row.kind) {
			f := row.Fault
			if f.Text == "" {
				f.Text = err.Error()
			}
			return &f
		}
	}
	return &Fault{"InternalFailure", "InternalFailure", http.StatusInternalServerError, false, err.Error()}
}

// UnknownAttribute returns the refusal of an attribute of a queue or message that is none.
func UnknownAttribute(name string) error {
	return &queue.Error{Kind: queue.ErrInvalidAttributeName, Text: "Unknown Attribute " + Clip(name) + "."}
}

// unknownAction is what the Query protocol says of an action that is none, or not
// one of a queue URL.
func unknownAction(name string) error {
	return &Fault{"InvalidAction", "InvalidAction", http.StatusBadRequest, false,
		"The action " + Clip(name) + " is not valid for this endpoint."}
}

// noAction is what AWS says of a request that names no action, in the JSON
// protocol also of one that it does not know.
func noAction(status int, found string) error {
	return &Fault{"UnknownOperationException", "UnknownOperationException", status, false,
		"Found " + found + ". An action of SQS must be named, such as SendMessage."}
}

// Missing returns the refusal of a request without a parameter that it must have.
func Missing(parameter string) error {
	return &queue.Error{Kind: queue.ErrMissingParameter, Text: "The request must contain the parameter " + parameter +
		"."}
}

// Invalid returns the refusal of the value of a parameter.
func Invalid(value any, parameter, reason string) error {
	return &queue.Error{Kind: queue.ErrInvalidParameter,
		Text: fmt.Sprintf("Value %v for parameter %s is invalid. Reason: %s", value, parameter, reason)}
}

// Malformed returns the refusal of what cannot be decoded.
func Malformed(format string, args ...any) error {
	return &Fault{"SerializationException", "MalformedInput", http.StatusBadRequest, false,
		fmt.Sprintf(format, args...)}
}

// Forbidden returns the refusal of a caller who may not make the request. It has one code in both protocols.
func Forbidden(code, format string, args ...any) error {
	return Refusal(code, http.StatusForbidden, format, args...)
}

// Refusal returns an error that is no type of the SDKs, with one name in both protocols.
func Refusal(code string, status int, format string, args ...any) *Fault {
	return &Fault{code, code, status, false, fmt.Sprintf(format, args...)}
}

// Typed returns an error that SDKs know as a type.
func Typed(shape, code string, status int, format string, args ...any) *Fault {
	return &Fault{shape, code, status, true, fmt.Sprintf(format, args...)}
}

// TooLarge returns the refusal of a body of more than so many bytes.
func TooLarge(limit int) *Fault {
	return Refusal("RequestEntityTooLarge", http.StatusRequestEntityTooLarge, "The request is larger than %d bytes.",
		limit)
}

// InvalidHTTP returns the refusal of what is not HTTP as it is served here.
func InvalidHTTP(status int, format string, args ...any) *Fault {
	return Refusal("InvalidHttpRequest", status, format, args...)
}

// busyShape is the error of a request for whose body there is no room. SDKs try again.
const busyShape = "ServiceUnavailable"

// Busy returns the refusal of a request for whose body there is no room.
func Busy() *Fault {
	return Refusal(busyShape, http.StatusServiceUnavailable,
		"Too many large requests arrive at this moment whose signature is not checked yet. Try again.")
}

// IsBusy says whether err is the refusal that [Busy] returns.
func IsBusy(err error) bool {
	f, ok := errors.AsType[*Fault](err)
	return ok && f.Shape == busyShape
}

// Quote shows foreign text, bounded.
func Quote(s string) string { return "\"" + Clip(s) + "\"" }

// Clip bounds foreign text.
func Clip(s string) string {
	const most = 100
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strings.ToValidUTF8(s, "?")
}
