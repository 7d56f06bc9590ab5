package roster_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

func TestOnlyAMemberWithTokensOfAllItsWorkersIsOffered(t *testing.T) {
	tests := []struct {
		name           string
		do             func(r *roster.Roster)
		now            float64
		asked, offered []string
	}{
		{"asked to go, holding nothing, under a token", func(r *roster.Roster) {
			answered(r, says("m", 0.5, protocol.Receiving))
			r.Drain(1, at(0.6), rules)
			answered(r, says("m", 1, protocol.Idle))
		}, 1, []string{"m"}, nil},
		{"asked to go, and wanted again before it heard of it: it offers", func(r *roster.Roster) {
			answered(r, says("m", 0.5, protocol.Receiving))
			r.Drain(1, at(0.6), rules)
			r.Keep(1, at(0.7), rules)
			answered(r, says("m", 1, protocol.Idle))
		}, 1, nil, []string{"m"}},
		{"told to go by the system",
			func(r *roster.Roster) { answered(r, says("m", 1, protocol.Idle, cause(protocol.Signalled))) }, 1,
			[]string{"m"}, nil},
		{"stopped by itself", func(r *roster.Roster) {
			answered(r,
				says("m", 1, protocol.Idle, cause(protocol.IdleTooLong)))
		}, 1, nil, []string{"m"}},
		{"never heard of", func(r *roster.Roster) { r.Listed(list(1, "m")) }, 1, nil, nil},
		{"receiving, and idle for hours", func(r *roster.Roster) {
			for i := range 200 {
				r.Reported(says("m", float64(i*60), protocol.Receiving))
			}
		}, 199 * 60, nil, nil},
		{"draining, and it still holds a message",
			func(r *roster.Roster) { r.Reported(says("m", 1, protocol.Draining, busy(1))) }, 1, nil, nil},
		{"draining without a token", func(r *roster.Roster) { r.Reported(says("m", 1, protocol.Draining)) }, 1, nil,
			nil},
		{"one of its workers is idle, the other busy", func(r *roster.Roster) {
			answered(r, says("m", 1, protocol.Idle))
			answered(r, says("m", 1, protocol.Draining, worker("second"), busy(1)))
		}, 1, nil, nil},
		{"one of its workers is idle, the other went silent", func(r *roster.Roster) {
			answered(r, says("m", 1, protocol.Idle, worker("second")))
			answered(r, says("m", 12, protocol.Idle))
		}, 12, nil, nil},
		{"it went silent after it minted its token",
			func(r *roster.Roster) { answered(r, says("m", 1, protocol.Idle)) }, 11.1, nil, nil},
		{"it works again under a new epoch", func(r *roster.Roster) {
			answered(r, says("m", 1, protocol.Idle))
			answered(r, says("m", 2, protocol.Receiving, epoch(1), busy(1)))
		}, 2, nil, nil},
		{"it was refused", func(r *roster.Roster) {
			answered(r, says("m", 1, protocol.Idle, cause(protocol.IdleTooLong)))
			r.Refuse("m")
		}, 1, nil, nil},
		{"it was refused, and says the same again", func(r *roster.Roster) {
			answered(r, says("m", 1, protocol.Idle, cause(protocol.IdleTooLong)))
			r.Refuse("m")
			answered(r, says("m", 2, protocol.Idle, cause(protocol.IdleTooLong)))
		}, 2, nil, nil},
		{"it was refused, worked, and offers a new token", func(r *roster.Roster) {
			answered(r, says("m", 1, protocol.Idle, cause(protocol.IdleTooLong)))
			r.Refuse("m")
			answered(r, says("m", 2, protocol.Receiving, epoch(1)))
			answered(r, says("m", 3, protocol.Idle, cause(protocol.IdleTooLong), epoch(1), token("another")))
		}, 3, nil, []string{"m"}},
		{"it was released already", func(r *roster.Roster) {
			answered(r, says("m", 1, protocol.Idle))
			r.Release("m", at(1))
		}, 1, nil, nil},
		{"it ended", func(r *roster.Roster) {
			answered(r, says("m", 1, protocol.Idle))
			r.Listed(ended(list(1), "m", ""))
		}, 1, nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var r roster.Roster
			r.Launched(t0, []string{"m"})
			test.do(&r)
			asked, offered := r.Offers(at(test.now), rules)
			if !slices.Equal(asked, test.asked) || !slices.Equal(offered, test.offered) {
				t.Errorf("asked %v, offered %v; want %v, %v", asked, offered, test.asked, test.offered)
			}
		})
	}
}

