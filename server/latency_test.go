package server_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/exposition"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/worker/protocol"
)

// latencyStage steps the fleet a and counts its steps.
type latencyStage struct {
	t        *testing.T
	settings controller.Settings
	state    controller.State
	metrics  *server.Metrics
	records  []muster.Record
	at       time.Time
}

func newLatencyStage(t *testing.T, objective time.Duration) *latencyStage {
	s := &latencyStage{t: t, metrics: server.NewMetrics(func() map[string]server.Fleet { return nil }, nil), at: t0}
	s.change(objective)
	return s
}

// change sets another objective.
func (s *latencyStage) change(objective time.Duration) {
	s.t.Helper()
	settings, err := controller.NewSettings(controller.Settings{
		Fleet: "a", Queues: []string{"jobs"}, Spec: policy.Spec{Name: "exact"},
		Objective: muster.Objective{Latency: objective, Quantile: 0.99},
		Limits:    muster.Limits{Max: 5, LaunchesPerHour: 100},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.settings = settings
}

// step steps a second later with the report of a worker that is known since the first step.
func (s *latencyStage) step(r protocol.Report) {
	s.at = s.at.Add(time.Second)
	r.Fleet, r.Member, r.Worker, r.At, r.State, r.Slots = "a", "m1", "w1", s.at, protocol.Receiving, 1
	o := s.settings.Step(s.state, s.at, []controller.Input{
		controller.Listed{Listing: muster.Listing{At: s.at, Members: []muster.Member{{ID: "m1"}}}},
		controller.Reported{Report: r}})
	s.records = append(s.records, o.Records...)
	s.state = o.Next
	s.metrics.Count(o)
}

// finished returns a tally of messages that took so long from sent to finished.
func finished(seq int64, took ...time.Duration) protocol.Tally {
	d := series.Add(series.Durations{}, took...)
	return protocol.Tally{Seq: seq, Finished: d.Count, Processing: d, InSystem: d}
}

// reported returns a report with the counts of a tally of its own.
func reported(own protocol.Tally, again ...protocol.Tally) protocol.Report {
	return protocol.Report{Seq: own.Seq, Finished: own.Finished, Processing: own.Processing, InSystem: own.InSystem,
		Unanswered: again}
}

// value returns a number of the page by its name with labels, as the page writes it.
func (s *latencyStage) value(name string) string {
	s.t.Helper()
	var p exposition.Page
	s.metrics.Collect(&p)
	for line := range strings.Lines(string(p.Bytes())) {
		if v, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(v)
		}
	}
	s.t.Errorf("found no %s in\n%s", name, p.Bytes())
	return ""
}

// counts holds the numbers of messages in time and late.
func (s *latencyStage) counts(inTime, late string) {
	s.t.Helper()
	a, b := s.value(`muster_messages_in_time_total{fleet="a"}`), s.value(`muster_messages_late_total{fleet="a"}`)
	if a != inTime || b != late {
		s.t.Errorf("found %s in time and %s late, want %s and %s", a, b, inTime, late)
	}
}

func TestAMessageCountsOnceInTimeOrLate(t *testing.T) {
	s := newLatencyStage(t, time.Minute)
	s.step(protocol.Report{Seq: 1})
	s.counts("0", "0") // both exist before the first message, so that a rate has a first value
	first := finished(2, 10*time.Second, 20*time.Second, 2*time.Minute)
	s.step(reported(first))
	s.counts("2", "1")
	// The answer was lost: the worker repeats the counts, once with new ones.
	s.step(reported(first))
	s.step(reported(finished(3, 30*time.Second), first))
	s.counts("3", "1")
	// A new process counts from zero, and only what has no answer yet.
	state, err := s.settings.Restore(s.state.Position, s.records)
	if err != nil {
		t.Fatal(err)
	}
	s.state, s.metrics = state, server.NewMetrics(func() map[string]server.Fleet { return nil }, nil)
	s.step(reported(finished(4, 3*time.Minute)))
	s.counts("0", "1")
}

func TestMessagesCountBeforeTheFleetCanBeSized(t *testing.T) {
	s := newLatencyStage(t, time.Minute)
	s.step(reported(finished(1, time.Second))) // its queue was never read
	s.counts("1", "0")
	if n := s.value(`muster_messages_total{fleet="a",result="finished"}`); n != "1" {
		t.Errorf("found %s finished messages, want 1", n)
	}
}

// TestNothingFallsWhenTheObjectiveChanges holds that earlier messages stay what they were, and that the histogram
// counts all of them by the new bounds.
func TestNothingFallsWhenTheObjectiveChanges(t *testing.T) {
	s := newLatencyStage(t, time.Minute)
	s.step(reported(finished(1, 50*time.Second, 70*time.Second)))
	s.counts("1", "1")
	s.change(10 * time.Second)
	s.step(reported(finished(2, 50*time.Second)))
	s.counts("1", "2")
	for name, want := range map[string]string{
		`muster_message_latency_seconds_bucket{fleet="a",le="10"}`:   "0",
		`muster_message_latency_seconds_bucket{fleet="a",le="100"}`:  "3",
		`muster_message_latency_seconds_bucket{fleet="a",le="+Inf"}`: "3",
		`muster_message_latency_seconds_count{fleet="a"}`:            "3",
		`muster_message_latency_seconds_sum{fleet="a"}`:              "170",
	} {
		if got := s.value(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestTheBucketOfTheObjectiveIsWhatIsInTime holds that an alert by the histogram and one by the counters agree.
func TestTheBucketOfTheObjectiveIsWhatIsInTime(t *testing.T) {
	s := newLatencyStage(t, 90*time.Second)
	s.step(reported(finished(1, 9*time.Second, 85*time.Second, 100*time.Second, time.Hour)))
	s.counts("2", "2")
	if got := s.value(`muster_message_latency_seconds_bucket{fleet="a",le="90"}`); got != "2" {
		t.Errorf("the bucket of the objective holds %s, want 2", got)
	}
	var p exposition.Page
	s.metrics.Collect(&p)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	read, err := parser.TextToMetricFamilies(bytes.NewReader(p.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for _, b := range read["muster_message_latency_seconds"].GetMetric()[0].GetHistogram().GetBucket() {
		if b.GetCumulativeCount() < last {
			t.Errorf("the bucket up to %v holds %d, the one before %d", b.GetUpperBound(), b.GetCumulativeCount(), last)
		}
		last = b.GetCumulativeCount()
	}
}
