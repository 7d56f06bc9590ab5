// Errors as both protocols show them: names, codes, HTTP statuses and texts of AWS.

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
	// Shape is the name of the error in JSON.
	Shape string
	// Code is the name of the error in the Query protocol. JSON answers carry it in a header.
	Code     string
	status   int  // HTTP status
	modelled bool // the service model of SQS has the shape, so SDKs have a type for it
	// Text is for people.
	Text string
}

// Error returns the text, so that a fault can be returned as an error.
func (f *Fault) Error() string { return f.Text }

// Sender says whether the caller caused the error.
func (f *Fault) Sender() bool { return f.status < http.StatusInternalServerError }

// CodePrefix begins the codes of many modelled errors.
const CodePrefix = "AWS.SimpleQueueService."

// faults maps the kinds of package queue; the first match counts. An empty text means that of the
// error.
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

// FaultOf returns err as the protocol shows it. An unknown error is an InternalFailure.
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

// UnknownAttribute returns the refusal of an unknown attribute of a queue or message.
func UnknownAttribute(name string) error {
	return &queue.Error{Kind: queue.ErrInvalidAttributeName, Text: "Unknown Attribute " + Clip(name) + "."}
}

// unknownAction is the refusal, in the Query protocol, of an action that is unknown or not served at
// the URL of a queue.
func unknownAction(name string) error {
	return &Fault{"InvalidAction", "InvalidAction", http.StatusBadRequest, false,
		"The action " + Clip(name) + " is not valid for this endpoint."}
}

// noAction is the refusal of a request that names no action; in JSON also of an unknown one.
func noAction(status int, found string) error {
	return &Fault{"UnknownOperationException", "UnknownOperationException", status, false,
		"Found " + found + ". An action of SQS must be named, such as SendMessage."}
}

// Missing returns the refusal of a request without a required parameter.
func Missing(parameter string) error {
	return &queue.Error{Kind: queue.ErrMissingParameter, Text: "The request must contain the parameter " + parameter +
		"."}
}

// Invalid returns the refusal of the value of a parameter.
func Invalid(value any, parameter, reason string) error {
	return &queue.Error{Kind: queue.ErrInvalidParameter,
		Text: fmt.Sprintf("Value %v for parameter %s is invalid. Reason: %s", value, parameter, reason)}
}

// Malformed returns the refusal of a request that cannot be decoded.
func Malformed(format string, args ...any) error {
	return &Fault{"SerializationException", "MalformedInput", http.StatusBadRequest, false,
		fmt.Sprintf(format, args...)}
}

// Forbidden returns the refusal of a caller that may not make the request. It has the same code in both
// protocols.
func Forbidden(code, format string, args ...any) error {
	return Refusal(code, http.StatusForbidden, format, args...)
}

// Refusal returns an error without a type in the SDKs, with the same name in both protocols.
func Refusal(code string, status int, format string, args ...any) *Fault {
	return &Fault{code, code, status, false, fmt.Sprintf(format, args...)}
}

// Typed returns an error with a type in the SDKs.
func Typed(shape, code string, status int, format string, args ...any) *Fault {
	return &Fault{shape, code, status, true, fmt.Sprintf(format, args...)}
}

// TooLarge returns the refusal of a body of more than limit bytes.
func TooLarge(limit int) *Fault {
	return Refusal("RequestEntityTooLarge", http.StatusRequestEntityTooLarge, "The request is larger than %d bytes.",
		limit)
}

// InvalidHTTP returns the refusal of a request that is not HTTP as it is served here.
func InvalidHTTP(status int, format string, args ...any) *Fault {
	return Refusal("InvalidHttpRequest", status, format, args...)
}

// busyShape is the name of the error of Busy. SDKs repeat such a request.
const busyShape = "ServiceUnavailable"

// Busy returns the refusal of a request for whose body there is no memory at the moment.
func Busy() *Fault {
	return Refusal(busyShape, http.StatusServiceUnavailable,
		"Too many large requests with unchecked signatures are arriving. Try again.")
}

// IsBusy says whether err is the refusal that [Busy] returns.
func IsBusy(err error) bool {
	f, ok := errors.AsType[*Fault](err)
	return ok && f.Shape == busyShape
}

// Quote returns text of a request in quotes, shortened.
func Quote(s string) string { return "\"" + Clip(s) + "\"" }

// Clip shortens text of a request to 100 bytes, so that a log line or an answer cannot be made large.
func Clip(s string) string {
	const most = 100
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strings.ToValidUTF8(s, "?")
}
