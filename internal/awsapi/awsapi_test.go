package awsapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/mustertest"
)

// surroundings gives the test credentials of its own and nothing else that the SDK would find on this machine.
func surroundings(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_SQS": "", "AWS_CA_BUNDLE": "", "AWS_MAX_ATTEMPTS": "",
		"AWS_RETRY_MODE": "",
	} {
		t.Setenv(name, value)
	}
}

// answering returns a queue whose every call gets the answer, and counts the attempts.
func answering(t *testing.T, status int, code, message string) (queueURL string, attempts *atomic.Int64) {
	t.Helper()
	attempts = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		attempts.Add(1)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(status)
		if status == http.StatusOK {
			fmt.Fprint(w, `{"Attributes":{}}`)
			return
		}
		json.NewEncoder(w).Encode(map[string]string{"__type": "com.amazonaws.sqs#" + code, "message": message})
	}))
	t.Cleanup(s.Close)
	return s.URL + "/123456789012/work", attempts
}

func client(t *testing.T, a *awsapi.Account, queueURL string) *sqs.Client {
	t.Helper()
	cfg, err := a.Queue(queueURL)
	if err != nil {
		t.Fatal(err)
	}
	return sqs.NewFromConfig(cfg)
}

func ask(ctx context.Context, c *sqs.Client, queueURL string) error {
	_, err := c.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: aws.String(queueURL)})
	return awsapi.Explain("measure the queue work", "eu-west-1", err)
}

func open(t *testing.T, o awsapi.Options) *awsapi.Account {
	t.Helper()
	a, err := awsapi.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestWhatAWSRefusesIsExplained(t *testing.T) {
	surroundings(t)
	rows := []struct {
		name, code, message string
		kind                awsapi.Kind
		says                []string
	}{
		{"a missing permission that AWS names", "AccessDeniedException",
			"User: arn:aws:sts::1:assumed-role/x/i-1 is not authorized to perform: sqs:getqueueattributes on " +
				"resource: arn:aws:sqs:eu-west-1:1:work because no identity-based policy allows the action",
			awsapi.Denied, []string{"measure the queue work", "allow sqs:getqueueattributes on " +
				"arn:aws:sqs:eu-west-1:1:work"}},
		{"a missing permission that AWS does not name", "AccessDenied", "Access to the resource is denied.",
			awsapi.Denied, []string{"allow sqs:GetQueueAttributes to the role or user"}},
		{"a resource of another operator", "AccessDenied", "This operation can only be performed by the operator " +
			"eks.amazonaws.com",
			awsapi.Denied, []string{"another operator manages it"}},
		{"expired credentials", "ExpiredToken", "The security token included in the request is expired",
			awsapi.Credentials, []string{"renew the credentials"}},
		{"wrong keys", "InvalidClientTokenId", "The security token included in the request is invalid.",
			awsapi.Credentials, []string{"set new keys"}},
		{"a signature for another region", "SignatureDoesNotMatch", "Credential should be scoped to a valid region.",
			awsapi.Region, []string{"eu-west-1"}},
		{"what does not exist", "QueueDoesNotExist", "The specified queue does not exist.", awsapi.Missing,
			[]string{"there is none in the region eu-west-1", "create it"}},
		{"a group that does not exist", "ValidationError", "AutoScalingGroup name not found - no such group: web",
			awsapi.Missing, []string{"there is none"}},
		{"what is not allowed now", "ValidationError", "New SetDesiredCapacity value 9 is above max value 5 for the " +
			"AutoScalingGroup.", awsapi.Refused, []string{"above max value 5"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			queueURL, _ := answering(t, http.StatusBadRequest, row.code, row.message)
			err := ask(t.Context(), client(t, open(t, awsapi.Options{}), queueURL), queueURL)
			if awsapi.KindOf(err) != row.kind {
				t.Errorf("%v is of the kind %q, want %q", err, awsapi.KindOf(err), row.kind)
			}
			for _, says := range row.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%v does not say %q", err, says)
				}
			}
			if strings.Contains(strings.ToLower(err.Error()), "requestid") {
				t.Errorf("%v holds a request number", err)
			}
		})
	}
	if awsapi.Explain("nothing", "", nil) != nil || awsapi.KindOf(errors.New("x")) != "" {
		t.Error("no error was explained as one")
	}
}

