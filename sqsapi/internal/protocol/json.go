package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"
)

// The headers of a JSON request: its content type, and its action after a prefix.
const (
	JSONType     = "application/x-amz-json-1.0"
	TargetHeader = "X-Amz-Target"
	TargetPrefix = "AmazonSQS."
)

// JSON is the codec of AWS JSON 1.0.
type JSON struct{}

// Request reads the action from its header. The body is one JSON object.
func (JSON) Request(r *http.Request, body []byte) (Request, error) {
	kind := mediaType(r)
	if kind != JSONType && kind != "application/json" {
		return Request{}, Malformed("The content type %s is not served: use %s.", Quote(kind), JSONType)
	}
	target := r.Header.Get(TargetHeader)
	name, ok := strings.CutPrefix(target, TargetPrefix)
	if !ok {
		return Request{}, noAction(http.StatusBadRequest, "the target "+Quote(target))
	}
	return Request{Action: name, Decode: func(into any) error { return Parse(body, into) }}, nil
}

// Parse decodes one JSON object into a pointer to a struct. An empty body is an object without members.
func Parse(body []byte, into any) error { return new(Reader).Parse(body, into) }

// Parse is [Parse] in the memory of q. The fast path is tried first; it leaves everything unusual to
// encoding/json, and so also all errors.
func (q *Reader) Parse(body []byte, into any) error {
	if q.Read(body, into) || len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if c := bytes.TrimSpace(body)[0]; c != '{' {
		return Malformed("The request must be a JSON object; it begins with %s.", Quote(string(rune(c))))
	}
	err := json.Unmarshal(body, into)
	if err == nil {
		return nil
	}
	if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return wrongType(other)
	}
	var first json.RawMessage
	if json.NewDecoder(bytes.NewReader(body)).Decode(&first) == nil {
		return Malformed("The request has more than one JSON value.")
	}
	return Malformed("The request is not valid JSON: %v.", err)
}

// wrongType returns AWS's error for a JSON value of another type than the parameter's.
func wrongType(e *json.UnmarshalTypeError) error {
	value, wanted := strings.Fields(e.Value)[0], "String"
	if e.Type.Kind() == reflect.Int {
		wanted = "Integer"
	}
	switch value {
	case "object":
		return Malformed("Start of structure or map found where not expected.")
	case "array":
		return Malformed("Start of list found where not expected")
	}
	return Malformed("%s_VALUE can not be converted to %s %s", strings.ToUpper(value), article(wanted), wanted)
}

// article returns the indefinite article of a noun.
func article(noun string) string {
	if strings.ContainsAny(noun[:1], "AEIOU") {
		return "an"
	}
	return "a"
}

// Result writes an object; nil is an object without members.
func (JSON) Result(w http.ResponseWriter, _ string, result any) {
	if result == nil {
		result = struct{}{}
	}
	sendJSON(w, http.StatusOK, result)
}

// Fault writes an error, with the names of both protocols: the second one in a header.
func (JSON) Fault(w http.ResponseWriter, f *Fault) {
	namespace, side := "com.amazon.coral.service#", "Receiver"
	if f.modelled {
		namespace = "com.amazonaws.sqs#"
	}
	if f.Sender() {
		side = "Sender"
	}
	w.Header().Set("x-amzn-query-error", f.Code+";"+side)
	sendJSON(w, f.status, struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}{namespace + f.Shape, f.Text})
}

// sendJSON writes an answer. The length is set because a long answer would otherwise be chunked.
func sendJSON(w http.ResponseWriter, status int, value any) {
	var text []byte
	if fast, ok := value.(FastResult); ok {
		text = fast.AppendJSON(nil)
	} else if written, err := json.Marshal(value); err == nil {
		text = written
	} else { // impossible: results are structs of texts and numbers
		status, text = http.StatusInternalServerError, []byte(`{"__type":"com.amazon.coral.service#InternalFailure"}`)
	}
	w.Header().Set("Content-Type", JSONType)
	w.Header().Set("Content-Length", strconv.Itoa(len(text))) // see above
	w.WriteHeader(status)
	w.Write(text) // an error means that the caller is gone
}
