package loop_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/loop"
)

// brokenOff is a history whose writes last until their context ends, once it is told to.
type brokenOff struct {
	*ports
	slow bool
}

// Append implements [muster.History].
func (b *brokenOff) Append(ctx context.Context, fleet string, after muster.Position, r ...muster.Record) (
	muster.Position, error,
) {
	if !b.slow {
		return b.ports.Append(ctx, fleet, after, r...)
	}
	<-ctx.Done()
	return muster.Position{}, ctx.Err()
}

// TestAWriteThatTheEndBreaksOffIsNoTrouble holds that an ordinary stop leaves no error in the log, and that a history
// which cannot be written does.
func TestAWriteThatTheEndBreaksOffIsNoTrouble(t *testing.T) {
	for _, row := range []struct {
		name string
		full error
		want bool
	}{{"the end", nil, false}, {"a full disk", errors.New("no space left"), true}} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newPorts()
				s.backlog, s.full = 1, row.full
				h := &brokenOff{s, row.full == nil}
				var log bytes.Buffer
				loop := loop.New(loop.Options{
					Settings: loopSettings(t, time.Second), Sources: []muster.Source{s}, Wakes: []muster.Notifier{s},
					Fleet: s, Releaser: s, History: h, Logger: slog.New(slog.NewTextHandler(&log, nil)),
				})
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- loop.Run(ctx) }()
				time.Sleep(3 * time.Second)
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if got := strings.Contains(log.String(), "could not be recorded"); got != row.want {
					t.Errorf("the log says that nothing could be recorded: %t, want %t:\n%s", got, row.want, &log)
				}
			})
		})
	}
}
