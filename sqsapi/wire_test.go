package sqsapi_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi"
)

// request is a correct ListQueues request, not signed.
func request(t *testing.T, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "AmazonSQS.ListQueues")
	return r
}

func hash(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// signature is how a request is signed by the SDK's signer.
type signature struct {
	keys            sqsapi.Keys
	service, region string
	body            string
	at              time.Time
}

func (s signature) sign(t *testing.T, r *http.Request) {
	t.Helper()
	credentials := aws.Credentials{AccessKeyID: s.keys.AccessKeyID, SecretAccessKey: s.keys.SecretAccessKey}
	if err := v4.NewSigner().SignHTTP(t.Context(), credentials, r, hash(s.body), s.service, s.region,
		s.at); err != nil {
		t.Fatal(err)
	}
}

// reply is an answer as a client sees it.
type reply struct {
	status int
	header http.Header
	Type   string `json:"__type"`
	Text   string `json:"message"`
}

func do(t *testing.T, r *http.Request) reply {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := reply{status: response.StatusCode, header: response.Header}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("body %q: %v", body, err)
	}
	return got
}

func TestSignaturesAreVerified(t *testing.T) {
	e := serve(t, nil)
	wrong := sqsapi.Keys{AccessKeyID: e.keys.AccessKeyID, SecretAccessKey: "wrong"}
	stranger := sqsapi.Keys{AccessKeyID: "AKIASTRANGER", SecretAccessKey: e.keys.SecretAccessKey}
	for _, row := range []struct {
		name   string
		before func(*signature, *http.Request)
		after  func(*http.Request)
		want   string // code; empty means success
	}{
		{name: "a correct signature"},
		{name: "a signature for another region",
			before: func(s *signature, _ *http.Request) { s.region = "mars-north-1" }},
		{name: "a signature over path and query", before: func(_ *signature, r *http.Request) {
			r.URL.Path, r.URL.RawQuery = "/000000000000/a b~é", "b=2&a=1+x&a=%2F"
		}},
		{name: "a signature over parameters of which one is the beginning of another",
			before: func(_ *signature, r *http.Request) {
				r.URL.RawQuery = "AttributeName.10=b&AttributeName.1=a&AttributeName-a=c"
			}},
		{name: "a clock fourteen minutes behind",
			before: func(s *signature, _ *http.Request) { s.at = s.at.Add(-14 * time.Minute) }},
		{name: "a signed header with odd spaces",
			before: func(_ *signature, r *http.Request) { r.Header.Set("X-Amz-Meta", "  a   b ") }},
		{name: "the wrong secret", before: func(s *signature, _ *http.Request) { s.keys = wrong },
			want: "SignatureDoesNotMatch"},
		{name: "an unknown access key", before: func(s *signature, _ *http.Request) { s.keys = stranger },
			want: "InvalidClientTokenId"},
		{name: "a signature for another service", before: func(s *signature, _ *http.Request) { s.service = "s3" },
			want: "SignatureDoesNotMatch"},
		{name: "another body than the signed one", before: func(s *signature, _ *http.Request) { s.body = `{"a":1}` },
			want: "SignatureDoesNotMatch"},
		{name: "a clock sixteen minutes behind",
			before: func(s *signature, _ *http.Request) { s.at = s.at.Add(-16 * time.Minute) },
			want:   "SignatureDoesNotMatch"},
		{name: "a clock sixteen minutes ahead",
			before: func(s *signature, _ *http.Request) { s.at = s.at.Add(16 * time.Minute) },
			want:   "SignatureDoesNotMatch"},
		{name: "no signature", after: func(r *http.Request) { r.Header.Del("Authorization") },
			want: "MissingAuthenticationToken"},
		{name: "another scheme", after: func(r *http.Request) { r.Header.Set("Authorization", "Basic eDp5") },
			want: "IncompleteSignature"},
		{name: "a signature without parts",
			after: func(r *http.Request) { r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=") },
			want:  "IncompleteSignature"},
		{name: "another action than the signed one",
			after: func(r *http.Request) { r.Header.Set("X-Amz-Target", "AmazonSQS.DeleteQueue") },
			want:  "SignatureDoesNotMatch"},
		{name: "an action that is not signed",
			before: func(_ *signature, r *http.Request) { r.Header.Del("X-Amz-Target") },
			after:  func(r *http.Request) { r.Header.Set("X-Amz-Target", "AmazonSQS.ListQueues") },
			want:   "SignatureDoesNotMatch"},
		{name: "a signed header that is missing",
			before: func(_ *signature, r *http.Request) { r.Header.Set("X-Amz-Meta", "") },
			after:  func(r *http.Request) { r.Header.Del("X-Amz-Meta") }, want: "SignatureDoesNotMatch"},
		{name: "no date", after: func(r *http.Request) { r.Header.Del("X-Amz-Date") }, want: "IncompleteSignature"},
		{name: "another date than the signed one", after: func(r *http.Request) {
			r.Header.Set("X-Amz-Date", time.Now().UTC().Add(time.Minute).Format("20060102T150405Z"))
		}, want: "SignatureDoesNotMatch"},
		{name: "another path than the signed one", after: func(r *http.Request) { r.URL.Path = "/elsewhere" },
			want: "SignatureDoesNotMatch"},
		{name: "a declared hash that is not the body's",
			after: func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", hash("other")) },
			want:  "SignatureDoesNotMatch"},
		{name: "one changed digit", after: func(r *http.Request) {
			a := []byte(r.Header.Get("Authorization"))
			a[len(a)-1] ^= 1 // a hex digit becomes another one or no digit at all
			r.Header.Set("Authorization", string(a))
		}, want: "SignatureDoesNotMatch|IncompleteSignature"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, s := request(t, e.url), signature{e.keys, "sqs", "eu-west-1", "{}", time.Now()}
			if row.before != nil {
				row.before(&s, r)
			}
			s.sign(t, r)
			if row.after != nil {
				row.after(r)
			}
			got := do(t, r)
			if row.want == "" {
				if got.status != http.StatusOK {
					t.Errorf("status %d %s: %s", got.status, got.Type, got.Text)
				}
				return
			}
			if got.status != http.StatusForbidden || !regexp.MustCompile("#("+row.want+")").MatchString(got.Type) ||
				!strings.HasSuffix(got.header.Get("x-amzn-query-error"), ";Sender") {
				t.Errorf("status %d %s (%s), want 403 %s", got.status, got.Type, got.Text, row.want)
			}
			if strings.Contains(got.Text, e.keys.SecretAccessKey) {
				t.Error("the answer shows the secret")
			}
		})
	}
}

