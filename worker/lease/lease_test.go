package lease_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/worker/protocol"

	"github.com/muster-scale/muster/worker/lease"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// subject is a lease with those of its methods that a planted fault may replace.
type subject struct {
	*lease.Lease
	begin  func(limit int) int
	end    func(now time.Time, asked, n int)
	tick   func(now time.Time)
	mint   func(now time.Time, token string) bool
	obey   func(now time.Time, r protocol.Report, d protocol.Directive)
	report func(now time.Time) protocol.Report
}

func sound() subject {
	l := newLease()
	return subject{l, l.BeginReceive, l.EndReceive, l.Tick, l.Mint, l.Obey, l.Report}
}

// step is one event of a script; pick chooses among what is possible.
type step struct {
	kind string
	pick int
}

var kinds = []string{
	"ready", "begin", "begin", "end", "end", "fail", "finish", "finish", "return", "wait", "signal", "mint", "mint",
	"report", "report", "deliver", "deliver", "deliver again", "lose report", "answer", "answer", "answer again",
	"lose answer",
}

var scripts = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
	return step{kind: rapid.SampledFrom(kinds).Draw(t, "kind"), pick: rapid.IntRange(0, 1<<16).Draw(t, "pick")}
}), 100, 300)

// world drives one lease against a network that loses, repeats and reorders, and a controller that asks for anything at
// random. The controller keeps three rules: it ignores reports that come late or twice, a token once granted stays
// granted, and one that it refused by name stays refused.
type world struct {
	lease subject
	now   time.Time
	// receives are the outstanding calls, held the instants at which the messages truly held were received.
	receives []int
	held     []time.Time
	tokens   int
	reports  []protocol.Report
	answers  []answer
	newest   int64
	granted  string
	refused  map[string]bool
	// finished is the true total, counted the controller's, said the total that each report tells with those before it.
	finished, counted int64
	said              map[int64]int64
	confirmed         int64
	answered          int64
}

type answer struct {
	report    protocol.Report
	directive protocol.Directive
}

// play runs a script and returns the first promise that was broken.
func play(script []step, l subject) error {
	w := &world{lease: l, now: start, said: map[int64]int64{}, refused: map[string]bool{}}
	for i, s := range script {
		before, epoch, token := l.State(), l.Epoch(), l.Token()
		resumed, err := w.do(s)
		if err == nil {
			err = w.check(before, epoch, token, resumed)
		}
		if err != nil {
			return fmt.Errorf("step %d (%s): %w", i, s.kind, err)
		}
	}
	return w.settle()
}

// settle has everything answered that is left to report, and compares what was counted with what was finished.
func (w *world) settle() error {
	for range 3 { // what had no room at first comes after the first answer
		if err := w.report(); err != nil {
			return err
		}
		w.reports = w.reports[len(w.reports)-1:]
		w.deliver(step{kind: "deliver"})
		a := w.answers[len(w.answers)-1]
		w.lease.obey(w.now, a.report, a.directive)
		w.answered, w.confirmed = a.report.Seq, w.said[a.report.Seq]
	}
	if r := w.lease.report(w.now); len(r.Unanswered) > 0 || r.Finished > 0 {
		return fmt.Errorf("repeats %+v although everything was answered", r)
	}
	if w.counted != w.finished {
		return fmt.Errorf("the controller counted %d messages, %d were finished", w.counted, w.finished)
	}
	return nil
}

// do plays one step. It returns whether the step was an answer that allows the present token to work again.
func (w *world) do(s step) (resumed bool, err error) {
	w.now = w.now.Add(time.Second)
	switch s.kind {
	case "ready":
		w.lease.Ready(w.now)
	case "begin":
		return false, w.begin(1 + s.pick%3)
	case "end", "fail":
		w.endReceive(s)
	case "finish":
		if len(w.held) > 0 {
			w.finished++
			w.lease.End(w.now, lease.End{Received: w.let(s.pick), Took: time.Second, OK: true})
		}
	case "return":
		if len(w.held) > 0 {
			w.lease.Returned(w.now, w.let(s.pick))
		}
	case "wait":
		w.now = w.now.Add(time.Duration(20+s.pick%40) * time.Second)
		w.lease.tick(w.now)
	case "signal":
		if s.pick%8 == 0 {
			w.lease.Signal()
		}
	case "mint":
		w.tokens++
		w.lease.mint(w.now, fmt.Sprintf("token %d", w.tokens))
	case "report":
		return false, w.report()
	case "deliver", "deliver again", "lose report":
		w.deliver(s)
	default:
		return w.answer(s), nil
	}
	return false, nil
}

