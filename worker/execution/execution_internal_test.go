package execution

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/worker"
)

func TestCommandThatTakesTimeToEndLosesItWithTheLease(t *testing.T) {
	lease, lose := context.WithCancelCause(t.Context())
	ctx, stop := context.WithCancelCause(context.WithValue(t.Context(), worker.LeaseKey{}, lease))
	done := make(chan error, 1)
	begun := time.Now()
	go func() {
		done <- Command{Argv: []string{"/bin/sh", "-c", `trap "" TERM; while :; do sleep 1; done`}}.Run(ctx,
			worker.Message{})
	}()
	stop(worker.ErrStopped)
	lose(worker.ErrLeaseLost)
	if err := <-done; !errors.Is(err, worker.ErrStopped) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begun); took > 4*time.Second {
		t.Errorf("it was killed after %s, want at once", took)
	}
}

func TestEscapeLeavesNothingThatSteersATerminal(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain text stays", "héllo\twörld ✓", "héllo\twörld ✓"},
		{"an escape sequence", "\x1b[31mred", `\x1b[31mred`},
		{"a carriage return", "real\rforged", `real\rforged`},
		{"a NUL", "\x00", `\x00`},
		{"a C1 control", "\u009b31m", `\u009b31m`},
		{"a reversal of the writing direction", "a\u202eb", `a\u202eb`},
		{"bytes that are no text", "a\xffb", "a\uFFFDb"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := escape(test.in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestOutputIsLoggedByTheLine(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	tests := []struct {
		name string
		in   string
		want []string
	}{
		{"whole lines, and the last without its end", "a\nb\n\nc", []string{"a", "b", "", "c"}},
		{"a line too long comes in pieces", long + "tail\n", []string{long, "tail"}},
		{"a line just not too long comes whole", long + "\n", []string{long}},
		{"nothing", "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var lines lineLog
			(&output{limit: 10, log: slog.New(&lines)}).read(strings.NewReader(test.in))
			if !slices.Equal(lines, test.want) {
				t.Errorf("logged %q, want %q", lines, test.want)
			}
		})
	}
}

// lineLog keeps the lines that were logged.
type lineLog []string

func (l *lineLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *lineLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *lineLog) WithGroup(string) slog.Handler            { return l }
func (l *lineLog) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "line" {
			*l = append(*l, a.Value.String())
		}
		return true
	})
	return nil
}
