package sqsqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/internal/trouble"
	"github.com/muster-scale/muster/worker/lease"
)

const (
	// httpTimeout exceeds the longest wait of a receive call, 20 s.
	httpTimeout = 35 * time.Second
	// credentialsTimeout bounds finding credentials at the start.
	credentialsTimeout = 10 * time.Second
)

// SQS is a [Queue] on an SQS endpoint, Amazon's or an embedded one. Several goroutines may use it.
type SQS struct {
	client *sqs.Client
	url    string
	name   string
	local  bool
	// together is how many messages a receive from a FIFO queue may bring.
	together int
}

// NewSQS returns the queue with the given URL. Region, credentials and endpoint come from the sources of the AWS tools,
// with two exceptions. The region in a URL takes precedence. A URL on this machine is its own endpoint, unless
// AWS_ENDPOINT_URL_SQS names another. NewSQS does not call the queue; for a queue on this machine, missing credentials
// are an error at once.
func NewSQS(ctx context.Context, queueURL string) (*SQS, error) {
	u, err := url.Parse(queueURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") == "" ||
		u.User != nil {
		return nil, fmt.Errorf("open the queue: found the URL %q, one like "+
			"https://sqs.REGION.amazonaws.com/ACCOUNT/NAME is allowed",
			queueURL)
	}
	q := &SQS{url: queueURL, name: path.Base(u.Path), local: trouble.Loopback(u.Hostname())}
	cfg, err := awsapi.At(ctx, queueURL, awshttp.NewBuildableClient().WithTimeout(httpTimeout))
	if err != nil {
		return nil, fmt.Errorf("open the queue %s: %w", queueURL, err)
	}
	if cfg.Region == "" {
		return nil, fmt.Errorf("open the queue %s: found no region in the URL or the configuration; set AWS_REGION",
			queueURL)
	}
	if q.local {
		if err := q.needCredentials(ctx, cfg); err != nil {
			return nil, err
		}
	}
	q.client = sqs.NewFromConfig(cfg)
	return q, nil
}

// SQSClient returns a client for the queue with the given URL, made as [NewSQS] does.
func SQSClient(ctx context.Context, queueURL string) (*sqs.Client, error) {
	q, err := NewSQS(ctx, queueURL)
	if err != nil {
		return nil, err
	}
	return q.client, nil
}

// needCredentials finds credentials once. Without this check a worker without credentials would retry forever, and its
// log would show an error of signing instead of what to do.
func (q *SQS) needCredentials(ctx context.Context, cfg aws.Config) error {
	ctx, cancel := context.WithTimeout(ctx, credentialsTimeout)
	defer cancel()
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return fmt.Errorf("open the queue %s: found no credentials; `muster up` shows the export lines that set "+
			"them: %w", q.url, err)
	}
	return nil
}

// Receive implements [Queue]. From a FIFO queue it takes one message at a time, unless [SQS.TakeTogether] allows more.
func (q *SQS) Receive(ctx context.Context, max int, wait, visibility time.Duration) ([]worker.Message, error) {
	out, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl:                    &q.url,
		MaxNumberOfMessages:         q.most(max),
		WaitTimeSeconds:             seconds(wait),
		VisibilityTimeout:           seconds(visibility),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil, q.failed("receive from", err)
	}
	messages := make([]worker.Message, 0, len(out.Messages))
	for _, m := range out.Messages {
		messages = append(messages, q.message(m))
	}
	return messages, nil
}

// TakeTogether allows receives of up to n messages from a FIFO queue, for batches. Call it before the first receive.
func (q *SQS) TakeTogether(n int) { q.together = n }

// most returns how many messages a receive may request. The default for a FIFO queue is one: messages of one group
// would wait for each other here, and other workers could take those of other groups.
func (q *SQS) most(wanted int) int32 {
	if strings.HasSuffix(q.name, worker.FifoSuffix) {
		return int32(min(wanted, max(1, q.together), worker.MaxBatch))
	}
	return int32(min(wanted, worker.MaxBatch))
}

// Delete implements [Queue].
func (q *SQS) Delete(ctx context.Context, m worker.Message) error {
	_, err := q.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: &m.Handle}, q.once)
	return q.failed("delete a message of", err)
}

// ChangeVisibility implements [Queue].
func (q *SQS) ChangeVisibility(ctx context.Context, m worker.Message, d time.Duration) error {
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &q.url, ReceiptHandle: &m.Handle, VisibilityTimeout: seconds(d),
	}, q.once)
	return q.failed("change the visibility of a message of", err)
}

// returnedHeader tells an embedded queue (package sqsapi) that a change of visibility returns a message. Other queues
// ignore it.
const returnedHeader = "X-Muster-Returned"

// Return implements [Returner].
func (q *SQS) Return(ctx context.Context, m worker.Message, d time.Duration) error {
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &q.url, ReceiptHandle: &m.Handle, VisibilityTimeout: seconds(d),
	}, q.once, sqs.WithAPIOptions(smithyhttp.SetHeaderValue(returnedHeader, "1")))
	return q.failed("change the visibility of a message of", err)
}

// Keep implements [DeadLetters]. It sends m to this queue, with its attributes and nothing added, so that it can be
// moved back. A FIFO queue stores it once, even if it is sent several times within five minutes.
func (q *SQS) Keep(ctx context.Context, m worker.Message) error {
	_, err := q.KeepAs(ctx, m)
	return err
}

