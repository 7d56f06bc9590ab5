// SendMessage and SendMessageBatch.

package action

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// attributeValue is a message attribute on the wire.
type attributeValue struct {
	DataType         string
	StringValue      *string  `json:",omitempty"`
	BinaryValue      []byte   `json:",omitempty"`
	StringListValues []string `json:",omitempty" query:"StringListValue"`
	BinaryListValues [][]byte `json:",omitempty" query:"BinaryListValue"`
}

// traceHeader is the one system attribute that a message may be sent with.
const traceHeader = "AWSTraceHeader"

// outgoing is a message on the wire.
type outgoing struct {
	MessageBody             *string
	DelaySeconds            *int
	MessageAttributes       map[string]attributeValue `query:"MessageAttribute,Name,Value"`
	MessageSystemAttributes map[string]attributeValue `query:"MessageSystemAttribute,Name,Value"`
	MessageDeduplicationID  *string                   `json:"MessageDeduplicationId"`
	MessageGroupID          *string                   `json:"MessageGroupId"`
}

// message returns o as package queue takes it; package queue checks the limits. trace is the trace
// header of the request. The empty ids that JSON can express are refused here, because package queue
// takes an empty id as absent.
func (o *outgoing) message(trace string) (queue.Outgoing, error) {
	m := queue.Outgoing{Trace: trace}
	if o.MessageBody != nil {
		m.Body = *o.MessageBody
		m.Digest = bodyMD5(m.Body)
	}
	if o.DelaySeconds != nil {
		m.Delay = secondsOf(*o.DelaySeconds)
	}
	for _, given := range [...]struct {
		name string
		text *string
	}{{"MessageDeduplicationId", o.MessageDeduplicationID}, {"MessageGroupId", o.MessageGroupID}} {
		if given.text != nil && *given.text == "" {
			return m, protocol.Invalid("", given.name,
				given.name+" can only include alphanumeric and punctuation characters. 1 to 128 in length.")
		}
	}
	if o.MessageDeduplicationID != nil {
		m.DeduplicationID = *o.MessageDeduplicationID
	}
	if o.MessageGroupID != nil {
		m.GroupID = *o.MessageGroupID
	}
	for name, v := range o.MessageSystemAttributes {
		if name != traceHeader {
			return m, &queue.Error{Kind: queue.ErrInvalidParameter,
				Text: "Message system attribute name '" + protocol.Clip(name) + "' is invalid."}
		}
		if v.DataType != "String" || v.StringValue == nil || *v.StringValue == "" {
			return m, &queue.Error{Kind: queue.ErrInvalidParameter,
				Text: "Message (system) attribute 'AWSTraceHeader' must contain a non-empty value of type 'String'."}
		}
		m.Trace = *v.StringValue
	}
	// A nil map keeps messages without attributes free of JSON in the store.
	if len(o.MessageAttributes) > 0 {
		m.Attributes = make(map[string]queue.Attribute, len(o.MessageAttributes))
	}
	for name, v := range o.MessageAttributes {
		a, err := v.attribute()
		if err != nil {
			return m, err
		}
		m.Attributes[name] = a
	}
	return m, nil
}

// attribute returns a user attribute as package queue takes it. SQS reserves list values and does not
// support them.
func (v *attributeValue) attribute() (queue.Attribute, error) {
	a := queue.Attribute{Type: v.DataType}
	if len(v.StringListValues)+len(v.BinaryListValues) > 0 {
		return a, &queue.Error{Kind: queue.ErrUnsupported,
			Text: "Message attribute list values in SendMessage operation are not supported."}
	}
	switch {
	case isBinary(v.DataType):
		a.Value = v.BinaryValue
	case v.StringValue != nil:
		a.Value = []byte(*v.StringValue)
	}
	return a, nil
}

// secondsOf returns n seconds. It caps numbers far outside of every limit, which would overflow a
// Duration and then look valid.
func secondsOf(n int) *time.Duration {
	const far = 1 << 30
	d := time.Duration(max(-far, min(far, n))) * time.Second
	return &d
}

// traceMD5 returns the checksum of the system attributes, of which trace is the only one.
func traceMD5(trace string) string {
	if trace == "" {
		return ""
	}
	return attributesMD5(map[string]queue.Attribute{traceHeader: {Type: "String", Value: []byte(trace)}})
}

type sendMessageRequest struct {
	queueRequest
	outgoing
}

// sentResult says what was stored of a message.
type sentResult struct {
	ID                           string `json:"Id,omitempty"` // in a batch
	MessageID                    string `json:"MessageId"`
	MD5OfMessageBody             string
	MD5OfMessageAttributes       string `json:",omitempty"`
	MD5OfMessageSystemAttributes string `json:",omitempty"`
	SequenceNumber               string `json:",omitempty"`
}

