package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/protocol"
	"github.com/muster-scale/muster/worker/usage"
)

// chain is a FIFO group's messages, which are worked on one after the other, or a single message.
type chain []*job

// call is one slot's share of the messages of a receive. It is worked on in waves: the first message of each chain.
type call struct {
	*runner
	chains []chain
}

// result is how the work on one message ended.
type result struct {
	outcome outcome
	err     error
	took    time.Duration
	used    *protocol.Usage // of the whole call, at its first message; nil if it was not measured
}

// outcome decides what happens to a message.
type outcome int

const (
	// begun: the work is not judged yet.
	begun outcome = iota
	// finished: to be deleted.
	finished
	// failed: the attempt counts.
	failed
	// lost: the lease is lost, so another worker may have the message.
	lost
	// returned: the work was interrupted or never began, and the attempt does not count.
	returned
	// spent: all attempts were used up before this receive.
	spent
)

// able returns how many calls can run at once.
func (r *runner) able() int {
	if r.Readiness == nil {
		return r.Slots
	}
	return min(r.Slots, r.Readiness.Ready())
}

// room returns how many messages to receive. Batches are received one by one, so that no batch is split over two calls.
func (r *runner) room() int {
	free := max(0, r.able()-r.calls)
	if free > 0 && r.Batch > 1 {
		return r.Batch
	}
	return free
}

// begin starts the work on the messages of a receive call that has just returned.
func (r *runner) begin(messages []Message, hold lease.Visibility, now time.Time) {
	var chains []chain
	for _, m := range messages {
		j := r.job(m, hold, now)
		r.held[j] = true
		r.wg.Go(j.keep)
		if i := predecessor(chains, m); i >= 0 {
			chains[i] = append(chains[i], j)
			continue
		}
		chains = append(chains, chain{j})
	}
	for len(chains) > 0 {
		n := min(len(chains), r.Batch)
		c := &call{r, chains[:n:n]}
		chains = chains[n:]
		r.calls++
		r.wg.Go(c.run)
	}
}

// predecessor returns the index of the chain in which m must wait, or -1.
func predecessor(chains []chain, m Message) int {
	for i, c := range chains {
		if m.ordered() && c[0].Group == m.Group && c[0].Queue == m.Queue {
			return i
		}
	}
	return -1
}

// run works on all waves. The events of the last wave and the end of the call are one event, because the run may be
// over right after it.
func (c *call) run() {
	for len(c.chains) > 0 {
		happened := c.wave()
		last := len(c.chains) == 0
		c.events <- func(now time.Time) {
			for _, e := range happened {
				e(now)
			}
			if last {
				c.calls--
			}
		}
	}
}

// wave works on the first message of each chain. If that does not succeed, the rest of its chain returns to the queue,
// which hides a group while an earlier message of it is hidden.
func (c *call) wave() []event {
	heads := make([]*job, len(c.chains))
	for i, chain := range c.chains {
		heads[i] = chain[0]
	}
	happened, done := settle(heads, c.do(heads))
	var rest []chain
	for i, chain := range c.chains {
		switch {
		case len(chain) == 1:
		case done[i]:
			rest = append(rest, chain[1:])
		default:
			for _, j := range chain[1:] {
				j.log.Debug("message returned: an earlier one of its group did not succeed", "group", j.Group)
				e, _ := j.settle(result{outcome: returned})
				happened = append(happened, e)
			}
		}
	}
	c.chains = rest
	return happened
}

// settle settles all messages at once, and tells which of them are done for good.
func settle(jobs []*job, results []result) (happened []event, done []bool) {
	happened, done = make([]event, len(jobs)), make([]bool, len(jobs))
	var wg sync.WaitGroup
	for i, j := range jobs {
		wg.Go(func() { happened[i], done[i] = j.settle(results[i]) })
	}
	wg.Wait()
	return happened, done
}

// do makes one call of Do or DoBatch for all messages whose work may begin.
func (c *call) do(jobs []*job) []result {
	results := make([]result, len(jobs))
	var calling []*job
	var batch []Message
	for i, j := range jobs {
		if results[i].outcome = j.count(); results[i].outcome == begun {
			calling, batch = append(calling, j), append(batch, j.counting())
		}
	}
	if len(calling) == 0 {
		return results
	}
	ctx, end := c.context(calling)
	ctx, meter := usage.Watch(ctx)
	at := time.Now()
	errs := c.perform(ctx, batch)
	took, cause := time.Since(at), context.Cause(ctx)
	end()
	used := meter.Sum()
	for i, j := range jobs {
		if results[i].outcome == begun {
			results[i] = result{j.judge(errs[0], cause), errs[0], took, used}
			errs, used = errs[1:], nil
		}
	}
	return results
}

