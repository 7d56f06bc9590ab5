package action

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// serviceOf are the actions over q, without the server.
func serviceOf(q *queue.Service) *Service {
	return &Service{
		Queues: q, Region: "us-east-1", Account: "000000000000", Actions: Table, Serving: context.Background(),
		Logger:     slog.New(slog.DiscardHandler),
		WithHangUp: func(ctx context.Context) (context.Context, func()) { return ctx, func() {} },
	}
}

// FuzzSendMessage holds that whatever is accepted comes back unchanged, and
// that whatever is not is the sender's fault.
func FuzzSendMessage(f *testing.F) {
	f.Add([]byte(`{"QueueUrl":"http://h/0/q","MessageBody":"hé","MessageAttributes":{"a":{"DataType":"Number.int","StringValue":"7"},"b":{"DataType":"Binary","BinaryValue":"AQI="}}}`))
	f.Add([]byte(`{"QueueUrl":"q","MessageBody":"\ud800","DelaySeconds":0,"MessageGroupId":"g"}`))
	f.Add([]byte(`{"QueueUrl":"q","MessageBody":"x","MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String","StringValue":"t"}}}`))
	f.Add([]byte(`[`))
	q, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		f.Fatal(err)
	}
	defer q.Close()
	a := serviceOf(q)
	if err := q.CreateQueue(f.Context(), "q", nil, nil); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c := &Call{Service: a, Context: t.Context(), At: Place{a.Region, a.Account}}
		if err := q.Purge(t.Context(), "q"); err != nil {
			t.Fatal(err)
		}
		result, err := c.Run(Table["SendMessage"], func(into any) error { return protocol.Parse(body, into) })
		if err != nil {
			if fault := protocol.FaultOf(err); !fault.Sender() {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		sent, ok := result.(sentResult)
		if !ok {
			t.Fatalf("result %T", result)
		}
		n, err := q.Counts("q")
		if err != nil || n.Visible+n.Delayed != 1 {
			t.Fatalf("%q: accepted, but the queue holds %+v, %v", body, n, err)
		}
		if n.Delayed == 1 {
			return
		}
		sameMessage(t, c, body, sent)
	})
}

// sameMessage receives the one message and compares it with the request.
func sameMessage(t *testing.T, c *Call, body []byte, sent sentResult) {
	t.Helper()
	all := `{"QueueUrl":"q","MessageSystemAttributeNames":["All"],"MessageAttributeNames":["All"]}`
	result, err := c.Run(Table["ReceiveMessage"], func(into any) error { return protocol.Parse([]byte(all), into) })
	got, ok := result.(receiveMessageResult)
	if err != nil || !ok || len(got.Messages) != 1 {
		t.Fatalf("%q: received %+v, %v", body, result, err)
	}
	m := got.Messages[0]
	if m.MessageID != sent.MessageID || m.MD5OfBody != sent.MD5OfMessageBody ||
		m.MD5OfMessageAttributes != sent.MD5OfMessageAttributes {
		t.Fatalf("%q: sent %+v, received %+v", body, sent, m)
	}
	var in sendMessageRequest
	if err := json.Unmarshal(body, &in); err != nil || m.Body != *in.MessageBody ||
		len(m.MessageAttributes) != len(in.MessageAttributes) {
		t.Fatalf("%q: received %+v, %v", body, m, err)
	}
}

// TestPagesCoverEverythingOnce walks a listing page by page.
func TestPagesCoverEverythingOnce(t *testing.T) {
	names := strings.Split("a b c d e f g", " ")
	for size := 1; size <= 8; size++ {
		var seen []string
		var token *string
		for {
			part, next, err := page{&size, token}.of(names)
			if err != nil || len(part) > size {
				t.Fatalf("page of %d: %q, %v", size, part, err)
			}
			seen = append(seen, part...)
			if next == "" {
				break
			}
			token = &next
		}
		if strings.Join(seen, " ") != strings.Join(names, " ") {
			t.Errorf("pages of %d give %q", size, seen)
		}
	}
}

func TestDigestsAreThoseOfAWS(t *testing.T) {
	const want = "33fcd01258e6ba07ef405dc9e721f3a7"
	for name, m := range map[string]queue.Message{"from the sender": {Body: "hé", Digest: bodyMD5("hé")},
		"of a body from disk": {Body: "hé"}} {
		if got := receivedMD5(&m); got != want {
			t.Errorf("digest %s: %s, want %s", name, got, want)
		}
	}
	attributes := map[string]queue.Attribute{"a": {Type: "Number.int", Value: []byte("7")},
		"b": {Type: "Binary", Value: []byte{1, 2}}}
	if got, want := attributesMD5(attributes), "8fe280ddd9617be74b76c9a92a7ddb69"; got != want {
		t.Errorf("attributes: %s, want %s", got, want)
	}
	if got := attributesMD5(nil); got != "" {
		t.Errorf("no attributes: %q, want none", got)
	}
}

func TestAttributesAreSelectedByNameOrPrefix(t *testing.T) {
	for _, row := range []struct {
		selector, name string
		want           bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"All", "a", true}, {".*", "a", true},
		{"*", "a", true}, {"a.*", "a.b", true}, {"a.*", "ab", true}, {"a.*", "a", true}, {"a.*", "b", false},
		{"a*", "ab", false}, {"", "a", false},
	} {
		if got := selected(row.name, []string{row.selector}); got != row.want {
			t.Errorf("%q selects %q: %t, want %t", row.selector, row.name, got, row.want)
		}
	}
}

// TestMessagesOfACallerWhoHungUpAreReturned checks that they are visible before
// their visibility timeout ends, and that other messages are not.
func TestMessagesOfACallerWhoHungUpAreReturned(t *testing.T) {
	q, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if err := q.CreateQueue(t.Context(), "q", nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Send(t.Context(), "q", []queue.Outgoing{{Body: "a"}, {Body: "b"}, {Body: "c"}}); err != nil {
		t.Fatal(err)
	}
	messages, err := q.Receive(t.Context(), "q", queue.ReceiveOptions{Max: 3})
	if err != nil || len(messages) != 3 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &Call{Service: serviceOf(q), Context: ctx}
	c.returnMessages("q", messages[:2])
	if n, err := q.Counts("q"); err != nil || n.Visible != 2 || n.InFlight != 1 {
		t.Errorf("after handing two back: %+v, %v", n, err)
	}
}
