package roster

import (
	"time"

	"github.com/muster-scale/muster/worker/protocol"
)

// answeredFor is how long after a direct report the stored reports of the same worker are ignored: they have their own
// counts and numbers.
const answeredFor = time.Minute

// Stored is [Roster.Reported] for a report that was read from a store, written at rep.At. It gets no answer, so a
// worker known only by such reports gets no stop request and is never released. Stored does not adopt unknown members,
// because a stored report outlives its worker.
func (r *Roster) Stored(rep protocol.Report) (taken bool, news News) { return r.take(&rep, true) }

// follows tells whether a report is newer than the state of w.
func (w *Worker) follows(rep *protocol.Report, stored bool) bool {
	switch {
	case w.Seq == 0:
		return true
	case !w.Stored && stored && rep.At.Sub(w.ReportedAt) < answeredFor:
		return false
	case w.Stored != stored:
		return !rep.At.Before(w.ReportedAt) // the other kind of reports has its own numbers
	}
	return rep.Seq > w.Seq && rep.Epoch >= w.Epoch
}

// unanswered returns a stored report without its token, which cannot be granted, and withdraws a stop request, which
// the member cannot hear.
func (m *Member) unanswered(rep protocol.Report) protocol.Report {
	rep.Token, rep.Challenge = "", 0
	if m.storedOnly() && m.ReleasedAt.IsZero() && !m.DrainAt.IsZero() {
		f := m.change()
		f.DrainAt, f.Dismissed = time.Time{}, false
	}
	return rep
}

// storedOnly tells whether m is known by stored reports alone, so that nothing can be sent to it.
func (m *Member) storedOnly() bool {
	for i := range m.Workers {
		if !m.Workers[i].Stored {
			return false
		}
	}
	return len(m.Workers) > 0
}

// leavesUnasked tells whether all workers of m, which get no answers, leave because they were idle or their paid period
// ends.
func (m *Member) leavesUnasked() bool {
	for i := range m.Workers {
		if w := &m.Workers[i]; w.State != protocol.Leaving ||
			w.Cause != protocol.IdleTooLong && w.Cause != protocol.EndOfBilling {
			return false
		}
	}
	return m.storedOnly()
}

// depart records that m leaves by itself; it is false when that is known.
func (m *Member) depart() bool {
	if m.departed || !m.ReleasedAt.IsZero() {
		return false
	}
	m.change().departed = true
	return true
}

// quiet tells whether all workers of m have been silent for too long.
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

// reportsIgnored tells whether the reports of m do not count, in a fleet whose workers need not report. There, workers
// that leave or fall silent do not take their member out of service: only the fleet's own service knows whether it
// exists.
func (m *Member) reportsIgnored(now time.Time, rules Rules) bool {
	if len(m.Workers) == 0 {
		return true
	}
	if !m.storedOnly() {
		return false
	}
	for i := range m.Workers {
		if m.Workers[i].State != protocol.Leaving {
			return m.quiet(now, rules)
		}
	}
	return true
}
