package lease_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/protocol"
)

func TestWhatWorkUsedIsReportedOnceAndRepeatedUntilAnswered(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := lease.New(lease.Options{Fleet: "f", Member: "m", Worker: "m", Slots: 2})
	l.Ready(now)
	l.EndReceive(now, l.BeginReceive(2), 2)
	l.End(now, lease.End{Received: now, OK: true, Used: &protocol.Usage{Calls: 1, CPUSeconds: 1}})
	l.End(now, lease.End{Received: now, Used: &protocol.Usage{Calls: 1, CPUSeconds: 2}})
	first := l.Report(now)
	if first.Usage == nil || first.Usage.Calls != 2 || first.Usage.CPUSeconds != 3 {
		t.Fatalf("the report has the usage %+v, want 2 calls and 3 s", first.Usage)
	}
	second := l.Report(now)
	if second.Usage != nil || len(second.Unanswered) != 1 || second.Unanswered[0].Usage.CPUSeconds != 3 {
		t.Errorf("the next report has %+v of its own and repeats %+v", second.Usage, second.Unanswered)
	}
	l.Obey(now, second, protocol.Directive{Ask: protocol.Work})
	if third := l.Report(now); third.Usage != nil || len(third.Unanswered) != 0 {
		t.Errorf("after an answer: found %+v and %+v, want nothing", third.Usage, third.Unanswered)
	}
}
