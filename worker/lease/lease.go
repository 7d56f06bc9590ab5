package lease

import (
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// keptFree is how much of [protocol.MaxUnanswered] is left for the last report of a worker.
	keptFree = 1
	// maxBuckets bounds the buckets of all histograms in a report, so that it stays within the size that a controller
	// takes: 256 KiB. The last report of a worker may have twice as many.
	maxBuckets = 4000
)

// Options name a worker and bound what it takes.
type Options struct {
	// Fleet, Member and Worker are passed on in each report.
	Fleet, Member, Worker string
	// Slots is how many messages the worker holds at once, at least 1.
	Slots int
	// IdleStop is how long the worker receives without getting a message before it stops by itself; 0 means never.
	IdleStop time.Duration
	// Billing says when the worker stops by itself because what is paid for ends.
	Billing Billing
	// Born is below the first epoch and the first sequence number. A worker that is started again under the same name
	// must be born with a higher number than its forerunner used, as milliseconds since 1970 are, or its reports would
	// be taken for old ones.
	Born int64
}

// Lease is a worker's right to take messages, as a state machine without clock or I/O. Make one with [New].
//
// Whoever drives it calls BeginReceive before each receive call and EndReceive or FailReceive after it, End or
// Returned for each message, and Obey for each answered report. Copies are independent of each other. A Lease is not
// safe for use by several goroutines.
type Lease struct {
	Options
	state protocol.WorkerState
	cause protocol.Cause
	ready bool
	epoch int64
	// seq is the newest report's number, answered that of the newest report whose answer arrived.
	seq, answered int64
	busy          int
	// began adds up when each held message was received, in seconds since the worker started; origin is that instant.
	began  float64
	origin time.Time
	// receives are the receive calls that have not returned, reserved the slots kept free for what they bring.
	receives, reserved int
	token              string
	// challenge is what the newest answer asked to be repeated.
	challenge int64
	// active is when a message was last held or could have come; heard is when the controller last answered the token.
	active, heard time.Time
	// empty is true when the newest receive call brought nothing; paid is the end of the paid period for which the
	// worker has offered to leave.
	empty bool
	paid  time.Time
	// incidents are those since the worker started, sorted by kind. They are replaced, never changed.
	incidents []protocol.Incident
	// current counts what no report said yet; unanswered is what reports said that have no answer. Both are never
	// changed inside, only replaced: copies of a lease and its reports share them.
	current    protocol.Tally
	unanswered []protocol.Tally
	// waits are the messages that went back and wait for their retry; noRetries is what reports say without any.
	waits     waits
	noRetries *protocol.Retries
	// failure is the newest failed attempt. It is replaced, never changed.
	failure *protocol.LastFailure
}

// buckets returns how many buckets the histograms of t have.
func buckets(t *protocol.Tally) int {
	n := len(t.Processing.Buckets) + len(t.Failing.Buckets)
	for _, d := range t.Classes {
		n += len(d.Buckets)
	}
	return n
}

// New returns the lease of a worker that is starting.
func New(o Options) Lease {
	o.Slots = max(1, o.Slots)
	return Lease{
		Options: o, state: protocol.Starting, epoch: o.Born, seq: o.Born, answered: o.Born,
		noRetries: &protocol.Retries{},
	}
}

// State returns what the worker is doing.
func (l *Lease) State() protocol.WorkerState { return l.state }

// Cause returns why the worker stopped receiving; it is empty while it receives.
func (l *Lease) Cause() protocol.Cause { return l.cause }

// Busy returns how many messages the worker holds.
func (l *Lease) Busy() int { return l.busy }

// Token returns the release token; it is empty unless the worker is idle.
func (l *Lease) Token() string { return l.token }

// Epoch returns the lease epoch, which grows each time the worker begins to receive.
func (l *Lease) Epoch() int64 { return l.epoch }

// Ready says that the worker has warmed up. It begins to receive, unless it was told to drain before.
func (l *Lease) Ready(now time.Time) {
	l.ready = true
	if l.state == protocol.Starting {
		l.receive(now)
	}
}

