package sqsapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// placedTest asks an endpoint as callers of several regions and accounts do.
type placedTest struct {
	*wireTest
	log *bytes.Buffer
}

func servePlaces(t *testing.T, kind string, anybody bool) *placedTest {
	t.Helper()
	q, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	log := &bytes.Buffer{}
	keys := Keys{AccessKeyID: "AKIATEST", SecretAccessKey: "secret"}
	endpoint := New(Options{Queues: q, Keys: keys, AnyCredentials: anybody,
		Logger: slog.New(slog.NewTextHandler(log, nil))})
	return &placedTest{&wireTest{t, Listen(t, kind, endpoint), keys}, log}
}

// ask sends a request that is signed for a region, to an endpoint with a path.
func (p *placedTest) ask(key, region, path, action, params string) answer {
	p.t.Helper()
	r := p.request(http.MethodPost, p.url+path, params, protocol.JSONType)
	r.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	sum := sha256.Sum256([]byte(params))
	credentials := aws.Credentials{AccessKeyID: key, SecretAccessKey: p.keys.SecretAccessKey}
	if err := v4.NewSigner().SignHTTP(p.t.Context(), credentials, r, hex.EncodeToString(sum[:]), "sqs", region,
		time.Now()); err != nil {
		p.t.Fatal(err)
	}
	status, header, body := p.do(r)
	return jsonAnswer(p.t, status, header.Get("x-amzn-query-error"), body)
}

// TestAQueueIsOfItsRegionAndAccount makes a queue of the same name in each place and looks for its message in all of
// them.
func TestAQueueIsOfItsRegionAndAccount(t *testing.T) {
	const defaultAccount, other = "000000000000", "111111111111"
	places := []struct {
		name, region, path string
		account            string
	}{
		{"the default", "us-east-1", "/", defaultAccount},
		{"the default account, in the path", "us-east-1", "/" + defaultAccount, defaultAccount},
		{"another region", "eu-west-1", "/", defaultAccount},
		{"another account", "us-east-1", "/" + other, other},
		{"another region and account", "eu-west-1", "/" + other + "/", other},
	}
	for kind := range servers {
		for _, anybody := range []bool{false, true} {
			p := servePlaces(t, kind, anybody)
			for _, at := range places {
				t.Run(fmt.Sprintf("%s, any credentials %t, %s", kind, anybody, at.name), func(t *testing.T) {
					p.t = t
					ask := func(action, params string) answer {
						return p.ask("AKIATEST", at.region, at.path, action,
							params)
					}
					made := ask("CreateQueue", `{"QueueName":"q"}`)
					url := p.url + "/" + at.account + "/q"
					if made.values["QueueUrl"] != url {
						t.Fatalf("URL %q (%s), want %q", made.values["QueueUrl"], made.text, url)
					}
					if got := ask("GetQueueUrl", `{"QueueName":"q"}`); got.values["QueueUrl"] != url {
						t.Errorf("GetQueueUrl: %v", got)
					}
					if got := ask("ListQueues", `{}`); got.values["QueueUrls.1"] != url ||
						got.values["QueueUrls.2"] != "" {
						t.Errorf("ListQueues: %v", got.values)
					}
					arn := "arn:aws:sqs:" + at.region + ":" + at.account + ":q"
					if got := ask("GetQueueAttributes", `{"QueueUrl":"`+url+
						`","AttributeNames":["QueueArn"]}`); got.values["Attributes.QueueArn"] != arn {
						t.Errorf("attributes %v, want the ARN %s", got.values, arn)
					}
					p.exchange(at.region, at.account, at.name)
				})
			}
		}
	}
}

// exchange sends and receives by the URL, at an endpoint without an account.
func (p *placedTest) exchange(region, account, body string) {
	p.t.Helper()
	url := "https://elsewhere.example/" + account + "/q"
	if sent := p.ask("AKIATEST", region, "/", "SendMessage", `{"QueueUrl":"`+url+`","MessageBody":"`+body+
		`"}`); sent.code != "" {
		p.t.Fatalf("send: %s", sent.text)
	}
	got := p.ask("AKIATEST", region, "/", "ReceiveMessage", `{"QueueUrl":"`+url+
		`","MaxNumberOfMessages":10,"AttributeNames":["SenderId"]}`)
	if got.values["Messages.1.Body"] != body || got.values["Messages.2.Body"] != "" ||
		got.values["Messages.1.Attributes.SenderId"] != account {
		p.t.Errorf("received %v, want %q alone, sent by %s", got.values, body, account)
	}
}