func (w *world) begin(limit int) error {
	n := w.lease.begin(limit)
	if n == 0 {
		return nil
	}
	w.receives = append(w.receives, n)
	if w.granted != "" {
		return fmt.Errorf("begins to receive although %s was granted", w.granted)
	}
	return nil
}

func (w *world) endReceive(s step) {
	if len(w.receives) == 0 {
		return
	}
	i := s.pick % len(w.receives)
	asked := w.receives[i]
	w.receives = append(w.receives[:i:i], w.receives[i+1:]...)
	if s.kind == "fail" {
		w.lease.FailReceive(w.now, asked)
		return
	}
	n := s.pick / 7 % (asked + 1)
	for range n {
		w.held = append(w.held, w.now)
	}
	w.lease.end(w.now, asked, n)
}

// let lets go of one of the held messages, and returns when it was received.
func (w *world) let(pick int) time.Time {
	i := pick % len(w.held)
	received := w.held[i]
	w.held = slices.Delete(w.held, i, i+1)
	return received
}

func (w *world) report() error {
	r := w.lease.report(w.now)
	said := w.confirmed + r.Finished
	for _, x := range r.Unanswered {
		said += x.Finished
	}
	w.said[r.Seq] = said
	w.reports = append(w.reports, r)
	if said != w.finished && (said > w.finished || len(r.Unanswered) < protocol.MaxUnanswered-1) {
		return fmt.Errorf("reports %d finished messages so far, there are %d", said, w.finished)
	}
	if len(r.Unanswered) > protocol.MaxUnanswered {
		return fmt.Errorf("repeats %d reports", len(r.Unanswered))
	}
	if r.Processing.Count != r.Finished+r.Failed {
		return fmt.Errorf("reports %d durations for %d messages", r.Processing.Count, r.Finished+r.Failed)
	}
	held := 0.0
	for _, received := range w.held {
		held += w.now.Sub(received).Seconds()
	}
	if math.Abs(r.HeldSeconds-held) > 0.001 {
		return fmt.Errorf("reports %v s for what it holds, it has held them %v s", r.HeldSeconds, held)
	}
	if (r.Token != "") != (r.State == protocol.Idle) {
		return fmt.Errorf("reports token %q in state %s", r.Token, r.State)
	}
	return nil
}

func (w *world) deliver(s step) {
	if len(w.reports) == 0 {
		return
	}
	i := s.pick % len(w.reports)
	r := w.reports[i]
	if s.kind != "deliver again" {
		w.reports = append(w.reports[:i:i], w.reports[i+1:]...)
	}
	if s.kind == "lose report" || r.Seq <= w.newest {
		return
	}
	for _, x := range r.Unanswered {
		if x.Seq > w.newest {
			w.counted += x.Finished
		}
	}
	w.counted += r.Finished
	w.newest = r.Seq
	w.answers = append(w.answers, answer{r, w.decide(r, s.pick/13)})
}

func (w *world) decide(r protocol.Report, pick int) protocol.Directive {
	if r.Token != "" && (r.Token == w.granted || (w.granted == "" && pick%3 == 0 && !w.refused[r.Token])) {
		w.granted = r.Token
		return protocol.Directive{Ask: protocol.Leave, Token: r.Token}
	}
	if r.Token != "" && r.Token != w.granted && (w.refused[r.Token] || pick%3 == 1) {
		w.refused[r.Token] = true
		return protocol.Directive{Ask: protocol.Work, Token: r.Token}
	}
	switch pick % 5 {
	case 0, 1:
		return protocol.Directive{Ask: protocol.Drain}
	case 2:
		return protocol.Directive{Ask: protocol.Leave, Token: "another token"}
	default:
		return protocol.Directive{Ask: protocol.Work}
	}
}

