package worker_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
)

// playLines is a program that speaks JSON lines. Its first argument is how it starts, its second a file that gets a
// line for each start and each message. The body of a message says what to do with it.
func playLines(args []string) int {
	log, err := os.OpenFile(args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	fmt.Fprintln(log, "start")
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	lines.Scan()
	switch args[0] {
	case "fails":
		fmt.Fprintln(os.Stderr, "no module named torch")
		return 3
	case "silent":
		select {}
	case "other-protocol":
		fmt.Println(`{"type":"ready","protocol":2}`)
	case "stubborn": // does not end with its input
		fmt.Println(`{"type":"ready","protocol":1}`)
		select {}
	default:
		fmt.Println(`{"type":"ready","protocol":1,"of the future":[]}`)
	}
	for lines.Scan() {
		var request struct {
			Messages []struct {
				Delivery, ID, Body string
				Attempt            int
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			return 1
		}
		for _, m := range request.Messages {
			fmt.Fprintln(log, m.ID, m.Attempt)
			if status := misbehave(m.Body, m.Delivery, m.Attempt); status != 0 {
				return status
			}
		}
	}
	return 0
}

// misbehave answers a message as its body says, and returns the status to exit with if it is not 0.
func misbehave(body, delivery string, attempt int) int {
	what, once := strings.CutSuffix(body, " once")
	if once && attempt > 1 {
		what = "ok"
	}
	answer := fmt.Sprintf(`{"type":"done","delivery":%q,"ok":true}`+"\n", delivery)
	switch what {
	case "fail":
		answer = fmt.Sprintf(`{"type":"done","delivery":%q,"ok":false,"error":"bad\u001b pixel"}`+"\n", delivery)
	case "dumb":
		answer = fmt.Sprintf(`{"type":"done","delivery":%q,"ok":false}`+"\n", delivery)
	case "die":
		return 9
	case "garbage":
		answer = "loading " + body + " secret\n"
	case "other":
		answer = `{"type":"progress"}` + "\n"
	case "half":
		answer = fmt.Sprintf(`{"type":"done","delivery":%q}`+"\n", delivery)
	case "unknown":
		answer = `{"type":"done","delivery":"nonesuch","ok":true}` + "\n"
	case "twice":
		answer += answer
	case "ready":
		answer = `{"type":"ready","protocol":1}` + "\n"
	case "flood":
		answer = strings.Repeat("x", 1<<20)
	case "deaf":
		answer = ""
	case "close":
		os.Stdout.Close()
		select {}
	}
	fmt.Print(answer)
	return 0
}

// speakers starts programs that play as told and returns the file that they write to.
func speakers(t *testing.T, start string, o execution.LinesOptions) (*execution.Lines, string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	o.Command.Argv = plays("play-lines", start, log).Argv
	lines, err := execution.StartLines(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lines.Close)
	return lines, log
}

// logged returns what the programs wrote, line by line.
func logged(t *testing.T, log string) []string {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func TestLinesSurvivesEveryFaultOfAProgram(t *testing.T) {
	tests := []struct {
		body, says string
		restarts   bool
	}{
		{"ok", "", false},
		{"fail", `the program reported a failure: "bad\x1b pixel"`, false},
		{"dumb", "the program reported a failure without a reason", false},
		{"die", "exited with status 9", true},
		{"garbage", "it wrote a line of 22 bytes that is no answer in JSON", true},
		{"other", `it wrote an answer of the type "progress"`, true},
		{"half", "it wrote an answer without delivery or ok", true},
		{"unknown", `it answered the delivery "nonesuch", which is unknown or was answered before`, true},
		{"ready", "it said twice that it is ready", true},
		{"flood", "it wrote a line of more than 399660 bytes", true},
		{"close", "it closed its standard output", true},
	}
	for _, test := range tests {
		t.Run(test.body, func(t *testing.T) {
			t.Parallel()
			lines, log := speakers(t, "well", execution.LinesOptions{})
			err := lines.Do(t.Context(), worker.Message{ID: "first", Body: test.body, Attempt: 1})
			switch {
			case test.says == "" && err != nil:
				t.Errorf("got %v", err)
			case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)):
				t.Errorf("got %v, want an error that says %s", err, test.says)
			case err != nil && strings.Contains(err.Error(), "secret"):
				t.Errorf("the error shows what the program wrote: %v", err)
			}
			if err := lines.Do(t.Context(), worker.Message{ID: "second", Body: "ok", Attempt: 1}); err != nil {
				t.Errorf("the next message: %v", err)
			}
			want := []string{"start", "first 1", "second 1"}
			if test.restarts {
				want = []string{"start", "first 1", "start", "second 1"}
			}
			if got := logged(t, log); !slices.Equal(got, want) {
				t.Errorf("the programs saw %q, want %q", got, want)
			}
		})
	}
}

// TestLinesBlamesWhoAnswersTwice shows that a second answer cannot be taken for that of a later delivery.
func TestLinesBlamesWhoAnswersTwice(t *testing.T) {
	lines, log := speakers(t, "well", execution.LinesOptions{})
	if err := lines.Do(t.Context(), worker.Message{ID: "first", Body: "twice", Attempt: 1}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return slices.Equal(logged(t, log), []string{"start", "first 1", "start"}) })
	if err := lines.Do(t.Context(), worker.Message{ID: "second", Body: "ok", Attempt: 1}); err != nil {
		t.Errorf("the next message: %v", err)
	}
}

