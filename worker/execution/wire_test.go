package execution

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/protocol"
)

// TestTheProtocolPageNamesEveryField keeps docs/worker-protocol.md complete.
func TestTheProtocolPageNamesEveryField(t *testing.T) {
	page, err := os.ReadFile("../../docs/worker-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{wireHello{}, wireWork{}, wireMessage{}, wireAttribute{}, wireAnswer{}, protocol.Report{},
		series.Durations{}, series.Bucket{}, protocol.Directive{}} {
		kind := reflect.TypeOf(v)
		for i := range kind.NumField() {
			name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
			if !strings.Contains(string(page), "`"+name+"`") && name != "type" {
				t.Errorf("%s has the field %s, which docs/worker-protocol.md does not name", kind, name)
			}
		}
	}
	for _, state := range []protocol.WorkerState{protocol.Starting, protocol.Receiving, protocol.Draining,
		protocol.Idle, protocol.Leaving} {
		if !strings.Contains(string(page), "| `"+string(state)+"` |") {
			t.Errorf("docs/worker-protocol.md does not explain the state %s", state)
		}
	}
	c := Conformance{Samples: []string{""}, TimeLimit: 50 * time.Millisecond}
	c.OfLines(t.Context(), LinesOptions{Command: Command{Argv: []string{"/bin/sh", "-c",
		`echo '{"type":"ready","protocol":1}'; exec cat >/dev/null`}}, Batch: 2})
	for _, f := range c.Findings() {
		if !strings.Contains(string(page), "`"+f.Rule+"`") {
			t.Errorf("docs/worker-protocol.md does not explain the rule %s", f.Rule)
		}
	}
}

// TestAWorkLineIsOneLine holds that nothing in a message can end its line or become a field, and that all of it
// arrives.
func TestAWorkLineIsOneLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) })
		m := worker.Message{ID: "id", Body: rapid.OneOf(rapid.String(), text).Draw(t, "body"),
			Attributes: map[string]worker.Attribute{
				rapid.String().Draw(t, "name"): {Type: "String", Text: rapid.String().Draw(t, "text")},
			}}
		line, err := wireWorkOf(t.Context(), []worker.Message{m}, []string{"7"})
		if err != nil || strings.Count(string(line), "\n") != 1 || line[len(line)-1] != '\n' {
			t.Fatalf("wrote %q, %v", line, err)
		}
		var back wireWork
		if err := json.Unmarshal(line, &back); err != nil || len(back.Messages) != 1 {
			t.Fatalf("read %+v, %v", back, err)
		}
		body := string(back.Messages[0].Base64)
		if back.Messages[0].Body != nil {
			body = *back.Messages[0].Body
		}
		if body != m.Body || back.Messages[0].Delivery != "7" || len(back.Messages[0].Attributes) != 1 {
			t.Errorf("%+v came as %+v", m, back.Messages[0])
		}
	})
}

// FuzzAnswer holds that whatever a program writes is an answer in order or an error without its text.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"type":"ready","protocol":1}`, `{"type":"done","delivery":"1","ok":true}`,
		`{"type":"done","delivery":"1","ok":false,"error":"no"}`,
		`{"type":"done","delivery":"1","ok":null}`, `{"type":"secret"}`, `secret`, ``, `[]`, `null`,
		`{"type":"done","delivery":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		a, err := parseAnswer(line)
		switch {
		case err != nil && len(err.Error()) > 1000:
			t.Errorf("an error of %d bytes", len(err.Error()))
		case err != nil:
		case a.Type == typeReady && a.Protocol == ProtocolVersion:
		case a.Type == typeDone && a.Delivery != "" && a.OK != nil:
			if said := a.result(); (said == nil) != *a.OK || said != nil && !errors.Is(said, errSaid) {
				t.Errorf("%q is the result %v", line, said)
			}
		default:
			t.Errorf("%q is taken for the answer %+v", line, a)
		}
	})
}
