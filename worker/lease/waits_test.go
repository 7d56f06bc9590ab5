package lease_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/worker/protocol"

	"github.com/muster-scale/muster/worker/lease"
)

// leaseWith returns the lease of a worker that received so many messages at instant 0.
func leaseWith(n int) lease.Lease {
	l := lease.New(lease.Options{Fleet: "f", Member: "m", Worker: "m", Slots: n})
	l.Ready(at(0))
	l.EndReceive(at(0), l.BeginReceive(n), n)
	return l
}

func TestAFailedAttemptIsNoWorkDone(t *testing.T) {
	l := leaseWith(3)
	l.End(at(2), lease.End{Received: at(0), Took: 2 * time.Second, OK: true, Class: "large", SentAt: at(-8)})
	l.End(at(5), lease.End{Received: at(0), Took: 5 * time.Second, Class: "large", SentAt: at(-8), Again: time.Minute,
		Error: "exit status 1\nsee there"})
	r := l.Report(at(5))
	switch {
	case r.Finished != 1 || r.Processing.Count != 1 || r.Processing.SumSeconds != 2 || r.Classes["large"].Count != 1:
		t.Errorf("found %d finished in %+v, classes %v; want the one that was finished alone", r.Finished, r.Processing,
			r.Classes)
	case r.Failed != 1 || r.Failing.Count != 1 || r.Failing.SumSeconds != 5:
		t.Errorf("found %d failed in %+v, want one in 5 s", r.Failed, r.Failing)
	case r.InSystem.Count != 1 || r.InSystem.SumSeconds != 10:
		t.Errorf("found the times in the system %+v, want 10 s", r.InSystem)
	case r.Busy != 1 || r.Retries == nil || *r.Retries != protocol.Retries{Messages: 1, OldestSeconds: 13}:
		t.Errorf("found %d held and %+v that wait for a retry, want 1 and 1 that was sent 13 s ago", r.Busy, r.Retries)
	case r.LastFailure == nil || !r.LastFailure.At.Equal(at(5)) || r.LastFailure.Error != "exit status 1 see there":
		t.Errorf("found the last failure %+v", r.LastFailure)
	}
}

// A worker knows until when what it gave back is hidden, so it tells how many messages wait for a retry at any time.
func TestALeaseTellsWhatWaitsForARetry(t *testing.T) {
	l := leaseWith(400)
	if r := l.Report(at(0)); r.Retries == nil || r.Retries.Messages != 0 {
		t.Fatalf("without any it tells %+v, want 0 and not nothing", r.Retries)
	}
	for i := range 300 {
		l.End(at(0), lease.End{Received: at(0), SentAt: at(-float64(i)), Again: 30 * time.Second})
	}
	for range 50 {
		l.End(at(0), lease.End{Received: at(0), SentAt: at(-5), Again: 4 * time.Minute})
	}
	l.End(at(0), lease.End{Received: at(0), SentAt: at(-9999)}) // a dead letter, or one that is visible at once
	for _, row := range []struct {
		second   int
		messages int64
		oldest   float64
	}{{0, 350, 299}, {29, 350, 328}, {32, 50, 37}, {239, 50, 244}, {256, 0, 0}} {
		got := l.Says(at(float64(row.second))).Retries
		if got.Messages != row.messages || got.OldestSeconds != row.oldest {
			t.Errorf("after %d s it tells %+v, want %d messages, the oldest sent %g s ago", row.second, *got,
				row.messages, row.oldest)
		}
	}
}