func (w *world) answer(s step) (resumed bool) {
	if len(w.answers) == 0 {
		return false
	}
	i := s.pick % len(w.answers)
	a := w.answers[i]
	if s.kind != "answer again" {
		w.answers = append(w.answers[:i:i], w.answers[i+1:]...)
	}
	if s.kind == "lose answer" {
		return false
	}
	token := w.lease.Token()
	w.lease.obey(w.now, a.report, a.directive)
	if a.report.Seq > w.answered {
		w.answered, w.confirmed = a.report.Seq, w.said[a.report.Seq]
	}
	return a.directive.Ask == protocol.Work && a.report.Token == token
}

// check holds the promises after one step.
func (w *world) check(before protocol.WorkerState, epoch int64, token string, resumed bool) error {
	l := w.lease
	switch now := l.State(); {
	case l.Busy() != len(w.held):
		return fmt.Errorf("says it holds %d messages, it holds %d", l.Busy(), len(w.held))
	case len(w.held) > 3:
		return fmt.Errorf("holds %d messages in 3 slots", len(w.held))
	case l.Token() != "" && (len(w.held) > 0 || len(w.receives) > 0):
		return fmt.Errorf("minted %s while holding %d messages with %d receives outstanding", l.Token(), len(w.held),
			len(w.receives))
	case now == protocol.Receiving && before != protocol.Receiving && l.Epoch() != epoch+1:
		return fmt.Errorf("receives again in epoch %d after epoch %d", l.Epoch(), epoch)
	case (now != protocol.Receiving || before == protocol.Receiving) && l.Epoch() != epoch:
		return fmt.Errorf("changes its epoch from %d to %d from state %s to %s", epoch, l.Epoch(), before, now)
	case now == protocol.Receiving && before == protocol.Idle && !resumed:
		return fmt.Errorf("works again after %s without being told so in answer to it", token)
	case now == protocol.Receiving && before == protocol.Leaving:
		return fmt.Errorf("works again after leaving")
	case now == protocol.Leaving && before != protocol.Leaving && token != w.granted:
		return fmt.Errorf("leaves with %s although %q was granted", token, w.granted)
	case now != protocol.Receiving && l.CanReceive() > 0:
		return fmt.Errorf("may receive in state %s", now)
	case w.granted != "" && (len(w.held) > 0 || len(w.receives) > 0):
		return fmt.Errorf("holds messages although %s was granted", w.granted)
	}
	return nil
}

func newLease() *lease.Lease {
	l := lease.New(lease.Options{Fleet: "f", Member: "m", Worker: "w", Slots: 3, IdleStop: 30 * time.Second})
	return &l
}

func TestLeaseKeepsItsPromisesWhateverTheOrderOfEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if err := play(scripts.Draw(t, "script"), sound()); err != nil {
			t.Fatal(err)
		}
	})
}

// caught looks for a script on which a lease with a planted fault breaks the promise that says want.
func caught(t *testing.T, planted func() subject, want string) {
	t.Helper()
	for seed := range 2000 {
		script := scripts.Example(seed)
		if err := play(script, sound()); err != nil {
			t.Fatalf("seed %d: the lease without the fault: %v", seed, err)
		}
		if err := play(script, planted()); err != nil && strings.Contains(err.Error(), want) {
			t.Logf("seed %d: %v", seed, err)
			return
		}
	}
	t.Error("the property let the planted fault pass")
}

// mintsEarly forgets the outstanding receive calls, as a worker does that looks only at the messages it holds.
func mintsEarly() subject {
	s := sound()
	s.begin = func(limit int) int {
		n := s.BeginReceive(limit)
		if n > 0 {
			s.EndReceive(start, n, 0)
		}
		return n
	}
	s.end = func(now time.Time, asked, n int) {
		s.BeginReceive(asked)
		s.EndReceive(now, asked, n)
	}
	return s
}

