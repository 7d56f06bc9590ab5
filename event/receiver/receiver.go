package receiver

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/time/rate"

	"github.com/muster-scale/muster/event"
	"github.com/muster-scale/muster/internal/awsapi"
)

const (
	// longPoll is how long a receive waits for a message; callTimeout bounds any call, with some time for the network.
	longPoll    = 20 * time.Second
	callTimeout = longPoll + 10*time.Second
	// batch is the number of messages of one receive, the most that SQS allows.
	batch = 10
	// hidden is how long a received message stays hidden, in seconds. It is deleted within milliseconds.
	hidden = 30
	// roundsPerSecond and burst bound the rounds that found messages: a flood causes at most that many wakes.
	roundsPerSecond = 20
	burst           = 100
	// firstRetry is the wait after a failure. It doubles with each further one, up to lastRetry.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// Queue has the calls of SQS that a receiver makes. The SDK's client implements it.
type Queue interface {
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput,
		...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
}

// Client returns the client for the queue with a URL. Region, credentials and endpoint come from where the AWS tools
// look for them. It makes no call. A nil http means a client of the SDK.
func Client(ctx context.Context, url string, http aws.HTTPClient) (*sqs.Client, error) {
	cfg, err := awsapi.At(ctx, url, http)
	if err != nil {
		return nil, fmt.Errorf("open the queue of events %s: %w", url, err)
	}
	// The receiver retries by itself, so that a failure shows at once.
	return sqs.NewFromConfig(cfg, func(o *sqs.Options) { o.RetryMaxAttempts = 1 }), nil
}

// Options are the parts of a [Receiver]. All but Logger and Repeated are required.
type Options struct {
	// URL is the queue's URL.
	URL   string
	Queue Queue
	// Wake takes new events. It must return soon, and is called by one goroutine.
	Wake func(...event.Event)
	// Repeated takes an event whose id is known, which wakes nothing. It must return soon, and is called by one
	// goroutine.
	Repeated func(event.Event)
	// Failed takes the failure when events cannot be received or deleted, and nil when they can again. It is called by
	// one goroutine, and only when that changes.
	Failed func(error)
	Logger *slog.Logger
}

// Receiver receives the events of one queue.
type Receiver struct {
	o      Options
	region string
	limit  *rate.Limiter
	seen   event.Seen
	// failure is the text that Failed got last; empty for nil. undeleted is true while it is of a delete.
	failure   string
	undeleted bool
}

// New returns a receiver that does nothing until [Receiver.Run].
func New(o Options) *Receiver {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Repeated == nil {
		o.Repeated = func(event.Event) {}
	}
	return &Receiver{o: o, region: awsapi.QueueRegion(o.URL), limit: rate.NewLimiter(roundsPerSecond, burst)}
}

// Run receives until ctx ends. It may be called once.
func (r *Receiver) Run(ctx context.Context) {
	wait := firstRetry
	for ctx.Err() == nil {
		received, err := r.round(ctx)
		if ctx.Err() != nil {
			return // the failure is that of the end
		}
		if err == nil {
			wait = firstRetry
			if received > 0 && r.limit.Wait(ctx) != nil {
				return
			}
			continue
		}
		r.o.Logger.Warn("receiving events failed, and is tried again", "error", err, "after", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		wait = min(2*wait, lastRetry)
	}
}

// round receives once, and returns the number of messages. A message is deleted even if its event is not new.
func (r *Receiver) round(ctx context.Context) (received int, err error) {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	in := &sqs.ReceiveMessageInput{QueueUrl: &r.o.URL, MaxNumberOfMessages: batch, VisibilityTimeout: hidden}
	if r.failure == "" || r.undeleted {
		in.WaitTimeSeconds = int32(longPoll / time.Second)
	} // otherwise the end of the failure shows at once
	out, err := r.o.Queue.ReceiveMessage(ctx, in)
	if err != nil {
		return 0, r.failed(ctx, false, awsapi.Explain("receive events from "+r.o.URL, r.region, err))
	}
	if len(out.Messages) == 0 {
		// An empty queue says nothing of deleting: that failure stays until a message could be deleted.
		if !r.undeleted {
			r.works()
		}
		return 0, nil
	}
	if news := r.news(time.Now(), out.Messages); len(news) > 0 {
		r.o.Wake(news...)
	}
	if err := r.remove(ctx, out.Messages); err != nil {
		return len(out.Messages), r.failed(ctx, true, err)
	}
	r.works()
	return len(out.Messages), nil
}

// news returns the events of messages that were not seen before. An event without an id has that of its message, which
// SQS may deliver twice.
func (r *Receiver) news(now time.Time, messages []types.Message) []event.Event {
	var all []event.Event
	for _, m := range messages {
		for i, e := range event.Read([]byte(aws.ToString(m.Body))) {
			if id := aws.ToString(m.MessageId); e.ID == "" && id != "" {
				e.ID = fmt.Sprintf("%s %d", id, i)
			}
			all = append(all, e)
		}
	}
	return fresh(&r.seen, now, all, r.o.Repeated)
}

// fresh returns the events that were not seen before, and passes the others to repeated.
func fresh(seen *event.Seen, now time.Time, all []event.Event, repeated func(event.Event)) (news []event.Event) {
	for _, e := range all {
		if seen.First(e.Key(), now) {
			news = append(news, e)
		} else {
			repeated(e)
		}
	}
	return news
}

// remove deletes messages.
func (r *Receiver) remove(ctx context.Context, messages []types.Message) error {
	entries := make([]types.DeleteMessageBatchRequestEntry, len(messages))
	for i, m := range messages {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle}
	}
	what := "delete received events from " + r.o.URL
	out, err := r.o.Queue.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &r.o.URL, Entries: entries})
	if err != nil {
		return awsapi.Explain(what, r.region, err)
	}
	if len(out.Failed) > 0 {
		first := out.Failed[0]
		return fmt.Errorf("%s: %d of %d failed, the first one with %s: %s; they arrive again and wake nothing", what,
			len(out.Failed), len(messages), aws.ToString(first.Code), aws.ToString(first.Message))
	}
	return nil
}

// failed tells a failure that is new, unless the receiver is ending, and returns it.
func (r *Receiver) failed(ctx context.Context, undeleted bool, err error) error {
	if r.undeleted = undeleted; context.Cause(ctx) != context.Canceled && err.Error() != r.failure {
		r.failure = err.Error()
		r.o.Failed(err)
	}
	return err
}

// works tells that a failure has ended.
func (r *Receiver) works() {
	if r.undeleted = false; r.failure != "" {
		r.failure = ""
		r.o.Failed(nil)
	}
}
