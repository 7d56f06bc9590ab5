package app

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/event"
	"github.com/muster-scale/muster/event/receiver"
	"github.com/muster-scale/muster/internal/exposition"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi"
)

// eventWorld is a running App with two fleets that are polled once an hour, and a queue of events of its own.
type eventWorld struct {
	t     *testing.T
	app   *App
	steps map[string]chan struct{}
	url   string
	sends *awssqs.Client
	// away is true while the queue of events refuses everything.
	away atomic.Bool
	web  *httptest.Server
}

func newEventWorld(t *testing.T) *eventWorld {
	t.Helper()
	mustertest.AWSEnvironment(t)
	w := &eventWorld{t: t, steps: map[string]chan struct{}{}}
	for _, fleet := range []string{"a", "b"} {
		w.steps[fleet] = make(chan struct{}, 100)
	}
	q, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	endpoint := sqsapi.New(sqsapi.Options{Queues: q, AnyCredentials: true})
	w.web = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.away.Load() {
			http.Error(rw, "away", http.StatusServiceUnavailable)
			return
		}
		endpoint.ServeHTTP(rw, r)
	}))
	t.Cleanup(w.web.Close)
	name := "events"
	w.url = w.web.URL + "/000000000000/" + name
	if w.sends, err = receiver.Client(t.Context(), w.url, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := w.sends.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name}); err != nil {
		t.Fatal(err)
	}
	c, err := kinds.Parse("m.yaml", []byte(`version: 1
listen: {queue: "127.0.0.1:0", api: "127.0.0.1:0"}
events: [{queue: "`+w.url+`"}]
fleets:
  - {name: a, queue: a, max: 1, poll: 1h, shadow: true}
  - {name: b, queue: b, max: 1, poll: 1h, shadow: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	c.Data = t.TempDir()
	w.app, err = Open(t.Context(), c, Options{Ephemeral: true,
		Notify: func(o controller.Outcome) { w.steps[o.Observation.Fleet] <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.app.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = w.app.Close()
	})
	w.step("a")
	w.step("b")
	return w
}

// step waits for a step of a fleet.
func (w *eventWorld) step(fleet string) {
	w.t.Helper()
	select {
	case <-w.steps[fleet]:
	case <-time.After(20 * time.Second):
		w.t.Fatalf("the fleet %s made no step", fleet)
	}
}

func (w *eventWorld) send(body string) {
	w.t.Helper()
	if _, err := w.sends.SendMessage(w.t.Context(), &awssqs.SendMessageInput{QueueUrl: &w.url,
		MessageBody: &body}); err != nil {
		w.t.Fatal(err)
	}
}

// counted waits until the metrics have a line.
func (w *eventWorld) counted(line string) {
	w.t.Helper()
	for range 2000 {
		var page exposition.Page
		w.app.metrics.Collect(&page)
		if bytes.Contains(page.Bytes(), []byte(line)) {
			return
		}
		_ = host.Sleep(w.t.Context(), 10*time.Millisecond)
	}
	w.t.Fatalf("the metrics have no %s", line)
}

// until waits until the faults of the status are as a test says.
func (w *eventWorld) until(what string, is func(faults string) bool) {
	w.t.Helper()
	for range 2000 {
		if is(strings.Join(w.app.faults.list(), "\n")) {
			return
		}
		_ = host.Sleep(w.t.Context(), 10*time.Millisecond)
	}
	w.t.Fatalf("not %s: faults %q", what, w.app.faults.list())
}

func TestAnEventOfAQueueWakesTheFleetsThatItConcerns(t *testing.T) {
	w := newEventWorld(t)
	w.send(`{"queue": "a", "kind": "scale-up", "id": "1"}`)
	w.step("a")
	w.send(`{"queue": "a", "id": "1"}`)
	w.send(`{"queue": "other"}`)
	w.send(`{"fleet": "b"}`)
	w.step("b")
	// The queue keeps no order: that b was woken does not say that the events sent before were read.
	for _, line := range []string{`muster_events_total{kind="` + string(event.ScaleUp) + `",result="woke"} 1`,
		`muster_events_total{kind="custom",result="repeated"} 1`,
		`muster_events_total{kind="custom",result="concerns_none"} 1`} {
		w.counted(line)
	}
	if n := len(w.steps["a"]); n != 0 {
		t.Errorf("the fleet a made %d further steps for a repeated event and events of others", n)
	}
}

func TestAnEventOfAWSThatIsPostedWakesTheFleetsThatItConcerns(t *testing.T) {
	w := newEventWorld(t)
	post := func(token string) int {
		// An event of EventBridge about a file, which a rule sends for the queue b.
		body := `{"id": "1", "source": "muster", "detail-type": "capacity-request", "detail": {"queue": "b"}}`
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.app.APIURL()+"/v1/events/aws",
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if code := post("wrong"); code != http.StatusUnauthorized {
		t.Errorf("with a wrong token: %d", code)
	}
	if code := post(w.app.token.Reveal()); code != http.StatusAccepted {
		t.Fatalf("with the token: %d", code)
	}
	w.step("b")
	if n := len(w.steps["a"]); n != 0 {
		t.Errorf("the fleet a made %d steps for an event of another", n)
	}
}

func TestALostQueueOfEventsIsAFaultAndStopsNoFleet(t *testing.T) {
	w := newEventWorld(t)
	w.away.Store(true)
	w.web.CloseClientConnections()
	w.until("told that the queue is lost", func(f string) bool {
		return strings.Contains(f, "receive events from "+w.url) && strings.Contains(f, "polled at their intervals")
	})
	w.app.Fleets()["a"].Wake()
	w.step("a")
	w.away.Store(false)
	w.until("told that it is back", func(f string) bool { return f == "" })
	w.send(`{"fleet": "b"}`)
	w.step("b")
}
