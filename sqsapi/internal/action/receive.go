// ReceiveMessage. A receive is tried at once. If nothing is visible and a wait is allowed, it becomes a
// long poll on a goroutine of its own.

package action

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

type receiveMessageRequest struct {
	queueRequest
	AttributeNames              []string `query:"AttributeName"` // the older name of the next parameter
	MessageSystemAttributeNames []string `query:"MessageSystemAttributeName"`
	MessageAttributeNames       []string `query:"MessageAttributeName"`
	MaxNumberOfMessages         *int
	VisibilityTimeout           *int
	WaitTimeSeconds             *int
	ReceiveRequestAttemptID     *string `json:"ReceiveRequestAttemptId"`
}

// receivedMessage is a message in an answer. Empty members are left out, as at AWS.
type receivedMessage struct {
	MessageID              string `json:"MessageId"`
	ReceiptHandle          string
	MD5OfBody              string
	Body                   string
	Attributes             map[string]string         `json:",omitempty" query:"Attribute,Name,Value"`
	MD5OfMessageAttributes string                    `json:",omitempty"`
	MessageAttributes      map[string]attributeValue `json:",omitempty" query:"MessageAttribute,Name,Value"`
}

type receiveMessageResult struct {
	Messages []receivedMessage `json:",omitempty" query:"Message"`
}

// maxSelectors bounds the attribute names of one receive.
const maxSelectors = 100

// receiveMessage receives messages. On a loop, c is reused for other requests while this one waits, so
// everything that runs later uses its own copy.
func (c *Call) receiveMessage(r *receiveMessageRequest, s Store, who Caller) error {
	name, err := c.queueName(r.QueueURL)
	if err != nil {
		return err
	}
	o, err := r.options()
	if err != nil {
		return err
	}
	// own outlives the request on a loop: it is used when the store answers, and by the long poll.
	own := *c
	longPoll := func(ctx context.Context) (any, error) {
		own.Context = ctx
		messages, err := own.wait(name, o)
		if err != nil {
			return nil, err
		}
		// The caller hung up while messages were taken for it.
		if own.Context.Err() != nil {
			own.returnMessages(name, messages)
			return nil, own.Context.Err()
		}
		return own.receivedAll(name, messages, r), nil
	}
	// The long poll validates the options and reports the fault.
	if !c.triesFirst(o) {
		who.AnswerLater(longPoll)
		return nil
	}
	// The wait of o, or unknown: then the queue's own, which the long poll looks up.
	mayWait := o.Wait == nil || *o.Wait > 0
	s.Receive(name, o, func(messages []queue.Message, err error) {
		// Too many messages in flight is no error for a long poll: one may be deleted while it waits.
		if len(messages) == 0 && (err == nil || errors.Is(err, queue.ErrOverLimit)) && mayWait &&
			own.Serving.Err() == nil {
			who.AnswerLater(longPoll)
			return
		}
		who.Answer(func() (any, error) {
			if err != nil {
				return nil, err
			}
			return own.receivedAll(name, messages, r), nil
		})
	})
	return nil
}

// receivedAll returns the answer with messages of the queue with that key.
func (s *Service) receivedAll(key string, messages []queue.Message, r *receiveMessageRequest) receiveMessageResult {
	result := receiveMessageResult{Messages: make([]receivedMessage, 0, len(messages))}
	at, _ := s.Placed(key)
	for i := range messages {
		result.Messages = append(result.Messages, s.received(at.Account, &messages[i], r))
	}
	return result
}

// triesFirst says whether a receive is tried without a wait first. One with an invalid wait is not:
// package queue must refuse it before a message is taken.
func (c *Call) triesFirst(o queue.ReceiveOptions) bool {
	return o.Wait == nil || *o.Wait >= 0 && *o.Wait <= queue.MaxWait || c.Serving.Err() != nil
}

// wait receives with the wait of o or of the queue. It ends early, without an error, when the server is
// about to stop, and with an error when the caller hangs up.
func (c *Call) wait(name string, o queue.ReceiveOptions) ([]queue.Message, error) {
	// Two reasons end the wait: the caller hangs up, which is an error, or the server stops, which is
	// an empty answer.
	watch, stop := c.WithHangUp(c.Context)
	defer stop()
	c.Context = watch
	ctx, cancel := context.WithCancel(c.Context)
	defer cancel()
	defer context.AfterFunc(c.Serving, cancel)()
	messages, err := c.Queues.Receive(ctx, name, o)
	if err != nil && ctx.Err() != nil && c.Context.Err() == nil {
		return nil, nil
	}
	return messages, err
}

