package sqsapi

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/action"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// step is one request and what it must be answered with. In params and want,
// $name stands for a value kept by an earlier step.
type step struct {
	action string
	params string // as JSON
	code   string // of an error; empty means success
	// want has values by path, as regular expressions, or - for nothing and + for anything; for an error its text,
	// under "".
	want map[string]string
	keep map[string]string // paths of values to keep, by name
}

// rule is one thing that an action does, and the requests that show it.
type rule struct {
	action string
	does   string
	steps  []step
}

// wireTest is a server and a way to ask it.
type wireTest struct {
	t    *testing.T
	url  string
	keys Keys
}

// protocols are the ways to ask; every rule is shown over each.
var protocols = map[string]func(w *wireTest, action string, params []byte) answer{"JSON": (*wireTest).askJSON,
	"Query": (*wireTest).askQuery}

func (w *wireTest) askJSON(action string, params []byte) answer {
	r := w.request(http.MethodPost, w.url, string(params), protocol.JSONType)
	r.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	status, header, body := w.send(r, string(params))
	return jsonAnswer(w.t, status, header.Get("x-amzn-query-error"), body)
}

func (w *wireTest) askQuery(action string, params []byte) answer {
	form := "Version=2012-11-05&Action=" + action
	if request, err := requestOf(action, func(into any) error { return protocol.Parse(params, into) }); err != nil {
		w.t.Fatal(err)
	} else if text := formOf(request).Encode(); text != "" {
		form += "&" + text
	}
	status, header, body := w.send(w.request(http.MethodPost, w.url, form, protocol.FormType), form)
	return xmlAnswer(w.t, status, action, header.Get("x-amzn-RequestId"), body)
}

func (w *wireTest) request(method, url, body, kind string) *http.Request {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return r
}

// send signs and sends a request.
func (w *wireTest) send(r *http.Request, body string) (int, http.Header, []byte) {
	w.t.Helper()
	sum := sha256.Sum256([]byte(body))
	credentials := aws.Credentials{AccessKeyID: w.keys.AccessKeyID, SecretAccessKey: w.keys.SecretAccessKey}
	if err := v4.NewSigner().SignHTTP(w.t.Context(), credentials, r, hex.EncodeToString(sum[:]), "sqs", "us-east-1",
		time.Now()); err != nil {
		w.t.Fatal(err)
	}
	return w.do(r)
}

func (w *wireTest) do(r *http.Request) (int, http.Header, []byte) {
	w.t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response.StatusCode, response.Header, text
}

