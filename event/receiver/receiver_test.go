package receiver_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/muster-scale/muster/event"
	"github.com/muster-scale/muster/event/receiver"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi"
)

// line is a queue in memory that fails when a test says so. A received message stays until it is deleted, and arrives
// again in the next receive.
type line struct {
	mu       sync.Mutex
	messages []types.Message
	receives []time.Time
	// broken is the error of a receive, stuck that of a delete.
	broken, stuck error
}

func (l *line) send(id, body string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.messages = append(l.messages, types.Message{MessageId: &id, Body: &body, ReceiptHandle: &id})
}

func (l *line) fail(receive, remove error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken, l.stuck = receive, remove
}

// state returns the number of messages and the times of the receives.
func (l *line) state() (left int, receives []time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.messages), slices.Clone(l.receives)
}

// ReceiveMessage implements [receiver.Queue].
func (l *line) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput,
	_ ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	l.mu.Lock()
	l.receives = append(l.receives, time.Now())
	l.mu.Unlock()
	for end := time.Now().Add(time.Duration(in.WaitTimeSeconds) * time.Second); ; {
		l.mu.Lock()
		got, err := slices.Clone(l.messages[:min(len(l.messages), int(in.MaxNumberOfMessages))]), l.broken
		l.mu.Unlock()
		if err != nil || len(got) > 0 || !time.Now().Before(end) {
			return &sqs.ReceiveMessageOutput{Messages: got}, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// DeleteMessageBatch implements [receiver.Queue].
func (l *line) DeleteMessageBatch(_ context.Context, in *sqs.DeleteMessageBatchInput,
	_ ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stuck != nil {
		return nil, l.stuck
	}
	for _, e := range in.Entries {
		l.messages = slices.DeleteFunc(l.messages,
			func(m types.Message) bool { return *m.MessageId == *e.ReceiptHandle })
	}
	return &sqs.DeleteMessageBatchOutput{}, nil
}

// heard gathers what a receiver says.
type heard struct {
	mu     sync.Mutex
	woken  []event.Event
	faults []string
}

func (h *heard) wake(all ...event.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.woken = append(h.woken, all...)
}

func (h *heard) failed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, fmt.Sprint(err))
}

// state returns the fleets that were woken, and the faults.
func (h *heard) state() (fleets, faults []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.woken {
		fleets = append(fleets, e.Fleet)
	}
	return fleets, slices.Clone(h.faults)
}

const url = "https://sqs.eu-west-1.amazonaws.com/123456789012/events"

// virtually runs a receiver of a line in virtual time.
func virtually(t *testing.T, test func(t *testing.T, l *line, h *heard)) {
	synctest.Test(t, func(t *testing.T) {
		l, h := &line{}, &heard{}
		r := receiver.New(receiver.Options{URL: url, Queue: l, Wake: h.wake, Failed: h.failed})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); r.Run(ctx) }()
		test(t, l, h)
		stop()
		<-ended
	})
}

func TestAnEventWakesAtOnceAndIsDeleted(t *testing.T) {
	virtually(t, func(t *testing.T, l *line, h *heard) {
		time.Sleep(time.Minute)
		l.send("m1", `{"fleet": "a"}`)
		time.Sleep(200 * time.Millisecond)
		fleets, faults := h.state()
		left, receives := l.state()
		if !slices.Equal(fleets, []string{"a"}) || left != 0 || len(faults) != 0 {
			t.Errorf("woke %q, %d messages are left, faults %q", fleets, left, faults)
		}
		if len(receives) > 5 {
			t.Errorf("a quiet queue was received %d times in a minute, want 4 and the one after the message",
				len(receives))
		}
	})
}

func TestARepeatedEventWakesOnce(t *testing.T) {
	virtually(t, func(t *testing.T, l *line, h *heard) {
		l.send("m1", `{"fleet": "a", "id": "x"}`)
		l.send("m2", `{"fleet": "a", "id": "x"}`) // a sender that repeats
		l.send("m3", `{"fleet": "b"}`)
		time.Sleep(time.Second)
		l.send("m3", `{"fleet": "b"}`) // a delivery that SQS repeats
		l.send("m4", `{"fleet": "c", "id": "x"}`)
		time.Sleep(time.Second)
		if fleets, _ := h.state(); !slices.Equal(fleets, []string{"a", "b", "c"}) {
			t.Errorf("woke %q, want a, b and c once each", fleets)
		}
		time.Sleep(event.Remembered)
		l.send("m5", `{"fleet": "a", "id": "x"}`) // a replay from an archive
		time.Sleep(time.Second)
		if fleets, _ := h.state(); len(fleets) != 4 {
			t.Errorf("woke %q, want a once more after the memory", fleets)
		}
	})
}