func TestWhatNamesAPlace(t *testing.T) {
	p := servePlaces(t, "front", true)
	for _, row := range []struct{ name, key, region, path, action, params, want string }{
		{"an access key of 12 digits is an account", "222222222222", "us-east-1", "/", "CreateQueue",
			`{"QueueName":"q"}`, "/222222222222/q"},
		{"a path goes before it", "222222222222", "us-east-1", "/111111111111", "CreateQueue", `{"QueueName":"q"}`,
			"/111111111111/q"},
		{"the owner of a queue goes before both", "222222222222", "us-east-1", "/333333333333", "GetQueueUrl",
			`{"QueueName":"q","QueueOwnerAWSAccountId":"111111111111"}`, "/111111111111/q"},
		{"a region that cannot be one is the default", "x", "Mars North", "/", "CreateQueue", `{"QueueName":"q"}`,
			"/000000000000/q"},
		{"the region local is the default", "x", LocalRegion, "/", "GetQueueAttributes",
			`{"QueueUrl":"q","AttributeNames":["QueueArn"]}`, "arn:aws:sqs:us-east-1:000000000000:q"},
		{"so it is in the URL", "x", "us-east-1", "/", "GetQueueUrl", `{"QueueName":"q"}`, "/000000000000/q"},
		{"a colon reaches into no other place", "x", "us-east-1", "/", "GetQueueUrl",
			`{"QueueName":"us-east-1:111111111111:q"}`, "NonExistentQueue"},
		{"nor in a URL", "x", "us-east-1", "/", "PurgeQueue", `{"QueueUrl":"us-east-1:111111111111:q"}`,
			"NonExistentQueue"},
		{"nor in a new name", "x", "us-east-1", "/", "CreateQueue", `{"QueueName":"us-east-1:111111111111:r"}`,
			"InvalidParameterValue"},
		{"an owner that is no account", "x", "us-east-1", "/", "GetQueueUrl",
			`{"QueueName":"q","QueueOwnerAWSAccountId":"me"}`, "NonExistentQueue"},
		{"a URL without an account means that of the caller", "111111111111", "us-east-1", "/", "GetQueueAttributes",
			`{"QueueUrl":"http://localhost/queue/q","AttributeNames":["QueueArn"]}`,
			"arn:aws:sqs:us-east-1:111111111111:q"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p.t = t
			got := p.ask(row.key, row.region, row.path, row.action, row.params)
			if found := fmt.Sprint(got.values["QueueUrl"], got.values["Attributes.QueueArn"],
				got.code); !strings.HasSuffix(found, row.want) {
				t.Errorf("found %q (%s), want %q", found, got.text, row.want)
			}
		})
	}
}

// TestMovesStayInTheirPlace gives ARNs of another region than the caller's.
func TestMovesStayInTheirPlace(t *testing.T) {
	p := servePlaces(t, "front", false)
	ask := func(action, params string) answer { return p.ask("AKIATEST", "eu-west-1", "/", action, params) }
	arn := "arn:aws:sqs:eu-west-1:000000000000:"
	for _, step := range []struct{ action, params string }{
		{"CreateQueue", `{"QueueName":"dead"}`},
		{"CreateQueue", `{"QueueName":"q","Attributes":{"VisibilityTimeout":"0","RedrivePolicy":"{\"deadLetterTargetArn\":\"` + arn + `dead\",\"maxReceiveCount\":\"1\"}"}}`},
		{"SendMessage", `{"QueueUrl":"q","MessageBody":"poison"}`},
		{"ReceiveMessage", `{"QueueUrl":"q"}`},
		{"ReceiveMessage", `{"QueueUrl":"q"}`},
	} {
		if got := ask(step.action, step.params); got.code != "" {
			t.Fatal(step, got.text)
		}
	}
	if got := ask("ReceiveMessage",
		`{"QueueUrl":"dead","VisibilityTimeout":0,"AttributeNames":["All"]}`); got.values["Messages.1.Attributes.DeadLetterQueueSourceArn"] != arn+"q" {
		t.Errorf("dead letters: %v", got.values)
	}
	started := p.ask("AKIATEST", "us-east-1", "/", "StartMessageMoveTask", `{"SourceArn":"`+arn+`dead"}`)
	if started.code != "" {
		t.Fatal(started.text)
	}
	if got := ask("ReceiveMessage",
		`{"QueueUrl":"q","WaitTimeSeconds":10}`); got.values["Messages.1.Body"] != "poison" {
		t.Errorf("moved back: %v", got)
	}
	if got := ask("ListMessageMoveTasks", `{"SourceArn":"`+arn+`dead"}`); got.values["Results.1.SourceArn"] != arn+
		"dead" {
		t.Errorf("moves: %v", got.values)
	}
	if got := ask("ListDeadLetterSourceQueues", `{"QueueUrl":"dead"}`); got.values["queueUrls.1"] != p.url+
		"/000000000000/q" {
		t.Errorf("sources: %v", got.values)
	}
}

// TestACallerOfAnotherRegionIsToldOf looks for the log line that explains why a queue that is there cannot be found.
func TestACallerOfAnotherRegionIsToldOf(t *testing.T) {
	p := servePlaces(t, "net/http", false)
	p.ask("AKIATEST", "us-east-1", "/", "CreateQueue", `{"QueueName":"q"}`)
	for range maxHints + 5 {
		p.ask("AKIATEST", "eu-west-1", "/", "ReceiveMessage", `{"QueueUrl":"q"}`)
		p.ask("AKIATEST", "eu-west-1", "/", "ReceiveMessage", `{"QueueUrl":"none"}`)
	}
	if lines := strings.Count(p.log.String(), "region=eu-west-1"); lines != maxHints ||
		strings.Contains(p.log.String(), "queue=none") {
		t.Errorf("%d lines, want %d: %s", lines, maxHints, p.log)
	}
}

