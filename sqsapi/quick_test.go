package sqsapi

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster/queue"
)

// FuzzQuickRequest holds that what is read without reflection is what encoding/json reads, and that what is not leaves
// nothing behind.
func FuzzQuickRequest(f *testing.F) {
	names := slices.Sorted(maps.Keys(actions))
	for _, rule := range rules {
		for _, s := range rule.steps {
			f.Add(slices.Index(names, s.action), []byte(s.params))
		}
	}
	for _, params := range []string{
		`{"QueueUrl":"q","MessageBody":"a\"b\\c\/d\b\f\n\r\té"}`, `{"QueueUrl":"q","MessageBody":"` + "\xff" + `"}`,
		`{"QueueUrl":"q","Entries":[{"Id":"1","MessageBody":"x","DelaySeconds":-0},{"Id":"2","MessageBody":"y"} , {}]}`,
		`{"QueueUrl":"q","MaxNumberOfMessages":10,"WaitTimeSeconds":01}`, `{"QueueUrl":"q","WaitTimeSeconds":1e1}`,
		`{"QueueUrl":"q","queueurl":"r"}`, `{"QueueUrl":"q","QueueUrl":"r"}`, `{"QueueUrl":null}`, ` { } `, `{"AttributeNames":["All","x"],"MessageAttributeNames":[]}`,
	} {
		for _, action := range []string{"SendMessage", "SendMessageBatch", "ReceiveMessage", "DeleteMessage", "DeleteMessageBatch"} {
			f.Add(slices.Index(names, action), []byte(params))
		}
	}
	f.Fuzz(func(t *testing.T, at int, body []byte) {
		if at < 0 || len(body) > 1<<16 {
			return
		}
		action := names[at%len(names)]
		read := false
		got, _ := requestOf(action, func(into any) error {
			read = new(quickReader).read(body, into)
			return nil
		})
		want, err := requestOf(action, func(into any) error {
			if !read {
				return nil // as it was
			}
			return json.Unmarshal(body, into)
		})
		if diff := gocmp.Diff(want, got, sameRequest...); diff != "" || err != nil {
			t.Fatalf("%s %q, read %t: %v\n%s", action, body, read, err, diff)
		}
	})
}

// TestTheUsualRequestsAreReadQuickly keeps the quick way from being left in silence.
func TestTheUsualRequestsAreReadQuickly(t *testing.T) {
	for action, params := range map[string]string{
		"SendMessage":             `{"QueueUrl":"q","MessageBody":"{\"a\":1}","DelaySeconds":3}`,
		"SendMessageBatch":        `{"QueueUrl":"q","Entries":[{"Id":"1","MessageBody":"é"}, {"Id":"2","MessageBody":"y","MessageGroupId":"g","MessageDeduplicationId":"d"}]}`,
		"ReceiveMessage":          `{"QueueUrl":"q","MaxNumberOfMessages":10,"WaitTimeSeconds":20,"VisibilityTimeout":30,"MessageSystemAttributeNames":["All"]}`,
		"DeleteMessage":           `{"QueueUrl":"q","ReceiptHandle":"r"}`,
		"DeleteMessageBatch":      `{"QueueUrl":"q","Entries":[{"Id":"1","ReceiptHandle":"r"}]}`,
		"ChangeMessageVisibility": `{"QueueUrl":"q","ReceiptHandle":"r","VisibilityTimeout":0}`,
	} {
		_, err := requestOf(action, func(into any) error {
			if !new(quickReader).read([]byte(params), into) {
				t.Errorf("%s %s was left to encoding/json", action, params)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// FuzzQuickText holds that a string is written as encoding/json writes it.
func FuzzQuickText(f *testing.F) {
	for _, s := range []string{"", "plain, and long enough for several words", "<&>\"\\\b\f\n\r\t\x00\x1f\x7f", "é\u2028\u2029\ufffd", "\xff\xc3", "12345678\xff", "1234567\x1f90123456<"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendText(nil, s); string(got) != string(want) {
			t.Fatalf("%q is written %s, want %s", s, got, want)
		}
	})
}

// TestQuickResultsAreThoseOfEncodingJSON fills every result that is written without reflection with anything.
func TestQuickResultsAreThoseOfEncodingJSON(t *testing.T) {
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.SampledFrom([]string{"<a>", "\"b\"", "c\xff"}))
	failures := rapid.Custom(func(t *rapid.T) []failedEntry {
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) failedEntry {
			return failedEntry{text.Draw(t, "id"), rapid.Bool().Draw(t, "fault"), text.Draw(t, "code"), text.Draw(t, "message")}
		}), 0, 3).Draw(t, "failed")
	})
	ids := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) batchID { return batchID{text.Draw(t, "id")} }), 0, 3)
	sent := rapid.Custom(func(t *rapid.T) sentResult {
		return sentResult{text.Draw(t, "id"), text.Draw(t, "message"), text.Draw(t, "body"), text.Draw(t, "attributes"), text.Draw(t, "system"), text.Draw(t, "sequence")}
	})
	received := rapid.Custom(func(t *rapid.T) receivedMessage {
		m := receivedMessage{text.Draw(t, "id"), text.Draw(t, "receipt"), text.Draw(t, "md5"), text.Draw(t, "body"), nil, text.Draw(t, "attributes md5"), nil}
		m.Attributes = rapid.MapOfN(text, text, 0, 3).Draw(t, "system")
		for name, value := range rapid.MapOfN(text, text, 0, 3).Draw(t, "attributes") {
			if m.MessageAttributes == nil {
				m.MessageAttributes = map[string]attributeValue{}
			}
			m.MessageAttributes[name] = wireValue(queue.Attribute{Type: value, Value: []byte(value)})
		}
		return m
	})
	rapid.Check(t, func(rt *rapid.T) {
		for _, result := range []quickResult{
			sent.Draw(rt, "sent"),
			sendBatchResult{rapid.SliceOfN(sent, 0, 3).Draw(rt, "successful"), failures.Draw(rt, "failed")},
			deletedResult{ids.Draw(rt, "deleted"), failures.Draw(rt, "failed")},
			changedResult{ids.Draw(rt, "changed"), failures.Draw(rt, "failed")},
			receiveMessageResult{rapid.SliceOfN(received, 0, 3).Draw(rt, "received")},
		} {
			want, err := json.Marshal(result)
			if err != nil {
				rt.Fatal(err)
			}
			if got := result.appendJSON(nil); string(got) != string(want) {
				rt.Fatalf("%s is written\n%s, want\n%s", reflect.TypeOf(result), got, want)
			}
		}
	})
}
