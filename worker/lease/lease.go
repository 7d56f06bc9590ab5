package lease

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// keptFree is how much of [protocol.MaxUnanswered] is reserved for the last report of a worker.
	keptFree = 1
	// maxBuckets bounds the buckets of all histograms in a report, so that it stays below the 256 KiB that a controller
	// accepts. The last report of a worker may have twice as many.
	maxBuckets = 4000
)

// EarlyStop is by how much a worker may stop before its idle time is over: half of the shortest receive call that
// waits.
const EarlyStop = time.Second / 2

// toldFor is how long an idle stop that the controller told counts.
const toldFor = time.Minute

// Options name a worker and bound its messages.
type Options struct {
	// Fleet, Member and Worker are copied into each report.
	Fleet, Member, Worker string
	// Slots is how many messages may be in progress at once, at least 1.
	Slots int
	// IdleStop is how long the worker may be without a message before it stops receiving; 0 means never.
	IdleStop time.Duration
	// Billing says when the worker stops receiving because its paid period ends.
	Billing Billing
	// Born is below the first epoch and the first sequence number. A restarted worker of the same name must have a
	// higher one than its predecessor reached, or its reports would look old. Milliseconds since 1970 will do.
	Born int64
}

// Lease is a worker's right to receive messages, as a state machine without clock or I/O. Make one with [New].
//
// The driver calls BeginReceive before each receive call and EndReceive or FailReceive after it, End or Returned for
// each message, and Obey for each answered report. Copies are independent of each other. Only one goroutine may use a
// Lease.
type Lease struct {
	Options
	state protocol.WorkerState
	cause protocol.Cause
	ready bool
	epoch int64
	// seq is the number of the newest report, answered that of the newest report with an answer.
	seq, answered int64
	busy          int
	// began adds up when each message in progress was received, in seconds since origin, the first receive.
	began  float64
	origin time.Time
	// receives counts the receive calls under way; reserved are the slots kept free for their messages.
	receives, reserved int
	token              string
	// challenge is the challenge of the newest answer, which reports repeat.
	challenge int64
	// told is the idle stop of the newest answer, 0 for none; toldAt is when that answer came.
	told   time.Duration
	toldAt time.Time
	// active is when a message was last in progress or could have come. heard is when the controller last answered the
	// token.
	active, heard time.Time
	// empty is true when the last receive call brought nothing. paid is the end of the last paid period for which the
	// worker became ready to stop.
	empty bool
	paid  time.Time
	// incidents are those since the worker started, sorted by kind. The slice is replaced, never changed.
	incidents []protocol.Incident
	// current holds the counts that no report had yet; unanswered holds those of reports without an answer. Their
	// contents never change, because copies of the lease and its reports share them.
	current    protocol.Tally
	unanswered []protocol.Tally
	// waits are the messages that wait for their retry; noRetries is reported when there are none.
	waits     waits
	noRetries *protocol.Retries
	// failure is the newest failed attempt. It is replaced, never changed.
	failure *protocol.LastFailure
}

// buckets returns the number of buckets in the histograms of t.
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

// State returns the state of the worker.
func (l *Lease) State() protocol.WorkerState { return l.state }

// Cause returns why the worker stopped receiving; it is empty while it receives.
func (l *Lease) Cause() protocol.Cause { return l.cause }

// Busy returns how many messages are in progress.
func (l *Lease) Busy() int { return l.busy }

// Token returns the release token; it is empty unless the worker is idle.
func (l *Lease) Token() string { return l.token }

// Epoch returns the lease epoch, which grows each time the worker begins to receive.
func (l *Lease) Epoch() int64 { return l.epoch }

// Ready says that the worker has warmed up. It begins to receive, unless it got a stop request before.
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

// CanReceive returns how many messages may be received: the slots that are neither busy nor reserved by a running
// receive call. It is 0 unless the worker is receiving.
func (l *Lease) CanReceive() int {
	if l.state != protocol.Receiving {
		return 0
	}
	return l.Slots - l.busy - l.reserved
}

// BeginReceive announces a receive call and returns how many messages it may request, at most limit. When it returns 0,
// there must be no call; otherwise pass the same number to [Lease.EndReceive] or [Lease.FailReceive] later.
func (l *Lease) BeginReceive(limit int) int {
	n := min(l.CanReceive(), limit)
	if n <= 0 {
		return 0
	}
	l.receives++
	l.reserved += n
	return n
}

// EndReceive says that a receive call for asked messages has brought n, which are now in progress.
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

// FailReceive says that a receive call failed. The queue may hold messages all the same, so the idle time restarts.
func (l *Lease) FailReceive(now time.Time, asked int) {
	l.endReceive(asked)
	l.active, l.empty = now, false
}

// Unable says that nothing can be received now, although the queue may hold messages, so the idle time restarts. Call
// it when no receive call is running.
func (l *Lease) Unable(now time.Time) { l.active, l.empty = now, false }

