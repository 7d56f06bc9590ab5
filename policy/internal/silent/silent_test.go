package silent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/silent"
	"github.com/muster-scale/muster/policy/planning"
)

// unheard is a fleet of so many workers with one slot each, which do not report: only the counts of the queue are
// known.
func unheard(at time.Time, workers, pending int, backlog, inFlight float64) muster.Observation {
	measured := func(v float64) muster.Sample { return muster.Measured(at, v) }
	return muster.Observation{
		Fleet: "f", At: at, Limits: muster.Limits{Max: 100, LaunchesPerHour: 1000},
		Objective: muster.Objective{Latency: 2 * time.Minute, Quantile: 0.99},
		Queues: []muster.QueueObservation{{Queue: "q", Backlog: measured(backlog), InFlight: measured(inFlight),
			Delayed: measured(0), OldestAge: muster.Unknown(at, "SQS does not say it")}},
		Capacity: muster.Capacity{Known: true, Desired: workers + pending, Busy: min(workers, int(inFlight)),
			Idle: max(0, workers-int(inFlight)), Booting: pending, Slots: workers, SlotsPerWorker: 1,
			BusySlots: min(workers, int(inFlight)), Unreported: true},
	}
}

// A fleet whose workers do not report, and of whose work nobody stated how long it takes, doubles until its backlog
// falls fast enough to be gone within the objective.
func TestASilentFleetDoublesUntilTheBacklogFalls(t *testing.T) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	type look struct {
		after                     time.Duration
		workers, pending          int
		backlog, inFlight, wanted float64
		says                      string
	}
	for _, row := range []struct {
		name  string
		looks []look
	}{
		{"a backlog that grows doubles it, once in a window", []look{
			{0, 4, 0, 100, 4, 4, "whether 4 workers are enough"},
			{20 * time.Second, 4, 0, 110, 4, 4, "whether 4 workers are enough"},
			{30 * time.Second, 4, 0, 120, 4, 8, "the fleet doubles"},
			{31 * time.Second, 4, 4, 121, 4, 8, "workers are on their way"},
			{90 * time.Second, 8, 0, 150, 8, 8, "whether 8 workers are enough"},
			{120 * time.Second, 8, 0, 180, 8, 16, "the fleet doubles"},
		}},
		{"one that stands doubles it", []look{
			{0, 4, 0, 100, 4, 4, ""}, {30 * time.Second, 4, 0, 100, 4, 8, "the fleet doubles"},
		}},
		{"one that falls too slowly doubles it", []look{
			{0, 4, 0, 100, 4, 4, ""}, {30 * time.Second, 4, 0, 90, 4, 8, "the fleet doubles"},
		}},
		{"one that is gone within the objective does not", []look{
			{0, 4, 0, 100, 4, 4, ""}, {30 * time.Second, 4, 0, 70, 4, 4, "the backlog is gone in 1m10s"},
		}},
		{"never more than one worker a message more", []look{
			{0, 50, 0, 3, 50, 50, ""}, {30 * time.Second, 50, 0, 3, 50, 53, "the fleet doubles"},
		}},
		{"with nothing waiting those stay that were busy in this window or the one before", []look{
			{0, 8, 0, 5, 8, 8, ""}, {10 * time.Second, 8, 0, 0, 3, 8, "so many were busy lately"},
			{40 * time.Second, 8, 0, 0, 2, 8, "so many were busy lately"},
			{75 * time.Second, 8, 0, 0, 2, 8, "so many were busy lately"},
			{76 * time.Second, 8, 0, 0, 2, 2, ""},
		}},
		{"workers that are replaced do not end the window", []look{
			{0, 40, 0, 400, 40, 40, ""}, {15 * time.Second, 38, 2, 420, 38, 40, "whether 40 workers are enough"},
			{30 * time.Second, 39, 1, 440, 39, 80, "the fleet doubles"},
		}},
		{"the clock of a restored decision may be ahead", []look{
			{time.Minute, 4, 0, 100, 4, 4, ""}, {0, 4, 0, 100, 4, 4, "whether 4 workers are enough"},
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var recent muster.Recent
			for _, l := range row.looks {
				o := unheard(begin.Add(l.after), l.workers, l.pending, l.backlog, l.inFlight)
				d := planning.Deadline{}.Decide(o, recent)
				if float64(d.Desired) != l.wanted || !strings.Contains(d.Sentence(), l.says) {
					t.Fatalf("after %s: found %q, want %v workers and %q", l.after, d.Sentence(), l.wanted, l.says)
				}
				if len(d.Kept) > muster.MaxKept {
					t.Fatalf("found %d numbers kept, at most %d are allowed", len(d.Kept), muster.MaxKept)
				}
				recent = recent.With(d, time.Hour)
			}
		})
	}
}

// Workers that report are never taken for silent ones, whatever they hold.
func TestOnlyFleetsThatNeverReportAreSilent(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		name   string
		change func(*muster.Observation)
		want   bool
	}{
		{"only counts are known", func(*muster.Observation) {}, true},
		{"the workers report", func(o *muster.Observation) { o.Capacity.Unreported = false }, false},
		{"the duration is stated", func(o *muster.Observation) {
			o.Processing = muster.Estimate{Known: true, Prior: true, MeanSeconds: 5}
		}, false},
		{"no worker is in service yet", func(o *muster.Observation) { *o = unheard(at, 0, 1, 9, 0) }, false},
		{"the fleet could not be listed", func(o *muster.Observation) { o.Capacity = muster.Capacity{} }, false},
		{"the backlog is unknown", func(o *muster.Observation) { o.Queues[0].Backlog = muster.Unknown(at, "") }, false},
	} {
		o := unheard(at, 4, 0, 9, 4)
		row.change(&o)
		if got := silent.Fleet(o); got != row.want {
			t.Errorf("%s: found silent %t, want %t", row.name, got, row.want)
		}
	}
}

// While the trees cannot be read, no worker of a silent fleet is stopped: what they will send is unknown.
func TestASilentFleetKeepsItsWorkersWhileTreesAreUnknown(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	o := unheard(at, 8, 0, 0, 2)
	if d := (planning.Deadline{}).Decide(o, nil); d.Desired != 2 {
		t.Fatalf("without trees: found %q, want the 2 busy workers", d.Sentence())
	}
	o.Expected = &muster.Expected{Reason: "the store is away"}
	if d := (planning.Deadline{}).Decide(o, nil); d.Desired != 8 || d.Verdict != muster.Hold {
		t.Errorf("with unknown trees: found %q, want a hold at 8", d.Sentence())
	}
}
