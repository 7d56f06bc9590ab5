package protocol

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"mime"
	"net/http"
)

// RequestIDHeader is the header of an answer that tells requests apart. It is written as net/http writes it in any
// case.
const RequestIDHeader = "X-Amzn-Requestid"

// Codec is one of the two protocols. Its methods are safe for concurrent use.
type Codec interface {
	// Request names the action that r asks for. An error is a refusal, of an action that may be named all the same.
	Request(r *http.Request, body []byte) (Request, error)
	// Result answers with what the action returned; nil is a result without members.
	Result(w http.ResponseWriter, action string, result any)
	// Fault answers with an error.
	Fault(w http.ResponseWriter, f *Fault)
}

// mediaType is the type of the body, in small letters and without parameters.
func mediaType(r *http.Request) string {
	given := r.Header.Get("Content-Type")
	if given == JSONType { // as nearly every request says it
		return given
	}
	kind, _, _ := mime.ParseMediaType(given)
	return kind
}

// Request is what a codec finds in a request.
type Request struct {
	// Action is the name of the action.
	Action string
	// Decode fills in the parameters, a pointer to a struct.
	Decode func(into any) error
	// AtQueue says that the Query protocol names a queue by the path: some actions are not served there.
	AtQueue bool
	// query says that the request is of the Query protocol.
	query bool
}

// Unknown returns the refusal of the action, which is not served, or not at the URL of a queue.
func (r Request) Unknown() error {
	if r.query {
		return unknownAction(r.Action)
	}
	return noAction(http.StatusBadRequest, "the action "+Quote(r.Action))
}

// CodecOf returns the protocol of a request: JSON names its action in a header.
func CodecOf(r *http.Request) Codec {
	kind := mediaType(r)
	if r.Method == http.MethodGet || kind == FormType || kind == "" && r.Header.Get(TargetHeader) == "" {
		return Query{}
	}
	return JSON{}
}

// RequestID returns an id for a request. It tells requests apart, and is no secret.
func RequestID() string { return string(AppendRequestID(make([]byte, 0, 36))) }

// AppendRequestID adds such an id.
func AppendRequestID(out []byte) []byte {
	var b [16]byte
	binary.NativeEndian.PutUint64(b[:], rand.Uint64())
	binary.NativeEndian.PutUint64(b[8:], rand.Uint64())
	from := 0
	for _, end := range [...]int{4, 6, 8, 10, 16} {
		if from > 0 {
			out = append(out, '-')
		}
		out = hex.AppendEncode(out, b[from:end])
		from = end
	}
	return out
}