// TestATokenCountsOnlyWithTheChallenge: a report that is an hour late may come first after a restart, and say that a
// worker is idle which holds a message by now.
func TestATokenCountsOnlyWithTheChallenge(t *testing.T) {
	offer := func(seconds float64, challenge int64, change ...func(*protocol.Report)) protocol.Report {
		r := says("m", seconds, protocol.Idle, append(change, cause(protocol.IdleTooLong))...)
		r.Challenge = challenge
		return r
	}
	var before, after roster.Roster
	expect := func(what string, r roster.Roster, seconds float64, want ...string) {
		t.Helper()
		if _, offered := r.Offers(at(seconds), rules); !slices.Equal(offered, want) {
			t.Errorf("%s: offered %v, want %v", what, offered, want)
		}
	}
	took(t, &before, offer(1, 0))
	expect("the first that is heard of it", before, 1)
	old := before.Directive("m", "m").Challenge
	if old <= 0 || old >= 1<<53 {
		t.Errorf("the challenge is %d, want a number above 0 and below 2^53, which every language reads exactly", old)
	}
	took(t, &before, offer(2, old+1))
	expect("with another challenge", before, 2)
	took(t, &before, offer(3, old))
	expect("with its challenge", before, 3, "m")
	took(t, &before, offer(3.5, old, worker("second")))
	expect("one of two workers was not challenged yet", before, 3.5)

	took(t, &after, offer(4, old))
	expect("after a restart, with the challenge of before", after, 4)
	took(t, &after, offer(5, after.Directive("m", "m").Challenge))
	expect("after a restart, once it was answered", after, 5, "m")
	if again := after.Directive("m", "m").Challenge; again == old || again == 0 {
		t.Errorf("the challenge after a restart is %d, the same as before", again)
	}
}

