package roster_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var rules = roster.Rules{Silence: 10 * time.Second, BootWithin: time.Minute, Remember: 5 * time.Minute}

func at(seconds float64) time.Time { return t0.Add(time.Duration(seconds * float64(time.Second))) }

// says returns the report of a member's only worker, that many seconds after t0.
func says(
	member string, seconds float64, state protocol.WorkerState, change ...func(*protocol.Report),
) protocol.Report {
	r := protocol.Report{Fleet: "f", Member: member, Worker: member, Seq: int64(seconds*1000) + 1, At: at(seconds),
		State: state, Slots: 2}
	if state == protocol.Idle {
		r.Token, r.Cause = "token-of-"+member, protocol.Asked
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

func busy(n int) func(*protocol.Report)             { return func(r *protocol.Report) { r.Busy = n } }
func cause(c protocol.Cause) func(*protocol.Report) { return func(r *protocol.Report) { r.Cause = c } }
func epoch(n int64) func(*protocol.Report)          { return func(r *protocol.Report) { r.Epoch = n } }
func token(text string) func(*protocol.Report)      { return func(r *protocol.Report) { r.Token = text } }
func worker(id string) func(*protocol.Report)       { return func(r *protocol.Report) { r.Worker = id } }
func finished(n int64) func(*protocol.Report)       { return func(r *protocol.Report) { r.Finished = n } }
func number(n int64) func(*protocol.Report)         { return func(r *protocol.Report) { r.Seq = n } }
func list(seconds float64, ids ...string) muster.Listing {
	l := muster.Listing{At: at(seconds)}
	for _, id := range ids {
		l.Members = append(l.Members, muster.Member{ID: id, LaunchedAt: t0})
	}
	return l
}

func ended(l muster.Listing, id, failure string) muster.Listing {
	l.Members = append(l.Members, muster.Member{ID: id, LaunchedAt: t0, Ended: true, Failure: failure})
	return l
}

// took fails the test unless each of the reports was taken.
func took(t *testing.T, r *roster.Roster, reports ...protocol.Report) (news roster.News) {
	t.Helper()
	for _, rep := range reports {
		var ok bool
		if ok, news = r.Reported(rep); !ok {
			t.Fatalf("the report %+v was not taken", rep)
		}
	}
	return news
}

// answered delivers a report of a worker that had an answer before, so that it knows the challenge.
func answered(r *roster.Roster, rep protocol.Report) {
	if r.Directive(rep.Member, rep.Worker).Challenge == 0 {
		first := rep
		first.Seq, first.State, first.Token, first.Cause, first.Busy = rep.Seq-1, protocol.Starting, "", "", 0
		r.Reported(first)
	}
	rep.Challenge = r.Directive(rep.Member, rep.Worker).Challenge
	r.Reported(rep)
}

func states(r roster.Roster, now time.Time) string {
	var all []string
	for _, m := range r.Members() {
		all = append(all, m.ID+" "+string(m.State(now, rules)))
	}
	return strings.Join(all, ", ")
}

func TestAMemberWhoseWorkersLeaveIsNoCapacity(t *testing.T) {
	for _, why := range []protocol.Cause{protocol.Asked, protocol.IdleTooLong, protocol.EndOfBilling,
		protocol.Signalled} {
		var r roster.Roster
		took(t, &r, says("m", 1, protocol.Receiving), says("m", 2, protocol.Leaving, cause(why)))
		if got := states(r, at(2)); got != "m draining" {
			t.Errorf("a worker that leaves, %s: %s, want it draining", why, got)
		}
	}
}

func TestAMemberIsWhereItsViewsPutIt(t *testing.T) {
	tests := []struct {
		name string
		do   func(r *roster.Roster)
		now  float64
		want roster.State
	}{
		{"ordered, and nobody has seen it", func(*roster.Roster) {}, 1, roster.Ordered},
		{"listed, and it has not reported", func(r *roster.Roster) { r.Listed(list(1, "m")) }, 1, roster.Booting},
		{"it says that it is starting", func(r *roster.Roster) { r.Reported(says("m", 1, protocol.Starting)) }, 1,
			roster.Booting},
		{"never seen until after the boot deadline", func(*roster.Roster) {}, 61, roster.Lost},
		{"listed, and silent until after the boot deadline", func(r *roster.Roster) { r.Listed(list(1, "m")) }, 61,
			roster.Lost},
		{"it receives and holds nothing", func(r *roster.Roster) { r.Reported(says("m", 1, protocol.Receiving)) }, 2,
			roster.Idle},
		{"it receives and holds a message",
			func(r *roster.Roster) { r.Reported(says("m", 1, protocol.Receiving, busy(1))) }, 2, roster.Busy},
		{"as silent as is allowed", func(r *roster.Roster) { r.Reported(says("m", 1, protocol.Receiving)) }, 11,
			roster.Idle},
		{"idle and then silent: lost, not idle",
			func(r *roster.Roster) { r.Reported(says("m", 1, protocol.Receiving)) }, 11.1, roster.Lost},
		{"silent and then heard again", func(r *roster.Roster) {
			r.Reported(says("m", 1, protocol.Receiving))
			r.Reported(says("m", 30, protocol.Receiving, busy(2)))
		}, 30, roster.Busy},
		{"asked to drain while it is busy", func(r *roster.Roster) {
			r.Reported(says("m", 1, protocol.Receiving, busy(1)))
			r.Drain(1, at(2), rules)
		}, 2, roster.Draining},
		{"asked to drain before it ever reported", func(r *roster.Roster) {
			r.Listed(list(1, "m"))
			r.Drain(1, at(2), rules)
		}, 2, roster.Draining},
		{"asked to drain, and never heard of until after the boot deadline", func(r *roster.Roster) {
			r.Listed(list(1, "m"))
			r.Drain(1, at(2), rules)
		}, 61, roster.Lost},
		{"told to end by the system", func(r *roster.Roster) {
			r.Reported(says("m", 1, protocol.Draining, cause(protocol.Signalled), busy(1)))
		}, 2, roster.Draining},
		{"it offers to leave, which is not granted yet",
			func(r *roster.Roster) { r.Reported(says("m", 1, protocol.Idle, cause(protocol.IdleTooLong))) }, 2,
			roster.Idle},
		{"one worker of it drains and the other works", func(r *roster.Roster) {
			r.Reported(says("m", 1, protocol.Draining, cause(protocol.Signalled)))
			r.Reported(says("m", 1, protocol.Receiving, worker("second"), busy(1)))
		}, 2, roster.Busy},
		{"released", func(r *roster.Roster) {
			r.Reported(says("m", 1, protocol.Idle))
			r.Release("m", at(1))
		}, 2, roster.Released},
		{"released, and silent since", func(r *roster.Roster) {
			r.Reported(says("m", 1, protocol.Idle))
			r.Release("m", at(1))
		}, 100, roster.Released},
		{"ended, and it still reports", func(r *roster.Roster) {
			r.Listed(ended(list(1), "m", ""))
			r.Reported(says("m", 2, protocol.Receiving))
		}, 2, roster.Ended},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var r roster.Roster
			r.Launched(t0, []string{"m"})
			test.do(&r)
			want := "m " + string(test.want)
			if test.want == roster.Ended {
				want = ""
			}
			if got := states(r, at(test.now)); got != want {
				t.Errorf("found %q, want %q", got, want)
			}
		})
	}
}