func serveWire(t *testing.T, kind string) *wireTest {
	t.Helper()
	q, err := queue.Open(queue.Options{Ephemeral: true, Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	keys := Keys{AccessKeyID: "AKIATEST", SecretAccessKey: "secret"}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
	return &wireTest{t, Listen(t, kind, New(Options{Queues: q, Keys: keys})), keys}
}

func TestEveryActionOverEveryProtocol(t *testing.T) {
	for kind := range servers {
		t.Run(kind, func(t *testing.T) { everyAction(t, kind) })
	}
}

func everyAction(t *testing.T, kind string) {
	for name, ask := range protocols {
		for _, rule := range rules {
			t.Run(name+"/"+rule.action+"/"+rule.does, func(t *testing.T) {
				w := serveWire(t, kind)
				kept, patterns := []string{"$url", w.url}, []string{"$url", regexp.QuoteMeta(w.url)}
				for i, s := range rule.steps {
					params := []byte(strings.NewReplacer(kept...).Replace(s.params))
					if !json.Valid(params) {
						t.Fatalf("step %d: params %s", i+1, params)
					}
					got := ask(w, s.action, params)
					s.check(t, i+1, got, strings.NewReplacer(patterns...))
					for name, path := range s.keep {
						kept = append(kept, "$"+name, got.values[path])
						patterns = append(patterns, "$"+name, regexp.QuoteMeta(got.values[path]))
					}
				}
			})
		}
	}
}

// check compares an answer with what the step wants.
func (s *step) check(t *testing.T, number int, got answer, fill *strings.Replacer) {
	t.Helper()
	if got.code != s.code {
		t.Fatalf("step %d, %s: code %q (%s), want %q", number, s.action, got.code, got.text, s.code)
	}
	for path, want := range s.want {
		have, ok := got.values[path]
		if path == "" {
			have, ok = got.text, true
		}
		if want == "-" && !ok && !got.below(path) {
			continue // must be absent, and is
		}
		if want == "+" && got.below(path) {
			continue
		}
		if !ok || !regexp.MustCompile("^(?:"+fill.Replace(want)+")$").MatchString(have) {
			t.Errorf("step %d, %s: %s = %q (given %t), want %q; all: %v", number, s.action, path, have, ok, want,
				got.values)
		}
	}
}

func TestTheTableOfActionsIsThatOfSQS(t *testing.T) {
	want := strings.Fields(`AddPermission CancelMessageMoveTask ChangeMessageVisibility ChangeMessageVisibilityBatch CreateQueue DeleteMessage
		DeleteMessageBatch DeleteQueue GetQueueAttributes GetQueueUrl ListDeadLetterSourceQueues ListMessageMoveTasks ListQueueTags ListQueues PurgeQueue
		ReceiveMessage RemovePermission SendMessage SendMessageBatch SetQueueAttributes StartMessageMoveTask TagQueue UntagQueue`)
	if got := slices.Sorted(maps.Keys(action.Table)); !slices.Equal(got, want) {
		t.Errorf("actions %q, want %q", got, want)
	}
	for _, name := range want {
		if !slices.ContainsFunc(rules, func(r rule) bool { return r.action == name }) {
			t.Errorf("no rule for %s", name)
		}
	}
	for _, r := range rules {
		if !slices.ContainsFunc(r.steps, func(s step) bool { return s.action == r.action }) {
			t.Errorf("the rule %q of %s never asks for it", r.does, r.action)
		}
	}
}

// TestFormsOfAQueryRequest are the shapes that tools send it in.
func TestFormsOfAQueryRequest(t *testing.T) {
	for _, row := range []struct {
		name, method, target, body, kind string
		want                             string
	}{
		{"all in the body", "POST", "/", "Action=ListQueues&Version=2012-11-05", protocol.FormType,
			"<QueueUrl>$url/000000000000/q</QueueUrl>"},
		{"a form with a charset", "POST", "/", "Action=ListQueues", protocol.FormType + "; charset=utf-8",
			"<QueueUrl>"},
		{"the action in the URL", "POST", "/?Action=ListQueues", "QueueNamePrefix=q", protocol.FormType, "<QueueUrl>"},
		{"all in the URL", "GET", "/?Action=ListQueues&QueueNamePrefix=q", "", "", "<QueueUrl>"},
		{"a POST without a body", "POST", "/?Action=ListQueues", "", "", "<QueueUrl>"},
		{"the queue in the path", "POST", "/000000000000/q", "Action=SendMessage&MessageBody=a+b%26%3C%0D",
			protocol.FormType, "<MD5OfMessageBody>"},
		{"the queue in the path of a GET", "GET", "/000000000000/q?Action=GetQueueAttributes&AttributeName.1=QueueArn",
			"", "", "<Value>arn:aws:sqs:us-east-1:000000000000:q</Value>"},
		{"a queue URL goes before the path", "POST", "/000000000000/none", "Action=PurgeQueue&QueueUrl=q",
			protocol.FormType, "<PurgeQueueResponse"},
		{"names with gaps", "POST", "/",
			"Action=GetQueueAttributes&QueueUrl=q&AttributeName.7=QueueArn&AttributeName.3=DelaySeconds",
			protocol.FormType, "DelaySeconds.*QueueArn"},
		{"no action", "POST", "/", "Version=2012-11-05", protocol.FormType, "<UnknownOperationException/>"},
		{"an action nobody knows", "POST", "/", "Action=Explode", protocol.FormType,
			"<Code>InvalidAction</Code><Message>The action Explode is not valid for this endpoint.</Message>"},
		{"an action nobody knows, at a queue", "GET", "/000000000000/q?Action=Explode", "", "",
			"<Code>InvalidAction</Code><Message>The action Explode is not valid for this endpoint.</Message>"},
		{"a queue is not created at another", "GET", "/000000000000/q?Action=CreateQueue&QueueName=r", "", "",
			"<Code>InvalidAction</Code><Message>The action CreateQueue is not valid for this endpoint.</Message>"},
		{"queues are not listed at one of them", "POST", "/000000000000/q", "Action=ListQueues", protocol.FormType,
			"<Code>InvalidAction</Code>"},
		{"a queue's URL is told at a queue", "GET", "/000000000000/q?Action=GetQueueUrl&QueueName=q", "", "",
			"<QueueUrl>$url/000000000000/q</QueueUrl>"},
		{"no action at a queue", "GET", "/000000000000/q", "", "", "^<UnknownOperationException/>$"},
		{"nothing received", "GET", "/000000000000/q?Action=ReceiveMessage", "", "", "<ReceiveMessageResult/>"},
		{"an attribute nobody knows", "GET", "/000000000000/q?Action=GetQueueAttributes&AttributeName.1=Colour", "", "",
			"<Code>InvalidAttributeName</Code><Message>Unknown Attribute Colour.</Message>"},
		{"a number that is none", "POST", "/", "Action=ListQueues&MaxResults=x", protocol.FormType,
			"<Code>MalformedInput</Code>"},
		{"a binary value that is not base 64", "POST", "/",
			"Action=SendMessage&QueueUrl=q&MessageBody=x&MessageAttribute.1.Name=a&MessageAttribute.1.Value.DataType=Binary&MessageAttribute.1.Value.BinaryValue=%21", protocol.FormType, "<Code>MalformedInput</Code>"},
		{"an attribute without a name", "POST", "/",
			"Action=SendMessage&QueueUrl=q&MessageBody=x&MessageAttribute.1.Value.DataType=String", protocol.FormType,
			"<Code>MissingParameter</Code>"},
		{"escapes cut short", "POST", "/", "Action=ListQueues&a=%2", protocol.FormType, "<Code>MalformedInput</Code>"},
		{"bytes that are not UTF-8", "POST", "/", "Action=ListQueues&QueueNamePrefix=%ff", protocol.FormType,
			"<Code>MalformedInput</Code>"},
		{"too many parameters", "POST", "/", "Action=ListQueues" + strings.Repeat("&a=", protocol.MaxParameters),
			protocol.FormType, "<Code>MalformedInput</Code>"},
		{"names that are too deep", "POST", "/", "Action=ListQueues&a" + strings.Repeat(".a", 9) + "=",
			protocol.FormType, "<Code>MalformedInput</Code>"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := serveWire(t, "front")
			if a := w.askQuery("CreateQueue", []byte(`{"QueueName":"q"}`)); a.code != "" {
				t.Fatal(a)
			}
			r := w.request(row.method, w.url+row.target, row.body, row.kind)
			_, header, body := w.send(r, row.body)
			if want := strings.ReplaceAll(row.want, "$url", w.url); !regexp.MustCompile(want).Match(body) {
				t.Errorf("answer %s, want %s", body, want)
			}
			if header.Get("Content-Type") != "text/xml" {
				t.Errorf("headers %v", header)
			}
		})
	}
}

func TestABodyComesBackUnchangedInXML(t *testing.T) {
	w := serveWire(t, "front")
	body := "\t\r\n <&>\"'é\u2028\U0010ffff]]>"
	params, err := json.Marshal(map[string]string{"QueueUrl": "q", "MessageBody": body})
	if err != nil {
		t.Fatal(err)
	}
	w.askQuery("CreateQueue", []byte(`{"QueueName":"q"}`))
	sent := w.askQuery("SendMessage", params)
	got := w.askQuery("ReceiveMessage", []byte(`{"QueueUrl":"q"}`))
	if got.values["Messages.1.Body"] != body || got.values["Messages.1.MD5OfBody"] != sent.values["MD5OfMessageBody"] ||
		sent.values["MD5OfMessageBody"] != fmt.Sprintf("%x", md5.Sum([]byte(body))) {
		t.Errorf("sent %q, received %q", sent.values, got.values)
	}
}

func TestASignatureInTheURL(t *testing.T) {
	for _, row := range []struct {
		name    string
		age     time.Duration
		expires string
		change  func(*http.Request)
		want    string
	}{
		{"is accepted", 0, "900", nil, ""},
		{"is accepted while it lasts", 2 * time.Hour, "7300", nil, ""},
		{"is refused when it has expired", time.Hour, "3599", nil, "AccessDenied"},
		{"is refused when it is of the future", -16 * time.Minute, "900", nil, "SignatureDoesNotMatch"},
		{"is refused when it would last for ever", 0, "604801", nil, "IncompleteSignature"},
		{"is refused when it says no end", 0, "", nil, "IncompleteSignature"},
		{"is refused for another request", 0, "900", func(r *http.Request) { r.URL.RawQuery += "&MaxResults=1" },
			"SignatureDoesNotMatch"},
		{"is refused for another action", 0, "900", func(r *http.Request) {
			r.URL.RawQuery = strings.ReplaceAll(r.URL.RawQuery, "ListQueues", "PurgeQueue")
		}, "SignatureDoesNotMatch"},
		{"is refused with a body", 0, "900", func(r *http.Request) {
			r.Method, r.Body, r.ContentLength = http.MethodPost,
				io.NopCloser(bytes.NewReader([]byte("Action=PurgeQueue"))), 17
			r.Header.Set("Content-Type", protocol.FormType)
		}, "SignatureDoesNotMatch"},
		{"is refused from a page that a browser shows", 0, "900",
			func(r *http.Request) { r.Header.Set("User-Agent", "Mozilla/5.0") }, "AccessDenied"},
		{"is refused from a link", 0, "900", func(r *http.Request) { r.Header.Set("Referer", "http://example.com/") },
			"AccessDenied"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := serveWire(t, "front")
			r := w.request(http.MethodGet, w.url+"/?Action=ListQueues&X-Amz-Expires="+row.expires, "", "")
			sum := sha256.Sum256(nil)
			credentials := aws.Credentials{AccessKeyID: w.keys.AccessKeyID, SecretAccessKey: w.keys.SecretAccessKey}
			signed, _, err := v4.NewSigner().PresignHTTP(t.Context(), credentials, r, hex.EncodeToString(sum[:]), "sqs",
				"us-east-1", time.Now().Add(-row.age))
			if err != nil {
				t.Fatal(err)
			}
			r = w.request(http.MethodGet, signed, "", "")
			if row.change != nil {
				row.change(r)
			}
			status, header, body := w.do(r)
			if got := xmlAnswer(t, status, "ListQueues", header.Get("x-amzn-RequestId"), body); got.code != row.want {
				t.Errorf("%d %s (%s), want %q", status, got.code, got.text, row.want)
			}
		})
	}
}