// waitFor waits until is tells so.
func waitFor(t *testing.T, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); !is(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("it never came so far")
		}
	}
}

func TestLinesEndsAProgramThatNeverAnswersAtTheTimeLimit(t *testing.T) {
	lines, _ := speakers(t, "well", execution.LinesOptions{})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, worker.ErrTimeLimit)
	defer cancel()
	if err := lines.Do(ctx, worker.Message{Body: "deaf"}); !errors.Is(err, worker.ErrTimeLimit) {
		t.Errorf("got %v", err)
	}
	if err := lines.Do(t.Context(), worker.Message{Body: "ok"}); err != nil {
		t.Errorf("the next message: %v", err)
	}
}

func TestLinesSaysWhyAProgramDoesNotStart(t *testing.T) {
	tests := []struct {
		start, says string
		limit       time.Duration
	}{
		{"fails", `exited with status 3; its last output is "no module named torch"`, time.Minute},
		{"silent", "it did not answer the hello within 200ms", 200 * time.Millisecond},
		{"other-protocol", "it is ready for protocol 2, this worker speaks 1", time.Minute},
	}
	for _, test := range tests {
		t.Run(test.start, func(t *testing.T) {
			_, err := execution.StartLines(t.Context(), execution.LinesOptions{
				Command: plays("play-lines", test.start, filepath.Join(t.TempDir(), "log")), StartLimit: test.limit,
			})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want an error that says %s", err, test.says)
			}
		})
	}
}

func TestLinesBringsABatchAndTakesEachAnswer(t *testing.T) {
	lines, log := speakers(t, "well", execution.LinesOptions{Batch: 4})
	batch := []worker.Message{{ID: "a", Body: "ok"}, {ID: "b", Body: "fail"}, {ID: "c", Body: "ok"},
		{ID: "d", Body: "die"}}
	errs := lines.DoBatch(t.Context(), batch)
	if errs[0] != nil || errs[1] == nil || errs[2] != nil || errs[3] == nil ||
		!strings.Contains(errs[3].Error(), "status 9") {
		t.Errorf("got %v", errs)
	}
	if got := logged(t, log); !slices.Equal(got[:5], []string{"start", "a 0", "b 0", "c 0", "d 0"}) {
		t.Errorf("the program saw %q", got)
	}
}

func TestLinesPassesTheBodyByteForByte(t *testing.T) {
	file := filepath.Join(t.TempDir(), "body")
	lines, err := execution.StartLines(t.Context(), execution.LinesOptions{Command: plays("play-lines-copy", file)})
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	for name, body := range map[string]string{
		"quotes, shell and newlines": "$(reboot) `x` \"' \\ \n\r\n -rf <&>", "nothing": "", "NUL": "a\x00b",
		"separators": "\u2028\u2029\ufeff", "no UTF-8": "\xff\xfe\x80", "a megabyte": strings.Repeat("é", 512<<10),
	} {
		if err := lines.Do(t.Context(), worker.Message{Body: body}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(file); string(got) != body {
			t.Errorf("%s: %d bytes came as %d others", name, len(body), len(got))
		}
	}
}

func TestLinesShowsAProgramOnlyTheAllowedEnvironment(t *testing.T) {
	t.Setenv("MUSTER_TOKEN", "secret")
	t.Setenv("GIVEN", "yes")
	file := filepath.Join(t.TempDir(), "environment")
	lines, err := execution.StartLines(t.Context(), execution.LinesOptions{Command: execution.Command{
		Argv: []string{"/bin/sh", "-c", `env >"$0"; echo '{"type":"ready","protocol":1}'; exec cat >/dev/null`, file},
		Env:  []string{"GIVEN"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), "secret") || !strings.Contains(string(text), "GIVEN=yes\n") ||
		!strings.Contains(string(text), "MUSTER_SLOT=0\n") {
		t.Errorf("the program saw %v\n%s", err, text)
	}
}

// playLinesCopy writes each body to a file before it answers.
func playLinesCopy(file string) int {
	requests, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var r struct {
			Type     string
			Messages []struct {
				Delivery string
				Body     *string
				Base64   []byte `json:"body_base64"`
			}
		}
		if requests.Decode(&r) != nil {
			return 0
		}
		if r.Type == "hello" {
			_ = answers.Encode(map[string]any{"type": "ready", "protocol": 1})
			continue
		}
		m := r.Messages[0]
		body := m.Base64
		if m.Body != nil {
			body = []byte(*m.Body)
		}
		err := os.WriteFile(file, body, 0o600)
		_ = answers.Encode(map[string]any{"type": "done", "delivery": m.Delivery, "ok": err == nil})
	}
}

// TestRunWithFaultyPrograms holds what matters in the end: each message is done, each attempt is counted, and the
// worker goes on.
func TestRunWithFaultyPrograms(t *testing.T) {
	bodies := []string{"die once", "garbage once", "unknown once", "twice", "flood once", "deaf once", "fail once",
		"close once", "ok"}
	q := newFakeQueue()
	for i, body := range bodies {
		q.messages = append(q.messages,
			&fakeMessage{Message: worker.Message{ID: fmt.Sprint(i), Queue: "q", Body: body}})
	}
	var logs bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&syncedWriter{to: &logs}, nil))
	lines, log := speakers(t, "well", execution.LinesOptions{Slots: 2, Command: execution.Command{Logger: logger}})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- worker.Run(ctx, worker.Options{
			Queue: q, DoBatch: lines.DoBatch, Readiness: lines, Slots: 2, RetryBase: time.Millisecond,
			TimeLimit: 3 * time.Second, Logger: logger, // a busy machine takes a while to begin
		})
	}()
	waitFor(t, func() bool { deleted, _ := q.state(); return len(deleted) == len(bodies) })
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	deleted, _ := q.state()
	slices.Sort(deleted)
	if len(slices.Compact(deleted)) != len(bodies) {
		t.Errorf("deleted %v", deleted)
	}
	if strings.Contains(logs.String(), "secret") {
		t.Errorf("a body was logged:\n%s", &logs)
	}
	attempts := map[string]int{}
	for _, line := range logged(t, log) {
		attempts[line]++
	}
	unread := 0
	for i, body := range bodies {
		first, again := attempts[fmt.Sprint(i, " 1")], attempts[fmt.Sprint(i, " 2")]
		if first == 0 {
			unread++
		}
		if first > 1 || again > 1 || first+again == 0 || strings.HasSuffix(body, " once") && again == 0 {
			t.Errorf("%q was begun %d times first and %d times again", body, first, again)
		}
	}
	// Who answers twice may have got the next message before its second answer was read: that one was never looked at.
	if unread > 1 {
		t.Errorf("the first attempts at %d messages were lost, and only one program answers twice", unread)
	}
}