// trustsAnyWork takes any Work for an answer to its token, as a worker does that does not match answers to reports.
func trustsAnyWork() subject {
	s := sound()
	s.obey = func(now time.Time, _ protocol.Report, d protocol.Directive) { s.Obey(now, s.Report(now), d) }
	return s
}

// givesUpWaiting works again when nobody answers its token for a while.
func givesUpWaiting() subject {
	s := sound()
	var idleSince time.Time
	s.mint = func(now time.Time, token string) bool {
		minted := s.Mint(now, token)
		if minted {
			idleSince = now
		}
		return minted
	}
	s.tick = func(now time.Time) {
		if s.State() == protocol.Idle && now.Sub(idleSince) > time.Minute {
			s.Obey(now, s.Report(now), protocol.Directive{Ask: protocol.Work})
		}
		s.Tick(now)
	}
	return s
}

// countsAgain repeats what has no answer under the number of the new report, as if it had never been said.
func countsAgain() subject {
	s := sound()
	s.report = func(now time.Time) protocol.Report {
		r := s.Report(now)
		for i, x := range r.Unanswered {
			x.Seq = r.Seq
			r.Unanswered = slices.Clone(r.Unanswered)
			r.Unanswered[i] = x
		}
		return r
	}
	return s
}

// confirmsAnything forgets what it said when the answer to any report comes.
func confirmsAnything() subject {
	s := sound()
	s.obey = func(now time.Time, r protocol.Report, d protocol.Directive) {
		s.Obey(now, r, d)
		s.Obey(now, s.Report(now), protocol.Directive{Ask: "nothing"})
	}
	return s
}

func TestLeasePropertyCatchesPlantedFaults(t *testing.T) {
	tests := []struct {
		name    string
		planted func() subject
		want    string
	}{
		{"a token minted while a receive is outstanding", mintsEarly, "with 1 receives outstanding"},
		{"any Work taken as the answer to the token", trustsAnyWork, "without being told so in answer to it"},
		{"work after silence", givesUpWaiting, "without being told so in answer to it"},
		{"counts repeated as new ones", countsAgain, "messages, "},
		{"counts forgotten at any answer", confirmsAnything, "messages so far"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { caught(t, test.planted, test.want) })
	}
}

func TestLeaseFromStartToLeave(t *testing.T) {
	l := newLease()
	if r := l.Report(at(0)); r.State != protocol.Starting || l.BeginReceive(10) != 0 {
		t.Fatalf("a starting worker says %+v and may receive", r)
	}
	l.Ready(at(1))
	if n := l.BeginReceive(10); n != 3 {
		t.Fatalf("asks for %d messages with 3 free slots", n)
	}
	if n := l.BeginReceive(10); n != 0 {
		t.Fatalf("asks for %d more while all slots are kept for the first call", n)
	}
	l.EndReceive(at(2), 3, 2)
	first := l.Report(at(2))
	l.Obey(at(2), first, protocol.Directive{Ask: protocol.Drain})
	if r := l.Report(at(3)); r.State != protocol.Draining || r.Cause != protocol.Asked || r.Busy != 2 || r.Slots != 3 {
		t.Fatalf("asked to drain with two messages it says %+v", r)
	}
	l.End(at(4), lease.End{Received: at(2), Took: 2 * time.Second, OK: true})
	if l.Mint(at(4), "early") {
		t.Fatal("minted a token while holding a message")
	}
	l.End(at(5), lease.End{Received: at(2), Took: 3 * time.Second})
	if !l.Mint(at(5), "t1") {
		t.Fatal("could not mint when holding nothing")
	}
	r := l.Report(at(5))
	if r.State != protocol.Idle || r.Token != "t1" || r.Finished != 1 || r.Failed != 1 ||
		r.Processing.SumSeconds != 2 || r.Failing.SumSeconds != 3 {
		t.Fatalf("idle it says %+v", r)
	}
	l.Obey(at(6), r, protocol.Directive{Ask: protocol.Leave, Token: "t0"})
	if l.State() != protocol.Idle {
		t.Fatal("obeyed the grant of another token")
	}
	l.Obey(at(6), r, protocol.Directive{Ask: protocol.Leave, Token: "t1"})
	if last := l.Report(at(6)); last.State != protocol.Leaving || last.Token != "" || last.Finished != 0 {
		t.Fatalf("granted, it says %+v", last)
	}
}

