package sqsapi

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/sqsapi/internal/action"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// FuzzQuickRequest holds that what is read without reflection is what encoding/json reads, and that what is not leaves
// nothing behind.
func FuzzQuickRequest(f *testing.F) {
	names := slices.Sorted(maps.Keys(action.Table))
	for _, rule := range rules {
		for _, s := range rule.steps {
			f.Add(slices.Index(names, s.action), []byte(s.params))
		}
	}
	for _, params := range []string{
		`{"QueueUrl":"q","MessageBody":"a\"b\\c\/d\b\f\n\r\té"}`, `{"QueueUrl":"q","MessageBody":"` + "\xff" + `"}`,
		`{"QueueUrl":"q","Entries":[{"Id":"1","MessageBody":"x","DelaySeconds":-0},{"Id":"2","MessageBody":"y"} , {}]}`,
		`{"QueueUrl":"q","MaxNumberOfMessages":10,"WaitTimeSeconds":01}`, `{"QueueUrl":"q","WaitTimeSeconds":1e1}`,
		`{"QueueUrl":"q","queueurl":"r"}`, `{"QueueUrl":"q","QueueUrl":"r"}`, `{"QueueUrl":null}`, ` { } `,
		`{"AttributeNames":["All","x"],"MessageAttributeNames":[]}`,
	} {
		for _, action := range []string{"SendMessage", "SendMessageBatch", "ReceiveMessage", "DeleteMessage",
			"DeleteMessageBatch"} {
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
			read = new(protocol.Reader).Read(body, into)
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
			if !new(protocol.Reader).Read([]byte(params), into) {
				t.Errorf("%s %s was left to encoding/json", action, params)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