func TestRequestsThatNoSDKSendsAreRefusedInEveryMode(t *testing.T) {
	for name, any := range map[string]bool{"with signatures": false, "with any credentials": true} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, func(o *sqsapi.Options) { o.AnyCredentials, o.Hosts = any, []string{"queue.internal"} })
			for _, row := range []struct {
				name   string
				change func(*http.Request)
				want   int
			}{
				{"a request from a page", func(r *http.Request) { r.Header.Set("Origin", "http://localhost:9324") },
					http.StatusForbidden},
				{"a request from a sandboxed page", func(r *http.Request) { r.Header.Set("Origin", "null") },
					http.StatusForbidden},
				{"a request a browser marks", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "none") },
					http.StatusForbidden},
				{"a foreign host", func(r *http.Request) { r.Host = "rebound.example:9324" },
					http.StatusMisdirectedRequest},
				{"a host that only looks like loopback", func(r *http.Request) { r.Host = "127.0.0.1.example" },
					http.StatusMisdirectedRequest},
				{"a method other than POST and GET", func(r *http.Request) { r.Method = http.MethodPut },
					http.StatusMethodNotAllowed},
				{"localhost", func(r *http.Request) { r.Host = "localhost:9324" }, http.StatusOK},
				{"a name below localhost", func(r *http.Request) { r.Host = "sqs.localhost" }, http.StatusOK},
				{"the IPv6 loopback", func(r *http.Request) { r.Host = "[::1]:9324" }, http.StatusOK},
				{"a host that was configured", func(r *http.Request) { r.Host = "Queue.Internal:80" }, http.StatusOK},
			} {
				t.Run(row.name, func(t *testing.T) {
					r := request(t, e.url)
					row.change(r)
					signature{e.keys, "sqs", "eu-west-1", "{}", time.Now()}.sign(t, r)
					if got := do(t, r); got.status != row.want {
						t.Errorf("status %d %s (%s), want %d", got.status, got.Type, got.Text, row.want)
					}
				})
			}
		})
	}
}