func TestAReportThatCannotBeTrueIsRefusedWhole(t *testing.T) {
	long := strings.Repeat("x", 257)
	durations := func(d series.Durations) func(*protocol.Report) {
		return func(r *protocol.Report) { r.Processing = d }
	}
	tests := []struct {
		name string
		bad  func(*protocol.Report)
		says string
	}{
		{"no member", func(r *protocol.Report) { r.Member = "" }, "1 to 256 characters"},
		{"no worker", func(r *protocol.Report) { r.Worker = "" }, "1 to 256 characters"},
		{"a giant member name", func(r *protocol.Report) { r.Member = long }, "1 to 256 characters"},
		{"a giant worker name", func(r *protocol.Report) { r.Worker = long }, "1 to 256 characters"},
		{"a giant fleet name", func(r *protocol.Report) { r.Fleet = long }, "1 to 256 characters"},
		{"no slots", func(r *protocol.Report) { r.Slots = 0 }, "1 to 10000"},
		{"negative slots", func(r *protocol.Report) { r.Slots = -1 }, "1 to 10000"},
		{"more slots than any machine has", func(r *protocol.Report) { r.Slots = 10_001 }, "1 to 10000"},
		{"negative busy slots", busy(-1), "0 to 2"},
		{"more busy slots than slots", busy(3), "0 to 2"},
		{"no sequence number", func(r *protocol.Report) { r.Seq = 0 }, "start at 1 and 0"},
		{"a negative epoch", epoch(-1), "start at 1 and 0"},
		{"a negative count of finished messages", finished(-1), "0 to 1000000000"},
		{"a count that would overflow a sum", finished(math.MaxInt64), "0 to 1000000000"},
		{"a negative count of failed messages", func(r *protocol.Report) { r.Failed = -1 }, "0 to 1000000000"},
		{"durations that add up to NaN",
			durations(series.Durations{Count: 1, SumSeconds: math.NaN(), Buckets: []series.Bucket{{Count: 1}}}),
			"durations"},
		{"durations that add up to infinity",
			durations(series.Durations{Count: 1, SumSeconds: math.Inf(1), Buckets: []series.Bucket{{Count: 1}}}),
			"durations"},
		{"durations below zero",
			durations(series.Durations{Count: 1, SumSeconds: -1, Buckets: []series.Bucket{{Count: 1}}}), "durations"},
		{"durations longer than years",
			durations(series.Durations{Count: 1, SumSeconds: 1e300, Buckets: []series.Bucket{{Count: 1}}}),
			"at most a year"},
		{"more durations than can be counted",
			durations(series.Durations{Count: math.MaxInt64, SumSeconds: 1,
				Buckets: []series.Bucket{{Count: math.MaxInt64}}}), "up to 1000000000"},
		{"durations in no bucket", durations(series.Durations{Count: 1, SumSeconds: 1}), "each in one bucket"},
		{"a release token while it receives", token("t"), `allowed only in "idle"`},
		{"idle without a release token", func(r *protocol.Report) { r.State = protocol.Idle }, "needs a release token"},
		{"idle and busy", func(r *protocol.Report) { r.State, r.Token, r.Busy = protocol.Idle, "t", 1 },
			"no busy slot, found 1"},
		{"a giant token", func(r *protocol.Report) { r.State, r.Token = protocol.Idle, long },
			"at most 256 characters"},
		{"no state", func(r *protocol.Report) { r.State = "" }, "allowed is starting, receiving"},
		{"a state of its own", func(r *protocol.Report) { r.State = "released" }, `found state "released"`},
		{"a cause of its own", cause("because"), "allowed is asked, idle_too_long, end_of_billing or signalled"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rep := says("m", 1, protocol.Receiving, test.bad)
			err := roster.Check(rep)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("found error %v, want one that says %q", err, test.says)
			}
			var r roster.Roster
			if taken, _ := r.Reported(rep); taken || len(r.Members()) > 0 {
				t.Errorf("the report was believed: %s", states(r, at(1)))
			}
		})
	}
}

