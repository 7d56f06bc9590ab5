package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/sqsqueue"
)

// bareEnvironment takes away every AWS setting of the machine the test runs on.
func bareEnvironment(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
		"AWS_SESSION_TOKEN",
		"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SQS", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "HTTP_PROXY", "http_proxy",
	} {
		t.Setenv(name, "")
	}
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
}

// embedded serves an embedded queue named "work" and returns its URL and a client that sends to it.
func embedded(t *testing.T) (queueURL string, client *sqs.Client) {
	t.Helper()
	bareEnvironment(t)
	service, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := sqsapi.LoadOrCreateKeys(filepath.Join(t.TempDir(), "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sqsapi.New(sqsapi.Options{Queues: service, Keys: keys, Region: "us-east-1"}))
	t.Cleanup(func() {
		server.Close()
		_ = service.Close()
	})
	t.Setenv("AWS_ACCESS_KEY_ID", keys.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", keys.SecretAccessKey)
	client = sqs.New(sqs.Options{
		BaseEndpoint: &server.URL, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider(keys.AccessKeyID, keys.SecretAccessKey, ""),
	})
	created, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("work")})
	if err != nil {
		t.Fatal(err)
	}
	return *created.QueueUrl, client
}

func open(t *testing.T, queueURL string) *sqsqueue.SQS {
	t.Helper()
	q, err := sqsqueue.NewSQS(t.Context(), queueURL)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func send(t *testing.T, client *sqs.Client, queueURL, body string) {
	t.Helper()
	_, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &queueURL, MessageBody: &body,
		MessageAttributes: map[string]types.MessageAttributeValue{
			"tenant": {DataType: aws.String("String"), StringValue: aws.String("acme")},
			"raw":    {DataType: aws.String("Binary"), BinaryValue: []byte{1, 2}},
		}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSQSReceivesGivesBackAndDeletes(t *testing.T) {
	queueURL, client := embedded(t)
	q := open(t, queueURL)
	before := time.Now().Add(-time.Second)
	send(t, client, queueURL, "héllo")
	receive := func() []worker.Message {
		t.Helper()
		messages, err := q.Receive(t.Context(), 10, time.Second, 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return messages
	}
	first := receive()
	if len(first) != 1 {
		t.Fatalf("received %+v, want one message", first)
	}
	m := first[0]
	if m.ID == "" || m.Handle == "" || m.Queue != "work" || m.Body != "héllo" || m.ReceiveCount != 1 ||
		m.SentAt.Before(before) || m.FirstReceivedAt.Before(m.SentAt) ||
		m.Attributes["tenant"].Text != "acme" || m.Attributes["tenant"].Type != "String" ||
		len(m.Attributes["raw"].Binary) != 2 {
		t.Errorf("received %+v", m)
	}
	if err := q.ChangeVisibility(t.Context(), m, 0); err != nil {
		t.Fatal(err)
	}
	again := receive()
	if len(again) != 1 || again[0].ID != m.ID || again[0].ReceiveCount != 2 {
		t.Fatalf("received %+v after giving it back", again)
	}
	if err := q.Delete(t.Context(), again[0]); err != nil {
		t.Fatal(err)
	}
	if err := q.Delete(t.Context(), again[0]); err != nil {
		t.Errorf("deleting twice: %v", err)
	}
	if err := q.ChangeVisibility(t.Context(), again[0], time.Minute); !errors.Is(err, worker.ErrGone) {
		t.Errorf("extending a deleted message: %v, want %v", err, worker.ErrGone)
	}
}

func TestRunEmptiesAnEmbeddedQueue(t *testing.T) {
	queueURL, client := embedded(t)
	for i := range 40 {
		send(t, client, queueURL, fmt.Sprint(i))
	}
	var mu sync.Mutex
	seen := map[string]int{}
	err := worker.Run(t.Context(), worker.Options{
		Queue: open(t, queueURL), Slots: 4, IdleStop: time.Second, RetryBase: time.Millisecond,
		Do: func(_ context.Context, m worker.Message) error {
			mu.Lock()
			defer mu.Unlock()
			seen[m.Body]++
			if m.Body == "7" && m.ReceiveCount == 1 {
				return errors.New("not the first time")
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		want := 1
		if i == 7 {
			want = 2
		}
		if got := seen[fmt.Sprint(i)]; got != want {
			t.Errorf("message %d was worked on %d times, want %d", i, got, want)
		}
	}
}

func TestSQSErrorsSayWhichQueueAndWhatToDo(t *testing.T) {
	queueURL, _ := embedded(t)
	missing := strings.TrimSuffix(queueURL, "work") + "missing"
	receive := func(url string) error {
		_, err := open(t, url).Receive(t.Context(), 1, 0, 30*time.Second)
		return err
	}
	t.Run("a queue that does not exist", func(t *testing.T) {
		wants(t, receive(missing), missing, "create it, or give the right URL")
	})
	t.Run("the same fault reads the same each time", func(t *testing.T) {
		if a, b := receive(missing), receive(missing); a.Error() != b.Error() {
			t.Errorf("got %q and then %q", a, b)
		}
	})
	t.Run("wrong credentials for this machine's queue", func(t *testing.T) {
		t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
		wants(t, receive(queueURL), queueURL, "`muster up` shows the export lines")
	})
	t.Run("no credentials for this machine's queue", func(t *testing.T) {
		t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		_, err := sqsqueue.NewSQS(t.Context(), queueURL)
		wants(t, err, queueURL, "`muster up` shows the export lines")
	})
	t.Run("nobody serves this machine's queue", func(t *testing.T) {
		closed := httptest.NewServer(nil)
		closed.Close()
		wants(t, receive(closed.URL+"/000000000000/work"), closed.URL, "is `muster up` running?")
		q := open(t, closed.URL+"/000000000000/work")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		for call, err := range map[string]error{
			"change": q.ChangeVisibility(ctx, worker.Message{Handle: "h"}, time.Second),
			"delete": q.Delete(ctx, worker.Message{Handle: "h"}),
		} {
			if !errors.Is(err, worker.ErrAway) {
				t.Errorf("%s: got %v, want ErrAway: nobody can receive a message", call, err)
			}
		}
	})
	t.Run("an endpoint that takes connections and does not answer may answer others", func(t *testing.T) {
		hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // or the end of the request would not be noticed
			<-r.Context().Done()
		}))
		defer hangs.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err := open(t, hangs.URL+"/000000000000/work").ChangeVisibility(ctx, worker.Message{Handle: "h"}, time.Second)
		if err == nil || errors.Is(err, worker.ErrAway) {
			t.Errorf("got %v, want an error that proves nothing about others", err)
		}
	})
	t.Run("no region for a queue elsewhere", func(t *testing.T) {
		_, err := sqsqueue.NewSQS(t.Context(), "https://queue.example.com/1/work")
		wants(t, err, "https://queue.example.com/1/work", "set AWS_REGION")
	})
	for _, bad := range []string{"", "work", "ftp://127.0.0.1/1/q", "http://127.0.0.1:9324", "http://127.0.0.1:9324/",
		"http://u:p@127.0.0.1/1/q"} {
		t.Run("no queue URL: "+bad, func(t *testing.T) {
			_, err := sqsqueue.NewSQS(t.Context(), bad)
			wants(t, err, "is allowed")
		})
	}
}

func wants(t *testing.T, err error, says ...string) {
	t.Helper()
	for _, s := range says {
		if err == nil || !strings.Contains(err.Error(), s) {
			t.Errorf("got %v, want an error that says %q", err, s)
		}
	}
}

func TestNewSQSTakesTheRegionFromAnAmazonURL(t *testing.T) {
	bareEnvironment(t)
	for _, url := range []string{
		"https://sqs.eu-west-1.amazonaws.com/123456789012/work",
		"https://sqs.cn-north-1.amazonaws.com.cn/123456789012/work",
		"https://sqs-fips.us-gov-west-1.amazonaws.com/123456789012/work",
	} {
		if _, err := sqsqueue.NewSQS(t.Context(), url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestSQSPrefersTheEndpointOfTheEnvironment(t *testing.T) {
	queueURL, client := embedded(t)
	send(t, client, queueURL, "m")
	t.Setenv("AWS_ENDPOINT_URL_SQS", queueURL[:strings.Index(queueURL, "/000000000000")])
	messages, err := open(t, "http://queue.test/000000000000/work").Receive(t.Context(), 1, time.Second, 30*time.Second)
	if err != nil || len(messages) != 1 {
		t.Errorf("received %v, %v; want the message behind the endpoint", messages, err)
	}
}

// A bundle of certificates that cannot be read tells whether the SDK's configuration was looked for.
func TestOnlyWhatTheEnvironmentSaysInFullIsTakenFromItAlone(t *testing.T) {
	queueURL, client := embedded(t)
	send(t, client, queueURL, "m")
	keys := [2]string{os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")}
	for _, row := range []struct {
		name, url string
		set       map[string]string
		alone     bool
	}{
		{"keys and a region", queueURL, nil, true},
		{"the region as older tools say it", queueURL,
			map[string]string{"AWS_REGION": "", "AWS_DEFAULT_REGION": "us-east-1"}, true},
		{"an endpoint on this machine", queueURL,
			map[string]string{"AWS_ENDPOINT_URL_SQS": queueURL[:strings.Index(queueURL, "/000000000000")]}, true},
		{"no region", queueURL, map[string]string{"AWS_REGION": ""}, false},
		{"half of the keys", queueURL, map[string]string{"AWS_SECRET_ACCESS_KEY": ""}, false},
		{"no keys", queueURL, map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, false},
		{"an endpoint that is to be ignored", queueURL,
			map[string]string{"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, false},
		{"a profile", queueURL, map[string]string{"AWS_PROFILE": "work"}, false},
		{"an endpoint elsewhere", queueURL, map[string]string{"AWS_ENDPOINT_URL_SQS": "http://sqs.test"}, false},
		{"an endpoint with TLS", queueURL, map[string]string{"AWS_ENDPOINT_URL_SQS": "https://127.0.0.1:1"}, false},
		{"TLS", strings.Replace(queueURL, "http:", "https:", 1), nil, false},
		{"a queue of Amazon", "https://sqs.eu-west-1.amazonaws.com/123456789012/work", nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Setenv("AWS_CA_BUNDLE", filepath.Join(t.TempDir(), "none"))
			t.Setenv("AWS_ACCESS_KEY_ID", keys[0])
			t.Setenv("AWS_SECRET_ACCESS_KEY", keys[1])
			t.Setenv("AWS_REGION", "us-east-1")
			for name, value := range row.set {
				t.Setenv(name, value)
			}
			q, err := sqsqueue.NewSQS(t.Context(), row.url)
			if !row.alone {
				if err == nil || !strings.Contains(err.Error(), "read the AWS configuration") {
					t.Fatalf("got %v, want that the bundle cannot be read", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			messages, err := q.Receive(t.Context(), 1, 0, 30*time.Second)
			if err != nil || len(messages) != 1 {
				t.Fatalf("received %v, %v; want the message, for which the signature must be right", messages, err)
			}
			if err := q.ChangeVisibility(t.Context(), messages[0], 0); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRetriesAreThoseThatTheEnvironmentAsksFor(t *testing.T) {
	bareEnvironment(t)
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s",
		"AWS_REGION": "us-east-1", "AWS_MAX_ATTEMPTS": "1"} {
		t.Setenv(name, value)
	}
	if _, err := open(t, server.URL+"/000000000000/work").Receive(t.Context(), 1, 0, 30*time.Second); err == nil ||
		calls.Load() != 1 {
		t.Errorf("%d calls and %v, want a failure after 1 call", calls.Load(), err)
	}
}