func TestMalformedRequestsAreRefused(t *testing.T) {
	e := serve(t, func(o *sqsapi.Options) { o.AnyCredentials = true })
	for _, row := range []struct {
		name, target, kind, body, want string
	}{
		{"an empty body is an empty request", "AmazonSQS.ListQueues", "application/x-amz-json-1.0", "", ""},
		{"unknown members are ignored", "AmazonSQS.ListQueues", "application/x-amz-json-1.0", `{"New":[1]}`, ""},
		{"a JSON array", "AmazonSQS.ListQueues", "application/x-amz-json-1.0", `[]`, "SerializationException"},
		{"JSON cut short", "AmazonSQS.ListQueues", "application/x-amz-json-1.0", `{"a":`, "SerializationException"},
		{"two values", "AmazonSQS.ListQueues", "application/x-amz-json-1.0", `{}{}`, "SerializationException"},
		{"a number as a string", "AmazonSQS.ListQueues", "application/x-amz-json-1.0", `{"MaxResults":"3"}`,
			"SerializationException"},
		{"depth without end", "AmazonSQS.ListQueues", "application/x-amz-json-1.0",
			`{"a":` + strings.Repeat("[", 20_000), "SerializationException"},
		{"a list for a text", "AmazonSQS.PurgeQueue", "application/x-amz-json-1.0", `{"QueueUrl":[]}`,
			"SerializationException"},
		{"another content type", "AmazonSQS.ListQueues", "text/plain", `{}`, "SerializationException"},
		{"no action", "", "application/x-amz-json-1.0", `{}`, "UnknownOperationException"},
		{"an action of another service", "DynamoDB.ListTables", "application/x-amz-json-1.0", `{}`,
			"UnknownOperationException"},
		{"an action nobody knows", "AmazonSQS.Explode", "application/x-amz-json-1.0", `{}`,
			"UnknownOperationException"},
		{"no queue URL", "AmazonSQS.PurgeQueue", "application/x-amz-json-1.0", `{}`,
			"MissingRequiredParameterException"},
		{"zero messages asked for", "AmazonSQS.ReceiveMessage", "application/x-amz-json-1.0",
			`{"QueueUrl":"q","MaxNumberOfMessages":0}`, "InvalidParameterValueException"},
		{"a page of zero queues", "AmazonSQS.ListQueues", "application/x-amz-json-1.0", `{"MaxResults":0}`,
			"InvalidParameterValueException"},
		{"more than fits", "AmazonSQS.ListQueues", "application/x-amz-json-1.0", strings.Repeat(" ", 8<<20),
			"RequestEntityTooLarge"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := request(t, e.url)
			r.Header.Set("X-Amz-Target", row.target)
			r.Header.Set("Content-Type", row.kind)
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(row.body)), int64(len(row.body))
			got := do(t, r)
			if _, shape, _ := strings.Cut(got.Type, "#"); shape != row.want || row.want == "" &&
				got.status != http.StatusOK {
				t.Errorf("status %d %q (%s), want %q", got.status, got.Type, got.Text, row.want)
			}
			if got.header.Get("x-amzn-RequestId") == "" ||
				got.header.Get("Content-Type") != "application/x-amz-json-1.0" {
				t.Errorf("headers %v", got.header)
			}
		})
	}
}

func TestAnErrorNamesBothProtocols(t *testing.T) {
	e := serve(t, func(o *sqsapi.Options) { o.AnyCredentials = true })
	r := request(t, e.url)
	r.Header.Set("X-Amz-Target", "AmazonSQS.PurgeQueue")
	body := `{"QueueUrl":"http://x/1/none"}`
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	got := do(t, r)
	if got.status != 400 || got.Type != "com.amazonaws.sqs#QueueDoesNotExist" ||
		got.header.Get("x-amzn-query-error") != "AWS.SimpleQueueService.NonExistentQueue;Sender" {
		t.Errorf("%d %q %q", got.status, got.Type, got.header.Get("x-amzn-query-error"))
	}
}

// TestTheLargestLegalMessageFits sends 1 MiB of a character that SDKs escape.
func TestTheLargestLegalMessageFits(t *testing.T) {
	e := serve(t, nil)
	c := e.client()
	q := create(t, c, "q", nil)
	body := strings.Repeat("<", queue.MaxBytes)
	must(c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: q, MessageBody: &body}))(t)
	got := must(c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: q}))(t).Messages
	if len(got) != 1 || *got[0].Body != body {
		t.Error("the body came back changed")
	}
}