// TestTheTraceHeaderIsKeptWithTheMessage sends the header that AWS X-Ray uses, over each server.
func TestTheTraceHeaderIsKeptWithTheMessage(t *testing.T) {
	const root, given = "Root=1-3152b799-8954dae64eda91bc9a23a7e8", "Root=1-5759e988-bd862e3fe1be46a994272793"
	for kind := range servers {
		p := servePlaces(t, kind, true)
		p.ask("x", "us-east-1", "/", "CreateQueue", `{"QueueName":"q"}`)
		for _, row := range []struct{ name, action, header, params, want, sum string }{
			{"of a message", "SendMessage", root, `{"QueueUrl":"q","MessageBody":"x"}`, root, ""},
			{"of each message of a batch", "SendMessageBatch", root,
				`{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":"x"}]}`, root, ""},
			{"of a long message", "SendMessage", root, `{"QueueUrl":"q","MessageBody":"` +
				strings.Repeat("x", 100_000) + `"}`, root, ""},
			{"unless the message has its own", "SendMessage", root,
				`{"QueueUrl":"q","MessageBody":"x","MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String","StringValue":"` + given + `"}}}`, given, "62a56dd927315f2b2e12832b84617ea5"},
			{"and left out if there is none", "SendMessage", "", `{"QueueUrl":"q","MessageBody":"x"}`, "", ""},
			{"or if it is too long", "SendMessage", strings.Repeat("x", queue.MaxTraceBytes+1),
				`{"QueueUrl":"q","MessageBody":"x"}`, "", ""},
			{"or if it is no text", "SendMessage", "\xff", `{"QueueUrl":"q","MessageBody":"x"}`, "", ""},
		} {
			t.Run(kind+"/"+row.name, func(t *testing.T) {
				p.t = t
				r := p.request(http.MethodPost, p.url, row.params, protocol.JSONType)
				r.Header.Set("X-Amz-Target", "AmazonSQS."+row.action)
				if row.header != "" {
					r.Header.Set("X-Amzn-Trace-Id", row.header)
				}
				status, header, body := p.do(r)
				sent := jsonAnswer(t, status, header.Get("x-amzn-query-error"), body)
				got := p.ask("x", "us-east-1", "/", "ReceiveMessage",
					`{"QueueUrl":"q","AttributeNames":["AWSTraceHeader"]}`)
				if sent.code != "" || got.values["Messages.1.Attributes.AWSTraceHeader"] != row.want ||
					sent.values["MD5OfMessageSystemAttributes"] != row.sum {
					t.Errorf("sent %v %s, received %v; want the trace %q", sent.values, sent.text, got.values, row.want)
				}
			})
		}
	}
}

// keptCall keeps what a call of a loop would do later.
type keptCall struct {
	later func(context.Context) (any, error)
	made  func() (any, error)
}

func (k *keptCall) Answer(made func() (any, error))                      { k.made = made }
func (k *keptCall) AnswerLater(later func(context.Context) (any, error)) { k.later = later }
func (k *keptCall) MarkAuthenticated()                                   {}

// TestAReceiveThatWaitsStaysInItsPlace whatever others ask of the same loop meanwhile.
func TestAReceiveThatWaitsStaysInItsPlace(t *testing.T) {
	q, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	elsewhere := queue.Scoped("eu-west-1", "000000000000", "q")
	for _, name := range []string{"q", elsewhere} {
		if err := q.CreateQueue(t.Context(), name, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	endpoint := New(Options{Queues: q, AnyCredentials: true, Logger: slog.New(slog.DiscardHandler)})
	p := endpoint.(*api).NewCalls(func() {})
	receive := func(region, body string) *keptCall {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/", nil)
		r.Header = http.Header{
			"Content-Type": {protocol.JSONType}, "X-Amz-Target": {"AmazonSQS.ReceiveMessage"},
			"Authorization": {"AWS4-HMAC-SHA256 Credential=x/20260101/" + region + "/sqs/aws4_request, Signature=0"},
		}
		k := &keptCall{}
		if !p.Begin(r, []byte(body), k) {
			t.Fatal("the call is not one that a loop may run")
		}
		return k
	}
	waiting := receive("eu-west-1", `{"QueueUrl":"q","WaitTimeSeconds":1}`)
	receive("us-east-1", `{"QueueUrl":"q"}`)
	if waiting.later == nil {
		t.Fatal("the receive does not wait")
	}
	if _, err := q.Send(t.Context(), elsewhere, []queue.Outgoing{{Body: "a"}}); err != nil {
		t.Fatal(err)
	}
	got, err := waiting.later(t.Context())
	if r, ok := got.(protocol.FastResult); err != nil || !ok ||
		!strings.Contains(string(r.AppendJSON(nil)), `"Body":"a"`) {
		t.Errorf("received %+v, %v; want a", got, err)
	}
}