func TestAWorkerIsToldWhatItsMemberIsToDo(t *testing.T) {
	tests := []struct {
		name string
		do   func(r *roster.Roster)
		want protocol.Directive
	}{
		{"nothing was said of it", func(*roster.Roster) {}, protocol.Directive{Ask: protocol.Work}},
		{"it receives", func(r *roster.Roster) { r.Reported(says("m", 1, protocol.Receiving)) },
			protocol.Directive{Ask: protocol.Work}},
		{"it is to go", func(r *roster.Roster) {
			r.Reported(says("m", 1, protocol.Receiving, busy(1)))
			r.Drain(1, at(2), rules)
		}, protocol.Directive{Ask: protocol.Drain}},
		{"it was to go, and is wanted again", func(r *roster.Roster) {
			r.Reported(says("m", 1, protocol.Receiving, busy(1)))
			r.Drain(1, at(2), rules)
			r.Keep(1, at(3), rules)
		}, protocol.Directive{Ask: protocol.Work}},
		{"its offer is not decided yet",
			func(r *roster.Roster) { r.Reported(says("m", 1, protocol.Idle, cause(protocol.IdleTooLong))) },
			protocol.Directive{Ask: protocol.Drain}},
		{"its offer was refused", func(r *roster.Roster) {
			r.Reported(says("m", 1, protocol.Idle, cause(protocol.IdleTooLong)))
			r.Refuse("m")
		}, protocol.Directive{Ask: protocol.Work, Token: "token-of-m"}},
		{"its offer was refused and it is to go after all: the refused token is void, so it works first",
			func(r *roster.Roster) {
				r.Reported(says("m", 1, protocol.Idle, cause(protocol.IdleTooLong)))
				r.Refuse("m")
				r.Drain(1, at(2), rules)
			}, protocol.Directive{Ask: protocol.Work, Token: "token-of-m"}},
		{"its offer was refused, it works again, and it is to go", func(r *roster.Roster) {
			r.Reported(says("m", 1, protocol.Idle, cause(protocol.IdleTooLong)))
			r.Refuse("m")
			r.Drain(1, at(2), rules)
			r.Reported(says("m", 3, protocol.Receiving, epoch(1)))
		}, protocol.Directive{Ask: protocol.Drain}},
		{"its release is granted, for the token it holds", func(r *roster.Roster) {
			r.Reported(says("m", 1, protocol.Idle))
			r.Release("m", at(1))
		}, protocol.Directive{Ask: protocol.Leave, Token: "token-of-m"}},
		{"its release is granted, and it says it holds no token", func(r *roster.Roster) {
			r.Reported(says("m", 1, protocol.Idle))
			r.Release("m", at(1))
			r.Reported(says("m", 2, protocol.Receiving, epoch(1), busy(1)))
		}, protocol.Directive{Ask: protocol.Drain}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var r roster.Roster
			test.do(&r)
			got := r.Directive("m", "m")
			got.Challenge = 0 // it has tests of its own
			if got != test.want {
				t.Errorf("found %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestIdleMembersGoFirstAndBusyOnesLast(t *testing.T) {
	var r roster.Roster
	r.Launched(t0, []string{"a-busy", "b-idle", "c-idle-longer", "d-lost"})
	r.Launched(at(1), []string{"e-booting"})
	r.Launched(at(2), []string{"f-booting", "g-busy", "h-released"})
	took(t, &r, says("d-lost", 1, protocol.Receiving), says("c-idle-longer", 2, protocol.Receiving),
		says("b-idle", 3, protocol.Receiving, busy(1)),
		says("h-released", 4, protocol.Idle), says("b-idle", 20, protocol.Receiving),
		says("c-idle-longer", 20, protocol.Receiving),
		says("a-busy", 20, protocol.Receiving, busy(1)), says("g-busy", 20, protocol.Receiving, busy(2)))
	r.Listed(list(20, "a-busy", "b-idle", "c-idle-longer", "d-lost", "e-booting", "f-booting", "g-busy", "h-released"))
	r.Release("h-released", at(20))
	got := r.Drain(99, at(21), rules)
	want := []string{"c-idle-longer", "b-idle", "f-booting", "e-booting", "g-busy", "a-busy"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order of going (-want +got):\n%s", diff)
	}
	if again := r.Drain(99, at(22), rules); len(again) > 0 {
		t.Errorf("asked twice: %v", again)
	}
}

func TestAMemberThatJustJoinedIsNotAskedToGo(t *testing.T) {
	rules := rules
	rules.Grace = 10 * time.Second
	var r roster.Roster
	r.Launched(t0, []string{"early", "late"})
	r.Launched(at(10), []string{"boots"})
	took(t, &r, says("early", 1, protocol.Receiving), says("late", 9, protocol.Receiving),
		says("early", 9, protocol.Receiving, busy(1)))
	r.Listed(list(10, "early", "late", "boots"))
	var gone [3][]string
	for i, when := range []float64{10.9, 18.9, 19} {
		gone[i] = r.Drain(9, at(when), rules)
	}
	if want := [3][]string{{"boots"}, {"early"}, {"late"}}; !slices.EqualFunc(gone[:], want[:],
		slices.Equal[[]string]) {
		t.Errorf("asked to go %v, want %v: the one that boots at once, the others ten seconds after they joined", gone,
			want)
	}
}

func TestAnIdleMemberGoesInPlaceOfOneThatHoldsAMessage(t *testing.T) {
	var r roster.Roster
	r.Launched(t0, []string{"took", "takes", "told", "waits", "waits-long"})
	for _, id := range []string{"took", "takes", "told", "waits", "waits-long"} {
		took(t, &r, says(id, 1, protocol.Receiving, busy(1)))
	}
	took(t, &r, says("waits-long", 2, protocol.Receiving), says("took", 3, protocol.Receiving),
		says("takes", 3, protocol.Receiving), says("told", 3, protocol.Receiving))
	r.Listed(list(3, "took", "takes", "told", "waits", "waits-long"))
	if got := r.Drain(4, at(3), rules); !slices.Equal(got, []string{"waits-long", "took", "told", "takes"}) {
		t.Fatalf("asked to go %v: those that said last that they are idle", got)
	}
	took(t, &r, says("took", 3.1, protocol.Receiving, busy(1)), says("takes", 3.1, protocol.Receiving, busy(1)),
		says("told", 3.1, protocol.Draining, cause(protocol.Signalled), busy(1)),
		says("waits", 4, protocol.Receiving))
	for _, row := range []struct {
		name        string
		at          float64
		kept, asked []string
	}{
		{"a report may be behind", 5.9, nil, nil},
		{"one is surely idle, but became so after the other was asked, which may be done any moment", 6, nil, nil},
		{"the other holds its message for long", 33, []string{"takes"}, []string{"waits"}},
		{"nobody else is", 90, nil, nil},
	} {
		if row.at > 10 { // they go on reporting
			took(t, &r, says("takes", row.at-1, protocol.Draining, busy(1)),
				says("waits", row.at-1, protocol.Receiving), says("told", row.at-1, protocol.Draining,
					cause(protocol.Signalled), busy(1)))
		}
		kept, asked := r.Exchange(at(row.at), rules)
		if !slices.Equal(kept, row.kept) || !slices.Equal(asked, row.asked) {
			t.Errorf("%s: kept %v and asked %v, want %v and %v", row.name, kept, asked, row.kept, row.asked)
		}
	}
}

func TestAMemberThatFinishedAMessageMayBeAskedToGoAtOnce(t *testing.T) {
	rules := rules
	rules.Grace = 10 * time.Second
	var r roster.Roster
	r.Launched(t0, []string{"finished", "holds", "waits"})
	took(t, &r, says("finished", 9, protocol.Receiving, busy(1)), says("holds", 9, protocol.Receiving, busy(1)),
		says("waits", 9, protocol.Receiving))
	took(t, &r, says("finished", 11, protocol.Receiving, func(m *protocol.Report) { m.Finished = 1 }))
	r.Listed(list(11, "finished", "holds", "waits"))
	if got := r.Drain(9, at(12), rules); !slices.Equal(got, []string{"finished"}) {
		t.Errorf("asked to go %v three seconds after they joined, want the one whose message is finished alone", got)
	}
	if got := r.Drain(9, at(19), rules); !slices.Equal(got, []string{"waits", "holds"}) {
		t.Errorf("asked to go %v ten seconds after they joined, want the others", got)
	}
}

func TestThoseAskedLastAreKeptFirst(t *testing.T) {
	var r roster.Roster
	r.Launched(t0, []string{"a", "b", "c", "told"})
	for _, id := range []string{"a", "b", "c"} {
		took(t, &r, says(id, 1, protocol.Receiving, busy(1)))
	}
	took(t, &r, says("told", 1, protocol.Receiving))
	for i := range 4 {
		r.Drain(1, at(float64(i+2)), rules)
	}
	took(t, &r, says("told", 7, protocol.Draining, cause(protocol.Signalled), busy(1)))
	if got := r.Keep(2, at(7), rules); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("kept %v, want the two asked last", got)
	}
	if got := r.Keep(9, at(7), rules); !slices.Equal(got, []string{"c"}) {
		t.Errorf("kept %v, want the third, and not the one that the system told to end", got)
	}
	if got := states(r, at(7)); got != "a busy, b busy, c busy, told draining" {
		t.Errorf("found %q", got)
	}
}

func TestOnlyReleasedMembersThatHoldNothingAreOverdue(t *testing.T) {
	var r roster.Roster
	r.Launched(t0, []string{"busy-again", "gone", "leaving", "works"})
	for _, id := range []string{"busy-again", "gone", "leaving"} {
		took(t, &r, says(id, 1, protocol.Idle))
		r.Release(id, at(2))
	}
	took(t, &r, says("works", 1, protocol.Receiving), says("busy-again", 3, protocol.Receiving, epoch(1), busy(1)))
	r.Listed(ended(list(3, "busy-again", "leaving", "works"), "gone", ""))
	if got := r.Overdue(at(12), 10*time.Second); len(got) > 0 {
		t.Errorf("overdue too early: %v", got)
	}
	if got := r.Overdue(at(13), 10*time.Second); !slices.Equal(got, []string{"leaving"}) {
		t.Errorf("overdue are %v, want the one that is leaving", got)
	}
}

func TestACloneCanBeChangedWithoutChangingTheOriginal(t *testing.T) {
	var r roster.Roster
	r.Launched(t0, []string{"m"})
	took(t, &r, says("m", 1, protocol.Idle))
	c := r.Clone()
	took(t, &c, says("m", 2, protocol.Receiving, epoch(1), busy(1)))
	c.Release("m", at(2))
	c.Launched(at(2), []string{"n"})
	if got := states(r, at(2)); got != "m idle" || r.Launches().LastHour != 1 || r.Members()[0].Workers[0].Busy != 0 {
		t.Errorf("the original is now %q, %+v", got, r.Launches())
	}
}