// perform makes the call and returns one result per message.
func (c *call) perform(ctx context.Context, batch []Message) []error {
	if c.DoBatch == nil {
		return []error{c.Do(ctx, batch[0])}
	}
	errs := c.DoBatch(ctx, batch)
	if errs != nil && len(errs) != len(batch) {
		errs = slices.Repeat([]error{fmt.Errorf("work on %d messages: found %d results, one for each or nil is allowed",
			len(batch), len(errs))}, len(batch))
	}
	if errs == nil {
		errs = slices.Repeat([]error{nil}, len(batch))
	}
	return errs
}

// context returns the context of a call. It ends with the grace of a stop, at the time limit, or when the first lease
// of its messages is lost.
func (c *call) context(jobs []*job) (ctx context.Context, end func()) {
	lease, lose := context.WithCancelCause(c.base)
	limited, release := context.WithValue(c.work, LeaseKey{}, lease), func() {}
	if c.TimeLimit > 0 {
		limited, release = context.WithTimeoutCause(limited, c.TimeLimit, ErrTimeLimit)
	}
	ctx, cancel := context.WithCancelCause(limited)
	stops := []func() bool{context.AfterFunc(lease, func() { cancel(context.Cause(lease)) })}
	for _, j := range jobs {
		stops = append(stops, context.AfterFunc(j.lease, func() { lose(context.Cause(j.lease)) }))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel(nil)
		release()
		lose(nil)
	}
}

// count counts the attempt at a message before its work begins, and returns begun if the work may begin.
func (j *job) count() outcome {
	switch {
	case j.lease.Err() != nil:
		return lost // while it waited for its predecessor
	case j.runner.work.Err() != nil:
		return returned
	}
	j.attempt = j.ReceiveCount
	if j.runner.Attempts != nil {
		err := j.call(func(ctx context.Context) error {
			n, err := j.runner.Attempts.Begin(ctx, j.Message)
			if err == nil {
				j.attempt, j.counted = n, true
			}
			return err
		})
		if err != nil {
			j.log.Error("counting an attempt failed, the receive count stands for it", "err", err)
		}
	}
	if most := j.runner.MaxAttempts; most > 0 && (j.attempt > most || j.ReceiveCount > receivesPerAttempt*most) {
		return spent
	}
	return begun
}

// counting returns the message with its attempt. It is a copy, because keep reads the job's message.
func (j *job) counting() Message {
	m := j.Message
	m.Attempt = j.attempt
	return m
}

// judge returns the outcome for the work's error. cause is why the call's context had ended by then, or nil.
func (j *job) judge(err, cause error) outcome {
	switch {
	case err == nil:
		return finished
	case j.lease.Err() != nil:
		return lost
	case errors.Is(err, ErrNotBegun), errors.Is(cause, ErrLeaseLost), j.runner.work.Err() != nil &&
		!errors.Is(cause, ErrTimeLimit):
		return returned
	}
	return failed
}

// settle tells the queue and the ledger how the work ended, and returns whether the message is done for good.
func (j *job) settle(r result) (happened event, done bool) {
	defer j.lose(errSettled)
	log := j.log.With("attempt", j.attempt, "took", r.took)
	if r.err != nil {
		log = log.With("err", r.err)
	}
	switch r.outcome {
	case finished:
		err := j.delete()
		j.forget()
		log.Debug("message finished")
		if j.runner.Failures != nil && err == nil && j.ReceiveCount != 1 {
			j.runner.Failures.Settled(j.Message)
		}
		if err != nil {
			return j.incident(j.ended(r, true, 0), protocol.DeleteFailed, "message "+j.ID+": "+err.Error()), true
		}
	case lost:
		if r.err == nil {
			return j.release, false
		}
		log.Log(context.Background(), j.failureLevel(slog.LevelError),
			"work stopped: the lease is lost and the message will be delivered again")
		j.fail(r, Failure{Lost: true})
		return j.incident(j.ended(r, false, 0), protocol.LeaseLost, "message "+j.ID+": its lease was lost after "+
			r.took.String()), false
	case returned:
		j.uncount()
		if r.err != nil {
			log.Warn("message returned to the queue")
		}
		j.giveBack(0)
		return j.release, false
	case spent:
		r.err = errSpent
		if done = j.toDeadLetters(log, r); !done {
			j.uncount()
			j.retry(log)
		}
		return j.release, done
	default:
		if most := j.runner.MaxAttempts; most > 0 && j.attempt >= most {
			done = j.toDeadLetters(log, r)
		}
		again := time.Duration(0)
		if !done {
			again = j.retry(log)
			j.fail(r, Failure{Again: again})
		}
		return j.ended(r, false, again), done
	}
	return j.ended(r, r.outcome == finished, 0), r.outcome == finished
}