// options validates what only the protocol has, and returns the options for package queue.
func (r *receiveMessageRequest) options() (queue.ReceiveOptions, error) {
	var o queue.ReceiveOptions
	if r.MaxNumberOfMessages != nil {
		// For package queue 0 means the default, so an explicit 0 must be refused here.
		if o.Max = *r.MaxNumberOfMessages; o.Max == 0 {
			return o, protocol.Invalid(0, "MaxNumberOfMessages", "Must be between 1 and 10, if provided.")
		}
	}
	if r.VisibilityTimeout != nil {
		o.Visibility = secondsOf(*r.VisibilityTimeout)
	}
	if r.WaitTimeSeconds != nil {
		o.Wait = secondsOf(*r.WaitTimeSeconds)
	}
	// The full slice expression makes append copy: the request keeps its own list.
	system := append(r.AttributeNames[:len(r.AttributeNames):len(r.AttributeNames)], r.MessageSystemAttributeNames...)
	if n := len(system) + len(r.MessageAttributeNames); n > maxSelectors {
		return o, protocol.Invalid(n, "AttributeNames", "At most 100 names may be given.")
	}
	// Names of user attributes are not checked: they may be prefixes.
	for _, name := range system {
		if !systemAttributes[name] {
			return o, protocol.UnknownAttribute(name)
		}
	}
	if id := r.ReceiveRequestAttemptID; id != nil {
		if *id == "" {
			return o, protocol.Invalid("", "ReceiveRequestAttemptId",
				"ReceiveRequestAttemptId can only include alphanumeric and punctuation characters. 1 to 128 in length.")
		}
		o.Attempt = *id
	}
	return o, nil
}

// returnTimeout bounds the work for a caller that hung up.
const returnTimeout = 5 * time.Second

// returnMessages makes messages visible again that a caller who hung up will never see. Otherwise they
// would stay in flight until their visibility timeout ends.
func (c *Call) returnMessages(name string, messages []queue.Message) {
	if len(messages) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context), returnTimeout)
	defer cancel()
	changes := make([]queue.VisibilityChange, len(messages))
	for i := range messages {
		changes[i].Receipt = messages[i].Receipt
	}
	for _, err := range c.Queues.ChangeVisibility(ctx, name, changes) {
		if err != nil {
			c.Logger.Warn("a message received by a caller who hung up could not be returned; it becomes visible when "+
				"its visibility timeout ends",
				"queue", name, "error", err)
		}
	}
}

// systemAttributes are the system attributes that a receive may name.
var systemAttributes = map[string]bool{
	"All": true, "SenderId": true, "SentTimestamp": true, "ApproximateReceiveCount": true,
	"ApproximateFirstReceiveTimestamp": true,
	"SequenceNumber":                   true, "MessageDeduplicationId": true, "MessageGroupId": true, traceHeader: true,
	"DeadLetterQueueSourceArn": true,
}

// received returns a message as the caller sees it, with the attributes that it named.
func (s *Service) received(account string, m *queue.Message, r *receiveMessageRequest) receivedMessage {
	out := receivedMessage{MessageID: m.ID, ReceiptHandle: m.Receipt, MD5OfBody: receivedMD5(m), Body: m.Body}
	out.Attributes = s.systemAttributes(account, m,
		append(r.AttributeNames[:len(r.AttributeNames):len(r.AttributeNames)], r.MessageSystemAttributeNames...))
	if len(m.Attributes) == 0 || len(r.MessageAttributeNames) == 0 {
		return out
	}
	chosen := map[string]queue.Attribute{}
	for name, attribute := range m.Attributes {
		if selected(name, r.MessageAttributeNames) {
			chosen[name] = attribute
		}
	}
	if len(chosen) == 0 {
		return out
	}
	out.MD5OfMessageAttributes = attributesMD5(chosen)
	out.MessageAttributes = make(map[string]attributeValue, len(chosen))
	for name, attribute := range chosen {
		out.MessageAttributes[name] = wireValue(attribute)
	}
	return out
}

// wireValue returns a user attribute as the protocol writes it.
func wireValue(a queue.Attribute) attributeValue {
	if isBinary(a.Type) {
		return attributeValue{DataType: a.Type, BinaryValue: a.Value}
	}
	text := string(a.Value)
	return attributeValue{DataType: a.Type, StringValue: &text}
}

// selected says whether a receive names a user attribute: by its name, by All, * or .*, or by a prefix
// of its name followed by .*.
func selected(name string, selectors []string) bool {
	for _, s := range selectors {
		if s == "All" || s == "*" || s == name {
			return true
		}
		if prefix, ok := strings.CutSuffix(s, ".*"); ok && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// systemAttributes returns the wanted system attributes that a message has. SenderId is the account,
// since there are no other identities.
func (s *Service) systemAttributes(account string, m *queue.Message, wanted []string) map[string]string {
	if len(wanted) == 0 {
		return nil
	}
	all := map[string]string{
		"SenderId":                         account,
		"SentTimestamp":                    millis(m.Sent),
		"ApproximateReceiveCount":          strconv.Itoa(m.ReceiveCount),
		"ApproximateFirstReceiveTimestamp": millis(m.FirstReceived),
	}
	if m.GroupID != "" {
		all["MessageGroupId"] = m.GroupID
	}
	if m.SequenceNumber != "" {
		all["SequenceNumber"], all["MessageDeduplicationId"] = m.SequenceNumber, m.DeduplicationID
	}
	if m.Trace != "" {
		all[traceHeader] = m.Trace
	}
	if m.Source != "" {
		all["DeadLetterQueueSourceArn"] = s.arn(m.Source)
	}
	out := make(map[string]string, len(all))
	for _, name := range wanted {
		if name == "All" {
			return all
		}
		if value, ok := all[name]; ok {
			out[name] = value
		}
	}
	return out
}

// millis returns a time in Unix milliseconds, as SQS writes times of messages.
func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
