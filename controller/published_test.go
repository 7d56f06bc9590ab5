package controller_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
)

// seeing steps a fleet of one queue with what its source saw, second by second, and returns the last observation.
func seeing(t *testing.T, s controller.Settings, see ...muster.QueueObservation) muster.Observation {
	t.Helper()
	s.Fleet, s.Queues, s.Spec = "web", []string{"work"}, policy.Spec{Name: "exact"}
	s.Limits = muster.Limits{Max: 10, LaunchesPerHour: 100}
	s.Objective = muster.Objective{Latency: time.Minute, Quantile: 0.99}
	settings, err := controller.NewSettings(s)
	if err != nil {
		t.Fatal(err)
	}
	st, err := settings.Restore(muster.Position{Epoch: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out controller.Outcome
	for i, q := range see {
		q.Queue = "work"
		now := published0.Add(time.Duration(i) * time.Second)
		out = settings.Step(st, now, []controller.Input{controller.Measured{QueueObservation: q},
			controller.Listed{Listing: muster.Listing{At: now}}})
		st = out.Next
	}
	return out.Observation
}

var published0 = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestADoubtedCountReplacesWhatWasKnown(t *testing.T) {
	five := muster.QueueObservation{Backlog: muster.Measured(published0, 5), InFlight: muster.Measured(published0, 0)}
	doubted := muster.QueueObservation{Backlog: muster.Doubt(published0, "seen once"),
		InFlight: muster.Doubt(published0, "seen once")}
	failed := muster.QueueObservation{Backlog: muster.Unknown(published0, "no answer"),
		InFlight: muster.Unknown(published0, "no answer")}
	if b := seeing(t, controller.Settings{}, five, failed).Backlog(); !b.Known || b.Value != 5 {
		t.Errorf("after a failed look the backlog is %v, want the 5 of a second ago", b)
	}
	if b := seeing(t, controller.Settings{}, five, doubted).Backlog(); b.Known {
		t.Errorf("after a doubted look the backlog is %v, want unknown: 5 messages are certainly not there any more", b)
	}
}

func TestStaleSaysHowOldALookMayBe(t *testing.T) {
	old := muster.QueueObservation{
		Backlog:   muster.Measured(published0.Add(-time.Minute), 5),
		InFlight:  muster.Measured(published0.Add(-time.Minute), 0),
		OldestAge: muster.Measured(published0.Add(-2*time.Minute), 9),
	}
	if b := seeing(t, controller.Settings{}, old).Backlog(); b.Known {
		t.Errorf("a look of a minute ago is %v for a fleet that is looked at every second", b)
	}
	o := seeing(t, controller.Settings{Stale: 90 * time.Second}, old)
	if b := o.Backlog(); !b.Known {
		t.Errorf("a look of a minute ago is %v where looks are rare", b)
	}
	if a := o.OldestAge(); !a.Known {
		t.Errorf("an age of two minutes ago is %v where ages come by the minute", a)
	}
}

func TestAPublishedMeanCountsUntilDurationsAreReported(t *testing.T) {
	q := muster.QueueObservation{Backlog: muster.Measured(published0, 5),
		Published: &muster.Published{ProcessingMean: muster.Measured(published0, 25)}}
	if p := seeing(t, controller.Settings{}, q).Processing; !p.Known || p.Prior || p.MeanSeconds != 25 {
		t.Errorf("the processing duration is %+v, want the published 25 s", p)
	}
	q2 := q
	q2.Published = &muster.Published{ProcessingMean: muster.Measured(published0.Add(time.Second), 50)}
	if p := seeing(t, controller.Settings{}, q, q2).Processing; p.MeanSeconds != 50 {
		t.Errorf("the processing duration is %+v, want the newest, 50 s", p)
	}
	q.Published = nil
	if p := seeing(t, controller.Settings{}, q).Processing; p.Known {
		t.Errorf("the processing duration is %+v, want unknown", p)
	}
}
