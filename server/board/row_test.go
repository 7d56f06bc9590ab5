package board_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/server/board"
)

// healthy is the status of a fleet whose messages are in time.
func healthy() server.FleetStatus {
	f := server.FleetStatus{Name: "a", Phase: "running", Ready: true, CostPerHour: 0.5,
		Policy: json.RawMessage(`{"name":"worker-utilization","target":0.8,"price_per_hour":0.25}`)}
	o := &f.Observation
	o.Fleet, o.At = "a", t0
	o.Objective, o.Limits = muster.Objective{Latency: time.Minute, Quantile: 0.95}, muster.Limits{Max: 10}
	o.Queues = []muster.QueueObservation{{Queue: "q", Backlog: muster.Measured(t0, 6), InFlight: muster.Measured(t0, 2),
		Delayed: muster.Measured(t0, 0), OldestAge: muster.Measured(t0, 10)}}
	o.Capacity = muster.Capacity{Known: true, Desired: 2, Idle: 1, Busy: 1, Slots: 4, BusySlots: 2, SlotsPerWorker: 2}
	o.Processing = muster.Estimate{Known: true, Count: 9, MeanSeconds: 4, P50Seconds: 3, P95Seconds: 8}
	o.Progress = &muster.Progress{Working: muster.Measured(t0, 2), Retrying: muster.Measured(t0, 0),
		OldestRetry: muster.Measured(t0, 0), Late: muster.Measured(t0, 0), InTime: muster.Measured(t0, 0.99),
		Ended: 100, Finished: 50}
	f.Decision = muster.Decision{Fleet: "a", Wish: 2, Desired: 2, Previous: 2, Verdict: muster.Hold,
		Reason: muster.Steady}
	return f
}

func TestTheStateFollowsFromTheNumbers(t *testing.T) {
	tests := []struct {
		name   string
		change func(*server.FleetStatus)
		want   board.State
		says   string
	}{
		{"healthy", func(*server.FleetStatus) {}, board.Meeting, "99 % of the last hour's messages were in time"},
		{"without a message", func(f *server.FleetStatus) {
			f.Observation.Progress.InTime = muster.Unknown(t0, "none ended")
		}, board.Meeting, "no message is late"},
		{"it failed", func(f *server.FleetStatus) { f.Trouble = "the group does not exist" }, board.NotSized,
			"the group does not exist"},
		{"it starts", func(f *server.FleetStatus) { f.Phase = "starting" }, board.NotSized, "starting"},
		{"not read yet", func(f *server.FleetStatus) { f.Ready = false }, board.Blind, "not read yet"},
		{"no listing", func(f *server.FleetStatus) {
			f.Observation.Capacity = muster.Capacity{Reason: "access denied"}
		}, board.Blind, "access denied"},
		{"no backlog", func(f *server.FleetStatus) {
			f.Observation.Queues[0].Backlog = muster.Unknown(t0, "the queue is gone")
			f.Decision.Reason = muster.UnknownBacklog
		}, board.Blind, "the backlog of q: the queue is gone"},
		{"work fails", func(f *server.FleetStatus) {
			f.Observation.Progress.Failed, f.Observation.Progress.LastError = 60, "exit status 1"
		}, board.Failing, "60 attempts failed in the last five minutes, and 50 messages finished; last error: exit"},
		{"some work fails", func(f *server.FleetStatus) { f.Observation.Progress.Failed = 10 }, board.Meeting, "99 %"},
		{"launches fail", func(f *server.FleetStatus) { f.Observation.Launches.Failed = 2 }, board.Failing,
			"the last 2 launches failed"},
		{"too old", func(f *server.FleetStatus) {
			f.Observation.Queues[0].OldestAge = muster.Measured(t0, 61)
		}, board.Missing, "the oldest message has waited for 1m1s, the objective is 1m0s"},
		{"at the maximum and late", func(f *server.FleetStatus) {
			f.Observation.Queues[0].OldestAge = muster.Measured(t0, 61)
			f.Decision.Wish, f.Decision.Desired = 14, 10
		}, board.Missing, "recommends 14 workers, and the maximum is 10"},
		{"at the maximum", func(f *server.FleetStatus) { f.Decision.Wish, f.Decision.Desired = 14, 10 }, board.AtRisk,
			"the policy recommends 14 workers, and the maximum is 10"},
		{"getting old", func(f *server.FleetStatus) {
			f.Observation.Queues[0].OldestAge = muster.Measured(t0, 50)
		}, board.AtRisk, "has waited for 50s of the objective of 1m0s"},
		{"one late message", func(f *server.FleetStatus) {
			f.Observation.Progress.Late = muster.Measured(t0, 1)
		}, board.Missing, "1 message is late"},
		{"a bad hour", func(f *server.FleetStatus) {
			f.Observation.Progress.InTime = muster.Measured(t0, 0.9496)
		}, board.Missing, "94.9 % of the last hour's messages were in time, the objective is 95 %"},
		{"a bad hour for an objective of many digits", func(f *server.FleetStatus) {
			f.Observation.Objective.Quantile = 0.9999
			f.Observation.Progress.InTime = muster.Measured(t0, 0.9993)
		}, board.Missing, "99.9 % of the last hour's messages were in time, the objective is 99.99 %"},
		{"paused", func(f *server.FleetStatus) {
			f.Observation.Overrides = override.List{{ID: "p", Kind: override.Pause, Begin: t0,
				End: t0.Add(time.Hour), Reason: "a migration"}}
		}, board.Paused, "paused until 13:00 UTC (a migration)"},
		{"paused later", func(f *server.FleetStatus) {
			f.Observation.Overrides = override.List{{ID: "p", Kind: override.Pause, Begin: t0.Add(time.Minute),
				End: t0.Add(time.Hour)}}
		}, board.Meeting, "99 %"},
	}
	for _, test := range tests {
		f := healthy()
		test.change(&f)
		if r := board.RowOf(f); r.State != test.want || !strings.Contains(r.Why, test.says) {
			t.Errorf("%s: found %s: %s; want %s: %s", test.name, r.State, r.Why, test.want, test.says)
		}
	}
}