func TestACallWithoutAnAnswerIsExplained(t *testing.T) {
	surroundings(t)
	ended, end := context.WithCancel(t.Context())
	end()
	op := func(err error) error {
		return &smithy.OperationError{ServiceID: "Auto Scaling", OperationName: "DescribeAutoScalingGroups", Err: err}
	}
	rows := []struct {
		name string
		err  error
		kind awsapi.Kind
		says string
	}{
		{"a host that does not exist",
			op(&net.DNSError{Err: "no such host", Name: "autoscaling.eu-wst-1.amazonaws.com", IsNotFound: true}),
			awsapi.Region, "is eu-wst-1 the right region?"},
		{"a connection that fails", op(fmt.Errorf("send: %w", errors.New("connection refused"))), awsapi.Unreachable,
			"connection refused"},
		{"a call that was given up", op(ended.Err()), awsapi.Unreachable, "no answer came in time"},
		{"no credentials", op(&awsapi.NoCredentialsError{Err: errors.New("no EC2 IMDS role found")}),
			awsapi.Credentials, "found no AWS credentials"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			err := awsapi.Explain("list the group web", "eu-wst-1", row.err)
			if awsapi.KindOf(err) != row.kind || !strings.Contains(err.Error(), row.says) || !errors.Is(err, row.err) {
				t.Errorf("%v (%s), want the kind %s and %q in it", err, awsapi.KindOf(err), row.kind, row.says)
			}
		})
	}
}

// refusing is an HTTP client that reaches nothing.
type refusing struct{}

func (refusing) Do(r *http.Request) (*http.Response, error) {
	return nil, &url.Error{Op: "Post", URL: r.URL.String(), Err: errors.New("connection refused")}
}

// A notice and a status show this text, so it must not change when no retry is left.
func TestACallWithoutAnAnswerIsExplainedAlikeWithoutRetries(t *testing.T) {
	surroundings(t)
	synctest.Test(t, func(t *testing.T) {
		const queueURL = "https://sqs.eu-west-1.amazonaws.com/123456789012/work"
		c := client(t, open(t, awsapi.Options{PerSecond: 10_000, Burst: 10_000, HTTP: refusing{}}), queueURL)
		for range 20 {
			if err := ask(t.Context(), c, queueURL); !strings.HasSuffix(fmt.Sprint(err), "came: connection refused") {
				t.Fatalf("found %v", err)
			}
		}
	})
}

func TestAnAnswerThatIsNotOfAWSIsExplained(t *testing.T) {
	surroundings(t)
	synctest.Test(t, func(t *testing.T) {
		const queueURL = "https://sqs.eu-west-1.amazonaws.com/123456789012/work"
		proxy := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>log in</html>") })
		c := client(t, open(t, awsapi.Options{HTTP: mustertest.InProcess{Handler: proxy}}), queueURL)
		err := ask(t.Context(), c, queueURL)
		if err == nil || awsapi.KindOf(err) != awsapi.Unreachable ||
			!strings.Contains(err.Error(), "the answer with the status 200 is not one of AWS: ") {
			t.Errorf("found %v", err)
		}
	})
}