// sentOf returns the result of sending o. A trace header of the HTTP request has no checksum, since the
// caller did not send it as an attribute.
func sentOf(id string, o *outgoing, m *queue.Outgoing, s queue.Sent) sentResult {
	// See outgoing.message: the trace may come from the message or from the HTTP header.
	trace := ""
	if len(o.MessageSystemAttributes) > 0 {
		trace = m.Trace
	}
	return sentResult{id, s.ID, hexDigest(m.Digest), attributesMD5(m.Attributes), traceMD5(trace), s.SequenceNumber}
}

// sendMessage sends one message.
func (c *Call) sendMessage(r *sendMessageRequest, s Store, who Caller) error {
	name, m, err := r.prepare(c)
	if err != nil {
		return err
	}
	s.Send(name, []queue.Outgoing{m}, func(sent []queue.Sent, err error) {
		who.Answer(func() (any, error) { return r.sent(&m, sent, err) })
	})
	return nil
}

// traced returns the trace header of the request, or the empty text if a message cannot have it. A bad
// header must not make a send fail.
func (c *Call) traced() string {
	if len(c.Trace) > queue.MaxTraceBytes || !utf8.ValidString(c.Trace) {
		return ""
	}
	return c.Trace
}

// prepare returns the message to store, and the key of its queue.
func (r *sendMessageRequest) prepare(c *Call) (name string, m queue.Outgoing, err error) {
	if name, err = c.queueName(r.QueueURL); err == nil {
		m, err = r.message(c.traced())
	}
	return name, m, err
}

// sent returns the answer to the send of m.
func (r *sendMessageRequest) sent(m *queue.Outgoing, sent []queue.Sent, err error) (any, error) {
	if err == nil {
		err = sent[0].Err
	}
	if err != nil {
		return nil, err
	}
	return sentOf("", &r.outgoing, m, sent[0]), nil
}

type sendEntry struct {
	batchID
	outgoing
}

type sendMessageBatchRequest struct {
	queueRequest
	Entries []sendEntry `query:"SendMessageBatchRequestEntry"`
}

type sendBatchResult struct {
	Successful []sentResult  `json:",omitempty" query:"SendMessageBatchResultEntry"`
	Failed     []failedEntry `json:",omitempty" query:"BatchResultErrorEntry"`
}

// sendMessageBatch sends up to ten messages. Each one succeeds or fails on its own.
func (c *Call) sendMessageBatch(r *sendMessageBatchRequest, s Store, who Caller) error {
	b, err := r.prepare(c)
	if err != nil {
		return err
	}
	if len(b.messages) == 0 {
		who.Answer(func() (any, error) { return c.sendNothing(b) })
		return nil
	}
	s.Send(b.queue, b.messages, func(sent []queue.Sent, err error) {
		who.Answer(func() (any, error) { return b.sent(sent, err) })
	})
	return nil
}

// sendingBatch is a batch between validation and answer: the messages to store, and the failures so
// far.
type sendingBatch struct {
	queue    string
	messages []queue.Outgoing
	entries  []*sendEntry // entries[i] belongs to messages[i]
	result   sendBatchResult
}

// sendNothing answers a batch of which every message was refused. The queue must still exist.
func (c *Call) sendNothing(b *sendingBatch) (any, error) {
	_, err := c.Queues.Counts(b.queue)
	return b.result, err
}

// prepare validates the batch as a whole and each of its messages. A FIFO queue refuses the whole batch
// if a message has no group, as AWS does.
func (r *sendMessageBatchRequest) prepare(c *Call) (*sendingBatch, error) {
	name, err := c.queueName(r.QueueURL)
	if err != nil {
		return nil, err
	}
	if err := checkIDs("SendMessageBatchRequestEntry", r.Entries); err != nil {
		return nil, err
	}
	// The check is here and not in package queue because only the protocol distinguishes an absent
	// group from an empty one.
	if strings.HasSuffix(name, ".fifo") && slices.ContainsFunc(r.Entries,
		func(e sendEntry) bool { return e.MessageGroupID == nil }) {
		return nil, &queue.Error{Kind: queue.ErrInvalidParameter,
			Text: "The request must contain the parameter MessageGroupId."}
	}
	b := &sendingBatch{queue: name, messages: make([]queue.Outgoing, 0, len(r.Entries)), entries: make([]*sendEntry, 0,
		len(r.Entries))}
	b.result.Successful = make([]sentResult, 0, len(r.Entries))
	for i := range r.Entries {
		m, err := r.Entries[i].message(c.traced())
		if err != nil {
			// An invalid entry fails alone; the others are sent.
			b.result.Failed = append(b.result.Failed, failed(r.Entries[i].ID, err))
			continue
		}
		b.messages, b.entries = append(b.messages, m), append(b.entries, &r.Entries[i])
	}
	return b, nil
}

// sent returns the answer to the batch.
func (b *sendingBatch) sent(sent []queue.Sent, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	for i, s := range sent {
		if s.Err != nil {
			b.result.Failed = append(b.result.Failed, failed(b.entries[i].ID, s.Err))
		} else {
			b.result.Successful = append(b.result.Successful,
				sentOf(b.entries[i].ID, &b.entries[i].outgoing, &b.messages[i], s))
		}
	}
	return b.result, nil
}