// KeepAs implements [DeadLettersByID]. It does what [SQS.Keep] does, and returns the new id of m.
func (q *SQS) KeepAs(ctx context.Context, m worker.Message) (id string, err error) {
	in := &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &m.Body,
		MessageAttributes: make(map[string]types.MessageAttributeValue, len(m.Attributes))}
	for name, a := range m.Attributes {
		v := types.MessageAttributeValue{DataType: aws.String(a.Type), BinaryValue: a.Binary}
		if kind, _, _ := strings.Cut(a.Type, "."); kind != "Binary" {
			v.StringValue, v.BinaryValue = aws.String(a.Text), nil
		}
		in.MessageAttributes[name] = v
	}
	if strings.HasSuffix(q.name, worker.FifoSuffix) {
		in.MessageGroupId, in.MessageDeduplicationId = aws.String(cmp.Or(m.Group, m.ID)), aws.String(m.ID)
	}
	out, err := q.client.SendMessage(ctx, in)
	if err != nil {
		return "", q.failed("send a dead letter to", err)
	}
	return aws.ToString(out.MessageId), nil
}

// once disables the SDK's retries for an endpoint on this machine. The runner retries by itself, and the SDK's pauses
// would hide that nothing listens there.
func (q *SQS) once(o *sqs.Options) {
	if q.local {
		o.RetryMaxAttempts = 1
	}
}

// seconds converts d for SQS, rounded up and limited to the 12 h of the longest visibility timeout. Rounding down would
// make a message visible while its worker still counts on the lease.
func seconds(d time.Duration) int32 {
	return int32(min(max(0, math.Ceil(d.Seconds())), lease.MaxHold.Seconds()))
}

// message converts a received message. Attributes that the endpoint does not send stay empty.
func (q *SQS) message(m types.Message) worker.Message {
	system := func(name types.MessageSystemAttributeName) string { return m.Attributes[string(name)] }
	out := worker.Message{
		ID: aws.ToString(m.MessageId), Queue: q.name, Body: aws.ToString(m.Body), Handle: aws.ToString(m.ReceiptHandle),
		Group:           system(types.MessageSystemAttributeNameMessageGroupId),
		SenderID:        system(types.MessageSystemAttributeNameSenderId),
		SentAt:          instant(system(types.MessageSystemAttributeNameSentTimestamp)),
		FirstReceivedAt: instant(system(types.MessageSystemAttributeNameApproximateFirstReceiveTimestamp)),
		Attributes:      make(map[string]worker.Attribute, len(m.MessageAttributes)),
	}
	// An unreadable count stays 0, which is unknown.
	out.ReceiveCount, _ = strconv.Atoi(system(types.MessageSystemAttributeNameApproximateReceiveCount))
	for name, a := range m.MessageAttributes {
		out.Attributes[name] = worker.Attribute{Type: aws.ToString(a.DataType), Text: aws.ToString(a.StringValue),
			Binary: a.BinaryValue}
	}
	return out
}

// instant reads milliseconds since 1970. An unreadable text is the zero time, which is unknown.
func instant(milliseconds string) time.Time {
	ms, err := strconv.ParseInt(milliseconds, 10, 64)
	if err != nil || ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// failed says what failed, on which queue, and what to do. It leaves out request ids, so that the same fault always has
// the same text.
func (q *SQS) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	if unsigned, ok := errors.AsType[*NoCredentialsError](err); ok {
		return fmt.Errorf("%s the queue %s: %w", what, q.url, unsigned)
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok && away(err) {
		return fmt.Errorf("%s the queue %s: %w; is `muster up` running?", what, q.url, worker.ErrAway)
	}
	if !ok {
		hint := ""
		if q.local {
			hint = "; is `muster up` running?"
		}
		return fmt.Errorf("%s the queue %s%s: %w", what, q.url, hint, err)
	}
	code, text := api.ErrorCode(), api.ErrorMessage()
	switch {
	case gone(code, text):
		return fmt.Errorf("%s the queue %s: %s: %s: %w", what, q.url, code, text, worker.ErrGone)
	case strings.Contains(code, "QueueDoesNotExist") || strings.Contains(code, "NonExistentQueue"):
		text += " (create it, or give the right URL)"
	case strings.Contains(code, "AccessDenied"):
		text += " (allow sqs:ReceiveMessage, sqs:DeleteMessage and sqs:ChangeMessageVisibility on it, and " +
			"sqs:SendMessage on the queue for dead letters)"
	case q.local && badCredentials(code):
		text += " (`muster up` shows the export lines that set the right credentials)"
	}
	return &queueError{text: fmt.Sprintf("%s the queue %s: %s: %s", what, q.url, code, text), err: err}
}

// gone tells whether an error means that the message is no longer in flight.
func gone(code, text string) bool {
	return strings.Contains(code, "MessageNotInflight") || strings.Contains(code, "ReceiptHandleIsInvalid") ||
		strings.Contains(code, "InvalidParameterValue") &&
			(strings.Contains(text, "handle has expired") ||
				strings.Contains(text, "not available for visibility timeout"))
}

// away tells whether this machine itself refused the connection, so that nothing listens. A refusal of another machine
// proves nothing: it may be one of several behind a name, or come from a network device.
func away(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "dial" || !errors.Is(err, syscall.ECONNREFUSED) {
		return false
	}
	to, ok := op.Addr.(*net.TCPAddr)
	return ok && to.IP.IsLoopback()
}

// badCredentials tells whether an error code means wrong or missing credentials, in the words of SQS and of its
// protocols.
func badCredentials(code string) bool {
	switch code {
	case "InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch", "InvalidSecurity",
		"IncompleteSignature", "MissingAuthenticationToken", "AuthFailure":
		return true
	}
	return false
}

// queueError has its own text and wraps the original error, whose text has request ids and would differ each time.
type queueError struct {
	text string
	err  error
}

func (e *queueError) Error() string { return e.text }
func (e *queueError) Unwrap() error { return e.err }

// NoCredentialsError says that a call could not be signed, and what to do about it, without the SDK's wrapping.
type NoCredentialsError = awsapi.NoCredentialsError
