package incident

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

// healthy is a fleet with nothing wrong.
func healthy() Fleet {
	known := muster.Measured(start(), 0)
	return Fleet{Name: "thumbs", Local: true, Observed: true, Observation: muster.Observation{
		Fleet: "thumbs", At: start(), Objective: muster.Objective{Latency: 30 * time.Second, Quantile: 0.99},
		Limits:   muster.Limits{Max: 4, LaunchesPerHour: 60},
		Queues:   []muster.QueueObservation{{Queue: "jobs", Backlog: known, InFlight: known, OldestAge: known}},
		Capacity: muster.Capacity{Known: true, Desired: 4, SlotsPerWorker: 1},
		Progress: &muster.Progress{Late: known},
	}, Decision: muster.Decision{Fleet: "thumbs", Desired: 4, Wish: 4, Verdict: muster.Hold, Reason: muster.Steady}}
}

// resulted is an outcome with the result of an effect that o ordered.
func resulted(effect, failure string, at time.Time) controller.Outcome {
	body := `{"effect":"` + effect + `","failure":"` + failure + `"}`
	return controller.Outcome{Observation: muster.Observation{At: at},
		Records: []muster.Record{{Kind: muster.Resulted, At: at, Body: []byte(body)}}}
}

// ordered is an outcome that sets the size.
func ordered(effect string) controller.Outcome {
	return controller.Outcome{Observation: muster.Observation{At: start()},
		Effects: []controller.Effect{controller.SetDesired{Order: muster.Order{ID: effect}}}}
}

// letterCount is an outcome with a count of dead letters.
func letterCount(n float64, at time.Time) controller.Outcome {
	return controller.Outcome{Observation: muster.Observation{At: at,
		Queues: []muster.QueueObservation{{Queue: "jobs", DeadLetters: muster.Measured(at, n)}}}}
}

// reported is an outcome with a problem of a worker.
func reported(kind protocol.IncidentKind) controller.Outcome {
	return controller.Outcome{Observation: muster.Observation{At: start()}, Changes: []controller.Changed{{
		What: roster.HadIncident, Worker: "w", Incident: &protocol.Incident{Kind: kind, Count: 1,
			Text: "http://127.0.0.1:8080: connection refused"}}}}
}

