package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fakeQueues takes what is loaded, until it is told to fail.
type fakeQueues struct {
	batches []string
	// fail is asked before each batch, which is counted from 1.
	fail func(batch int) error
	// lines are exported, of which the export says there are said.
	lines string
	said  int
}

func (f *fakeQueues) peek(context.Context, string, server.PeekQuery) (server.PeekAnswer, error) {
	return server.PeekAnswer{}, errors.New("not asked for")
}

func (f *fakeQueues) export(_ context.Context, _ string, to io.Writer, total func(int)) (int, error) {
	total(f.said)
	_, err := io.WriteString(to, f.lines)
	return f.said, err
}

func (f *fakeQueues) load(_ context.Context, _ string, lines []byte) (queue.Imported, error) {
	if f.fail != nil {
		if err := f.fail(len(f.batches) + 1); err != nil {
			return queue.Imported{}, err
		}
	}
	f.batches = append(f.batches, string(lines))
	return queue.Imported{Sent: bytes.Count(lines, []byte{'\n'})}, nil
}

func importOf(access queueAccess, from int) *importing {
	return &importing{access: access, result: importResult{Queue: "q", File: "f", NextLine: 1}, from: from, line: 1, shown: newProgress(io.Discard, "imported", 0)}
}

func numbered(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestAnImportTakesEveryLineOnceAndInOrder(t *testing.T) {
	for _, row := range []struct {
		name, text string
		from       int
		want       []int // lines of the batches
	}{
		{"nothing", "", 1, nil},
		{"one line without an end", "line 1", 1, []int{1}},
		{"a whole batch", numbered(500), 1, []int{500}},
		{"one more", numbered(501), 1, []int{500, 1}},
		{"from a line", numbered(1200), 700, []int{500, 1}},
		{"from the first beyond the end", numbered(3), 4, nil},
		{"long lines", strings.Repeat(strings.Repeat("x", 600_000)+"\n", 3), 1, []int{1, 1, 1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := &fakeQueues{}
			in := importOf(f, row.from)
			if err := in.run(t.Context(), strings.NewReader(row.text)); err != nil {
				t.Fatal(err)
			}
			var sizes []int
			for _, b := range f.batches {
				sizes = append(sizes, strings.Count(b, "\n"))
			}
			wanted := ""
			if lines := slices.Collect(strings.Lines(row.text)); row.from <= len(lines) {
				wanted = strings.Join(lines[row.from-1:], "")
			}
			if got := strings.Join(f.batches, ""); !slices.Equal(sizes, row.want) || strings.TrimSuffix(got, "\n") != strings.TrimSuffix(wanted, "\n") {
				t.Errorf("loaded batches of %d lines, want %d; the text is right: %t", sizes, row.want, got == wanted)
			}
			if want := strings.Count(wanted, "\n"); in.result.Imported != want && row.text != "line 1" {
				t.Errorf("imported %d, want %d", in.result.Imported, want)
			}
		})
	}
}

func TestAnImportThatFailsSaysWhatWasTakenIn(t *testing.T) {
	wrong := &queue.LineError{Line: 7, Err: errors.New("found no body")}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, row := range []struct {
		name string
		ctx  context.Context
		text io.Reader
		fail func(int) error
		want importResult
		says []string
	}{
		{"a line of the first batch", t.Context(), strings.NewReader(numbered(600)), func(int) error { return wrong },
			importResult{NextLine: 7}, []string{"f:7: found no body", "lines 1 to 6 were taken in", "--from-line 7"}},
		{"a line of the second batch", t.Context(), strings.NewReader(numbered(600)), only(2, wrong),
			importResult{Imported: 500, NextLine: 507}, []string{"f:507: found no body", "--from-line 507"}},
		{"nobody knows", t.Context(), strings.NewReader(numbered(600)), only(2, errors.New("connection lost")),
			importResult{Imported: 500, NextLine: 501, Uncertain: 100}, []string{"connection lost", "lines 1 to 500 were taken in", "nobody knows whether lines 501 to 600 were"}},
		{"nothing", t.Context(), strings.NewReader(numbered(2)), func(int) error { return &queue.LineError{Line: 1, Err: errNotRunning} },
			importResult{NextLine: 1}, []string{"f:1: muster up is not running", "nothing was taken in"}},
		{"a line that is too long", t.Context(), strings.NewReader("a\n" + strings.Repeat("x", queue.MaxImportLine+1)), nil,
			importResult{Imported: 1, NextLine: 2}, []string{"f:2: it is longer than", "--from-line 2"}},
		{"a file that cannot be read on", t.Context(), io.MultiReader(strings.NewReader("a\nb\n"), iotest.ErrReader(errors.New("disk gone"))), nil,
			importResult{Imported: 2, NextLine: 3}, []string{"f:3: disk gone", "--from-line 3"}},
		{"an interrupt", ended, strings.NewReader(numbered(2)), nil,
			importResult{NextLine: 1}, []string{"it was interrupted", "nothing was taken in"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			in := importOf(&fakeQueues{fail: row.fail}, 1)
			err := in.run(row.ctx, row.text)
			if (err == nil) != (row.says == nil) {
				t.Fatalf("error %v", err)
			}
			for _, text := range row.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q does not say %q", err, text)
				}
			}
			row.want.Queue, row.want.File = "q", "f"
			if in.result != row.want {
				t.Errorf("found %+v, want %+v", in.result, row.want)
			}
		})
	}
}