func TestARowHasTheNumbersOfTheStatus(t *testing.T) {
	r := board.RowOf(healthy())
	for name, test := range map[string]struct {
		got  board.Number
		want float64
	}{
		"backlog": {r.Backlog, 6}, "in service": {r.InService, 2}, "per worker": {r.PerWorker, 3},
		"acceptable": {r.Acceptable, 30}, "utilization": {r.Utilization, 2}, "its target": {r.UtilizationTarget, 0.8},
		"cost": {r.CostPerHour, 0.5}, "p95": {r.P95Seconds, 8}, "in time": {r.InTime, 0.99},
	} {
		if test.got != board.Known(test.want) {
			t.Errorf("%s: found %+v, want %v", name, test.got, test.want)
		}
	}
	f := healthy()
	f.Observation.Capacity, f.CostPerHour = muster.Capacity{Reason: "gone"}, 0
	if r := board.RowOf(f); r.InService.Known || r.PerWorker.Known || r.Utilization.Known || !r.CostPerHour.Known {
		t.Errorf("without a listing found %+v", r)
	}
	f.Policy = nil
	if r := board.RowOf(f); r.CostPerHour.Known || r.UtilizationTarget.Known {
		t.Errorf("without a price found %+v", r)
	}
}

func TestUnknownNumbersAreNull(t *testing.T) {
	for _, n := range []board.Number{{}, board.Known(math.NaN()), board.Known(math.Inf(1))} {
		if text, err := json.Marshal(n); err != nil || string(text) != "null" {
			t.Errorf("%+v is encoded as %s, %v", n, text, err)
		}
	}
	for value, want := range map[float64]string{0: "0", 1.23456: "1.235", 123456.789: "123456.8",
		0.000123456: "0.0001235", -2.5: "-2.5", 1e12: "1000000000000"} {
		text, err := json.Marshal(board.Known(value))
		var back board.Number
		if err != nil || string(text) != want || json.Unmarshal(text, &back) != nil || !back.Known {
			t.Errorf("%v is encoded as %s, %v; want %s", value, text, err, want)
		}
	}
}