func (l *Lease) receive(now time.Time) {
	l.state, l.cause, l.token, l.active, l.empty = protocol.Receiving, "", "", now, false
	l.epoch++
}

// CanReceive returns how many messages may be asked for: the slots that neither hold a message nor are kept for an
// outstanding receive call, and 0 unless the worker is receiving.
func (l *Lease) CanReceive() int {
	if l.state != protocol.Receiving {
		return 0
	}
	return l.Slots - l.busy - l.reserved
}

// BeginReceive says that a receive call is about to be made and returns how many messages it may ask for, at most
// limit. When it returns 0 there must be no call; otherwise the same number goes to [Lease.EndReceive] or
// [Lease.FailReceive] later.
func (l *Lease) BeginReceive(limit int) int {
	n := min(l.CanReceive(), limit)
	if n <= 0 {
		return 0
	}
	l.receives++
	l.reserved += n
	return n
}

// EndReceive says that a receive call which asked for asked messages has brought n, which are held from now on.
func (l *Lease) EndReceive(now time.Time, asked, n int) {
	l.endReceive(asked)
	if l.origin.IsZero() {
		l.origin = now
	}
	l.busy += min(n, asked)
	l.began += float64(min(n, asked)) * now.Sub(l.origin).Seconds()
	if l.empty = n <= 0; n > 0 {
		l.active = now
	}
}

// FailReceive says that a receive call failed. That is no sign of an empty queue, so the time without messages begins
// anew.
func (l *Lease) FailReceive(now time.Time, asked int) {
	l.endReceive(asked)
	l.active, l.empty = now, false
}

// Unable says that nothing can be received now, although the queue may hold messages, so the time without messages
// begins anew. It is meant for when no receive call is outstanding.
func (l *Lease) Unable(now time.Time) { l.active, l.empty = now, false }

func (l *Lease) endReceive(asked int) {
	l.receives = max(0, l.receives-1)
	l.reserved = max(0, l.reserved-asked)
}

// End is how the work on a held message ended.
type End struct {
	// Received is the instant at which EndReceive brought it, Took the processing duration.
	Received time.Time
	Took     time.Duration
	// OK is true for a message that is done with and deleted, false for an attempt that failed.
	OK bool
	// Class is its class; empty is none.
	Class string
	// SentAt is when it was sent, by the queue's clock; zero is unknown.
	SentAt time.Time
	// Again is after how long a message that failed is visible again; 0 where it does not wait for that, because it is
	// visible at once, is a dead letter or is held no more.
	Again time.Duration
	// Error says why the attempt failed.
	Error string
}

// End says that the work on a held message ended.
func (l *Lease) End(now time.Time, e End) {
	if e.OK {
		l.current.Finished++
		l.current.Processing = series.Add(l.current.Processing, e.Took)
		l.current.Classes = AddClass(l.current.Classes, e.Class, e.Took)
		if !e.SentAt.IsZero() {
			l.current.InSystem = series.Add(l.current.InSystem, now.Sub(e.SentAt))
		}
	} else {
		l.current.Failed++
		l.current.Failing = series.Add(l.current.Failing, e.Took)
		l.waits = l.waits.with(now, e.Again, e.SentAt)
		if e.Error != "" {
			l.failure = &protocol.LastFailure{At: now, Error: oneLine(e.Error, protocol.MaxErrorBytes)}
		}
	}
	l.let(now, e.Received)
}

// Returned says that a held message, which EndReceive brought at the instant received, went back to the queue without
// having been worked on to an end. It counts neither as finished nor as failed.
func (l *Lease) Returned(now, received time.Time) { l.let(now, received) }

// let lets go of a message that was held since the instant received.
func (l *Lease) let(now, received time.Time) {
	l.began -= received.Sub(l.origin).Seconds()
	l.busy = max(0, l.busy-1)
	if l.busy == 0 {
		l.began = 0 // nothing is left of rounding
	}
	l.active = now
}

// heldMillis is held to the millisecond: nobody needs more, and reports stay short.
func (l *Lease) heldMillis(now time.Time) float64 {
	if l.busy == 0 {
		return 0
	}
	return math.Round(l.held(now)*1000) / 1000
}