func only(batch int, err error) func(int) error {
	return func(n int) error {
		if n == batch {
			return err
		}
		return nil
	}
}

func TestAnExportThatIsNotWholeIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.jsonl")
	if err := os.WriteFile(path, []byte("the last one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for said, whole := range map[int]bool{3: false, 2: true} {
		o := &openedQueues{queueAccess: &fakeQueues{lines: "a\nb\n", said: said}}
		err := writeWhole(path, func(to io.Writer) error {
			_, err := exportAll(t.Context(), o, "q", &lineCounter{to: to, shown: newProgress(io.Discard, "exported", 0)})
			return err
		})
		text, _ := os.ReadFile(path)
		if whole != (err == nil) || whole != (string(text) == "a\nb\n") {
			t.Errorf("said to be %d lines: the file holds %q, %v", said, text, err)
		}
		if !whole && !strings.Contains(err.Error(), "2 lines arrived of 3") {
			t.Errorf("the error says %v", err)
		}
		if err := os.WriteFile(path, []byte("the last one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("the directory holds %v, %v", left, err)
	}
}

func TestAnExportReplacesTheFileThatALinkNames(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.gz"), filepath.Join(dir, "link.gz")
	if err := errors.Join(os.WriteFile(real, nil, 0o600), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	if err := writeWhole(link, func(w io.Writer) error { _, err := io.WriteString(w, "a\n"); return err }); err != nil {
		t.Fatal(err)
	}
	stat, err := os.Lstat(link)
	if err != nil || stat.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is %v, %v", stat.Mode(), err)
	}
	f, err := os.Open(real)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); string(text) != "a\n" || err != nil {
		t.Errorf("it holds %q, %v", text, err)
	}
}

func TestWhatIsShownCommandsNoTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain é 日": "plain é 日", "a\x1b[31mb": `a\x1b[31mb`, "a\u009b31mb": `a\u009b31mb`, "a\r\nb\tc": `a\r\nb\tc`, "\u202e": `\u202e`, "it's \"it\" \\": "it's \"it\" \\",
	} {
		if got := escaped(text, ""); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	if got := escaped("a\r\nb\tc", "\n\t"); got != "a\\r\nb\tc" {
		t.Errorf("with line ends kept: %q", got)
	}
	if got, cut := clipped("日本\n語", 3); got != `日本\n` || !cut {
		t.Errorf("clipped to %q, %t", got, cut)
	}
}

func TestOnlyWhatIsThereIsSuggested(t *testing.T) {
	var many []string
	for i := range 25 {
		many = append(many, fmt.Sprintf("queue-%d", i))
	}
	for _, row := range []struct {
		name  string
		names []string
		want  string
	}{
		{"jbos", []string{"dead", "jobs"}, `there is no queue "jbos"; there is dead, jobs; did you mean "jobs"?`},
		{"jobs", nil, `there is no queue "jobs"; there is none yet`},
		{"other", many, "and 5 more"},
	} {
		if err := noSuchQueue(row.name, row.names); !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v, want %s", err, row.want)
		}
	}
}

// TestQueueResultsAreAsDocumented compares what the commands print for programs with golden files, and looks for every field
// on the page that tells of them.
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
	create("jobs.fifo", map[string]string{"FifoQueue": "true", "RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":1}`})
	sent, err := s.Send(t.Context(), "jobs.fifo", []queue.Outgoing{{Body: "<hello>", GroupID: "g", DeduplicationID: "d", Trace: "Root=1",
		Attributes: map[string]queue.Attribute{"kind": {Type: "String", Value: []byte("x")}, "thumb": {Type: "Binary", Value: []byte{0, 255}}}}})
	if err != nil {
		t.Fatal(err)
	}
	fail(app.LogsDir(data), sent[0].ID)
	for range 2 { // the second receive finds it received too often, and moves it
		if _, err := s.Receive(t.Context(), "jobs.fifo", queue.ReceiveOptions{Visibility: new(time.Duration)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	st.configure(t, "version: 1\ndata: data\nfleets: []\n")
	lines := filepath.Join(st.dir, "wrong")
	if err := os.WriteFile(lines, []byte("{\"body\":\"a\",\"group_id\":\"g\",\"deduplication_id\":\"1\"}\n{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	page := read(t, "../../docs/queues.md")
	for _, row := range []struct{ name, command string }{
		{"peek", "peek dead.fifo"}, {"export", "export dead.fifo file.jsonl"}, {"import", "import jobs.fifo wrong 2>/dev/null"},
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
		At: time.Now().UTC(), Fleet: "jobs", Member: "jobs.1", Queue: "jobs.fifo", Message: message, Attempt: 1, Error: "exit status 3",
		Status: &status, Signal: "killed", Output: "convert: not found", TookSeconds: 1.5, AgainSeconds: &again, DeadLetter: true,
	})
	failures.Close()
}

// goldenJSON compares a result with its golden file, but for ids and times.
func goldenJSON(t *testing.T, name string, got []byte) {
	t.Helper()
	for _, mask := range [][2]string{
		{`[0-9a-f]{8}-[0-9a-f-]{27}`, "ID"}, {`20\d\d-\d\d-\d\dT[0-9:.]+Z`, "TIME"}, {`"age_seconds": [0-9.e-]+`, `"age_seconds": AGE`}, {`"\d{20}"`, `"NUMBER"`},
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
