package roster

import (
	"time"

	"github.com/muster-scale/muster"
)

// answeredFor is how long a worker that reports here, and is answered, counts by that alone: the same worker may keep its reports
// elsewhere too, with counts and numbers of their own.
const answeredFor = time.Minute

// Stored is [Roster.Reported] for a report that was read from where its worker keeps it, written at rep.At. Nobody answers it, so a
// worker known by such reports alone is never asked to go and never released.
func (r *Roster) Stored(rep muster.Report) (taken bool, news News) { return r.take(rep, true) }

// follows tells whether a report is news of w.
func (w *Worker) follows(rep muster.Report, stored bool) bool {
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

// unanswered returns what counts of a report that nobody answers: a token is nothing, because nobody can grant it, and whoever was
// asked to go never heard of it.
func (m *Member) unanswered(rep muster.Report) muster.Report {
	rep.Token, rep.Challenge = "", 0
	if m.deaf() && m.ReleasedAt.IsZero() {
		m.DrainAt = time.Time{}
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

// served tells whether m counts by the word of the fleet's own service, although its workers were heard of: where workers need not
// report, reports that cannot be read any more take nobody out of service.
func (m *Member) served(now time.Time, rules Rules) bool {
	return rules.Unreported && m.Serving && m.deaf() && m.quiet(now, rules)
}