func TestLeaseWorksAgain(t *testing.T) {
	work := protocol.Directive{Ask: protocol.Work}
	tests := []struct {
		name  string
		drive func(l *lease.Lease)
		want  protocol.WorkerState
	}{
		{"a draining worker works again when told so", func(l *lease.Lease) {
			l.Obey(at(1), l.Report(at(1)), protocol.Directive{Ask: protocol.Drain})
			l.Obey(at(2), l.Report(at(2)), work)
		}, protocol.Receiving},
		{"an answer from before the drain does not undo it", func(l *lease.Lease) {
			before := l.Report(at(1))
			l.Tick(at(31))
			l.Obey(at(32), before, work)
		}, protocol.Draining},
		{"an idle worker works again when its token is answered with work", func(l *lease.Lease) {
			l.Tick(at(31))
			l.Mint(at(31), "t")
			l.Obey(at(32), l.Report(at(32)), work)
		}, protocol.Receiving},
		{"an idle worker ignores an answer to a report that did not carry the token", func(l *lease.Lease) {
			l.Tick(at(31))
			draining := l.Report(at(31))
			l.Mint(at(31), "t")
			l.Obey(at(32), draining, work)
		}, protocol.Idle},
		{"an idle worker ignores the answer to its token when it has sent the token again since", func(l *lease.Lease) {
			l.Tick(at(31))
			l.Mint(at(31), "t")
			first := l.Report(at(32))
			l.Report(at(33))
			l.Obey(at(34), first, work)
		}, protocol.Idle},
		{"an idle worker works again when the token is refused by name, although it has sent the token again since",
			func(l *lease.Lease) {
				l.Tick(at(31))
				l.Mint(at(31), "t")
				first := l.Report(at(32))
				l.Report(at(33))
				l.Obey(at(34), first, protocol.Directive{Ask: protocol.Work, Token: "t"})
			}, protocol.Receiving},
		{"an idle worker ignores such a refusal by a controller that it had not heard of", func(l *lease.Lease) {
			l.Tick(at(31))
			l.Mint(at(31), "t")
			first := l.Report(at(32))
			l.Report(at(33))
			l.Obey(at(34), first, protocol.Directive{Ask: protocol.Work, Token: "t", Challenge: 7})
		}, protocol.Idle},
		{"an idle worker ignores the refusal of another token", func(l *lease.Lease) {
			l.Tick(at(31))
			l.Mint(at(31), "t")
			first := l.Report(at(32))
			l.Report(at(33))
			l.Obey(at(34), first, protocol.Directive{Ask: protocol.Work, Token: "s"})
		}, protocol.Idle},
		{"an answer about an earlier drain does not undo a later one", func(l *lease.Lease) {
			l.Obey(at(1), l.Report(at(1)), protocol.Directive{Ask: protocol.Drain})
			first, second := l.Report(at(2)), l.Report(at(3))
			l.Obey(at(4), first, work)
			l.Tick(at(40))
			l.Obey(at(41), second, work)
		}, protocol.Draining},
		{"a drain that comes again, after later answers, does nothing", func(l *lease.Lease) {
			first := l.Report(at(1))
			l.Obey(at(1), first, protocol.Directive{Ask: protocol.Drain})
			l.Obey(at(2), l.Report(at(2)), work)
			l.Obey(at(3), first, protocol.Directive{Ask: protocol.Drain})
		}, protocol.Receiving},
		{"an operator's stop cannot be undone", func(l *lease.Lease) {
			l.Signal()
			l.Obey(at(2), l.Report(at(2)), work)
		}, protocol.Draining},
		{"a worker that never warmed up does not work", func(l *lease.Lease) {
			*l = lease.New(lease.Options{Slots: 1})
			l.Obey(at(1), l.Report(at(1)), protocol.Directive{Ask: protocol.Drain})
			l.Obey(at(2), l.Report(at(2)), work)
		}, protocol.Draining},
		{"warming up does not undo a drain", func(l *lease.Lease) {
			*l = lease.New(lease.Options{Slots: 1})
			l.Obey(at(1), l.Report(at(1)), protocol.Directive{Ask: protocol.Drain})
			l.Ready(at(2))
		}, protocol.Draining},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newLease()
			l.Ready(at(0))
			test.drive(l)
			if l.State() != test.want {
				t.Errorf("the worker is %s, want %s", l.State(), test.want)
			}
		})
	}
}

