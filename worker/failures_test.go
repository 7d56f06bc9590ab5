package worker_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
)

// witness remembers what it is told of failures.
type witness struct {
	mu   sync.Mutex
	told []string
}

func (w *witness) Failed(f worker.Failure) {
	text := fmt.Sprintf("%s/%d after %s: %v", f.Message.ID, f.Message.Attempt, f.Took, f.Err)
	switch {
	case f.Lost:
		text += ", lost"
	case f.DeadLetter:
		text += ", dead as " + f.DeadLetterID
	default:
		text += ", again in " + f.Again.String()
	}
	w.tell(text)
}

func (w *witness) Settled(m worker.Message) { w.tell(m.ID + " settled") }

func (w *witness) tell(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, text)
}

func (w *witness) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.told)
}

// namingGrave keeps dead letters under names of its own.
type namingGrave struct{ grave }

func (g *namingGrave) KeepAs(ctx context.Context, m worker.Message) (string, error) {
	return "dead-" + m.ID, g.Keep(ctx, m)
}

func TestFailedAttemptsAreTold(t *testing.T) {
	no := errors.New("no")
	for _, row := range []struct {
		name  string
		o     worker.Options
		work  func(ctx context.Context, m worker.Message) error
		lasts time.Duration
		want  []string
	}{
		{"a success at once is not told", worker.Options{}, takes(time.Second), time.Minute, nil},
		{"failures, and that it succeeded in the end", worker.Options{RetryBase: 10 * time.Second},
			func(_ context.Context, m worker.Message) error {
				if m.Attempt < 3 {
					return no
				}
				return nil
			}, time.Minute, []string{"m/1 after 0s: no, again in 10s", "m/2 after 0s: no, again in 20s", "m settled"}},
		{"the one after which it is a dead letter", worker.Options{RetryBase: time.Second, MaxAttempts: 2,
			DeadLetters: &namingGrave{}},
			func(context.Context, worker.Message) error { return no }, time.Minute,
			[]string{"m/1 after 0s: no, again in 1s", "m/2 after 0s: no, dead as dead-m"}},
		{"where dead letters do not tell their ids", worker.Options{MaxAttempts: 1, DeadLetters: &grave{}},
			func(context.Context, worker.Message) error { return no }, time.Minute,
			[]string{"m/1 after 0s: no, dead as "}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &witness{}
				row.o.Queue, row.o.Do, row.o.Failures = newFakeQueue("m"), row.work, w
				r := run(t, row.o)
				after(row.lasts)
				if got := w.all(); !slices.Equal(got, row.want) {
					t.Errorf("told\n%q, want\n%q", got, row.want)
				}
				if logs := r.logs.String(); strings.Contains(logs, "level=WARN") ||
					strings.Contains(logs, "level=ERROR") {
					t.Errorf("it was logged as well:\n%s", logs)
				}
				r.told()
				r.left(time.Minute)
			})
		})
	}
}

func TestALostLeaseIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, w := newFakeQueue("m"), &witness{}
		q.changeFault = func(int) error { return worker.ErrGone }
		r := run(t, worker.Options{Queue: q, Failures: w, Do: takes(time.Hour)})
		after(16 * time.Second)
		if got, want := w.all(), []string{"m/1 after 15s: the lease on the message is lost, lost"}; !slices.Equal(got,
			want) {
			t.Errorf("told %q, want %q", got, want)
		}
		r.told()
		r.left(time.Minute)
	})
}

// printing collects what a command prints, sorted by streams.
type printing struct {
	mu    sync.Mutex
	lines []string
}

func (p *printing) take(l execution.Printed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, fmt.Sprintf("%s %s: %s", l.Message, l.Stream, l.Text))
}

func (p *printing) sorted() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(slices.Values(p.lines))
}

func TestWhatACommandPrintsIsHandedOnByTheLine(t *testing.T) {
	p := &printing{}
	c := execution.Command{Argv: []string{"/bin/sh", "-c",
		`printf 'one\r\ntwo'; printf '\nbad \377 byte\n\033[31mred\n' >&2; exit 3`}, Print: p.take}
	if err := c.Run(t.Context(), worker.Message{ID: "m"}); err == nil {
		t.Error("it succeeded")
	}
	want := []string{"m stderr: ", "m stderr: \x1b[31mred", "m stderr: bad \uFFFD byte", "m stdout: one",
		"m stdout: two"}
	if got := p.sorted(); !slices.Equal(got, want) {
		t.Errorf("handed on %q, want %q", got, want)
	}
}

func TestWhatAProgramPrintsBelongsToItsMessage(t *testing.T) {
	p := &printing{}
	program := `read hello; echo '{"type":"ready","protocol":1}'
while read line; do echo "working $FLAVOUR" >&2; sleep 0.2; d=$(echo "$line" | sed 's/.*"delivery":"\([0-9]*\)".*/\1/'); echo "{\"type\":\"done\",\"delivery\":\"$d\",\"ok\":true}"; done`
	lines, err := execution.StartLines(t.Context(), execution.LinesOptions{
		Command: execution.Command{Argv: []string{"/bin/sh", "-c", program}, Set: []string{"FLAVOUR=sour"},
			Print: p.take},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		if err := lines.Do(t.Context(), worker.Message{ID: id, Body: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	lines.Close()
	if got, want := p.sorted(), []string{"a stderr: working sour", "b stderr: working sour"}; !slices.Equal(got, want) {
		t.Errorf("handed on %q, want %q", got, want)
	}
}

func TestAnAnswerThatIsNoSuccessIsKept(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no disk "+strings.Repeat("x", 10_000), http.StatusInternalServerError)
	}))
	defer server.Close()
	e, err := execution.NewEndpoint(t.Context(), execution.EndpointOptions{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	err = e.Do(t.Context(), worker.Message{ID: "m", Body: "secret"})
	answer, ok := errors.AsType[*execution.AnswerError](err)
	if !ok || answer.Status != 500 || !strings.HasPrefix(answer.Body, "no disk") || len(answer.Body) != 2<<10 ||
		strings.Contains(err.Error(), "no disk") {
		t.Errorf("got %v with a body of %d bytes, want the beginning of the answer beside the text", err,
			len(answer.Body))
	}
}
