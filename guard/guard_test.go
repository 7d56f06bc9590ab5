package guard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/guard"
)

// quiet are the facts of a fleet with two idle workers and no work.
func quiet() guard.Facts {
	at := time.Date(2026, 11, 23, 14, 0, 0, 0, time.UTC)
	none := muster.Measured(at, 0)
	return guard.Facts{
		Fleet: "thumbs", At: at, Sized: true,
		Observation: muster.Observation{
			Fleet: "thumbs", At: at, Poll: time.Second,
			Queues:   []muster.QueueObservation{{Queue: "thumbnails", Backlog: none, InFlight: none, Delayed: none}},
			Capacity: muster.Capacity{Known: true, Desired: 2, Idle: 2, Slots: 2, SlotsPerWorker: 1},
		},
		Decision: muster.Decision{Fleet: "thumbs", At: at, Previous: 2, Desired: 2, Verdict: muster.Hold},
		Logs:     guard.Logs{Kept: true, LastAt: at.Add(-time.Minute)},
	}
}

func TestAFleetWithoutWorkIsQuiet(t *testing.T) {
	j := guard.Judge(quiet())
	if !j.Quiet || len(j.Checks) != 5 || j.Sentence() != "thumbs is quiet" {
		t.Errorf("found %+v", j)
	}
	for _, c := range j.Checks {
		if c.Evidence == "" {
			t.Errorf("the check %s has no evidence", c.Name)
		}
	}
}

// TestEachSignOfActivityIsBusyWithItsEvidence changes one fact of a quiet fleet at a time.
func TestEachSignOfActivityIsBusyWithItsEvidence(t *testing.T) {
	unknown := muster.Unknown(time.Time{}, "throttled")
	for name, x := range map[string]struct {
		change   func(*guard.Facts)
		check    string
		unknown  bool
		evidence string
	}{
		"a booting worker": {func(f *guard.Facts) { f.Observation.Capacity.Booting = 1 }, "scaling", false,
			"1 booting"},
		"a draining worker": {func(f *guard.Facts) { f.Observation.Capacity.Draining = 3 }, "scaling", false,
			"3 draining"},
		"a released worker": {func(f *guard.Facts) { f.Observation.Capacity.Released = 1 }, "scaling", false,
			"1 about to end"},
		"a lost worker": {func(f *guard.Facts) { f.Observation.Capacity.Lost = 1 }, "scaling", true, "1 lost"},
		"a change of size": {func(f *guard.Facts) { f.Decision.Verdict, f.Decision.Desired = muster.Apply, 5 },
			"scaling", false, "from 2 to 5"},
		"missing workers": {func(f *guard.Facts) { f.Decision.Previous, f.Decision.Desired = 4, 4 },
			"scaling", false, "4 desired, 2 active"},
		"an unknown fleet": {func(f *guard.Facts) {
			f.Observation.Capacity.Known, f.Observation.Capacity.Reason = false, "throttled"
		}, "workers", true, "throttled"},
		"a busy worker": {func(f *guard.Facts) {
			c := &f.Observation.Capacity
			c.Idle, c.Busy, c.BusySlots, c.HeldMeanSeconds = 1, 1, 2, 12
		}, "workers", false, "1 worker is busy with 2 messages, for 12s on average"},
		"silent workers and an unknown queue": {func(f *guard.Facts) {
			f.Observation.Capacity.Unreported, f.Observation.Queues[0].InFlight = true, unknown
		}, "workers", true, "throttled"},
		"a waiting message": {func(f *guard.Facts) { f.Observation.Queues[0].Backlog.Value = 7 },
			"work", false, "7 in the backlog of thumbnails"},
		"a delayed message": {func(f *guard.Facts) { f.Observation.Queues[0].Delayed.Value = 1 },
			"work", false, "1 delayed of thumbnails"},
		"an unknown backlog": {func(f *guard.Facts) { f.Observation.Queues[0].Backlog = unknown },
			"work", true, "unknown (throttled)"},
		"an old count": {func(f *guard.Facts) { f.Observation.Queues[0].Backlog.At = f.At.Add(-31 * time.Second) },
			"work", true, "the number in the backlog of thumbnails is unknown (the newest sample is 31s old"},
		"a running tree": {func(f *guard.Facts) {
			f.Observation.Expected = &muster.Expected{Known: true, Trees: 1, Open: 12}
		}, "work", false, "1 tree runs with 12 open nodes"},
		"unknown trees": {func(f *guard.Facts) { f.Observation.Expected = &muster.Expected{Reason: "locked"} },
			"work", true, "locked"},
		"retries": {func(f *guard.Facts) {
			f.Observation.Progress = &muster.Progress{Retrying: muster.Measured(f.At, 3)}
		}, "work", false, "3 waiting for retry"},
		"a line in the log": {func(f *guard.Facts) { f.Logs.LastAt = f.At.Add(-5 * time.Second) },
			"logs", false, "5s ago"},
		"an unreadable log": {func(f *guard.Facts) { f.Logs.Failure = "permission denied" },
			"logs", true, "permission denied"},
		"a fleet that is not sized": {func(f *guard.Facts) { f.Sized, f.Trouble = false, "it failed to start" },
			"control", true, "it failed to start"},
		"an old observation": {func(f *guard.Facts) { f.At = f.At.Add(2 * time.Minute) },
			"control", true, "2m0s old"},
		"trouble": {func(f *guard.Facts) { f.Trouble = "the history cannot be written" },
			"control", false, "the history cannot be written"},
		"nothing known": {func(f *guard.Facts) { *f = guard.Facts{Fleet: "thumbs", At: f.At, Sized: true} },
			"control", true, "not read yet"},
	} {
		t.Run(name, func(t *testing.T) {
			f := quiet()
			x.change(&f)
			j := guard.Judge(f)
			if j.Quiet {
				t.Fatalf("found quiet: %+v", j.Checks)
			}
			for _, c := range j.Checks {
				if c.Name == x.check {
					if !c.Busy || c.Unknown != x.unknown || !strings.Contains(c.Evidence, x.evidence) {
						t.Errorf("found %+v, want busy, unknown %v, %q", c, x.unknown, x.evidence)
					}
				} else if c.Busy && !c.Unknown && x.check != "control" {
					t.Errorf("the check %s is busy too: %s", c.Name, c.Evidence)
				}
			}
			if !strings.Contains(j.Sentence(), x.evidence) {
				t.Errorf("the sentence %q lacks the evidence %q", j.Sentence(), x.evidence)
			}
		})
	}
}

// TestWhatCannotBeCountedIsSaidAndDoesNotCount holds for logs and delayed messages.
func TestWhatCannotBeCountedIsSaidAndDoesNotCount(t *testing.T) {
	f := quiet()
	f.Logs = guard.Logs{}
	f.Observation.Queues[0].Delayed = muster.Unknown(f.At, "not measured")
	j := guard.Judge(f)
	if !j.Quiet || !strings.Contains(j.Checks[3].Evidence, "delayed messages are not counted: thumbnails") ||
		!strings.Contains(j.Checks[4].Evidence, "not kept here") {
		t.Errorf("found %+v", j)
	}
}
