package controller_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

// progressed steps a fleet of one queue once a second with what each second brings, and returns the last observation
// and all records.
func progressed(t *testing.T, s controller.Settings, seconds ...[]controller.Input) (controller.Settings,
	controller.Outcome, []muster.Record) {
	t.Helper()
	s.Fleet, s.Queues, s.Spec = "web", []string{"work"}, policy.Spec{Name: "deadline"}
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
	var records []muster.Record
	for i, in := range seconds {
		now := published0.Add(time.Duration(i) * time.Second)
		member := muster.Member{ID: "m", LaunchedAt: published0.Add(-time.Hour), Serving: true}
		in = append(in, controller.Listed{Listing: muster.Listing{At: now, Members: []muster.Member{member}}})
		out = settings.Step(st, now, in)
		st, records = out.Next, append(records, out.Records...)
	}
	return settings, out, records
}

func queued(second int, q muster.QueueObservation) controller.Input {
	q.Queue = "work"
	at := published0.Add(time.Duration(second) * time.Second)
	for _, s := range []*muster.Sample{&q.Backlog, &q.InFlight, &q.Delayed, &q.OldestAge, &q.Retrying, &q.OldestRetry,
		&q.DeadLetters} {
		if s.Known {
			s.At = at
		}
	}
	return controller.Measured{QueueObservation: q}
}

func said(second int, change func(*protocol.Report)) controller.Input {
	r := protocol.Report{Fleet: "web", Member: "m", Worker: "m", Seq: int64(second + 1),
		At:    published0.Add(time.Duration(second) * time.Second),
		State: protocol.Receiving, Slots: 1, Retries: &protocol.Retries{}}
	change(&r)
	return controller.Reported{Report: r}
}

func number(v float64) muster.Sample { return muster.Measured(published0, v) }

func TestWhatWaitsForARetryIsNeitherAtAWorkerNorGone(t *testing.T) {
	unknown := math.NaN()
	exact := muster.QueueObservation{
		Backlog: number(0), InFlight: number(501), OldestAge: number(0), Retrying: number(500),
		OldestRetry: number(900),
		RetryAges:   []muster.Waiting{{AgeSeconds: 900, Messages: 300}, {AgeSeconds: 30, Messages: 200}},
	}
	counts := muster.QueueObservation{Backlog: number(0), InFlight: number(501), OldestAge: number(0)}
	busy := func(retries *protocol.Retries) func(*protocol.Report) {
		return func(r *protocol.Report) { r.Busy, r.Retries = 1, retries }
	}
	for _, row := range []struct {
		name                            string
		settings                        controller.Settings
		queue                           muster.QueueObservation
		report                          func(*protocol.Report)
		working, retrying, oldest, late float64
	}{
		{"a queue that tells", controller.Settings{}, exact, busy(nil), 1, 500, 900, 300},
		{"a queue that tells, workers that do not report", controller.Settings{Unreported: true}, exact, nil, 1, 500,
			900, 300},
		{"a queue that does not, workers that do", controller.Settings{}, counts,
			busy(&protocol.Retries{Messages: 500, OldestSeconds: 900}), 1, 500, 900, 1},
		{"workers tell more than is in flight", controller.Settings{}, counts,
			busy(&protocol.Retries{Messages: 900, OldestSeconds: 50}), 1, 501, 50, 0},
		{"workers from before they told", controller.Settings{}, counts, busy(nil), 1, unknown, unknown, unknown},
		{"workers that were not heard yet", controller.Settings{}, counts, nil, unknown, unknown, unknown, unknown},
		{"nobody tells", controller.Settings{Unreported: true}, counts, nil, unknown, unknown, unknown, unknown},
		{"nothing waits", controller.Settings{}, counts, busy(&protocol.Retries{}), 1, 0, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			in := []controller.Input{queued(0, row.queue)}
			if row.report != nil {
				in = append(in, said(0, row.report))
			}
			_, out, _ := progressed(t, row.settings, in)
			p := out.Observation.Progress.Value()
			for _, x := range []struct {
				name string
				got  muster.Sample
				want float64
			}{{"at workers", p.Working, row.working}, {"waiting for retry", p.Retrying, row.retrying}, {"oldest",
				p.OldestRetry, row.oldest}, {"late", p.Late, row.late}} {
				if x.got.Known == math.IsNaN(x.want) || x.got.Known && x.got.Value != x.want {
					t.Errorf("%s: found %s, want %v", x.name, x.got, x.want)
				}
				if !x.got.Known && x.got.Reason == "" && x.name == "waiting for retry" {
					t.Errorf("%s is unknown without a reason", x.name)
				}
			}
			if strings.Contains(out.Decision.Sentence(), "501 workers") {
				t.Errorf("it calls messages workers: %s", out.Decision.Sentence())
			}
		})
	}
}