func TestAThrottledCallIsTriedAgainWithinTheBudgetOfRetries(t *testing.T) {
	surroundings(t)
	synctest.Test(t, func(t *testing.T) {
		var attempts, succeeding atomic.Int64
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			attempts.Add(1)
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			if succeeding.Load() > 0 {
				fmt.Fprint(w, `{"Attributes":{}}`)
				return
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"__type":"ServiceUnavailable"}`)
		})
		const queueURL = "https://sqs.eu-west-1.amazonaws.com/123456789012/work"
		c := client(t, open(t, awsapi.Options{PerSecond: 10_000, Burst: 10_000,
			HTTP: mustertest.InProcess{Handler: handler}}), queueURL)
		const calls = 30
		failing := func() int64 {
			before := attempts.Load()
			done := make(chan error, calls)
			for range calls {
				go func() { done <- ask(t.Context(), c, queueURL) }()
			}
			for range calls {
				if err := <-done; err == nil {
					t.Error("a call succeeded that nothing answered")
				}
			}
			return attempts.Load() - before
		}
		// The budget holds ten retries, and nothing succeeds that would add to it.
		if n := failing(); n != calls+10 {
			t.Errorf("%d calls that all fail made %d attempts, want %d", calls, n, calls+10)
		}
		succeeding.Store(1)
		for range 50 {
			if err := ask(t.Context(), c, queueURL); err != nil {
				t.Fatal(err)
			}
		}
		succeeding.Store(0)
		if n := failing(); n != calls+5 {
			t.Errorf("after 50 calls that succeeded %d made %d attempts, want a tenth of 50 more", calls, n)
		}
	})
}

func TestAllClientsShareOneBucket(t *testing.T) {
	surroundings(t)
	queueURL, attempts := answering(t, http.StatusOK, "", "")
	a := open(t, awsapi.Options{PerSecond: 0.001, Burst: 3})
	one, other := client(t, a, queueURL), client(t, a, queueURL)
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	for i, c := range []*sqs.Client{one, other, one} {
		if err := ask(ctx, c, queueURL); err != nil {
			t.Fatalf("call %d: %v", i+1, err)
		}
	}
	err := ask(ctx, other, queueURL)
	if awsapi.KindOf(err) != awsapi.Throttled || !strings.Contains(err.Error(), "own limit") {
		t.Errorf("the fourth call of a burst of three = %v, want our own limit", err)
	}
	if n := attempts.Load(); n != 3 {
		t.Errorf("%d attempts were made, want 3", n)
	}
}

func TestWhereCallsGo(t *testing.T) {
	rows := []struct {
		name, url, region, env   string
		wantRegion, wantEndpoint string
		fails                    string
	}{
		{name: "the URL's region wins", url: "https://sqs.eu-west-1.amazonaws.com/1/q", region: "us-west-2",
			wantRegion: "eu-west-1"},
		{name: "an old URL has its region too", url: "https://eu-central-1.queue.amazonaws.com/1/q",
			wantRegion: "eu-central-1"},
		{name: "China", url: "https://sqs.cn-north-1.amazonaws.com.cn/1/q", wantRegion: "cn-north-1"},
		{name: "another host takes the configured region", url: "https://queues.example.com/1/q", region: "us-west-2",
			wantRegion: "us-west-2"},
		{name: "another host without a region", url: "https://queues.example.com/1/q", fails: "AWS_REGION"},
		{name: "a queue on this machine is its own endpoint", url: "http://127.0.0.1:9324/0/q", wantRegion: "us-east-1",
			wantEndpoint: "http://127.0.0.1:9324"},
		{name: "unless the environment names one", url: "http://127.0.0.1:9324/0/q", env: "http://127.0.0.1:5000",
			wantRegion: "us-east-1", wantEndpoint: "http://127.0.0.1:5000"},
		{name: "not a queue", url: "https://sqs.eu-west-1.amazonaws.com/", fails: "one like"},
		{name: "a password in the URL", url: "https://a:b@sqs.eu-west-1.amazonaws.com/1/q", fails: "one like"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			surroundings(t)
			t.Setenv("AWS_ENDPOINT_URL", row.env)
			cfg, err := open(t, awsapi.Options{Region: row.region}).Queue(row.url)
			if row.fails != "" {
				if err == nil || !strings.Contains(err.Error(), row.fails) {
					t.Errorf("%v, want an error that says %q", err, row.fails)
				}
				return
			}
			if err != nil || cfg.Region != row.wantRegion || aws.ToString(cfg.BaseEndpoint) != row.wantEndpoint {
				t.Errorf("region %q, endpoint %q, %v; want %q, %q", cfg.Region, aws.ToString(cfg.BaseEndpoint), err,
					row.wantRegion, row.wantEndpoint)
			}
		})
	}
}

func TestALimitThatMakesNoSenseIsRefused(t *testing.T) {
	surroundings(t)
	for _, o := range []awsapi.Options{{PerSecond: -1}, {PerSecond: 1e9}, {Burst: -1}} {
		if _, err := awsapi.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "allowed are") {
			t.Errorf("Open(%+v) = %v, want an error that says what is allowed", o, err)
		}
	}
}

// What a worker or a command asks for goes the same ways, but that this machine's queue is its own endpoint whatever
// the other calls are sent to.
func TestWhereCallsOfWorkersGo(t *testing.T) {
	for _, row := range []struct {
		name, url, region, env, sqs string
		wantRegion, wantEndpoint    string
	}{
		{name: "the URL's region wins", url: "https://sqs.eu-west-1.amazonaws.com/1/q", region: "us-west-2",
			wantRegion: "eu-west-1"},
		{name: "an old URL has its region too", url: "https://eu-central-1.queue.amazonaws.com/1/q",
			wantRegion: "eu-central-1"},
		{name: "another host takes the configured region", url: "https://queues.example.com/1/q", region: "us-west-2",
			wantRegion: "us-west-2"},
		{name: "another host without a region", url: "https://queues.example.com/1/q"},
		{name: "a queue on this machine", url: "http://127.0.0.1:9324/0/q", wantRegion: "us-east-1",
			wantEndpoint: "http://127.0.0.1:9324"},
		{name: "an endpoint on this machine", url: "http://localhost:9324", wantRegion: "us-east-1",
			wantEndpoint: "http://localhost:9324"},
		{name: "a stand-in for AWS beside this machine's queue", url: "http://127.0.0.1:9324/0/q",
			env: "http://127.0.0.1:5000", wantRegion: "us-east-1", wantEndpoint: "http://127.0.0.1:9324"},
		{name: "a stand-in for SQS", url: "http://127.0.0.1:9324/0/q", sqs: "http://127.0.0.1:5000",
			wantRegion: "us-east-1"},
		{name: "no queue", region: "eu-west-1", wantRegion: "eu-west-1"},
		{name: "no queue and a stand-in for AWS", env: "http://127.0.0.1:5000", wantRegion: "us-east-1",
			wantEndpoint: "http://127.0.0.1:5000"},
	} {
		t.Run(row.name, func(t *testing.T) {
			surroundings(t)
			t.Setenv("AWS_REGION", row.region)
			t.Setenv("AWS_ENDPOINT_URL", row.env)
			t.Setenv("AWS_ENDPOINT_URL_SQS", row.sqs)
			cfg, err := awsapi.At(t.Context(), row.url, nil)
			if err != nil || cfg.Region != row.wantRegion || aws.ToString(cfg.BaseEndpoint) != row.wantEndpoint {
				t.Errorf("region %q, endpoint %q, %v; want %q, %q", cfg.Region, aws.ToString(cfg.BaseEndpoint), err,
					row.wantRegion, row.wantEndpoint)
			}
		})
	}
}

func TestABodyIsReadAndHasNoWriteTo(t *testing.T) {
	surroundings(t)
	t.Setenv("AWS_REGION", "eu-west-1")
	queueURL, attempts := answering(t, http.StatusOK, "", "")
	looks := clientFunc(func(r *http.Request) (*http.Response, error) {
		if _, ok := r.Body.(io.WriterTo); ok {
			t.Errorf("the body of a request is a %T, whose WriteTo fails once it is closed", r.Body)
		}
		return http.DefaultClient.Do(r)
	})
	if err := ask(t.Context(), client(t, open(t, awsapi.Options{HTTP: looks}), queueURL), queueURL); err != nil {
		t.Fatal(err)
	}
	cfg, err := awsapi.At(t.Context(), queueURL, looks)
	if err != nil {
		t.Fatal(err)
	}
	if err := ask(t.Context(), sqs.NewFromConfig(cfg), queueURL); err != nil || attempts.Load() != 2 {
		t.Errorf("%d attempts of 2, %v", attempts.Load(), err)
	}
}

// clientFunc makes the requests of a client.
type clientFunc func(*http.Request) (*http.Response, error)

func (f clientFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }
