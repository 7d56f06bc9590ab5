package main

import (
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/queue"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestQueueResultsAreAsDocumented compares what the commands print for programs with golden files, and looks for every
// field on the page that tells of them.
func TestQueueResultsAreAsDocumented(t *testing.T) {
	st := newStage(t)
	data := filepath.Join(st.dir, "data")
	s, err := queue.Open(queue.Options{Dir: data})
	if err != nil {
		t.Fatal(err)
	}
	create := func(name string, attributes map[string]string) {
		if err := s.CreateQueue(t.Context(), name, attributes, nil); err != nil {
			t.Fatal(err)
		}
	}
	create("dead.fifo", map[string]string{"FifoQueue": "true"})
	create("jobs.fifo", map[string]string{"FifoQueue": "true",
		"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":1}`})
	sent, err := s.Send(t.Context(), "jobs.fifo", []queue.Outgoing{{Body: "<hello>", GroupID: "g", DeduplicationID: "d",
		Trace: "Root=1",
		Attributes: map[string]queue.Attribute{"kind": {Type: "String", Value: []byte("x")},
			"thumb": {Type: "Binary", Value: []byte{0, 255}}}}})
	if err != nil {
		t.Fatal(err)
	}
	fail(app.LogsDir(data), sent[0].ID)
	for range 2 { // the second receive finds it received too often, and moves it
		if _, err := s.Receive(t.Context(), "jobs.fifo",
			queue.ReceiveOptions{Visibility: new(time.Duration)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	st.configure(t, "version: 1\ndata: data\nfleets: []\n")
	lines := filepath.Join(st.dir, "wrong")
	if err := os.WriteFile(lines, []byte("{\"body\":\"a\",\"group_id\":\"g\",\"deduplication_id\":\"1\"}\n{\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	page := read(t, "../../docs/queues.md")
	for _, row := range []struct{ name, command string }{
		{"peek", "peek dead.fifo"}, {"export", "export dead.fifo file.jsonl"},
		{"import", "import jobs.fifo wrong 2>/dev/null"},
		{"redrive", "redrive dead.fifo --rate 500"}, {"status", "redrive dead.fifo --status"},
	} {
		got, _ := st.run("muster queue " + row.command + " -f muster.yaml -o json")
		goldenJSON(t, row.name, got)
		documented(t, page, row.name, got)
	}
	documented(t, page, "a line of an export", []byte(read(t, filepath.Join(st.dir, "file.jsonl"))))
}

// fail keeps a failure of a message, with all that there is to say of one.
func fail(logs, message string) {
	status, again := 3, 30.0
	failures := joblog.OpenFailures(logs, nil)
	failures.Keep(message, joblog.Failure{
		At: time.Now().UTC(), Fleet: "jobs", Member: "jobs.1", Queue: "jobs.fifo", Message: message, Attempt: 1,
		Error:  "exit status 3",
		Status: &status, Signal: "killed", Output: "convert: not found", TookSeconds: 1.5, AgainSeconds: &again,
		DeadLetter: true,
	})
	failures.Close()
}

// goldenJSON compares a result with its golden file, but for ids and times.
func goldenJSON(t *testing.T, name string, got []byte) {
	t.Helper()
	for _, mask := range [][2]string{
		{`[0-9a-f]{8}-[0-9a-f-]{27}`, "ID"}, {`20\d\d-\d\d-\d\dT[0-9:.]+Z`, "TIME"},
		{`"age_seconds": [0-9.e-]+`, `"age_seconds": AGE`}, {`"\d{20}"`, `"NUMBER"`},
	} {
		got = regexp.MustCompile(mask[0]).ReplaceAll(got, []byte(mask[1]))
	}
	path := filepath.Join("testdata", "queue", name+".json")
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, got, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, path), string(got)); diff != "" {
		t.Errorf("%s (-want +got); if that is meant, run go test ./cmd/muster -run Documented -update:\n%s", path, diff)
	}
}

// documented looks for every field of a result on the page, in a row of a table.
func documented(t *testing.T, page, what string, result []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(result, &v); err != nil {
		t.Fatalf("%s: %v in %s", what, err, result)
	}
	for _, field := range slices.Sorted(maps.Keys(fieldsOf(v, map[string]bool{}))) {
		if !strings.Contains(page, "| `"+field+"` |") {
			t.Errorf("docs/queues.md has no row for the field %s of %s", field, what)
		}
	}
}

// fieldsOf collects the names of fields; those of attributes are the user's.
func fieldsOf(v any, found map[string]bool) map[string]bool {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			found[name] = true
			if all, ok := inner.(map[string]any); ok && name == "attributes" {
				for _, one := range all {
					fieldsOf(one, found)
				}
				continue
			}
			fieldsOf(inner, found)
		}
	case []any:
		for _, one := range v {
			fieldsOf(one, found)
		}
	}
	return found
}