func TestLeaseIdleStop(t *testing.T) {
	tests := []struct {
		name  string
		drive func(l *lease.Lease)
		now   float64
		want  protocol.WorkerState
	}{
		{"nothing came for the time", func(*lease.Lease) {}, 30, protocol.Draining},
		{"the time is not over", func(*lease.Lease) {}, 29.9, protocol.Receiving},
		{"a message is held, however long", func(l *lease.Lease) { l.EndReceive(at(1), l.BeginReceive(1), 1) }, 500,
			protocol.Receiving},
		{"the time begins when the last message is finished", func(l *lease.Lease) {
			l.EndReceive(at(1), l.BeginReceive(1), 1)
			l.End(at(20), lease.End{Received: at(1), Took: time.Second, OK: true})
		}, 49, protocol.Receiving},
		{"an outstanding receive may still bring a message", func(l *lease.Lease) { l.BeginReceive(1) }, 31,
			protocol.Receiving},
		{"a failed receive is no sign of an empty queue",
			func(l *lease.Lease) { l.FailReceive(at(20), l.BeginReceive(1)) }, 49, protocol.Receiving},
		{"an empty receive is", func(l *lease.Lease) { l.EndReceive(at(30), l.BeginReceive(1), 0) }, 30,
			protocol.Draining},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newLease()
			l.Ready(at(0))
			test.drive(l)
			l.Tick(at(test.now))
			if l.State() != test.want {
				t.Errorf("the worker is %s, want %s", l.State(), test.want)
			}
			if l.State() == protocol.Draining && l.Cause() != protocol.IdleTooLong {
				t.Errorf("the cause is %q", l.Cause())
			}
		})
	}
}

func TestLeaseRepeatsCountsUntilTheyAreAnswered(t *testing.T) {
	l := newLease()
	l.Ready(at(0))
	finish := func() {
		l.EndReceive(at(1), l.BeginReceive(1), 1)
		l.End(at(2), lease.End{Received: at(1), Took: time.Second, OK: true, Class: "a"})
	}
	// says fails the test unless a new report counts so many messages, and repeats the reports with the given numbers.
	says := func(when string, r protocol.Report, finished int64, repeated ...int64) {
		t.Helper()
		var found []int64
		for _, x := range r.Unanswered {
			found = append(found, x.Seq)
			if x.Finished != 1 || x.Processing.Count != 1 || x.Classes["a"].Count != 1 {
				t.Errorf("%s: it repeats %+v", when, x)
			}
		}
		if r.Finished != finished || r.Processing.Count != finished || r.Classes["a"].Count != finished ||
			!slices.Equal(found, repeated) {
			t.Errorf("%s: it says %d and repeats the reports %d, want %d and %d", when, r.Finished, found, finished,
				repeated)
		}
	}
	finish()
	first := l.Report(at(2))
	says("first", first, 1)
	finish()
	says("without an answer", l.Report(at(3)), 1, 1)
	says("with nothing new", l.Report(at(3)), 0, 1, 2)
	l.Obey(at(4), first, protocol.Directive{Ask: protocol.Work})
	finish()
	fourth := l.Report(at(4))
	says("after the answer to the first", fourth, 1, 2)
	l.Obey(at(5), fourth, protocol.Directive{Ask: protocol.Work})
	says("after all was answered", l.Report(at(5)), 0)
}