func (j *job) release(now time.Time) {
	delete(j.runner.held, j)
	j.runner.lease.Returned(now, j.received)
}

// ended returns the event of an attempt that ended. again is after how long a failed message becomes visible; 0 if it
// does not wait for that.
func (j *job) ended(r result, ok bool, again time.Duration) event {
	e := lease.End{Received: j.received, Took: r.took, OK: ok, SentAt: j.SentAt, Again: again, Used: r.used}
	e.Class = classOf(j.Message, j.runner.ClassAttribute)
	if r.err != nil {
		e.Error = r.err.Error()
	}
	return func(now time.Time) {
		delete(j.runner.held, j)
		j.runner.lease.End(now, e)
		j.runner.destinations.count(e.Took, ok, e.Class)
	}
}

// incident returns the event happened with an incident added.
func (j *job) incident(happened event, kind protocol.IncidentKind, text string) event {
	return func(now time.Time) {
		j.runner.lease.Incident(kind, text)
		happened(now)
	}
}

// errSpent is the failure of a message whose attempts were used up before it was received.
var errSpent = errors.New("its attempts were used up before: the last one ended together with its worker, or was " +
	"made on another machine")

// fail reports a failed attempt to Options.Failures.
func (j *job) fail(r result, f Failure) {
	if j.runner.Failures == nil {
		return
	}
	f.Message, f.At, f.Took, f.Err = j.counting(), time.Now(), r.took, r.err
	j.runner.Failures.Failed(f)
}

// failureLevel returns the level at which a failed attempt is logged: debug when Options.Failures gets it already.
func (j *job) failureLevel(level slog.Level) slog.Level {
	if j.runner.Failures != nil {
		return slog.LevelDebug
	}
	return level
}

// toDeadLetters moves the message to the dead letters. It deletes the message only after it is stored there.
func (j *job) toDeadLetters(log *slog.Logger, r result) bool {
	id := ""
	err := j.call(func(ctx context.Context) (err error) {
		if by, ok := j.runner.DeadLetters.(DeadLettersByID); ok {
			id, err = by.KeepAs(ctx, j.counting())
			return err
		}
		return j.runner.DeadLetters.Keep(ctx, j.counting())
	})
	if err != nil {
		log.Error("moving a message to the dead letters failed: it will be tried again", "dead_letter_err", err)
		return false
	}
	log.Log(context.Background(), j.failureLevel(slog.LevelError),
		"message moved to the dead letters: its attempts are used up",
		"attempts", min(j.attempt, j.runner.MaxAttempts))
	j.delete()
	j.forget()
	j.fail(r, Failure{DeadLetter: true, DeadLetterID: id})
	return true
}

// retry returns the message to the queue, hidden for its back-off, which it returns.
func (j *job) retry(log *slog.Logger) (again time.Duration) {
	again = j.hold.GiveBack(time.Now(), lease.Backoff(j.runner.RetryBase, j.attempt))
	log.Log(context.Background(), j.failureLevel(slog.LevelWarn), "message failed", "again_in", again)
	j.giveBack(again)
	return again
}

// forget and uncount change the ledger. If that fails, the message has one attempt less than it should.
func (j *job) forget() {
	j.record("forgetting", func(ctx context.Context, a Attempts) error { return a.Forget(ctx, j.Message) })
}

func (j *job) uncount() {
	j.record("giving back", func(ctx context.Context, a Attempts) error { return a.GiveBack(ctx, j.Message) })
}

func (j *job) record(what string, change func(context.Context, Attempts) error) {
	if !j.counted {
		return
	}
	if err := j.call(func(ctx context.Context) error { return change(ctx, j.runner.Attempts) }); err != nil {
		j.log.Warn(what+" an attempt failed", "err", err)
	}
}

const (
	// maxClassBytes bounds the name of a class.
	maxClassBytes = 64
	// OtherClass is [protocol.OtherClass].
	OtherClass = protocol.OtherClass
)

// classOf returns the class of m: the text of the named attribute. It is empty when m lacks the attribute or no name is
// given, and OtherClass when the text is no usable name.
func classOf(m Message, attribute string) string {
	class := m.Attributes[attribute].Text
	switch {
	case attribute == "" || class == "":
		return ""
	case len(class) > maxClassBytes, !utf8.ValidString(class),
		strings.ContainsFunc(class, func(r rune) bool { return !unicode.IsGraphic(r) }):
		return OtherClass
	}
	return class
}