func TestWhatAReportMayAtMostSayIsTaken(t *testing.T) {
	rep := says(strings.Repeat("m", 256), 1, protocol.Receiving, busy(2), finished(1_000_000_000), epoch(math.MaxInt64),
		number(math.MaxInt64))
	rep.Processing = series.Add(rep.Processing, 0, time.Nanosecond, 30*24*time.Hour)
	if err := roster.Check(rep); err != nil {
		t.Error(err)
	}
}

func TestALateOrRepeatedReportChangesNothing(t *testing.T) {
	tests := []struct {
		name string
		rep  protocol.Report
	}{
		{"the same report again", says("m", 5, protocol.Receiving, busy(1), epoch(2))},
		{"an earlier report", says("m", 4, protocol.Receiving, epoch(2))},
		{"an earlier idle report with its token", says("m", 4, protocol.Idle, epoch(1))},
		{"a later report of an earlier epoch", says("m", 6, protocol.Idle, epoch(1))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var r roster.Roster
			took(t, &r, says("m", 5, protocol.Receiving, busy(1), epoch(2)))
			test.rep.At = at(6)
			if taken, _ := r.Reported(test.rep); taken {
				t.Error("the report was taken")
			}
			if got := states(r, at(6)); got != "m busy" {
				t.Errorf("found %q, want it busy", got)
			}
			if asked, offered := r.Offers(at(6), rules); len(asked)+len(offered) > 0 {
				t.Errorf("offers are %v and %v, want none", asked, offered)
			}
		})
	}
}

func TestAMemberThatEndedStaysEnded(t *testing.T) {
	var r roster.Roster
	r.Launched(t0, []string{"m"})
	took(t, &r, says("m", 1, protocol.Receiving, busy(1)))
	r.Listed(list(1, "m"))
	gone := r.Listed(list(2))
	if want := []roster.Gone{{Member: "m", Failure: "the fleet lists it no more", Wasted: true}}; !cmp.Equal(gone,
		want) {
		t.Errorf("found %+v gone, want %+v", gone, want)
	}
	if taken, _ := r.Reported(says("m", 3, protocol.Receiving, busy(1))); taken {
		t.Error("its late report was taken")
	}
	r.Listed(list(4, "m"))
	r.Tidy(at(2+300), rules)
	if got := states(r, at(4)); got != "" {
		t.Errorf("it came back: %s", got)
	}
	if again := r.Listed(list(5)); len(again) > 0 {
		t.Errorf("it ended twice: %+v", again)
	}
}