// What a worker gave back that has ended since is not forgotten: it is in flight, and no worker holds it.
func TestRetriesOutliveTheirWorker(t *testing.T) {
	counts := muster.QueueObservation{Backlog: number(0), InFlight: number(40), OldestAge: number(0)}
	var seconds [][]controller.Input
	for i := range 20 {
		seconds = append(seconds, []controller.Input{queued(i, counts), said(i, func(*protocol.Report) {})})
	}
	_, out, _ := progressed(t, controller.Settings{}, seconds...)
	p := out.Observation.Progress.Value()
	if !p.Retrying.Known || p.Retrying.Value != 40 || p.OldestRetry.Known || out.Observation.Oldest().Known {
		t.Errorf("found %s waiting for a retry, sent %s s ago, the oldest %s; want 40 of an unknown age", p.Retrying,
			p.OldestRetry, out.Observation.Oldest())
	}
}

func TestFailedAttemptsAreNoWorkDone(t *testing.T) {
	empty := muster.QueueObservation{Backlog: number(0), InFlight: number(0), OldestAge: number(0), Retrying: number(0),
		OldestRetry: number(0)}
	failedAt := published0.Add(-time.Second)
	fails := said(0, func(r *protocol.Report) {
		r.Failed, r.Failing = 3, series.Add(series.Durations{}, time.Second, 2*time.Second, 3*time.Second)
		r.LastFailure = &protocol.LastFailure{At: failedAt, Error: "exit status 1"}
	})
	var seconds [][]controller.Input
	for i := range 10 {
		seconds = append(seconds, []controller.Input{queued(i, empty)})
	}
	seconds[0] = append(seconds[0], fails)
	settings, out, records := progressed(t, controller.Settings{}, seconds...)
	o := out.Observation
	p := o.Progress.Value()
	if o.Processing.Known || o.Pace.Finished != 0 || o.Pace.Seconds != 0 || p.Finished != 0 {
		t.Errorf("found the processing duration %+v, the pace %+v and %v finished; want no work done", o.Processing,
			o.Pace, p.Finished)
	}
	if math.Round(p.Failed) != 3 || p.Failing.Count != 3 || p.Failing.MeanSeconds != 2 ||
		p.LastError != "exit status 1" || !p.LastErrorAt.Equal(failedAt) {
		t.Errorf("found %+v, want 3 attempts that failed in 2 s on average, and why the last did", p)
	}
	st, err := settings.Restore(muster.Position{Epoch: 2}, records)
	if err != nil {
		t.Fatal(err)
	}
	again := settings.Step(st, o.At,
		[]controller.Input{queued(9, empty),
			controller.Listed{Listing: muster.Listing{At: o.At}}}).Observation.Progress.Value()
	again.LastError, again.LastErrorAt = p.LastError, p.LastErrorAt // it is known again with the next report or failure
	again.Working, again.Retrying, p.Working, p.Retrying = muster.Sample{}, muster.Sample{}, muster.Sample{},
		muster.Sample{}
	if diff := cmp.Diff(p, again); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}
}

