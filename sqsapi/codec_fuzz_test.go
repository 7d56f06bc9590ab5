package sqsapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/action"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// sameRequest compares requests: absent and empty lists are the same.
var sameRequest = []gocmp.Option{cmpopts.EquateEmpty(), gocmp.Exporter(func(reflect.Type) bool { return true })}

// viaForm decodes a request from the form that it is written as.
func viaForm(action string, request any) (any, error) {
	form := formOf(request)
	form.Set("Action", action)
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	got, err := protocol.Query{}.Request(r, []byte(form.Encode()))
	if err != nil {
		return nil, err
	}
	return requestOf(got.Action, got.Decode)
}

// FuzzJSONRequest holds that a request of any action means the same in both
// protocols: decoded from JSON, written as a form and decoded again, it is the
// same input. What is not decoded is the sender's fault.
func FuzzJSONRequest(f *testing.F) {
	names := slices.Sorted(maps.Keys(action.Table))
	for _, rule := range rules {
		for _, s := range rule.steps {
			f.Add(slices.Index(names, s.action), []byte(s.params))
		}
	}
	f.Fuzz(func(t *testing.T, at int, body []byte) {
		if at < 0 || len(body) > 1<<16 {
			return
		}
		action := names[at%len(names)]
		want, err := requestOf(action, func(into any) error { return protocol.Parse(body, into) })
		if err != nil {
			if !protocol.FaultOf(err).Sender() {
				t.Fatalf("%s %q: %v", action, body, err)
			}
			return
		}
		if len(formOf(want)) >= protocol.MaxParameters {
			return
		}
		got, err := viaForm(action, want)
		if err != nil {
			t.Fatalf("%s %q as a form: %v", action, body, err)
		}
		if diff := gocmp.Diff(want, got, sameRequest...); diff != "" {
			t.Fatalf("%s %q means another thing as a form:\n%s", action, body, diff)
		}
	})
}

// FuzzQueryRequest holds that any form is either the sender's fault or means
// the same when it is written and read once more.
func FuzzQueryRequest(f *testing.F) {
	f.Add("Action=SendMessage&QueueUrl=q&MessageBody=a+b&MessageAttribute.1.Name=n&MessageAttribute.1.Value.DataType=String&MessageAttribute.1.Value.StringValue=v")
	f.Add("Action=SendMessageBatch&SendMessageBatchRequestEntry.2.Id=a&SendMessageBatchRequestEntry.2.DelaySeconds=3&SendMessageBatchRequestEntry.1=x")
	f.Add("Action=TagQueue&Tag.1.Key=a&Tag.1.Value=b&Tag.01.Key=c&Tag.-1.Key=d")
	f.Add("Action=ReceiveMessage&AttributeName.1=All&AttributeName.99999999999999999999=x&MaxNumberOfMessages=3&WaitTimeSeconds.1=4")
	f.Add("Action=CreateQueue&Attribute.1.Name=a&Attribute.1.Value.x=b")
	f.Fuzz(func(t *testing.T, form string) {
		got, err := protocol.Query{}.Request(httptest.NewRequest(http.MethodPost, "/", nil), []byte(form))
		var request any
		if err == nil && action.Table[got.Action].Begin != nil {
			request, err = requestOf(got.Action, got.Decode)
		}
		if err != nil {
			if !protocol.FaultOf(err).Sender() {
				t.Fatalf("%q: %v", form, err)
			}
			return
		}
		if request == nil || len(formOf(request)) >= protocol.MaxParameters {
			return
		}
		again, err := viaForm(got.Action, request)
		if diff := gocmp.Diff(request, again, sameRequest...); diff != "" || err != nil {
			t.Fatalf("%q means another thing when it is written again: %v\n%s", form, err, diff)
		}
	})
}

// FuzzAnswers holds that what a queue holds comes back the same in JSON and in
// XML, and that both are well-formed.
func FuzzAnswers(f *testing.F) {
	f.Add("hé <&>\r\n]]>", "name", "value", []byte{1, 2})
	f.Fuzz(func(t *testing.T, body, name, text string, binary []byte) {
		m := queue.Outgoing{Body: body,
			Attributes: map[string]queue.Attribute{name: {Type: "String", Value: []byte(text)},
				name + "b": {Type: "Binary", Value: binary}}}
		q, err := queue.Open(queue.Options{Ephemeral: true})
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		if err := q.CreateQueue(t.Context(), "q", nil, nil); err != nil {
			t.Fatal(err)
		}
		if sent, err := q.Send(t.Context(), "q", []queue.Outgoing{m}); err != nil || sent[0].Err != nil {
			return // a message that is not allowed
		}
		a := newAPI(Options{Queues: q})
		c := &action.Call{Service: a.Service, Context: t.Context(),
			At: action.Place{Region: a.Region, Account: a.Account}}
		result, err := c.Run(action.Table["ReceiveMessage"], func(into any) error {
			return protocol.Parse([]byte(`{"QueueUrl":"q","MessageAttributeNames":["All"]}`), into)
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"Messages.1.Body": body, "Messages.1.MessageAttributes." + name +
			".StringValue": text}
		want["Messages.1.MessageAttributes."+name+"b.BinaryValue"] = base64.StdEncoding.EncodeToString(binary)
		for protocol, got := range map[string]answer{"JSON": answerOf(t, protocol.JSON{}, result),
			"Query": answerOf(t, protocol.Query{}, result)} {
			for path, value := range want {
				if got.values[path] != value {
					t.Errorf("%s: %s = %q, want %q", protocol, path, got.values[path], value)
				}
			}
		}
	})
}

// answerOf writes a result of ReceiveMessage and reads it.
func answerOf(t *testing.T, c protocol.Codec, result any) answer {
	t.Helper()
	w := httptest.NewRecorder()
	w.Header().Set(protocol.RequestIDHeader, "id")
	c.Result(w, "ReceiveMessage", result)
	if strings.HasPrefix(w.Body.String(), xml.Header) {
		return xmlAnswer(t, w.Code, "ReceiveMessage", "id", w.Body.Bytes())
	}
	if !json.Valid(bytes.TrimSpace(w.Body.Bytes())) {
		t.Fatalf("answer %q", w.Body)
	}
	return jsonAnswer(t, w.Code, "", w.Body.Bytes())
}
