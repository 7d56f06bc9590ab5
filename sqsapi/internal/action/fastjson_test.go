package action

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// TestQuickResultsAreThoseOfEncodingJSON fills every result that is written without reflection with anything.
func TestQuickResultsAreThoseOfEncodingJSON(t *testing.T) {
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.SampledFrom([]string{"<a>", "\"b\"", "c\xff"}))
	failures := rapid.Custom(func(t *rapid.T) []failedEntry {
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) failedEntry {
			return failedEntry{text.Draw(t, "id"), rapid.Bool().Draw(t, "fault"), text.Draw(t, "code"),
				text.Draw(t, "message")}
		}), 0, 3).Draw(t, "failed")
	})
	ids := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) batchID { return batchID{text.Draw(t, "id")} }), 0, 3)
	sent := rapid.Custom(func(t *rapid.T) sentResult {
		return sentResult{text.Draw(t, "id"), text.Draw(t, "message"), text.Draw(t, "body"), text.Draw(t, "attributes"),
			text.Draw(t, "system"), text.Draw(t, "sequence")}
	})
	received := rapid.Custom(func(t *rapid.T) receivedMessage {
		m := receivedMessage{text.Draw(t, "id"), text.Draw(t, "receipt"), text.Draw(t, "md5"), text.Draw(t, "body"),
			nil, text.Draw(t, "attributes md5"), nil}
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
		for _, result := range []protocol.FastResult{
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
			if got := result.AppendJSON(nil); string(got) != string(want) {
				rt.Fatalf("%s is written\n%s, want\n%s", reflect.TypeOf(result), got, want)
			}
		}
	})
}