// held adds up how long the messages in hand have been held, in seconds.
func (l *Lease) held(now time.Time) float64 {
	return max(0, float64(l.busy)*now.Sub(l.origin).Seconds()-l.began)
}

// IdleAt returns when [Lease.Tick] will stop the worker for want of messages, and false while it will not.
func (l *Lease) IdleAt() (time.Time, bool) {
	return l.active.Add(l.IdleStop), l.IdleStop > 0 && l.state == protocol.Receiving && l.busy == 0
}

// PaidUntil returns from when on [Lease.Tick] will stop the worker, when it is idle then, because a paid period ends;
// it is false while it will not. A worker that offered to leave in a period, and was kept, offers again in the next.
func (l *Lease) PaidUntil(now time.Time) (time.Time, bool) {
	at, _, ok := l.Billing.offerAt(now, l.paid)
	return at, ok && l.state == protocol.Receiving && l.busy == 0
}

// Tick stops the worker when it got no message for too long, or when what is paid for ends and no message waited when
// it last asked. It never does so while a receive call is outstanding: that call may still bring one.
func (l *Lease) Tick(now time.Time) {
	if l.receives > 0 {
		return
	}
	if at, ok := l.IdleAt(); ok && !now.Before(at) {
		l.drain(protocol.IdleTooLong)
		return
	}
	if at, ok := l.PaidUntil(now); ok && l.empty && !now.Before(at) {
		_, l.paid, _ = l.Billing.offerAt(now, l.paid)
		l.drain(protocol.EndOfBilling)
	}
}

// Signal says that an operator, or the system, wants the process to end. From then on no directive makes it work again.
func (l *Lease) Signal() {
	switch l.state {
	case protocol.Idle:
		l.cause = protocol.Signalled
	case protocol.Leaving:
	default:
		l.drain(protocol.Signalled)
	}
}

func (l *Lease) drain(cause protocol.Cause) { l.state, l.cause = protocol.Draining, cause }

// CanMint tells whether a release token may be minted: the worker drains, holds no message, and no receive call is
// outstanding that could bring one.
func (l *Lease) CanMint() bool {
	return l.state == protocol.Draining && l.busy == 0 && l.receives == 0
}

// Mint makes the worker idle under the given release token and returns true, or changes nothing when [Lease.CanMint]
// says no or the token is empty. A token must never have been used before.
func (l *Lease) Mint(now time.Time, token string) bool {
	if token == "" || !l.CanMint() {
		return false
	}
	l.state, l.token, l.heard = protocol.Idle, token, now
	return true
}

// Leave ends an idle worker without a grant and returns true; it changes nothing unless the worker is idle. It is for
// workers that nobody can answer: without a controller, told to end by an operator, or orphaned.
func (l *Lease) Leave() bool {
	if l.state != protocol.Idle {
		return false
	}
	l.state, l.token = protocol.Leaving, ""
	return true
}

// Resume makes an idle worker receive again whose token nobody was told, and returns true; it changes nothing unless
// the worker is idle because no message came. It is for workers without a controller.
func (l *Lease) Resume(now time.Time) bool {
	if l.state != protocol.Idle || !l.Offers() {
		return false
	}
	l.receive(now)
	return true
}

// Offers tells whether the worker stopped by itself.
func (l *Lease) Offers() bool {
	return l.cause == protocol.IdleTooLong || l.cause == protocol.EndOfBilling
}

// OrphanedAt returns when an idle worker counts as orphaned: no report of its token was answered for the duration
// patience. It is false while the worker is not idle.
func (l *Lease) OrphanedAt(patience time.Duration) (time.Time, bool) {
	return l.heard.Add(patience), l.state == protocol.Idle
}