// What a report repeats is bounded: what is finished after so many reports without an answer waits.
func TestLeaseCountsOnAfterManyLostReports(t *testing.T) {
	l := newLease()
	l.Ready(at(0))
	finish := func(n int) {
		for range n {
			l.EndReceive(at(1), l.BeginReceive(1), 1)
			l.End(at(2), lease.End{Received: at(1), Took: time.Second, OK: true})
		}
	}
	var r protocol.Report
	for range 50 {
		finish(1)
		r = l.Report(at(2))
	}
	const most = protocol.MaxUnanswered - 1
	if len(r.Unanswered) != most || r.Finished != 0 {
		t.Fatalf("after 50 lost reports it says %d messages and repeats %d reports, want 0 and %d", r.Finished,
			len(r.Unanswered), most)
	}
	l.Obey(at(3), r, protocol.Directive{Ask: protocol.Work})
	if r := l.Report(at(3)); r.Finished != 50-most || len(r.Unanswered) > 0 {
		t.Fatalf("after the answer it says %d messages and repeats %d reports, want %d and none", r.Finished,
			len(r.Unanswered), 50-most)
	}
	for range 50 {
		finish(1)
		l.Report(at(4))
	}
	l.Signal()
	l.Mint(at(5), "t")
	l.Leave()
	if r := l.Report(at(5)); r.Finished != 50-most+1 || len(r.Unanswered) != most {
		t.Errorf("the last report says %d messages and repeats %d reports, want all", r.Finished, len(r.Unanswered))
	}
}

// The histograms of reports without an answer are bounded too: a controller takes no report above 256 KiB.
func TestLeaseReportsStaySmall(t *testing.T) {
	l := lease.New(lease.Options{Slots: 1})
	l.Ready(at(0))
	d, largest := 20*time.Microsecond, 0
	for n := range 40_000 {
		if d = d * 11 / 10; d > 20*24*time.Hour {
			d = 20 * time.Microsecond
		}
		l.EndReceive(at(1), l.BeginReceive(1), 1)
		l.End(at(2), lease.End{Received: at(1), Took: d, OK: true, Class: fmt.Sprint("class ", n%16)})
		if n%2000 != 0 {
			continue
		}
		text, err := json.Marshal(l.Report(at(2)))
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, len(text))
	}
	if largest > 256<<10 {
		t.Errorf("found a report of %d bytes, a controller takes 256 KiB", largest)
	}
}

func TestLeaseCopiesAreIndependent(t *testing.T) {
	l := newLease()
	l.Ready(at(0))
	for range 3 {
		l.Report(at(1))
	}
	other := *l
	a, b := l.Report(at(2)), other.Report(at(3))
	other.EndReceive(at(4), other.BeginReceive(1), 1)
	other.End(at(5), lease.End{Received: at(4), Took: time.Second, OK: true})
	other.Report(at(6))
	l.Obey(at(7), a, protocol.Directive{Ask: protocol.Drain})
	mine, others := l.Report(at(8)), other.Report(at(9))
	if a.Seq != b.Seq || len(mine.Unanswered) != 0 || other.State() != protocol.Receiving ||
		len(others.Unanswered) != 1 {
		t.Error("a copy of a lease changed with it")
	}
}

func TestLeaseOrphanedOnlyWhileTheTokenIsUnanswered(t *testing.T) {
	l := newLease()
	l.Ready(at(0))
	if _, idle := l.OrphanedAt(time.Minute); idle {
		t.Fatal("a receiving worker can be orphaned")
	}
	l.Tick(at(30))
	before := l.Report(at(30))
	l.Mint(at(31), "t")
	l.Obey(at(40), before, protocol.Directive{Ask: protocol.Drain})
	if got, _ := l.OrphanedAt(time.Minute); !got.Equal(at(91)) {
		t.Errorf("orphaned at %s, want a minute after the token: nobody answered it", got)
	}
	l.Obey(at(50), l.Report(at(45)), protocol.Directive{Ask: protocol.Drain})
	if got, _ := l.OrphanedAt(time.Minute); !got.Equal(at(110)) {
		t.Errorf("orphaned at %s, want a minute after the answer", got)
	}
}
