package execution

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/internal/trouble"
)

// ProtocolVersion is the version of the JSON sent to programs and endpoints. docs/worker-protocol.md specifies it.
// Later versions only add fields.
const ProtocolVersion = 1

// The types below are JSON forms of docs/worker-protocol.md. Their names of fields are a contract with programs in
// other languages.

const (
	// maxAnswer bounds an answer line of a program, in bytes; maxChildLine bounds one that names a child.
	maxAnswer    = 64 << 10
	maxChildLine = tree.MaxLine + 200

	typeHello, typeReady = "hello", "ready"
	typeWork, typeDone   = "work", "done"
	typeChild            = "child"
)

// wireHello is the first line to a program.
type wireHello struct {
	Type     string `json:"type"`
	Protocol int    `json:"protocol"`
	// Batch is how many messages a line holds at most.
	Batch int `json:"batch"`
	// Slot numbers the programs of one worker from 0.
	Slot int `json:"slot"`
}

// wireWork is a line with messages, or the body of a request with a batch.
type wireWork struct {
	Type string `json:"type"`
	// Deadline is when the call's time limit ends; absent without one.
	Deadline string        `json:"deadline,omitzero"`
	Messages []wireMessage `json:"messages"`
}

// wireMessage is one message. Unknown properties are absent.
type wireMessage struct {
	// Delivery identifies this delivery in the answer. No other delivery has it.
	Delivery       string `json:"delivery"`
	ID             string `json:"id"`
	IdempotencyKey string `json:"idempotency_key"`
	Queue          string `json:"queue"`
	Group          string `json:"group,omitzero"`
	Attempt        int    `json:"attempt,omitzero"`
	ReceiveCount   int    `json:"receive_count,omitzero"`
	SentAt         string `json:"sent_at,omitzero"`
	// Body is absent if it is not valid UTF-8; then Base64 holds it.
	Body       *string                  `json:"body,omitzero"`
	Base64     []byte                   `json:"body_base64,omitzero"`
	Attributes map[string]wireAttribute `json:"attributes,omitzero"`
	Tree       *worker.WireNode         `json:"tree,omitzero"`
}

// wireAttribute is one attribute of a message.
type wireAttribute struct {
	Type   string `json:"type"`
	Text   string `json:"text,omitzero"`
	Base64 []byte `json:"base64,omitzero"`
}

// wireAnswer is a line from a program: it is ready, or the result of a delivery, or a child of a node.
type wireAnswer struct {
	Type     string `json:"type"`
	Protocol int    `json:"protocol"`
	Delivery string `json:"delivery"`
	OK       *bool  `json:"ok"`
	Error    string `json:"error"`
	tree.Child
}

// wireMessageOf returns the JSON form of m.
func wireMessageOf(m worker.Message, delivery string) wireMessage {
	w := wireMessage{
		Delivery: delivery, ID: m.ID, IdempotencyKey: m.Key(), Queue: m.Queue, Group: m.Group,
		Attempt: m.Attempt, ReceiveCount: m.ReceiveCount, SentAt: stamp(m.SentAt),
		Tree: worker.WireNodeOf(m.Node),
	}
	if utf8.ValidString(m.Body) {
		w.Body = &m.Body
	} else {
		w.Base64 = []byte(m.Body)
	}
	if len(m.Attributes) > 0 {
		w.Attributes = make(map[string]wireAttribute, len(m.Attributes))
	}
	for name, a := range m.Attributes {
		w.Attributes[name] = wireAttribute{Type: a.Type, Text: a.Text, Base64: a.Binary}
	}
	return w
}

// wireWorkOf returns the line or body with the messages, each under its delivery.
func wireWorkOf(ctx context.Context, messages []worker.Message, deliveries []string) ([]byte, error) {
	w := wireWork{Type: typeWork, Messages: make([]wireMessage, len(messages))}
	if at, ok := ctx.Deadline(); ok {
		w.Deadline = stamp(at)
	}
	for i, m := range messages {
		w.Messages[i] = wireMessageOf(m, deliveries[i])
	}
	return jsonLine(w)
}

// stamp formats a time; the zero time, which is unknown, as an empty text.
func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(timestamp)
}

// jsonLine returns v as a line of JSON.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("write a line of JSON: %w", err)
	}
	return b.Bytes(), nil
}

// deliveryNames returns n names of deliveries. They are unique if first is above all numbers that the sender has used.
func deliveryNames(first int64, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.FormatInt(first+int64(i), 10)
	}
	return names
}

// parseAnswer reads one line of a program. Errors do not quote it, because it may hold a message's body.
func parseAnswer(line []byte) (wireAnswer, error) {
	var a wireAnswer
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("it wrote a line of %d bytes that is no answer in JSON; standard output is for answers "+
			"alone, everything else goes to standard error",
			len(line))
	}
	switch {
	case a.Type == typeReady && a.Protocol != ProtocolVersion:
		return a, fmt.Errorf("it is ready for protocol %d, this worker speaks %d", a.Protocol, ProtocolVersion)
	case a.Type != typeChild && len(line) > maxAnswer:
		return a, fmt.Errorf("it wrote a line of more than %d bytes", maxAnswer)
	case a.Type == typeReady, a.Type == typeChild:
		return a, nil
	case a.Type != typeDone:
		return a, fmt.Errorf("it wrote an answer of the type %s, ready, done and child are allowed",
			trouble.Excerpt([]byte(a.Type)))
	case a.Delivery == "" || a.OK == nil:
		return a, errors.New("it wrote an answer without delivery or ok; both are required")
	}
	return a, nil
}

// result returns the error that the answer reports, or nil.
func (a wireAnswer) result() error {
	switch {
	case *a.OK:
		return nil
	case a.Error == "":
		return &said{"the program reported a failure without a reason"}
	}
	return &said{"the program reported a failure: " + trouble.Excerpt([]byte(a.Error))}
}
