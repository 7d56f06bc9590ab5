package roster

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// maxSlots bounds the slots of a worker, maxText the length of its names and token, maxWorkers the workers of a
	// member, maxMembers the members of a roster.
	maxSlots   = 10_000
	maxText    = 256
	maxWorkers = 256
	maxMembers = 100_000
	// maxCount bounds the messages of one report, maxMean the mean of their durations in seconds (a year): so sums over
	// any number of reports stay finite.
	maxCount = 1_000_000_000
	maxMean  = 366 * 24 * 60 * 60
	// provedAfter is how long a member must have been receiving for its launch to count as good without a finished
	// message.
	provedAfter = 10 * time.Second
)

// Check returns what is wrong with a report, or nil. An invalid report is refused as a whole.
func Check(r protocol.Report) error { return check(&r) }

// check is [Check] without a copy of the report.
func check(r *protocol.Report) error {
	switch {
	case r.Member == "" || len(r.Member) > maxText || r.Worker == "" || len(r.Worker) > maxText ||
		len(r.Fleet) > maxText:
		return fmt.Errorf("worker report: found fleet %.20q, member %.20q, worker %.20q; each is 1 to %d characters "+
			"long", r.Fleet, r.Member, r.Worker, maxText)
	case r.Slots < 1 || r.Slots > maxSlots:
		return fmt.Errorf("worker report of %s: found %d slots, allowed is 1 to %d", r.Worker, r.Slots, maxSlots)
	case r.Busy < 0 || r.Busy > r.Slots:
		return fmt.Errorf("worker report of %s: found %d busy slots, allowed is 0 to %d", r.Worker, r.Busy, r.Slots)
	case !(r.HeldSeconds >= 0 && r.HeldSeconds <= maxMean*float64(r.Busy)):
		return fmt.Errorf("worker report of %s: found %d messages held for %g s in all; allowed is 0 to a year for "+
			"each", r.Worker, r.Busy, r.HeldSeconds)
	case r.Seq < 1 || r.Epoch < 0:
		return fmt.Errorf("worker report of %s: found sequence %d, epoch %d; they start at 1 and 0", r.Worker, r.Seq,
			r.Epoch)
	}
	if err := checkCounts(r); err != nil {
		return err
	}
	if err := checkIncidents(r); err != nil {
		return err
	}
	if err := checkFailures(r); err != nil {
		return err
	}
	switch r.Cause {
	case "", protocol.Asked, protocol.IdleTooLong, protocol.EndOfBilling, protocol.Signalled:
	default:
		return fmt.Errorf("worker report of %s: found cause %.20q, allowed is %s, %s, %s or %s", r.Worker, r.Cause,
			protocol.Asked, protocol.IdleTooLong, protocol.EndOfBilling, protocol.Signalled)
	}
	return checkState(r)
}

// checkFailures checks the messages waiting for a retry and the last failure.
func checkFailures(r *protocol.Report) error {
	x := r.Retries
	if x != nil && (x.Messages < 0 || x.Messages > maxCount || !(x.OldestSeconds >= 0 && x.OldestSeconds <= maxMean)) {
		return fmt.Errorf("worker report of %s: found %d messages that wait for a retry, the oldest sent %g s ago; "+
			"allowed are 0 to %d, and 0 to a year", r.Worker, x.Messages, x.OldestSeconds, maxCount)
	}
	if x := r.LastFailure; x != nil &&
		(len(x.Error) > protocol.MaxErrorBytes || x.At.Year() < 1970 || x.At.Year() > 9999) {
		return fmt.Errorf("worker report of %s: found a last failure of %d bytes at %s; "+
			"allowed are %d bytes, and a time from 1970 on", r.Worker, len(x.Error), x.At, protocol.MaxErrorBytes)
	}
	return nil
}