func TestWhatNobodyHereOrderedIsAdoptedOnce(t *testing.T) {
	var r roster.Roster
	r.Listed(ended(list(1, "b", "a", "b"), "dead", "exit status 1"))
	took(t, &r, says("c", 2, protocol.Receiving, busy(1)), says("a", 2, protocol.Receiving))
	r.Listed(list(3, "a", "b", "c"))
	if got := states(r, at(3)); got != "a idle, b booting, c busy" {
		t.Errorf("found %q", got)
	}
	if n := r.Launches().LastHour; n != 0 {
		t.Errorf("adopting counted as %d launches", n)
	}
}

func TestBootTimesAreOnlyLearnedWhereTheBootWasSeen(t *testing.T) {
	tests := []struct {
		name   string
		before func(r *roster.Roster)
		want   roster.News
	}{
		{"ordered here", func(r *roster.Roster) { r.Launched(t0, []string{"m"}) },
			roster.News{Member: "m", Joined: true, Boot: 30 * time.Second}},
		{"listed, and heard to be starting", func(r *roster.Roster) {
			r.Listed(list(10, "m"))
			r.Reported(says("m", 20, protocol.Starting))
		}, roster.News{Member: "m", Joined: true, Boot: 30 * time.Second}},
		{"listed, and found at work", func(r *roster.Roster) { r.Listed(list(10, "m")) }, roster.News{Member: "m"}},
		{"known by its report alone", func(*roster.Roster) {}, roster.News{Member: "m"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var r roster.Roster
			test.before(&r)
			if got := took(t, &r, says("m", 30, protocol.Receiving)); !reflect.DeepEqual(got, test.want) {
				t.Errorf("news is %+v, want %+v", got, test.want)
			}
			if got := took(t, &r, says("m", 31, protocol.Receiving)); got.Joined {
				t.Error("it joined twice")
			}
		})
	}
}

func TestAMemberKnownByReportsAloneIsGivenUpWhenTheyStopForLong(t *testing.T) {
	var r roster.Roster
	took(t, &r, says("stranger", 0, protocol.Receiving, busy(1)), says("listed", 0, protocol.Receiving, busy(1)))
	r.Listed(list(1, "listed"))
	if gone := r.Tidy(at(310), rules); len(gone) > 0 {
		t.Errorf("given up too early: %+v", gone)
	}
	gone := r.Tidy(at(311), rules)
	if len(gone) != 1 || gone[0].Member != "stranger" || gone[0].Exists {
		t.Errorf("found %+v gone, want the stranger", gone)
	}
	if got := states(r, at(311)); got != "listed lost" {
		t.Errorf("found %q, want what the fleet lists to stay", got)
	}
}

func TestFailedLaunchesBackOffUntilOneProvesItself(t *testing.T) {
	var r roster.Roster
	for i, want := range []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		id := fmt.Sprint("m", i)
		r.Launched(at(float64(i)), []string{id})
		gone := r.Listed(ended(list(float64(i)), id, "exit status 1"))
		if len(gone) != 1 || !gone[0].Wasted {
			t.Fatalf("found %+v gone, want a wasted launch", gone)
		}
		l := r.Launches()
		if l.Failed != i+1 || l.LastHour != i+1 || l.LastError != "exit status 1" || l.RetryAt != at(float64(i)+want) {
			t.Errorf("after %d failures: found %+v, want to retry after %v s", i+1, l, want)
		}
	}
	r.Launched(at(400), []string{"good"})
	took(t, &r, says("good", 401, protocol.Receiving))
	if r.Launches().Failed == 0 {
		t.Error("to receive for a moment counted as proof")
	}
	if news := took(t, &r, says("good", 402, protocol.Receiving, finished(1))); !news.Proved {
		t.Error("a finished message was no proof")
	}
	if l := r.Launches(); l.Failed != 0 || !l.RetryAt.IsZero() || l.LastError != "" || l.LastHour != 12 {
		t.Errorf("after the proof: found %+v", l)
	}
}

