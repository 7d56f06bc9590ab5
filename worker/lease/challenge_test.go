package lease_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/worker/protocol"

	"github.com/muster-scale/muster/worker/lease"
)

func TestResumeIsForAWorkerThatStoppedByItself(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, row := range []struct {
		name string
		do   func(l *lease.Lease)
		ok   bool
	}{
		{"it receives", func(*lease.Lease) {}, false},
		{"it was idle too long", func(l *lease.Lease) { l.Tick(now.Add(time.Minute)); l.Mint(now, "token") }, true},
		{"its token is still to be minted", func(l *lease.Lease) { l.Tick(now.Add(time.Minute)) }, false},
		{"it was told to end", func(l *lease.Lease) { l.Signal(); l.Mint(now, "token") }, false},
		{"it was idle too long, then told to end",
			func(l *lease.Lease) { l.Tick(now.Add(time.Minute)); l.Mint(now, "token"); l.Signal() }, false},
		{"it leaves", func(l *lease.Lease) { l.Tick(now.Add(time.Minute)); l.Mint(now, "token"); l.Leave() }, false},
	} {
		l := lease.New(lease.Options{Fleet: "f", Member: "m", Worker: "w", Slots: 1, IdleStop: time.Minute})
		l.Ready(now)
		row.do(&l)
		before := l.State()
		epoch := l.Epoch()
		ok := l.Resume(now)
		if ok != row.ok || ok && (l.State() != protocol.Receiving || l.Token() != "" || l.Epoch() != epoch+1) || !ok &&
			l.State() != before {
			t.Errorf("%s: %t, now %s with token %q and epoch %d", row.name, ok, l.State(), l.Token(), l.Epoch())
		}
	}
}

func TestReportsRepeatTheChallengeOfTheNewestAnswer(t *testing.T) {
	now := time.Unix(1000, 0)
	l := lease.New(lease.Options{Fleet: "f", Member: "m", Worker: "w", Slots: 1})
	l.Ready(now)
	challenged := func(n int64) protocol.Directive { return protocol.Directive{Ask: protocol.Work, Challenge: n} }
	expect := func(what string, want int64) protocol.Report {
		t.Helper()
		r := l.Report(now)
		if r.Challenge != want {
			t.Errorf("%s: the report repeats %d, want %d", what, r.Challenge, want)
		}
		return r
	}
	first := expect("nothing was answered yet", 0)
	second := expect("nor now", 0)
	l.Obey(now, second, challenged(7))
	expect("the second was answered", 7)
	l.Obey(now, first, challenged(5))
	fourth := expect("the answer to the first came late", 7)
	l.Obey(now, fourth, challenged(9))
	l.Obey(now, fourth, challenged(7))
	expect("another controller has answered, and its answer came again changed", 9)
}