// checkCounts checks the counts of a report, and those it repeats from earlier ones.
func checkCounts(r *protocol.Report) error {
	if len(r.Unanswered) > protocol.MaxUnanswered {
		return fmt.Errorf("worker report of %s: found %d unanswered reports, at most %d are allowed", r.Worker,
			len(r.Unanswered), protocol.MaxUnanswered)
	}
	before := int64(0)
	for i := range r.Unanswered {
		t := &r.Unanswered[i]
		if t.Seq <= before || t.Seq >= r.Seq {
			return fmt.Errorf("worker report of %s: found the unanswered report %d after %d, allowed are ascending "+
				"numbers from 1, below that of the report, %d", r.Worker, t.Seq, before, r.Seq)
		}
		before = t.Seq
		if err := checkTally(r.Worker, t); err != nil {
			return err
		}
	}
	own := r.Tally()
	return checkTally(r.Worker, &own)
}

// measured tells whether a histogram of durations is plausible.
func measured(d series.Durations) bool {
	return series.Valid(d) && d.Count <= maxCount && d.SumSeconds <= maxMean*float64(d.Count)
}

// checkTally checks the counts of one report against each other.
func checkTally(worker string, t *protocol.Tally) error {
	switch {
	case t.Finished < 0 || t.Finished > maxCount || t.Failed < 0 || t.Failed > maxCount:
		return fmt.Errorf("worker report of %s: found %d messages finished and %d failed, allowed is 0 to %d", worker,
			t.Finished, t.Failed, maxCount)
	case !measured(t.Processing):
		return fmt.Errorf("worker report of %s: found durations that cannot be measured (%d of them, %g s in all); "+
			"allowed are up to %d of at most a year, each in one bucket",
			worker, t.Processing.Count, t.Processing.SumSeconds, maxCount)
	case !measured(t.Failing) || !measured(t.InSystem):
		return fmt.Errorf("worker report of %s: found durations of failed attempts, or times in the system, that "+
			"cannot be measured "+
			"(%d and %d of them); allowed are up to %d of at most a year, each in one bucket",
			worker, t.Failing.Count, t.InSystem.Count, maxCount)
	case t.Usage != nil && !t.Usage.Valid():
		return fmt.Errorf("worker report of %s: found a usage of %d calls, %g s of processor time in %g s, %d of %d "+
			"bytes and %g cores, which cannot be measured", worker, t.Usage.Calls, t.Usage.CPUSeconds,
			t.Usage.WallSeconds, t.Usage.PeakBytes, t.Usage.MemoryBytes, t.Usage.Cores)
	case len(t.Classes) > protocol.MaxClasses+1:
		return fmt.Errorf("worker report of %s: found %d classes, at most %d are allowed", worker, len(t.Classes),
			protocol.MaxClasses+1)
	}
	var n int64
	for class, d := range t.Classes {
		if class == "" || len(class) > maxText || !series.Valid(d) || d.Count > t.Processing.Count ||
			d.SumSeconds > maxMean*float64(d.Count) {
			return fmt.Errorf("worker report of %s: found a class whose durations cannot be a part of all, or whose "+
				"name is not 1 to %d characters long", worker, maxText)
		}
		n += d.Count
	}
	if n > t.Processing.Count {
		return fmt.Errorf("worker report of %s: found %d durations in its classes, at most all %d are allowed", worker,
			n, t.Processing.Count)
	}
	return nil
}

// checkState checks that only an idle worker without messages has a release token.
func checkState(r *protocol.Report) error {
	switch r.State {
	case protocol.Starting, protocol.Receiving, protocol.Draining, protocol.Leaving:
		if r.Token != "" {
			return fmt.Errorf("worker report of %s: found a release token in state %q, allowed only in %q", r.Worker,
				r.State, protocol.Idle)
		}
	case protocol.Idle:
		if r.Token == "" || len(r.Token) > maxText || r.Busy != 0 {
			return fmt.Errorf("worker report of %s: state %q needs a release token of at most %d characters and no "+
				"busy slot, found %d busy",
				r.Worker, protocol.Idle, maxText, r.Busy)
		}
	default:
		return fmt.Errorf("worker report of %s: found state %.20q, allowed is %s, %s, %s, %s or %s", r.Worker, r.State,
			protocol.Starting, protocol.Receiving, protocol.Draining, protocol.Idle, protocol.Leaving)
	}
	return nil
}