// Report returns what the worker says now. Each call makes a new report. It counts what no report counted before, and
// repeats each earlier report's counts, under that report's number, until a report that carried them is answered:
// whichever of them arrive, in any order, the receiver can count everything once.
//
// When too many reports have no answer, what is finished waits for one of them, and only the last report of a worker
// adds to them.
func (l *Lease) Report(now time.Time) protocol.Report {
	l.seq++
	r := l.Says(now)
	r.Unanswered, r.LastFailure = l.unanswered, l.failure
	if c := l.current; c.Finished+c.Failed > 0 && l.mayCount() {
		if !l.roomInSystem(len(c.InSystem.Buckets)) {
			c.InSystem = series.Durations{}
		}
		r.Finished, r.Failed, r.Processing, r.Classes = c.Finished, c.Failed, c.Processing, c.Classes
		r.Failing, r.InSystem = c.Failing, c.InSystem
		c.Seq = l.seq
		l.unanswered = append(slices.Clip(l.unanswered), c)
		l.current = protocol.Tally{}
	}
	return r
}

// mayCount tells whether the next report has room for what no report counted yet.
func (l *Lease) mayCount() bool {
	most, room := protocol.MaxUnanswered-keptFree, maxBuckets
	if l.state == protocol.Leaving {
		most, room = protocol.MaxUnanswered, 2*maxBuckets
	}
	n := buckets(&l.current)
	for i := range l.unanswered {
		n += buckets(&l.unanswered[i])
	}
	return len(l.unanswered) == 0 || len(l.unanswered) < most && n <= room
}

// roomInSystem tells whether the next report has room for so many more buckets of times in the system. Those that it
// has no room for are left out: the share in time is then that of the others.
func (l *Lease) roomInSystem(n int) bool {
	for i := range l.unanswered {
		n += len(l.unanswered[i].InSystem.Buckets)
	}
	return n <= maxBuckets/2
}

// Says returns what the worker says now, without counts, for whoever does not answer: it is no report of its own, and
// has the number of the newest one.
func (l *Lease) Says(now time.Time) protocol.Report {
	return protocol.Report{
		Fleet: l.Fleet, Member: l.Member, Worker: l.Worker,
		Epoch: l.epoch, Seq: l.seq, SentAt: now, State: l.state, Cause: l.cause,
		Slots: l.Slots, Busy: l.busy, Token: l.token, Challenge: l.challenge, HeldSeconds: l.heldMillis(now),
		Incidents: l.incidents,
		Retries:   l.retries(now),
	}
}

// Obey does what the directive d says, which answered the report r of this lease. An answer that comes twice, or after
// the answer to a later report, changes nothing, with one exception: a grant of the token that is held is obeyed
// whenever it comes, because the controller counts the worker as released from then on.
func (l *Lease) Obey(now time.Time, r protocol.Report, d protocol.Directive) {
	granted := d.Ask == protocol.Leave && l.token != "" && d.Token == l.token
	// No report with the token and a later challenge was ever made, and with this one the token is not granted any
	// more.
	refused := d.Ask == protocol.Work && l.token != "" && d.Token == l.token && d.Challenge == l.challenge
	if r.Seq > l.answered && r.Seq <= l.seq {
		l.answered, l.challenge = r.Seq, d.Challenge
		l.confirm(r.Seq)
		if l.token != "" && r.Token == l.token {
			l.heard = now
		}
	} else if !granted {
		return
	}
	switch {
	case granted:
		l.Leave()
	case d.Ask == protocol.Drain && (l.state == protocol.Starting || l.state == protocol.Receiving):
		l.drain(protocol.Asked)
	case d.Ask == protocol.Work && l.mayResume(r, refused):
		l.receive(now)
	}
}

// confirm forgets what was said in reports up to seq.
func (l *Lease) confirm(seq int64) {
	for len(l.unanswered) > 0 && l.unanswered[0].Seq <= seq {
		l.unanswered = l.unanswered[1:]
	}
}

// mayResume tells whether the answer Work to the report r lets the worker receive again. It must answer what the worker
// is now, not what it was: a report from before it began to drain says nothing, and once a token is out, a later report
// than r may already have been granted, unless the token is refused.
func (l *Lease) mayResume(r protocol.Report, refused bool) bool {
	if !l.ready || l.cause == protocol.Signalled || r.Epoch != l.epoch {
		return false
	}
	switch l.state {
	case protocol.Draining:
		return r.State == protocol.Draining
	case protocol.Idle:
		return r.Token == l.token && (r.Seq == l.seq || refused)
	default:
		return false
	}
}
