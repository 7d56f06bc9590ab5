package loop_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/override"
)

// TestAnInstructionIsAnsweredOnceItIsRecorded also holds that a trial changes nothing, that a history which cannot be
// written refuses it, and that a second run continues with it.
func TestAnInstructionIsAnsweredOnceItIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
		l, stop := newLoop(t, s, loopSettings(t, time.Second))
		time.Sleep(time.Second)
		now := time.Now().UTC()
		q := override.Request{Add: override.Override{Kind: override.Pause, Begin: now, End: now.Add(time.Hour)}}
		ctx := context.Background()
		trial, err := l.Instruct(ctx, q, true)
		if o, _ := l.Last(); err != nil || trial.Err != nil || trial.Forecast == nil ||
			len(o.Observation.Overrides) > 0 {
			t.Fatalf("a trial: %+v, %v, and then %+v", trial, err, o.Observation.Overrides)
		}
		done, err := l.Instruct(ctx, q, false)
		recorded := 0
		s.Read(ctx, "f", time.Time{}, func(r muster.Record) bool {
			if r.Kind == muster.Overridden {
				recorded++
			}
			return true
		})
		if o, _ := l.Last(); err != nil || done.Err != nil || recorded != 1 || len(o.Observation.Overrides) != 1 ||
			o.Decision.Reason != muster.Paused {
			t.Fatalf("found %+v, %v, %d records: %s", done, err, recorded, o.Decision.Sentence())
		}
		s.set(func() { s.full = errors.New("disk full") })
		cancel := override.Request{Cancel: done.Override.ID}
		if _, err := l.Instruct(ctx, cancel, false); !errors.Is(err, loop.ErrNotReady) {
			t.Errorf("while the history cannot be written: found %v", err)
		}
		s.set(func() { s.full = nil })
		time.Sleep(2 * time.Second)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Instruct(ctx, q, false); !errors.Is(err, loop.ErrNotReady) {
			t.Errorf("after the end: found %v", err)
		}
		again, stop := newLoop(t, s, loopSettings(t, time.Second))
		time.Sleep(time.Second)
		if o, _ := again.Last(); len(o.Observation.Overrides) != 1 || o.Decision.Reason != muster.Paused {
			t.Errorf("after a restart: %+v, %s", o.Observation.Overrides, o.Decision.Sentence())
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}