// News is what a report showed of its member for the first time.
type News struct {
	Member string
	// Repeated are the counts that the report repeats and that no earlier report had. They share its memory. Counts is
	// true if the report's own counts are new, too.
	Repeated []protocol.Tally
	Counts   bool
	// Joined is true when it received for the first time; Boot is then the time since the launch order. For a member
	// whose boot time is unknown, Joined stays false.
	Joined bool
	Boot   time.Duration
	// Warm is true when it came from a warm pool.
	Warm bool
	// Proved is true when it succeeded after other launches had failed.
	Proved bool
	// Departed is true when it leaves by itself, because it gets no answers.
	Departed bool
	// Incidents are to be notified; More counts all new incidents of its workers, by kind.
	Incidents []Incident
	More      map[protocol.IncidentKind]int64
}

// Reported applies a report, received at rep.At. It returns false for a report that is late, repeated, invalid, or from
// a member that has ended. The counts of an ended member's worker are still in news.
func (r *Roster) Reported(rep protocol.Report) (taken bool, news News) { return r.take(&rep, false) }

// take implements [Roster.Reported] and [Roster.Stored].
func (r *Roster) take(rep *protocol.Report, stored bool) (taken bool, news News) {
	if check(rep) != nil {
		return false, news
	}
	news.Member = rep.Member
	i, ok := r.find(rep.Member)
	if !ok {
		k, over := r.buried(rep.Member)
		if over && !stored {
			news.Repeated, news.Counts = r.countsOfEnded(k, rep)
		}
		if over || r.full() || stored {
			return false, news
		}
		// Another system's launch, or ours from before a crash: adopt the member, so that it is not launched twice.
		i = r.add(Facts{ID: rep.Member, LaunchedAt: rep.At, SeenAt: rep.At})
	}
	m := &r.members[i]
	w := m.worker(rep.Worker)
	if w == nil || !w.follows(rep, stored) {
		return false, news
	}
	anew := w.Seq == 0 || w.Stored && !stored
	news.Repeated, news.Counts = w.counted(rep)
	if w.store(stored); stored {
		own := m.unanswered(*rep)
		rep = &own
	}
	w.reported(rep, anew)
	news.Departed = m.leavesUnasked() && m.depart()
	if len(rep.Incidents) > 0 {
		news.Incidents, news.More = m.incidents(rep)
	}
	if !m.timed && m.Listed && rep.State == protocol.Starting {
		m.change().timed = true
	}
	if rep.State == protocol.Receiving && m.JoinedAt.IsZero() {
		m.change().JoinedAt = rep.At
		if m.timed {
			news.Joined, news.Boot, news.Warm = true, rep.At.Sub(m.LaunchedAt), m.Warm
		}
	}
	finished := news.Counts && rep.Finished > 0 ||
		slices.ContainsFunc(news.Repeated, func(t protocol.Tally) bool { return t.Finished > 0 })
	if finished && !m.used {
		m.change().used = true
	}
	if !m.Proved && !m.JoinedAt.IsZero() && (finished || rep.At.Sub(m.JoinedAt) >= provedAfter) {
		m.change().Proved, news.Proved = true, r.failed > 0
		r.failed, r.failedAt, r.lastErr = 0, time.Time{}, ""
	}
	return true, news
}

// counted returns the repeated counts in a report of w that no earlier report had, and whether its own are new. Each
// report repeats all unanswered counts, so those up to the number of the last processed report are known.
func (w *Worker) counted(rep *protocol.Report) (repeated []protocol.Tally, own bool) {
	told := w.Seq
	if w.Stored {
		told = 0 // stored reports have other numbers
	}
	again := rep.Unanswered
	for len(again) > 0 && again[0].Seq <= told {
		again = again[1:]
	}
	return slices.Clip(again), rep.Finished != 0 || rep.Failed != 0 || rep.Processing.Count != 0
}

// countsOfEnded is [Worker.counted] for a report of an ended member.
func (r *Roster) countsOfEnded(k int, rep *protocol.Report) (repeated []protocol.Tally, own bool) {
	m := *r.ended[k].Member
	m.Workers = slices.Clone(m.Workers)
	w := m.worker(rep.Worker)
	if w == nil || !w.follows(rep, false) {
		return nil, false
	}
	repeated, own = w.counted(rep)
	if own || len(repeated) > 0 {
		w.Seq = rep.Seq
		r.ended = slices.Clone(r.ended) // clones of the roster share it
		r.ended[k].Member = &m
	}
	return repeated, own
}