func TestALostQueueIsAFaultAndIsReceivedAgain(t *testing.T) {
	virtually(t, func(t *testing.T, l *line, h *heard) {
		time.Sleep(time.Minute)
		l.fail(errors.New("no route to host"), nil)
		_, before := l.state()
		time.Sleep(10 * time.Minute)
		_, after := l.state()
		if n := len(after) - len(before); n < 20 || n > 30 {
			t.Errorf("tried %d times in ten minutes, want about one in 30 s", n)
		}
		l.fail(nil, nil)
		l.send("m1", `{"fleet": "a"}`)
		time.Sleep(31 * time.Second)
		fleets, faults := h.state()
		if len(faults) != 2 || !strings.Contains(faults[0], "receive events from "+url) ||
			!strings.Contains(faults[0], "no route to host") || faults[1] != "<nil>" {
			t.Errorf("faults %q, want one that names the queue, and its end", faults)
		}
		if !slices.Equal(fleets, []string{"a"}) {
			t.Errorf("woke %q, want a", fleets)
		}
	})
}

func TestAMessageThatCannotBeDeletedWakesOnceAndIsAFault(t *testing.T) {
	virtually(t, func(t *testing.T, l *line, h *heard) {
		l.fail(nil, errors.New("not authorized to perform: sqs:DeleteMessage"))
		l.send("m1", `{"fleet": "a"}`)
		time.Sleep(10 * time.Minute)
		fleets, faults := h.state()
		_, receives := l.state()
		if !slices.Equal(fleets, []string{"a"}) || len(faults) != 1 || len(receives) > 30 {
			t.Errorf("woke %q, faults %q after %d receives", fleets, faults, len(receives))
		}
		l.fail(nil, nil)
		time.Sleep(time.Minute)
		if left, _ := l.state(); left != 0 {
			t.Error("the message is still there")
		}
		if _, faults := h.state(); len(faults) != 2 || faults[1] != "<nil>" {
			t.Errorf("faults %q, want an end", faults)
		}
	})
}

func TestAFloodIsReceivedAtABoundedRateAndWholly(t *testing.T) {
	virtually(t, func(t *testing.T, l *line, h *heard) {
		for i := range 5000 {
			l.send(fmt.Sprint("m", i), `{"fleet": "a"}`)
		}
		time.Sleep(time.Second)
		if _, receives := l.state(); len(receives) > 100+20+2 {
			t.Errorf("received %d times in a second, want a burst of 100 and 20 a second", len(receives))
		}
		time.Sleep(time.Minute)
		if left, _ := l.state(); left != 0 {
			t.Errorf("%d of 5000 messages are left after a minute", left)
		}
	})
}

// The receiver and the SDK's client work with an SQS endpoint.
func TestEventsComeThroughAnSQSEndpoint(t *testing.T) {
	mustertest.AWSEnvironment(t)
	q, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	web := httptest.NewServer(sqsapi.New(sqsapi.Options{Queues: q, AnyCredentials: true}))
	defer web.Close()
	at := web.URL + "/000000000000/events"
	client, err := receiver.Client(t.Context(), at, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("events")}); err != nil {
		t.Fatal(err)
	}
	woken := make(chan event.Event, 10)
	r := receiver.New(receiver.Options{URL: at, Queue: client, Failed: func(err error) { t.Error(err) },
		Wake: func(all ...event.Event) {
			for _, e := range all {
				woken <- e
			}
		}})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); r.Run(ctx) }()
	for _, body := range []string{`{"queue": "jobs", "kind": "scale-up"}`, "anything"} {
		if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &at, MessageBody: &body}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if e := <-woken; e.Kind != event.Unknown && (e.Kind != event.ScaleUp || e.Queue != "jobs") {
			t.Errorf("woke for %+v", e)
		}
	}
	stop()
	<-ended
}