// TestWhatIsWrongIsTold has a row for each kind of incident: what makes it present in a fleet with nothing wrong, and
// parts of its sentence and its command.
func TestWhatIsWrongIsTold(t *testing.T) {
	for kind, row := range map[Kind]struct {
		wrong          func(v *View, f *Fleet)
		words, command string
	}{
		ActionFailed: {func(_ *View, f *Fleet) {
			f.Past = f.Past.With(ordered("e1")).With(resulted("e1", "AccessDenied: not allowed", start()))
		}, "setting the size failed: AccessDenied", "muster explain thumbs"},
		SignalUnknown: {func(_ *View, f *Fleet) {
			f.Observation.Queues[0].Backlog = muster.Unknown(start(), "no route to host")
		}, "the backlog of the queue jobs is unknown (no route to host)", "muster explain thumbs"},
		AtMaximum: {func(_ *View, f *Fleet) {
			f.Decision.Wish, f.Observation.Progress.Late = 9, muster.Measured(start(), 214)
		}, "at its maximum of 4 workers and cannot keep its objective of 30s: 214 messages are late already",
			"muster explain thumbs"},
		LaunchesLimited: {func(_ *View, f *Fleet) {
			f.Decision.Desired, f.Decision.Reason = 2, muster.LaunchBudget
			f.Observation.Queues[0].OldestAge = muster.Measured(start(), 90)
		}, "60 launches are allowed in an hour and are used up", "muster explain thumbs"},
		AllFailing: {func(_ *View, f *Fleet) { f.Observation.Progress.Failed = 12 },
			"12 attempts failed in the last 5 minutes and no message was finished", "muster logs thumbs --failed"},
		CrashLoop: {func(_ *View, f *Fleet) { f.Observation.Launches.Failed = 5 },
			"5 launches in a row ended before they were of use", "muster explain thumbs"},
		DeadLetters: {func(_ *View, f *Fleet) {
			f.Past = f.Past.With(letterCount(3, start().Add(-time.Minute))).With(letterCount(17, start()))
		}, "the dead letters of the queue jobs grew from 3 to 17 since 2026-03-01T12:00:00Z",
			"muster logs thumbs --failed"},
		Contested: {func(_ *View, f *Fleet) {
			f.Decision.Reason = muster.Contested
			for i := range muster.ContestedBy {
				f.Observation.Drift = f.Observation.Drift.With(muster.DriftChange{At: start(), From: 4, To: i})
			}
		}, "another controller sizes it too", "muster explain thumbs"},
		EndpointAway: {func(_ *View, f *Fleet) { f.Past = f.Past.With(reported(protocol.EndpointDown)) },
			"http://127.0.0.1:8080: connection refused", "muster status"},
		WorkerTrouble: {func(_ *View, f *Fleet) { f.Past = f.Past.With(reported(protocol.LeaseLost)) },
			"the lease on a message in progress was lost", "muster status"},
		FleetStopped: {func(_ *View, f *Fleet) { f.Trouble = "the fleet is not sized since noon" }, "not sized",
			"muster status"},
		HistoryStuck: {func(_ *View, f *Fleet) { f.Unrecorded = "nothing is done since noon: disk full" }, "disk full",
			"muster status"},
		HistoryDamaged: {func(v *View, _ *Fleet) { v.Faults = []Fault{{HistoryDamaged, "the history is damaged"}} },
			"damaged", "muster status"},
		QueueDamaged: {func(v *View, _ *Fleet) { v.Damaged = map[string]int{"jobs": 2} },
			"2 messages of the queue jobs had damaged content and were set aside",
			"muster queue peek jobs --from damaged"},
		ConfigurationInvalid: {func(v *View, _ *Fleet) {
			v.Faults = []Fault{{ConfigurationInvalid, "muster.yaml:3:1: found\n x"}}
		}, "muster.yaml:3:1: found x", "muster check"},
		ConnectionsRefused: {func(v *View, _ *Fleet) {
			v.Faults = []Fault{{ConnectionsRefused, "too many open files"}}
		},
			"too many open files", "muster status"},
		EventsUnreachable: {func(v *View, _ *Fleet) {
			v.Faults = []Fault{{EventsUnreachable, "receive events from a queue: no route to host"}}
		},
			"no route to host", "muster status"},
	} {
		t.Run(string(kind), func(t *testing.T) {
			f := healthy()
			v := View{At: start(), Fleets: []Fleet{f}}
			if all := v.Conditions(); len(all) != 0 {
				t.Fatalf("nothing is wrong, and found %+v", all)
			}
			row.wrong(&v, &f)
			v.Fleets[0] = f
			all := v.Conditions()
			if len(all) != 1 || all[0].Kind != kind {
				t.Fatalf("found %+v, want one condition of the kind %s", all, kind)
			}
			if c := all[0]; !strings.Contains(c.Sentence, row.words) || c.Command != row.command {
				t.Errorf("found %q, see %q; want %q in it, see %q", c.Sentence, c.Command, row.words, row.command)
			}
		})
	}
	if len(Kinds()) != 17 {
		t.Errorf("found %d kinds: a new one needs a row in this test", len(Kinds()))
	}
}

func TestAnActionThatSucceedsIsNoFailure(t *testing.T) {
	f := healthy()
	f.Past = f.Past.With(ordered("e1")).With(resulted("e1", "throttled", start())).With(ordered("e2"))
	f.Past = f.Past.With(resulted("e2", "", start().Add(time.Second)))
	if all := (View{At: start(), Fleets: []Fleet{f}}).Conditions(); len(all) != 0 {
		t.Errorf("found %+v", all)
	}
}

func TestAFailureWithoutAnotherResultFades(t *testing.T) {
	f := healthy()
	f.Past = f.Past.With(ordered("e1")).With(resulted("e1", "throttled", start()))
	if all := (View{At: start().Add(failedFor), Fleets: []Fleet{f}}).Conditions(); len(all) != 0 {
		t.Errorf("found %+v", all)
	}
}

