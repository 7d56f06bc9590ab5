package roster_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

// keeps has a worker keep a report, which is read.
func keeps(t *testing.T, r *roster.Roster, reports ...protocol.Report) {
	t.Helper()
	for _, rep := range reports {
		if ok, _ := r.Stored(rep); !ok {
			t.Fatalf("the stored report %+v was not taken", rep)
		}
	}
}

func inState(s protocol.WorkerState) protocol.Report { return says("m", 2, s) }

func TestAStoredReportCountsAndGrowsStale(t *testing.T) {
	rules := rules
	rules.StoredSilence = 45 * time.Second
	for _, row := range []struct {
		name string
		rep  protocol.Report
		now  float64
		want roster.State
	}{
		{"at work", says("m", 2, protocol.Receiving, busy(1)), 3, roster.Busy},
		{"with nothing to do", inState(protocol.Receiving), 3, roster.Idle},
		{"long after those who are answered would be lost", inState(protocol.Receiving), 46, roster.Idle},
		{"unknown when it was not renewed", inState(protocol.Receiving), 48, roster.Lost},
		{"not ready", inState(protocol.Starting), 3, roster.Booting},
		{"about to leave", says("m", 2, protocol.Leaving, cause(protocol.IdleTooLong)), 3, roster.Draining},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r roster.Roster
			r.Listed(list(1, "m"))
			keeps(t, &r, row.rep)
			if got := r.Members()[0].State(at(row.now), rules); got != row.want {
				t.Errorf("found it %s, want %s", got, row.want)
			}
		})
	}
}

func TestWhereTheServiceSaysWhoWorksAStaleReportTakesNobodyOut(t *testing.T) {
	rules := rules
	rules.Unreported, rules.StoredSilence = true, 45*time.Second
	var r roster.Roster
	l := list(1, "m")
	l.Members[0].Serving = true
	r.Listed(l)
	keeps(t, &r, says("m", 2, protocol.Receiving, busy(1)))
	if c := r.Capacity(at(3), rules, 3); c.Slots != 2 || c.BusySlots != 1 {
		t.Errorf("found %+v, want what it reports: one of two slots is busy", c)
	}
	if c := r.Capacity(at(60), rules, 3); c.Busy != 1 || c.Slots != 3 || c.Lost != 0 {
		t.Errorf("found %+v once nobody hears of it, want the three slots that are configured", c)
	}
}

func TestAStoredReportAdoptsNobody(t *testing.T) {
	var r roster.Roster
	if taken, _ := r.Stored(inState(protocol.Receiving)); taken || len(r.Members()) > 0 {
		t.Errorf("what is kept outlives its worker, and brought back %s", states(r, at(2)))
	}
}

func TestWhoIsAnsweredCountsByThatAlone(t *testing.T) {
	for _, row := range []struct {
		name   string
		first  bool // answered, else stored
		then   float64
		number int64
		want   bool
	}{
		{"an entry beside the reports", true, 5, 1 << 40, false},
		{"an entry of one that went silent", true, 63, 1, true},
		{"a report of one that was stored, whatever its number", false, 5, 1, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r roster.Roster
			r.Listed(list(1, "m"))
			rep := says("m", row.then, protocol.Receiving, number(row.number), finished(7))
			var taken bool
			if row.first {
				took(t, &r, says("m", 2, protocol.Receiving))
				taken, _ = r.Stored(rep)
			} else {
				keeps(t, &r, says("m", 2, protocol.Receiving))
				taken, _ = r.Reported(rep)
			}
			if taken != row.want {
				t.Errorf("it was taken: %t, want %t", taken, row.want)
			}
		})
	}
}

func TestOneThatIsAnsweredAgainMayBeReleased(t *testing.T) {
	var r roster.Roster
	r.Listed(list(1, "m"))
	keeps(t, &r, says("m", 2, protocol.Receiving))
	answered(&r, says("m", 3, protocol.Receiving, number(1)))
	answered(&r, says("m", 4, protocol.Idle, cause(protocol.IdleTooLong), number(2)))
	if _, offered := r.Offers(at(4), rules); !slices.Equal(offered, []string{"m"}) {
		t.Errorf("found the offers %v, want m", offered)
	}
}

// Whatever workers keep, and whatever they were told before, nobody is asked to go or released by it.
func TestNobodyLeavesByAStoredReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r roster.Roster
		r.Listed(list(0, "a", "b"))
		rules := rules
		rules.StoredSilence = 45 * time.Second
		for i := range rapid.IntRange(1, 30).Draw(t, "steps") {
			now := at(float64(i + 1))
			rep := says(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "member"), float64(i+1),
				rapid.SampledFrom([]protocol.WorkerState{
					protocol.Starting, protocol.Receiving, protocol.Draining, protocol.Idle, protocol.Leaving,
				}).Draw(t, "state"))
			rep.Challenge = rapid.SampledFrom([]int64{0, rep.At.UnixMicro(), at(1).UnixMicro()}).Draw(t, "challenge")
			r.Stored(rep)
			if asked, offered := r.Offers(now, rules); len(asked)+len(offered) > 0 {
				t.Fatalf("offers are %v and %v", asked, offered)
			}
			for _, id := range r.Drain(2, now, rules) {
				for _, m := range r.Members() {
					if m.ID == id && len(m.Workers) > 0 {
						t.Fatalf("%s was asked to go, and nobody answers it", id)
					}
				}
			}
		}
	})
}