func TestOneLaunchAtATimeIsOnTrial(t *testing.T) {
	start := func() (r roster.Roster) {
		r.Recall(t0, "earlier", roster.HasEnded, true, "exit status 1")
		r.Launched(at(1), []string{"m"})
		return r
	}
	tests := []struct {
		name string
		do   func(r *roster.Roster)
		now  float64
		want bool
	}{
		{"while it boots", func(*roster.Roster) {}, 2, true},
		{"while it has only just begun to receive",
			func(r *roster.Roster) { r.Reported(says("m", 2, protocol.Receiving)) }, 3, true},
		{"not once it stayed in service", func(r *roster.Roster) {
			r.Reported(says("m", 2, protocol.Receiving))
			r.Reported(says("m", 12, protocol.Receiving))
		}, 12, false},
		{"not once it failed too", func(r *roster.Roster) { r.Listed(ended(list(2), "m", "exit status 1")) }, 2, false},
		{"not once it went silent: it will prove nothing",
			func(r *roster.Roster) { r.Reported(says("m", 2, protocol.Receiving)) }, 13, false},
		{"not once it overran the boot deadline", func(*roster.Roster) {}, 62, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := start()
			test.do(&r)
			if got := r.OnTrial(at(test.now), rules); got != test.want {
				t.Errorf("on trial: %t, want %t", got, test.want)
			}
		})
	}
}

func TestTheBootDeadlineGivesAMemberUp(t *testing.T) {
	tests := []struct {
		name  string
		do    func(r *roster.Roster)
		lists []string // of the next listing
		live  int      // after it
	}{
		{"one that nobody ever saw keeps its place while nothing can be listed", func(*roster.Roster) {}, nil, 0},
		{"one that the fleet lists is left alone", func(r *roster.Roster) { r.Listed(list(1, "m")) }, []string{"m"}, 1},
		{"one that shows up after all is left alone", func(*roster.Roster) {}, []string{"m"}, 1},
		{"one that only says it is starting is left alone",
			func(r *roster.Roster) { r.Reported(says("m", 60, protocol.Starting)) }, nil, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var r roster.Roster
			r.Launched(t0, []string{"m"})
			test.do(&r)
			if gone := r.Tidy(at(60), rules); len(gone) > 0 {
				t.Errorf("given up too early: %+v", gone)
			}
			want := []roster.Gone{{Member: "m", Failure: "it took no message within 1m0s", Wasted: true, Exists: true}}
			if diff := cmp.Diff(want, r.Tidy(at(60.5), rules)); diff != "" {
				t.Errorf("gone (-want +got):\n%s", diff)
			}
			if gone := r.Tidy(at(61), rules); len(gone) > 0 {
				t.Errorf("given up twice: %+v", gone)
			}
			if n := r.Capacity(at(61), rules, 1).Live(); n != 1 {
				t.Errorf("%d count against the maximum before the next listing, want 1", n)
			}
			r.Listed(list(62, test.lists...))
			if n := r.Capacity(at(62), rules, 1).Live(); n != test.live {
				t.Errorf("%d count against the maximum after it, want %d", n, test.live)
			}
			if r.Launches().Failed != 1 {
				t.Errorf("found %+v, want one failed launch", r.Launches())
			}
		})
	}
}

func TestAnOrderThatFailedLeavesNoGhosts(t *testing.T) {
	var r roster.Roster
	r.Launched(t0, []string{"seen", "heard", "never"})
	r.Listed(list(1, "seen"))
	took(t, &r, says("heard", 1, protocol.Starting))
	r.NotLaunched(at(2), []string{"seen", "heard", "never", "unknown"}, "no capacity")
	gone := r.Listed(list(3, "seen"))
	if want := []roster.Gone{{Member: "never", Failure: "no capacity", Wasted: true}}; !cmp.Equal(gone, want) {
		t.Errorf("found %+v gone, want %+v", gone, want)
	}
	if l := r.Launches(); l.LastHour != 3 || l.Failed != 1 {
		t.Errorf("found %+v, want three attempts of which one failed", l)
	}
}

func TestAnOrderThatFailedInPartLeavesTheOthersTheirPlaces(t *testing.T) {
	var r roster.Roster
	r.Launched(t0, []string{"started", "refused"})
	r.NotLaunched(at(2), []string{"started", "refused"}, "no capacity for more")
	if gone := r.Listed(list(1)); len(gone) != 0 || r.Capacity(at(2), rules, 1).Ordered != 2 {
		t.Errorf("a listing from before the order failed says nothing, found %+v gone", gone)
	}
	gone := r.Listed(list(3, "started"))
	if want := []roster.Gone{{Member: "refused", Failure: "no capacity for more", Wasted: true}}; !cmp.Equal(gone,
		want) {
		t.Errorf("found %+v gone, want %+v", gone, want)
	}
	took(t, &r, says("started", 1, protocol.Receiving))
	if c := r.Capacity(at(3), rules, 1); c.Idle != 1 || c.Live() != 1 {
		t.Errorf("found %+v, want the one that started in service", c)
	}
}