func TestACallerWhoHungUpTakesNoMessage(t *testing.T) {
	q, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	endpoint := sqsapi.New(sqsapi.Options{Queues: q, AnyCredentials: true})
	if err := q.CreateQueue(t.Context(), "q", nil, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	syncCaller := make(chan struct{})
	go func() {
		defer close(syncCaller)
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/",
			strings.NewReader(`{"QueueUrl":"q","WaitTimeSeconds":20}`))
		r.Header.Set("X-Amz-Target", "AmazonSQS.ReceiveMessage")
		r.Header.Set("Content-Type", "application/x-amz-json-1.0")
		endpoint.ServeHTTP(httptest.NewRecorder(), r)
	}()
	cancel()
	<-syncCaller
	if _, err := q.Send(t.Context(), "q", []queue.Outgoing{{Body: "x"}}); err != nil {
		t.Fatal(err)
	}
	if n := must(q.Counts("q"))(t); n.Visible != 1 || n.InFlight != 0 {
		t.Errorf("after the caller hung up: %+v", n)
	}
}

func TestWhoWaitsIsAnsweredWhenTheServerStops(t *testing.T) {
	serving, stop := context.WithCancel(t.Context())
	e := serve(t, func(o *sqsapi.Options) { o.Serving = serving })
	c := e.client()
	q := create(t, c, "q", nil)
	began := time.Now()
	syncCaller := make(chan error, 1)
	go func() {
		_, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: q, WaitTimeSeconds: 20})
		syncCaller <- err
	}()
	stop()
	if err := <-syncCaller; err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("answered after %v: %v", time.Since(began), err)
	}
	// What does not wait is answered as ever.
	must(c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: q, MessageBody: aws.String("x")}))(t)
	got := must(c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: q, WaitTimeSeconds: 20}))(t)
	if len(got.Messages) != 1 {
		t.Errorf("received %d messages, want 1", len(got.Messages))
	}
}

func TestKeysAreMadeOnceAndKeptPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	first := must(sqsapi.LoadOrCreateKeys(path))(t)
	if again := must(sqsapi.LoadOrCreateKeys(path))(t); again != first {
		t.Errorf("keys changed from %q to %q", first.AccessKeyID, again.AccessKeyID)
	}
	other := must(sqsapi.LoadOrCreateKeys(filepath.Join(t.TempDir(), "keys.json")))(t)
	if other == first || len(first.AccessKeyID) != 20 || len(first.SecretAccessKey) != 40 {
		t.Errorf("keys %q and %q", first.AccessKeyID, other.AccessKeyID)
	}
	if !regexp.MustCompile(`^export AWS_ACCESS_KEY_ID=AKIA[A-Z2-7]{16}\nexport AWS_SECRET_ACCESS_KEY=[\w-]{40}\n$`).MatchString(first.Export()) {
		t.Errorf("export lines %q", first.Export())
	}
	stat, err := os.Stat(path)
	if err != nil || stat.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", stat.Mode(), err)
	}
	for name, spoil := range map[string]func() error{
		"a file others may read": func() error { return os.Chmod(path, 0o640) },
		"a file that is not JSON": func() error {
			return os.WriteFile(path, []byte("x"), 0o600)
		},
		"a file without a secret": func() error { return os.WriteFile(path, []byte(`{"accessKeyId":"A"}`), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			os.Remove(path)
			must(sqsapi.LoadOrCreateKeys(path))(t)
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			before := must(os.ReadFile(path))(t)
			if k, err := sqsapi.LoadOrCreateKeys(path); err == nil {
				t.Errorf("accepted: %q", k.AccessKeyID)
			}
			if after := must(os.ReadFile(path))(t); string(after) != string(before) {
				t.Error("the file was replaced")
			}
		})
	}
}

func TestTheServerLeavesRoomForALongPoll(t *testing.T) {
	s := sqsapi.NewServer(http.NotFoundHandler())
	if s.WriteTimeout <= queue.MaxWait || s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.IdleTimeout <= 0 ||
		s.MaxHeaderBytes <= 0 {
		t.Errorf("timeouts %+v", s)
	}
}
