package roster

import (
	"time"

	"github.com/muster-scale/muster/worker/protocol"
)

// answeredFor is how long a worker that reports here, and is answered, counts by that alone: the same worker may keep
// its reports elsewhere too, with counts and numbers of their own.
const answeredFor = time.Minute

// Stored is [Roster.Reported] for a report that was read from where its worker keeps it, written at rep.At. Nobody
// answers it, so a worker known by such reports alone is never asked to go and never released. It adopts nobody: what
// is kept outlives its worker.
func (r *Roster) Stored(rep protocol.Report) (taken bool, news News) { return r.take(rep, true) }

// follows tells whether a report is news of w.
func (w *Worker) follows(rep protocol.Report, stored bool) bool {
	switch {
	case w.Seq == 0:
		return true
	case !w.Stored && stored && rep.At.Sub(w.ReportedAt) < answeredFor:
		return false
	case w.Stored != stored:
		return !rep.At.Before(w.ReportedAt) // its numbers are of another row
	}
	return rep.Seq > w.Seq && rep.Epoch >= w.Epoch
}

// unanswered returns what counts of a report that nobody answers: a token is nothing, because nobody can grant it, and
// whoever was asked to go never heard of it.
func (m *Member) unanswered(rep protocol.Report) protocol.Report {
	rep.Token, rep.Challenge = "", 0
	if m.deaf() && m.ReleasedAt.IsZero() && !m.DrainAt.IsZero() {
		m.change().DrainAt = time.Time{}
	}
	return rep
}

// deaf tells whether m is known by stored reports alone, so that it cannot be told anything.
func (m *Member) deaf() bool {
	for i := range m.Workers {
		if !m.Workers[i].Stored {
			return false
		}
	}
	return len(m.Workers) > 0
}

// leavesUnasked tells whether all workers of m, which nobody answers, leave because they were idle or are not paid for
// any longer.
func (m *Member) leavesUnasked() bool {
	for i := range m.Workers {
		if w := &m.Workers[i]; w.State != protocol.Leaving ||
			w.Cause != protocol.IdleTooLong && w.Cause != protocol.EndOfBilling {
			return false
		}
	}
	return m.deaf()
}

// depart notes that m leaves by itself; it is false when that is no news.
func (m *Member) depart() bool {
	if m.departed || !m.ReleasedAt.IsZero() {
		return false
	}
	m.change().departed = true
	return true
}

// quiet tells whether none of the workers of m has reported within its rule of silence.
func (m *Member) quiet(now time.Time, rules Rules) bool {
	for i := range m.Workers {
		w, within := &m.Workers[i], rules.Silence
		if w.Stored {
			within = max(within, rules.StoredSilence)
		}
		if now.Sub(w.ReportedAt) <= within {
			return false
		}
	}
	return true
}

// mute tells whether the workers of m say nothing that counts where workers need not report. Those that leave, or that
// are not heard of any more, take no member out of service then: whether it is there is for the fleet's own service to
// say.
func (m *Member) mute(now time.Time, rules Rules) bool {
	if len(m.Workers) == 0 {
		return true
	}
	if !m.deaf() {
		return false
	}
	for i := range m.Workers {
		if m.Workers[i].State != protocol.Leaving {
			return m.quiet(now, rules)
		}
	}
	return true
}