func TestDeadLettersThatWereThereBeforeAreNoGrowth(t *testing.T) {
	f := healthy()
	for i, n := range []float64{40, 40, 12, 12, 0} {
		f.Past = f.Past.With(letterCount(n, start().Add(time.Duration(i)*time.Second)))
		if all := (View{At: start(), Fleets: []Fleet{f}}).Conditions(); len(all) != 0 {
			t.Errorf("%v dead letters: found %+v", n, all)
		}
	}
}

func TestAMaximumThatIsEnoughIsNoIncident(t *testing.T) {
	f := healthy()
	f.Decision.Wish = 9
	f.Observation.Queues[0].Backlog = muster.Measured(start(), 100)
	if all := (View{At: start(), Fleets: []Fleet{f}}).Conditions(); len(all) != 0 {
		t.Errorf("no message is late, and found %+v", all)
	}
	f.Observation.Progress.Late = muster.Measured(start(), 1)
	f.Decision.Verdict = muster.Shadow
	if all := (View{At: start(), Fleets: []Fleet{f}}).Conditions(); len(all) != 0 {
		t.Errorf("another system sizes the fleet, and found %+v", all)
	}
}

// TestNoErrorOfAJobLeavesTheMachine holds that the last error of a job is in no sentence: it may quote a message.
func TestNoErrorOfAJobLeavesTheMachine(t *testing.T) {
	f := healthy()
	f.Observation.Progress.Failed, f.Observation.Progress.LastError = 5, "customer 4711 is unknown"
	f.Past = f.Past.With(reported(protocol.DeleteFailed))
	for _, c := range (View{At: start(), Fleets: []Fleet{f}}).Conditions() {
		if strings.Contains(c.Sentence, "4711") || strings.Contains(c.Sentence, "refused") {
			t.Errorf("told %q", c.Sentence)
		}
	}
}

func TestALineIsShortAndVisible(t *testing.T) {
	for _, text := range []string{"a\nb\tc", "\x1b[31mred", strings.Repeat("é", 900), "x\u202ey"} {
		line := Line(text, 100)
		if len(line) > 100 || strings.ContainsFunc(line, func(c rune) bool { return !unicode.IsGraphic(c) }) {
			t.Errorf("found %q for %q", line, text)
		}
	}
}

func TestANoticeIsASentenceWithItsCommand(t *testing.T) {
	i := Incident{ID: "at_maximum/thumbs/x", BeganAt: start(), OpenedAt: start(), Condition: Condition{
		Kind: AtMaximum, Fleet: "thumbs", Sentence: "fleet thumbs: it is full", Command: "muster explain thumbs"}}
	n := newNotice(i, Opened, start()).From("web-1")
	if want := "Muster on web-1: fleet thumbs: it is full. See: muster explain thumbs"; n.Text != want {
		t.Errorf("found %q, want %q", n.Text, want)
	}
	i.EndedAt = start().Add(12 * time.Minute)
	n = newNotice(i, Ended, i.EndedAt).From("web-1")
	want := "Muster on web-1: ended: fleet thumbs: it is full (12m0s in all). See: muster explain thumbs"
	if n.Text != want {
		t.Errorf("found %q, want %q", n.Text, want)
	}
}

// TestThePageTellsEachKind compares the table of docs/notices.md with that of the rules.
func TestThePageTellsEachKind(t *testing.T) {
	page, err := os.ReadFile("../docs/notices.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(page), "\n")
	for _, r := range Rules() {
		row := "| `" + string(r.Kind) + "` | " + r.What + " | " + times(r.After) + " | " + times(r.Away) + " |"
		if !slices.Contains(lines, row) {
			t.Errorf("docs/notices.md has no line\n%s", row)
		}
	}
}

// times renders a time of a rule as the page does.
func times(d time.Duration) string {
	if d == 0 {
		return "at once"
	}
	return strings.TrimSuffix(d.String(), "m0s") + map[bool]string{true: "m"}[strings.HasSuffix(d.String(), "m0s")]
}