// store records whether the reports of w come from a store.
func (w *Worker) store(stored bool) {
	if w.Stored != stored {
		t := *w.Terms
		t.Stored = stored
		w.Terms = &t
	}
}

// reported applies a report of w. anew means that its earlier state does not count.
func (w *Worker) reported(rep *protocol.Report, anew bool) {
	t := Terms{ID: w.ID, Stored: w.Stored, Epoch: rep.Epoch, State: rep.State, Cause: rep.Cause, Slots: rep.Slots,
		Token: rep.Token, Refused: w.Refused && rep.Token == w.Token,
		Challenge: w.Challenge, Repeated: rep.Challenge, RoundTrip: w.RoundTrip}
	switch {
	case anew:
		// A worker from before may have reported anything meanwhile: only an answer to this challenge counts.
		t.Challenge = rep.At.UnixMicro()
	case t.Challenge != 0 && t.Repeated == t.Challenge && w.Repeated != w.Challenge:
		t.RoundTrip = max(0, rep.At.Sub(time.UnixMicro(t.Challenge)))
	}
	if t != *w.Terms {
		own := t // allocate only for a change
		w.Terms = &own
	}
	if rep.Busy == 0 && (w.Busy > 0 || w.IdleSince.IsZero()) {
		w.IdleSince = rep.At
	}
	w.Seq, w.Busy, w.ReportedAt, w.HeldSeconds = rep.Seq, rep.Busy, rep.At, rep.HeldSeconds
	w.Retries = rep.Retries
}

// worker returns the worker of the given name. It adds a missing one, or returns nil when the member has too many.
func (m *Member) worker(id string) *Worker {
	for i := range m.Workers {
		if m.Workers[i].ID == id {
			return &m.Workers[i]
		}
	}
	if len(m.Workers) >= maxWorkers {
		return nil
	}
	m.Workers = append(m.Workers, Worker{Terms: &Terms{ID: id}})
	return &m.Workers[len(m.Workers)-1]
}

// Directive returns what the given worker of the given member must do now.
func (r *Roster) Directive(member, worker string) protocol.Directive {
	if i, ok := r.find(member); ok {
		return r.members[i].directive(worker)
	}
	if i, over := r.buried(member); over {
		return r.ended[i].directive(worker)
	}
	return protocol.Directive{Ask: protocol.Work}
}

// Answer is [Roster.Directive] for a member in service; false for any other.
func (r *Roster) Answer(member, worker string) (protocol.Directive, bool) {
	i, ok := r.find(member)
	if !ok || !r.members[i].inService() {
		return protocol.Directive{}, false
	}
	return r.members[i].directive(worker), true
}

// Alone tells whether a member has one worker, so that it can end as soon as that worker is idle.
func (r *Roster) Alone(member string) bool {
	i, ok := r.find(member)
	return ok && len(r.members[i].Workers) == 1
}

// directive returns what the given worker must do, with the challenge that it must repeat. An unknown worker works.
func (m *Member) directive(worker string) protocol.Directive {
	for i := range m.Workers {
		if w := &m.Workers[i]; w.ID == worker {
			d := m.ask(w)
			d.Challenge = w.Challenge
			return d
		}
	}
	return protocol.Directive{Ask: protocol.Work}
}

// ask returns what the worker w of m must do, without the challenge.
func (m *Member) ask(w *Worker) protocol.Directive {
	switch {
	case !m.ReleasedAt.IsZero() && w.Token != "":
		return protocol.Directive{Ask: protocol.Leave, Token: w.Token}
	case m.ReleasedAt.IsZero() && w.Refused:
		// The worker may have obeyed the refusal already, so this token is void: it works, then drains with a new one.
		// Naming the token refuses it also if the worker has repeated it since.
		return protocol.Directive{Ask: protocol.Work, Token: w.Token}
	case !m.ReleasedAt.IsZero() || !m.DrainAt.IsZero():
		return protocol.Directive{Ask: protocol.Drain}
	case w.Token != "":
		// The decision on its token is open; until then it waits.
		return protocol.Directive{Ask: protocol.Drain}
	}
	return protocol.Directive{Ask: protocol.Work}
}
