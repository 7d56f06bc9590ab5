package function

import (
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster/worker/dynamoreport"
	"github.com/muster-scale/muster/worker/protocol"
)

// reported is the entry of a worker of the instance i.
func reported(state protocol.WorkerState, busy int, sent time.Time, incidents ...protocol.Incident) dynamoreport.Entry {
	return dynamoreport.Entry{Report: protocol.Report{Member: "i", Worker: "w", State: state, Busy: busy, SentAt: sent,
		Incidents: incidents}}
}

func TestOnlyAnInstanceWhoseWorkersAllowItEnds(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	rows := []struct {
		what           string
		entries        []dynamoreport.Entry
		may, protected bool
	}{
		{"no report", nil, false, false},
		{"stopped with a permit", []dynamoreport.Entry{reported(protocol.Leaving, 0, ago(time.Minute))}, true, true},
		{"stopped long ago", []dynamoreport.Entry{reported(protocol.Leaving, 0, ago(11*time.Minute))}, false, false},
		{"stops at once, with a message", []dynamoreport.Entry{reported(protocol.Leaving, 1, now)}, false, false},
		{"ready to stop, without a permit", []dynamoreport.Entry{reported(protocol.Idle, 0, now)}, false, true},
		{"receives, without a message", []dynamoreport.Entry{reported(protocol.Receiving, 0, now)}, false, true},
		{"receives, with a message", []dynamoreport.Entry{reported(protocol.Receiving, 1, now)}, false, false},
		{"drains", []dynamoreport.Entry{reported(protocol.Draining, 1, now)}, false, false},
		{"starts", []dynamoreport.Entry{reported(protocol.Starting, 0, now)}, false, false},
		{"silent", []dynamoreport.Entry{reported(protocol.Receiving, 0, ago(46*time.Second))}, false, false},
		{"a clock that is ahead", []dynamoreport.Entry{reported(protocol.Leaving, 0, ago(-time.Minute))}, false, false},
		{"could not protect itself", []dynamoreport.Entry{reported(protocol.Receiving, 0, now,
			protocol.Incident{Kind: protocol.ProtectionFailed, Count: 1})}, false, false},
		{"one of two workers has a message", []dynamoreport.Entry{reported(protocol.Leaving, 0, now),
			reported(protocol.Receiving, 1, now)}, false, false},
		{"both workers have stopped", []dynamoreport.Entry{reported(protocol.Leaving, 0, now),
			reported(protocol.Leaving, 0, now)}, true, true},
	}
	var ask termination
	for _, id := range []string{"other", "i"} {
		ask.Instances = append(ask.Instances, candidate{id, "a", "spot"})
	}
	for _, row := range rows {
		for protected, may := range map[bool]bool{false: row.may, true: row.protected} {
			want := []string{}
			if may {
				want = []string{"i"}
			}
			if got := endable(ask, row.entries, protected, now); !slices.Equal(got, want) {
				t.Errorf("%s, protected %t: named %q, want %q", row.what, protected, got, want)
			}
		}
	}
	for c, want := range map[capacity]int{{"a", "spot", 1}: 1, {"a", "spot", 2}: 0, {"b", "spot", 1}: 0,
		{"a", "on-demand", 1}: 0} {
		ask.CapacityToTerminate = []capacity{c}
		if got := endable(ask, rows[1].entries, false, now); len(got) != want {
			t.Errorf("named %q where %+v has to end, want %d", got, c, want)
		}
	}
	if got := endable(termination{}, rows[1].entries, true, now); got == nil || len(got) != 0 {
		t.Errorf("named %q, want an empty list where nothing is asked for", got)
	}
}

func TestAnInstanceGoesOnWhenItsWorkersAreReady(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		state           protocol.WorkerState
		busy            int
		age             time.Duration
		launches, ended bool
	}{
		{protocol.Starting, 0, 0, false, false}, {protocol.Receiving, 0, 0, true, false},
		{protocol.Receiving, 2, 0, true, false}, {protocol.Draining, 1, 0, true, false},
		{protocol.Receiving, 0, time.Minute, false, false}, {protocol.Leaving, 0, 20 * time.Second, false, true},
		{protocol.Leaving, 0, time.Minute, false, true},
		// Stopped receiving since the instance began to end, 30 s ago, and before.
		{protocol.Draining, 0, 20 * time.Second, false, true}, {protocol.Idle, 0, 20 * time.Second, false, true},
		{protocol.Draining, 0, 40 * time.Second, false, false}, {protocol.Idle, 0, 40 * time.Second, false, false},
	} {
		reports := []protocol.Report{reported(row.state, row.busy, now.Add(-row.age)).Report}
		for launching, want := range map[bool]bool{true: row.launches, false: row.ended} {
			if got, why := ready(reports, launching, now, now.Add(-30*time.Second)); got != want {
				t.Errorf("%s with %d messages, %s ago, launching %t: found %t (%s), want %t", row.state, row.busy,
					row.age, launching, got, why, want)
			}
		}
	}
	if got, _ := ready(nil, false, now, now); got {
		t.Error("an instance without reports is ready, want unknown")
	}
}
