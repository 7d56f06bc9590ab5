package protocol

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"mime"
	"net/http"
)

// RequestIDHeader is the header of an answer with the id of the request. It has the capitals with which
// net/http writes it.
const RequestIDHeader = "X-Amzn-Requestid"

// Codec is one of the two protocols. Its methods are safe for concurrent use.
type Codec interface {
	// Request returns the action of r. With an error, the Action of the result may still be set, for
	// the log.
	Request(r *http.Request, body []byte) (Request, error)
	// Result writes the result of an action; nil is a result without members.
	Result(w http.ResponseWriter, action string, result any)
	// Fault writes an error.
	Fault(w http.ResponseWriter, f *Fault)
}

// mediaType returns the content type in lower case, without parameters.
func mediaType(r *http.Request) string {
	given := r.Header.Get("Content-Type")
	if given == JSONType { // nearly always
		return given
	}
	kind, _, _ := mime.ParseMediaType(given)
	return kind
}

// Request is a request whose action is known and whose parameters are not yet decoded.
type Request struct {
	// Action is the name of the action.
	Action string
	// Decode fills in the parameters. into points to the request struct of the action.
	Decode func(into any) error
	// AtQueue says that the path of a Query request names a queue. Some actions are not served there.
	AtQueue bool
	// query says that the request is of the Query protocol.
	query bool
}

// Unknown returns the refusal of an unknown action, or of one that is not served at the URL of a queue.
func (r Request) Unknown() error {
	if r.query {
		return unknownAction(r.Action)
	}
	return noAction(http.StatusBadRequest, "the action "+Quote(r.Action))
}

// CodecOf returns the protocol of a request: JSON names its action in a header, Query in a form.
func CodecOf(r *http.Request) Codec {
	kind := mediaType(r)
	if r.Method == http.MethodGet || kind == FormType || kind == "" && r.Header.Get(TargetHeader) == "" {
		return Query{}
	}
	return JSON{}
}

// RequestID returns an id for a request, in the form of a UUID. It distinguishes requests and is not
// secret.
func RequestID() string { return string(AppendRequestID(make([]byte, 0, 36))) }

// AppendRequestID appends such an id to out.
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