func (l *Lease) endReceive(asked int) {
	l.receives = max(0, l.receives-1)
	l.reserved = max(0, l.reserved-asked)
}

// End is the result of the work on a message.
type End struct {
	// Received is the time given to EndReceive, Took the processing duration.
	Received time.Time
	Took     time.Duration
	// OK is true for a message that was finished and deleted, false for a failed attempt.
	OK bool
	// Class is the message's class, or empty.
	Class string
	// SentAt is when the message was sent, by the queue's clock; zero if unknown.
	SentAt time.Time
	// Again is after how long a failed message becomes visible; 0 if it waits for nothing, because it is visible at
	// once, a dead letter, or no longer in flight.
	Again time.Duration
	// Error says why the attempt failed.
	Error string
	// Used is the processor time and memory of the call that ended with this message; nil if it was not measured.
	Used *protocol.Usage
}

// End records the result of the work on a message.
func (l *Lease) End(now time.Time, e End) {
	l.current.Usage = addUsage(l.current.Usage, e.Used)
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

// addUsage returns the sum of two usages, which are nil if unknown. Neither is changed.
func addUsage(a, b *protocol.Usage) *protocol.Usage {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	sum := protocol.MergeUsage(*a, *b)
	return &sum
}

// Returned says that a message, which EndReceive brought at received, went back to the queue before its work had ended.
// It counts neither as finished nor as failed.
func (l *Lease) Returned(now, received time.Time) { l.let(now, received) }

// let removes a message that was in progress since received.
func (l *Lease) let(now, received time.Time) {
	l.began -= received.Sub(l.origin).Seconds()
	l.busy = max(0, l.busy-1)
	if l.busy == 0 {
		l.began = 0 // drop rounding errors
	}
	l.active = now
}

// heldMillis is held, rounded to the millisecond to keep reports short.
func (l *Lease) heldMillis(now time.Time) float64 {
	if l.busy == 0 {
		return 0
	}
	return math.Round(l.held(now)*1000) / 1000
}

// held adds up how long the messages in progress have been so, in seconds.
func (l *Lease) held(now time.Time) float64 {
	return max(0, float64(l.busy)*now.Sub(l.origin).Seconds()-l.began)
}

// IdleAt returns when [Lease.Tick] stops the worker for lack of messages; false if it will not. The controller may tell
// a shorter idle stop than that of the options. It counts for toldFor: a worker whose controller is gone goes on.
//
// After a receive call that brought nothing, the worker stops by [EarlyStop] sooner, half of its idle stop at most: to
// wait for that little, it would have to begin another call, which lasts longer.
func (l *Lease) IdleAt() (time.Time, bool) {
	idle := l.IdleStop
	if l.told > 0 && l.active.Add(l.told).Sub(l.toldAt) < toldFor && (idle <= 0 || l.told < idle) {
		idle = l.told
	}
	stops := idle > 0 && l.state == protocol.Receiving && l.busy == 0
	if l.empty {
		idle -= min(EarlyStop, idle/2)
	}
	return l.active.Add(idle), stops
}

// Told returns the idle stop that the newest answer told; 0 for none.
func (l *Lease) Told() time.Duration { return l.told }

// ReceiveWait returns how long a receive call that begins now may wait for messages: as long as longest, but no longer
// than until the idle stop, because a running call is never cut. While the first report has no answer, which may tell
// an idle stop, it is a second; after [protocol.MaxUnanswered] reports nobody is expected to answer. SQS counts whole
// seconds, so the wait is one at least, unless longest is shorter.
func (l *Lease) ReceiveWait(now time.Time, longest time.Duration) time.Duration {
	wait := longest
	if at, ok := l.IdleAt(); ok {
		wait = at.Sub(now)
	}
	if made := l.seq - l.Born; made > 0 && made <= protocol.MaxUnanswered && l.answered == l.Born {
		wait = time.Second
	}
	wait = (wait + time.Second - 1).Truncate(time.Second)
	return min(longest, max(time.Second, wait))
}

// PaidUntil returns from when on [Lease.Tick] stops an idle worker because its paid period ends; false if it will not.
// A worker that was ready to stop in one period, and was kept, becomes so again in the next.
func (l *Lease) PaidUntil(now time.Time) (time.Time, bool) {
	at, _, ok := l.Billing.offerAt(now, l.paid)
	return at, ok && l.state == protocol.Receiving && l.busy == 0
}

// Tick stops the worker when its idle time is over, or when its paid period ends and the last receive call brought
// nothing. It does nothing while a receive call is running, which may still bring a message.
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

// Signal says that an operator or the system ends the process. After it, no directive makes the worker receive again.
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

// CanMint tells whether a release token may be minted: the worker is draining, no message is in progress, and no
// receive call is running that could bring one.
func (l *Lease) CanMint() bool {
	return l.state == protocol.Draining && l.busy == 0 && l.receives == 0
}

// Mint makes the worker idle with the given release token and returns true. It changes nothing when [Lease.CanMint] is
// false or the token is empty. A token must be new.
func (l *Lease) Mint(now time.Time, token string) bool {
	if token == "" || !l.CanMint() {
		return false
	}
	l.state, l.token, l.heard = protocol.Idle, token, now
	return true
}

// Leave ends an idle worker without a stop permit and returns true; it changes nothing unless the worker is idle. It is
// for workers that get no answer: without a controller, stopped by an operator, or orphaned.
func (l *Lease) Leave() bool {
	if l.state != protocol.Idle {
		return false
	}
	l.state, l.token = protocol.Leaving, ""
	return true
}

// Resume makes an idle worker receive again and returns true. It changes nothing unless the worker became idle by
// itself. It is for workers without a controller, whose tokens nothing knows.
func (l *Lease) Resume(now time.Time) bool {
	if l.state != protocol.Idle || !l.Offers() {
		return false
	}
	l.receive(now)
	return true
}

// Offers tells whether the worker became ready to stop by itself.
func (l *Lease) Offers() bool {
	return l.cause == protocol.IdleTooLong || l.cause == protocol.EndOfBilling
}

// OrphanedAt returns when an idle worker counts as orphaned: after patience without an answer to its token. It is false
// unless the worker is idle.
func (l *Lease) OrphanedAt(patience time.Duration) (time.Time, bool) {
	return l.heard.Add(patience), l.state == protocol.Idle
}

// Report returns a new report of the worker. It counts what no report counted before. It also repeats the counts of
// each earlier report, under that report's number, until a report that carried them is answered. So the receiver can
// count everything once, whichever reports arrive, in any order.
//
// While too many reports are unanswered, new counts wait. Only the last report of a worker still adds some.
func (l *Lease) Report(now time.Time) protocol.Report {
	l.seq++
	r := l.Says(now)
	r.Unanswered, r.LastFailure = l.unanswered, l.failure
	if c := l.current; c.Finished+c.Failed > 0 && l.mayCount() {
		if !l.roomInSystem(len(c.InSystem.Buckets)) {
			c.InSystem = series.Durations{}
		}
		r.Finished, r.Failed, r.Processing, r.Classes = c.Finished, c.Failed, c.Processing, c.Classes
		r.Failing, r.InSystem, r.Usage = c.Failing, c.InSystem, c.Usage
		c.Seq = l.seq
		l.unanswered = append(slices.Clip(l.unanswered), c)
		l.current = protocol.Tally{}
	}
	return r
}

// mayCount tells whether the next report has room for the current counts.
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

// roomInSystem tells whether the next report has room for n more buckets of InSystem. Without room they are left out:
// the share of messages in time is then that of the others.
func (l *Lease) roomInSystem(n int) bool {
	for i := range l.unanswered {
		n += len(l.unanswered[i].InSystem.Buckets)
	}
	return n <= maxBuckets/2
}

// Says returns the worker's state without counts, for a receiver that does not answer. It has the number of the newest
// report.
func (l *Lease) Says(now time.Time) protocol.Report {
	return protocol.Report{
		Fleet: l.Fleet, Member: l.Member, Worker: l.Worker,
		Epoch: l.epoch, Seq: l.seq, SentAt: now, State: l.state, Cause: l.cause,
		Slots: l.Slots, Busy: l.busy, Token: l.token, Challenge: l.challenge, HeldSeconds: l.heldMillis(now),
		Incidents: l.incidents,
		Retries:   l.retries(now),
	}
}

// Obey carries out the directive d, which answered the report r of this lease. A repeated answer, or one older than the
// newest, changes nothing, with one exception. A stop permit for the current token always counts, because the
// controller has counted the worker as released since it granted it.
func (l *Lease) Obey(now time.Time, r protocol.Report, d protocol.Directive) {
	granted := d.Ask == protocol.Leave && l.token != "" && d.Token == l.token
	// A refusal with the current challenge is final: no report had the token with a later challenge, and the controller
	// will not grant it for this one.
	refused := d.Ask == protocol.Work && l.token != "" && d.Token == l.token && d.Challenge == l.challenge
	if r.Seq > l.answered && r.Seq <= l.seq {
		l.answered, l.challenge = r.Seq, d.Challenge
		l.told, l.toldAt = d.IdleStop, now
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
	case d.Ask == protocol.Work && l.mayResume(&r, refused):
		l.receive(now)
	}
}

// confirm drops the counts of reports up to seq.
func (l *Lease) confirm(seq int64) {
	for len(l.unanswered) > 0 && l.unanswered[0].Seq <= seq {
		l.unanswered = l.unanswered[1:]
	}
}

// mayResume tells whether the answer Work to the report r lets the worker receive again. The answer must be about the
// current state. A report from before the draining says nothing about it. Once the worker has a token, a later report
// than r may have been granted already, unless the token was refused.
func (l *Lease) mayResume(r *protocol.Report, refused bool) bool {
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
