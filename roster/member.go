package roster

import (
	"slices"
	"time"

	"github.com/muster-scale/muster/worker/protocol"
)

// Member is one member and its workers.
type Member struct {
	// Facts are replaced, never changed, so that clones of a roster share them.
	*Facts
	// Workers are its workers, by name; empty until the first report.
	Workers []Worker
}

// Facts describe a member without its workers. They change a few times in its life, not with every report.
type Facts struct {
	// ID is the fleet's name for it.
	ID string
	// LaunchedAt is when it was ordered, or first seen if this controller did not order it.
	LaunchedAt time.Time
	// SeenAt is when this controller first saw it; zero for a member that it ordered, or knows from the history only.
	// Silence counts from then, so that a member from before a restart has time to report.
	SeenAt time.Time
	// DrainAt is when it was asked to drain; zero if it was not.
	DrainAt time.Time
	// Dismissed is true if an operator asked it to drain: the request is not withdrawn.
	Dismissed bool
	// ReleasedAt is when its release was granted; zero before.
	ReleasedAt time.Time
	// EndedAt is when it was found to have ended; zero before.
	EndedAt time.Time
	// JoinedAt is when one of its workers first received; zero before.
	JoinedAt time.Time
	// Listed is true once the fleet listed it.
	Listed bool
	// Serving is true while the fleet's own service reports it in service.
	Serving bool
	// Exposed is true while the fleet's own service may stop it.
	Exposed bool
	// Warm is true when it comes from a warm pool, or was expected to when it was ordered.
	Warm bool
	// Proved is true once it finished a message or stayed in service for a while: its launch succeeded.
	Proved bool
	// used is true once it reported a finished message.
	used bool
	// failed is true once its launch was counted as failed.
	failed bool
	// named is true once the fleet's own service named it.
	named bool
	// departed is true once it was reported to leave by itself.
	departed bool
	// recalled is true while it is known only from the history.
	recalled bool
	// timed is true when its boot time is known: it was ordered here, or was listed and reported that it is starting.
	timed bool
	// doubt is set if its order failed. It is never changed.
	doubt *doubt
	// told are its notified incidents. The elements never change.
	told []told
}

// doubt is when and why the order of a member failed.
type doubt struct {
	at  time.Time
	why string
}

// change gives m a copy of its facts, which the caller may change.
func (m *Member) change() *Facts {
	f := *m.Facts
	m.Facts = &f
	return &f
}

// Worker is the last reported state of a worker.
type Worker struct {
	// Terms are replaced, never changed, so that clones of a roster share them.
	*Terms
	Seq  int64
	Busy int

	ReportedAt time.Time
	// HeldSeconds adds up how long its messages were in progress at that report.
	HeldSeconds float64
	// IdleSince is when it last reported that its last message was gone.
	IdleSince time.Time
	// Retries are its messages that wait for their retry; nil if it does not report them. The value never changes.
	Retries *protocol.Retries
}

// Terms are the parts of a worker's reports that rarely change, and the answers to them.
type Terms struct {
	ID    string
	Epoch int64
	State protocol.WorkerState
	Cause protocol.Cause
	Slots int
	// Token is its release token while it is idle.
	Token string
	// Refused is true if the release of Token was refused: the worker is told to work.
	Refused bool
	// Challenge is the number it must repeat, Repeated the last one that it repeated. Its token counts while they are
	// equal.
	Challenge, Repeated int64
	// RoundTrip is the time from the report for which the challenge was made to the first report that repeated it; zero
	// until then.
	RoundTrip time.Duration
	// Stored is true while its reports are read from a store, so that it gets no answers.
	Stored bool
}

// refuse tells w to work. news is true when w has a token that was not refused before.
func (w *Worker) refuse() (news bool) {
	if w.Token == "" || w.Refused {
		return false
	}
	t := *w.Terms
	t.Refused = true
	w.Terms = &t
	return true
}

// Clone returns a copy that may be changed without changing r.
func (r Roster) Clone() Roster {
	r.members = slices.Clone(r.members)
	workers := 0
	for i := range r.members {
		workers += len(r.members[i].Workers)
	}
	all := make([]Worker, 0, workers) // a single allocation, because every step clones
	for i := range r.members {
		if own := r.members[i].Workers; len(own) > 0 {
			all = append(all, own...)
			r.members[i].Workers = all[len(all)-len(own) : len(all) : len(all)]
		}
	}
	r.byID = slices.Clone(r.byID)
	r.ended, r.launches = slices.Clip(r.ended), slices.Clip(r.launches) // an append then copies
	return r
}