func TestTheShareInTimeKnowsWhatNeverWasFinished(t *testing.T) {
	at := func(second int, dead float64) controller.Input {
		return queued(second, muster.QueueObservation{
			Backlog: number(0), InFlight: number(2), OldestAge: number(0), Retrying: number(2),
			OldestRetry: number(120),
			RetryAges:   []muster.Waiting{{AgeSeconds: 120, Messages: 2}}, DeadLetters: number(dead),
		})
	}
	finishes := said(1, func(r *protocol.Report) {
		r.Finished, r.Processing = 5, series.Add(series.Durations{}, time.Second, time.Second, time.Second, time.Second,
			time.Second)
		r.InSystem = series.Add(series.Durations{}, time.Second, 2*time.Second, 3*time.Second, 200*time.Second)
	})
	seconds := [][]controller.Input{{at(0, 7)}, {at(1, 7), finishes}, {at(2, 11)}}
	for i := 3; i < 12; i++ {
		seconds = append(seconds, []controller.Input{at(i, 11)})
	}
	_, out, _ := progressed(t, controller.Settings{}, seconds...)
	p := out.Observation.Progress.Value()
	// Three of four were in time; four became dead letters, and two wait for a retry and are late.
	if math.Round(p.Ended) != 10 || !p.InTime.Known || math.Abs(p.InTime.Value-0.3) > 1e-6 || p.Late.Value != 2 ||
		p.DeadLetters.Value != 11 {
		t.Errorf("found %v in time of %v, %s late, %s dead letters; want 0.3 of 10, 2 and 11", p.InTime, p.Ended,
			p.Late, p.DeadLetters)
	}
}

// Work that hangs is neither finished nor failed: that it is late shows as soon as its worker has had it for longer
// than the objective allows.
func TestWorkThatHangsIsLate(t *testing.T) {
	empty := muster.QueueObservation{
		Backlog: number(0), InFlight: number(1), OldestAge: number(0), Retrying: number(0), OldestRetry: number(0),
	}
	holds := func(second int, seconds float64, slots int) controller.Input {
		return said(second, func(r *protocol.Report) { r.Slots, r.Busy, r.HeldSeconds = slots, slots, seconds })
	}
	finishes := said(0, func(r *protocol.Report) {
		r.Finished, r.Processing = 1, series.Add(series.Durations{}, time.Second)
		r.InSystem = series.Add(series.Durations{}, time.Second)
	})
	for _, row := range []struct {
		name          string
		report        controller.Input
		late          int
		longest, time float64
	}{
		{"within the objective", holds(2, 59, 1), 0, 0, 1},
		{"beyond it", holds(2, 61, 1), 1, 61, 0.5},
		{"of several messages at least one", holds(2, 200, 2), 1, 100, 0.5},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, out, _ := progressed(t, controller.Settings{}, []controller.Input{queued(0, empty)},
				[]controller.Input{queued(1, empty), finishes}, []controller.Input{queued(2, empty), row.report},
				[]controller.Input{queued(3, empty)})
			p := out.Observation.Progress.Value()
			if p.Held != row.late || p.HeldLongest != row.longest || p.Late.Value != float64(row.late) {
				t.Errorf("found %d held for %v s at most and %s late, want %d for %v s",
					p.Held, p.HeldLongest, p.Late, row.late, row.longest)
			}
			if math.Abs(p.InTime.Value-row.time) > 1e-6 || (p.HeldBy == "m") != (row.late > 0) {
				t.Errorf("found %s in time, held by %q; want %v", p.InTime, p.HeldBy, row.time)
			}
		})
	}
}

// Where nobody tells how long finished messages were in the system, the few that are late are not all that there are.
func TestTheShareInTimeIsUnknownWhereNobodyTells(t *testing.T) {
	late := muster.QueueObservation{Backlog: number(0), InFlight: number(2), OldestAge: number(0), Retrying: number(2),
		OldestRetry: number(120),
		RetryAges:   []muster.Waiting{{AgeSeconds: 120, Messages: 2}}}
	finishes := said(1, func(r *protocol.Report) {
		r.Finished, r.Processing = 2, series.Add(series.Durations{}, time.Second, time.Second)
	})
	for _, row := range []struct {
		name     string
		settings controller.Settings
		reports  []controller.Input
	}{
		{"workers that do not report", controller.Settings{Unreported: true}, nil},
		{"workers that do not tell", controller.Settings{}, []controller.Input{finishes}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var seconds [][]controller.Input
			for i := range 12 {
				seconds = append(seconds, []controller.Input{queued(i, late)})
			}
			seconds[1] = append(seconds[1], row.reports...)
			_, out, _ := progressed(t, row.settings, seconds...)
			if p := out.Observation.Progress.Value(); p.InTime.Known || p.InTime.Reason == "" || p.Late.Value != 2 {
				t.Errorf("found %s in time and %s late, want unknown and 2", p.InTime, p.Late)
			}
		})
	}
}
