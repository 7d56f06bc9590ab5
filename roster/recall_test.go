package roster_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

func TestARestartFindsItsMembersAsItLeftThem(t *testing.T) {
	tests := []struct {
		name    string
		changes []roster.Change
		do      func(r *roster.Roster)
		want    string
		ask     protocol.Ask
	}{
		{"ordered, and listed at once", nil, func(r *roster.Roster) { r.Listed(list(101, "m")) }, "m booting",
			protocol.Work},
		{"ordered, and listed no more: it ended meanwhile", nil, func(r *roster.Roster) { r.Listed(list(101)) }, "",
			protocol.Work},
		{"at work, and it goes on", []roster.Change{roster.Joined},
			func(r *roster.Roster) { r.Reported(says("m", 101, protocol.Receiving, busy(1))) }, "m busy",
			protocol.Work},
		{"asked to drain, and it still is to go", []roster.Change{roster.Joined, roster.AskedToDrain},
			func(r *roster.Roster) {
				r.Reported(says("m", 101, protocol.Draining, cause(protocol.Asked), busy(1)))
			}, "m draining", protocol.Drain},
		{"asked to drain and kept", []roster.Change{roster.Joined, roster.AskedToDrain, roster.Kept},
			func(r *roster.Roster) {
				r.Reported(says("m", 101, protocol.Receiving))
			}, "m idle", protocol.Work},
		{"released, and its grant still holds",
			[]roster.Change{roster.Joined, roster.AskedToDrain, roster.ReleaseGranted}, func(r *roster.Roster) {
				r.Reported(says("m", 101, protocol.Idle))
			}, "m released", protocol.Leave},
		{"ended, and its late report does not bring it back", []roster.Change{roster.Joined, roster.HasEnded},
			func(r *roster.Roster) {
				r.Reported(says("m", 101, protocol.Receiving))
			}, "", protocol.Work},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var r roster.Roster
			r.RecallLaunch(at(90), []string{"m"})
			for _, c := range test.changes {
				r.Recall(at(95), "m", c, false, "")
			}
			test.do(&r)
			if got := states(r, at(101)); got != test.want {
				t.Errorf("found %q, want %q", got, test.want)
			}
			if got := r.Directive("m", "m").Ask; got != test.ask {
				t.Errorf("it is told to %s, want %s", got, test.ask)
			}
			if n := r.Launches().LastHour; n != 1 {
				t.Errorf("%d launches are remembered, want 1", n)
			}
			if gone := r.Listed(ended(list(102), "m", "exit status 1")); len(gone) == 1 && gone[0].Wasted &&
				len(test.changes) > 0 {
				t.Errorf("the end of a member that was of use counts as a failed launch: %+v", gone)
			}
		})
	}
}

func TestFailedLaunchesAreRemembered(t *testing.T) {
	var r roster.Roster
	r.RecallLaunch(at(1), []string{"a", "b"})
	r.Recall(at(2), "a", roster.HasEnded, true, "exit status 1")
	r.Recall(at(3), "b", roster.GivenUp, true, "too slow")
	r.Recall(at(3), "b", roster.HasEnded, true, "it never showed up")
	if l := r.Launches(); l.Failed != 2 || l.LastError != "too slow" || l.RetryAt != at(5) || l.LastHour != 2 {
		t.Errorf("found %+v, want two failures and to retry after two seconds", l)
	}
	r.Recall(at(4), "c", roster.Proved, false, "")
	if l := r.Launches(); l.Failed != 0 || !l.RetryAt.IsZero() {
		t.Errorf("after a proof: found %+v", l)
	}
}

func TestOnlyAListingShowsThatARecalledMemberHasEnded(t *testing.T) {
	var r roster.Roster
	r.RecallLaunch(t0, []string{"m"})
	now := t0.Add(rules.BootWithin + time.Second)
	if gone := r.Tidy(now, rules); len(gone) != 0 {
		t.Errorf("before the first listing %+v is gone", gone)
	}
	if gone := r.Listed(muster.Listing{At: now, Members: []muster.Member{{ID: "m", LaunchedAt: t0}}}); len(gone) != 0 {
		t.Errorf("it is listed, found %+v gone", gone)
	}
	if got := states(r, now); got != "m booting" {
		t.Errorf("found %q, want it to have its time to report", got)
	}
}

func TestAMemberThatIsExpectedIsNotMissedByAListing(t *testing.T) {
	var r roster.Roster
	r.RecallLaunch(t0, []string{"expected", "not"})
	r.Expect(at(60), []string{"expected", "unknown"})
	if gone := r.Listed(list(60)); len(gone) != 1 || gone[0].Member != "not" {
		t.Errorf("found %+v gone, want only the one that nobody expects", gone)
	}
	if c := r.Capacity(at(60), rules, 1); c.Ordered != 1 {
		t.Errorf("found %+v, want one ordered", c)
	}
}
