package sqsapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"
)

const (
	contentType  = "application/x-amz-json-1.0"
	targetHeader = "X-Amz-Target"
	targetPrefix = "AmazonSQS."
)

// jsonProtocol is the codec of AWS JSON 1.0.
type jsonProtocol struct{}

// request finds the action in its header; the body is one object.
func (jsonProtocol) request(r *http.Request, body []byte) (name string, decode func(into any) error, err error) {
	kind := mediaType(r)
	if kind != contentType && kind != "application/json" {
		return "", nil, malformed("The content type %s is not served: use %s.", quote(kind), contentType)
	}
	target := r.Header.Get(targetHeader)
	name, ok := strings.CutPrefix(target, targetPrefix)
	if !ok {
		return "", nil, noAction(http.StatusBadRequest, "the target "+quote(target))
	}
	return name, func(into any) error { return parse(body, into) }, nil
}

// parse reads one JSON object. An empty body is an object without members.
func parse(body []byte, into any) error { return new(quickReader).parse(body, into) }

// parse is the function of that name, in the memory of q.
func (q *quickReader) parse(body []byte, into any) error {
	if q.read(body, into) || len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if c := bytes.TrimSpace(body)[0]; c != '{' {
		return malformed("The request must be a JSON object; it begins with %s.", quote(string(rune(c))))
	}
	err := json.Unmarshal(body, into)
	if err == nil {
		return nil
	}
	if typed, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return wrongType(typed)
	}
	var first json.RawMessage
	if json.NewDecoder(bytes.NewReader(body)).Decode(&first) == nil {
		return malformed("The request has more than one JSON value.")
	}
	return malformed("The request is not valid JSON: %v.", err)
}

// wrongType says what AWS says of a JSON value of another type than the parameter.
func wrongType(e *json.UnmarshalTypeError) error {
	value, wanted := strings.Fields(e.Value)[0], "String"
	if e.Type.Kind() == reflect.Int {
		wanted = "Integer"
	}
	switch value {
	case "object":
		return malformed("Start of structure or map found where not expected.")
	case "array":
		return malformed("Start of list found where not expected")
	}
	return malformed("%s_VALUE can not be converted to %s %s", strings.ToUpper(value), article(wanted), wanted)
}

func article(noun string) string {
	if strings.ContainsAny(noun[:1], "AEIOU") {
		return "an"
	}
	return "a"
}

// result answers with an object; nil is one without members.
func (jsonProtocol) result(w http.ResponseWriter, _ string, result any) {
	if result == nil {
		result = struct{}{}
	}
	sendJSON(w, http.StatusOK, result)
}

// fault answers with an error, under the names of both protocols.
func (jsonProtocol) fault(w http.ResponseWriter, f *fault) {
	namespace, side := "com.amazon.coral.service#", "Receiver"
	if f.modelled {
		namespace = "com.amazonaws.sqs#"
	}
	if f.sender() {
		side = "Sender"
	}
	w.Header().Set("x-amzn-query-error", f.code+";"+side)
	sendJSON(w, f.status, struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}{namespace + f.shape, f.text})
}

func sendJSON(w http.ResponseWriter, status int, value any) {
	var text []byte
	if quick, ok := value.(quickResult); ok {
		text = quick.appendJSON(nil)
	} else if written, err := json.Marshal(value); err == nil {
		text = written
	} else { // only values of this package come here
		status, text = http.StatusInternalServerError, []byte(`{"__type":"com.amazon.coral.service#InternalFailure"}`)
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(text))) // else a long answer goes out in chunks
	w.WriteHeader(status)
	w.Write(text) // the caller may be gone; nobody else would know what to do
}
