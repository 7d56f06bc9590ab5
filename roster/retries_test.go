package roster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

func retries(n int64, oldest float64) func(*protocol.Report) {
	return func(r *protocol.Report) { r.Retries = &protocol.Retries{Messages: n, OldestSeconds: oldest} }
}

func TestRetriesAddUpWhatWorkersTell(t *testing.T) {
	for _, row := range []struct {
		name    string
		reports []protocol.Report
		now     float64
		want    protocol.Retries
		known   bool
	}{
		{"nobody has reported", nil, 5, protocol.Retries{}, false},
		{"none waits", []protocol.Report{says("a", 1, protocol.Receiving, retries(0, 0))}, 5, protocol.Retries{}, true},
		{"two workers", []protocol.Report{says("a", 1, protocol.Receiving, retries(3, 10)),
			says("b", 4, protocol.Receiving, retries(4, 12))}, 5, protocol.Retries{Messages: 7, OldestSeconds: 14},
			true},
		{"the newest report counts", []protocol.Report{says("a", 1, protocol.Receiving, number(1), retries(3, 10)),
			says("a", 2, protocol.Receiving, number(2), retries(1, 5))}, 2, protocol.Retries{Messages: 1,
			OldestSeconds: 5}, true},
		{"one does not know when they were sent", []protocol.Report{says("a", 1, protocol.Receiving, retries(3, 0))}, 5,
			protocol.Retries{Messages: 3}, true},
		{"one does not tell", []protocol.Report{says("a", 1, protocol.Receiving, retries(3, 10)),
			says("b", 1, protocol.Receiving)}, 5, protocol.Retries{}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r roster.Roster
			for _, rep := range row.reports {
				took(t, &r, rep)
			}
			if got, known := r.Retries(at(row.now)); got != row.want || known != row.known {
				t.Errorf("found %+v, %t; want %+v, %t", got, known, row.want, row.known)
			}
		})
	}
}

func TestCheckRefusesFailuresThatCannotBe(t *testing.T) {
	last := func(at time.Time, text string) func(*protocol.Report) {
		return func(r *protocol.Report) { r.LastFailure = &protocol.LastFailure{At: at, Error: text} }
	}
	for _, row := range []struct {
		name   string
		change func(*protocol.Report)
		says   string
	}{
		{"fewer retries than none", retries(-1, 0), "-1 messages that wait for a retry"},
		{"sent in the future", retries(1, -5), "sent -5 s ago"},
		{"a long error", last(t0, strings.Repeat("x", protocol.MaxErrorBytes+1)), "a last failure of 401 bytes"},
		{"an error at no time", last(time.Time{}, "x"), "a time from 1970 on"},
		{"durations of failures without a count",
			func(r *protocol.Report) { r.Failing = series.Durations{SumSeconds: 5} }, "durations of failed attempts"},
		{"times in the system without a count",
			func(r *protocol.Report) { r.InSystem = series.Durations{SumSeconds: 5} }, "times in the system"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := roster.Check(says("m", 1, protocol.Receiving, row.change))
			if err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("found %v, want an error that says %q", err, row.says)
			}
		})
	}
}