// syncedWriter lets several goroutines write.
type syncedWriter struct {
	mu sync.Mutex
	to *bytes.Buffer
}

func (w *syncedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(b)
}

// TestRunReceivesNothingWhileNoProgramIsReady holds that a program which cannot start costs no message an attempt.
func TestRunReceivesNothingWhileNoProgramIsReady(t *testing.T) {
	q := newFakeQueue("a")
	gate := &gate{changed: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	worked := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- worker.Run(ctx, worker.Options{Queue: q, Readiness: gate, IdleStop: 50 * time.Millisecond,
			Do: func(context.Context, worker.Message) error {
				close(worked)
				return nil
			}})
	}()
	select {
	case <-worked:
		t.Fatal("it worked although nothing was ready")
	case err := <-done:
		t.Fatalf("it left as idle although it never looked: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if c := q.calls(); c.receives != 0 {
		t.Errorf("it received %d times", c.receives)
	}
	gate.open()
	<-worked
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestRunDoesNotStopAsIdleWhileItsProgramIsDown has the program go away in the midst of things.
func TestRunDoesNotStopAsIdleWhileItsProgramIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, gate := newFakeQueue("a"), &gate{changed: make(chan struct{}, 1)}
		gate.set(1)
		r := run(t, worker.Options{Queue: q, Readiness: gate, IdleStop: 20 * time.Second, Do: takes(time.Second)})
		after(5 * time.Second)
		gate.set(0)
		after(3 * time.Second) // the receive call that was under way ends
		before := q.calls().receives
		q.send("b")
		after(5 * time.Minute)
		if got := q.calls().receives; got > before+1 || len(r.done) > 0 {
			t.Fatalf("it received %d times more, and has left: %v", got-before, len(r.done) > 0)
		}
		gate.set(1)
		after(15 * time.Second)
		if deleted, _ := q.state(); len(deleted) != 2 || len(r.done) > 0 {
			t.Errorf("deleted %v, has left: %v", deleted, len(r.done) > 0)
		}
		r.left(30 * time.Second)
	})
}

// gate is work that is not ready until it is opened.
type gate struct {
	mu      sync.Mutex
	ready   int
	changed chan struct{}
}

func (g *gate) open() { g.set(1) }

func (g *gate) set(ready int) {
	g.mu.Lock()
	g.ready = ready
	g.mu.Unlock()
	g.changed <- struct{}{}
}

func (g *gate) Ready() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ready
}

func (g *gate) Changed() <-chan struct{} { return g.changed }

func TestClosingLinesEndsAProgramThatDoesNotWantTo(t *testing.T) {
	t.Parallel()
	lines, _ := speakers(t, "stubborn", execution.LinesOptions{})
	begun := time.Now()
	lines.Close()
	if took := time.Since(begun); took < 4*time.Second || took > 12*time.Second {
		t.Errorf("it took %s, want the five seconds of patience", took)
	}
}
