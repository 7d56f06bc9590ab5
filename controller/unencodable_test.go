package controller_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/worker/protocol"
)

// spoil makes the body of the last decisions what an earlier version wrote where it could not encode them.
func (w *world) spoil(all bool) {
	for i := len(w.records) - 1; i >= 0; i-- {
		if w.records[i].Kind == muster.Decided {
			w.records[i].Body = []byte(`{"unencodable":"json: unsupported value: NaN"}`)
			if !all {
				return
			}
		}
	}
}

func TestADecisionThatCouldNotBeRecordedIsAHoldAfterARestart(t *testing.T) {
	for _, row := range []struct {
		name string
		all  bool
	}{{"the last one, after others", false}, {"every one: nothing else is known of the size", true}} {
		t.Run(row.name, func(t *testing.T) {
			w := served(t, 3)
			w.spoil(row.all)
			w.restart()
			for range 5 {
				o := w.step(time.Second, w.everybody()...)
				if o.Decision.Desired != 3 || launched(o) != 0 || len(o.Effects) > 0 {
					t.Fatalf("desired %d with %v, want 3 and nothing done: %s", o.Decision.Desired, o.Effects,
						o.Decision.Sentence())
				}
				for _, m := range w.members {
					if ask := w.ask(m); ask != protocol.Work {
						t.Fatalf("%s is told to %s", m.id, ask)
					}
				}
			}
			if _, _, err := audit.Verify(w.records); err != nil {
				t.Errorf("verify: %v", err)
			}
		})
	}
}

// A number that is not finite must not get into an observation. Should it, what is decided from it cannot be recorded,
// and what is not recorded is not done.
func TestWhatCannotBeRecordedIsNotDone(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.backlog = 2
	w.step(0)
	w.obey()
	broken := controller.Measured{QueueObservation: muster.QueueObservation{
		Queue:     "q",
		Backlog:   muster.Measured(w.now, 8),
		InFlight:  muster.Measured(w.now, 0),
		Delayed:   muster.Measured(w.now, 0),
		OldestAge: muster.Sample{Known: true, At: w.now, Value: math.NaN()},
	}}
	w.backlog = 8
	o := w.step(time.Second, broken)
	if o.Decision.Verdict != muster.Hold || o.Decision.Desired != 2 || launched(o) != 0 {
		t.Errorf("launched %d: %s; want a hold at 2", launched(o), o.Decision.Sentence())
	}
	if !strings.Contains(o.Observation.Capacity.Reason, "cannot be recorded") {
		t.Errorf("the capacity is %+v, want unknown because what was seen cannot be recorded", o.Observation.Capacity)
	}
	if _, err := json.Marshal(o.Observation); err != nil {
		t.Errorf("what was seen cannot be shown: %v", err)
	}
	for _, r := range o.Records {
		if strings.Contains(string(r.Body), "unencodable") {
			t.Errorf("recorded %s", r.Body)
		}
	}
	if _, _, err := audit.Verify(w.records); err != nil {
		t.Errorf("verify: %v", err)
	}
	broken.OldestAge = muster.Measured(w.now, 2)
	if o := w.step(time.Second, broken); launched(o) == 0 {
		t.Errorf("once what is seen is right nothing is launched: %s", o.Decision.Sentence())
	}
}
