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

// Facts are what is known of a member beside its workers. They change a few times in its life, not with every report.
type Facts struct {
	// ID is the fleet's name for it.
	ID string
	// LaunchedAt is when it was ordered, or first seen if nobody here ordered it.
	LaunchedAt time.Time
	// SeenAt is when this controller first saw it; zero for one that it ordered itself, or only remembers so far.
	// Silence counts from then: a member from before a restart gets time to report.
	SeenAt time.Time
	// DrainAt is when it was asked to drain; zero while it is not.
	DrainAt time.Time
	// ReleasedAt is when its release was granted; zero before.
	ReleasedAt time.Time
	// EndedAt is when it was found to exist no more; zero before.
	EndedAt time.Time
	// JoinedAt is when a worker of it first took messages; zero before.
	JoinedAt time.Time
	// Listed is true once the fleet listed it.
	Listed bool
	// Serving is true while the fleet's own service says that it is in service.
	Serving bool
	// Exposed is true while the fleet's own service may end it, as far as it was listed.
	Exposed bool
	// Warm is true when it comes from a warm pool, as far as is known or was expected when it was ordered.
	Warm bool
	// Proved is true once it finished a message or stayed in service for a while: its launch was good.
	Proved bool
	// used is true once it said that it had finished a message.
	used bool
	// failed is true once its launch was counted as failed.
	failed bool
	// named is true once the fleet's own service gave it its name.
	named bool
	// departed is true once it was told that it leaves, or has left, by itself.
	departed bool
	// recalled is true while it is known from the history alone.
	recalled bool
	// timed is true when its boot was seen from here: it was ordered, or it was listed and said that it is starting. A
	// member that was found at work booted at a time nobody knows.
	timed bool
	// doubtAt is when its order failed, for the reason doubt; zero when it did not.
	doubtAt time.Time
	doubt   string
	// told are the incidents that were told. What is in it is never changed.
	told []told
}

// change gives m other facts, which are those it has until the caller changes them.
func (m *Member) change() *Facts {
	f := *m.Facts
	m.Facts = &f
	return &f
}

// Worker is a worker as it last reported itself.
type Worker struct {
	// Terms are replaced, never changed, so that clones of a roster share them.
	*Terms
	Seq  int64
	Busy int

	ReportedAt time.Time
	// HeldSeconds adds up how long it had held its messages when it reported.
	HeldSeconds float64
	// IdleSince is when it last said that it holds nothing, after holding something.
	IdleSince time.Time
	// Retries are the messages that it gave back and that are not visible yet, as it reported; nil where it does not
	// tell. It is never changed.
	Retries *protocol.Retries
}

// Terms are what a worker reports over and over again, and what it was told.
type Terms struct {
	ID    string
	Epoch int64
	State protocol.WorkerState
	Cause protocol.Cause
	Slots int
	// Token is its release token while it is idle and has stopped receiving.
	Token string
	// Refused is the token whose release was refused: the worker is told to go on.
	Refused string
	// Challenge is what it is asked to repeat, Repeated what it repeated last. Its token counts while they are equal.
	Challenge, Repeated int64
	// RoundTrip is how long it took from the report for which the challenge was made to the first one that repeated it:
	// the way of an answer, the time until the next report, and its way. It is zero until then.
	RoundTrip time.Duration
	// Stored is true while its reports are read from where it keeps them: nobody answers it.
	Stored bool
}

// refuse has w told to go on. It is true when w holds a token for which that is news.
func (w *Worker) refuse() (news bool) {
	if w.Token == w.Refused {
		return false
	}
	t := *w.Terms
	t.Refused = t.Token
	w.Terms = &t
	return t.Token != ""
}

// Clone returns a copy that may be changed without changing r.
func (r Roster) Clone() Roster {
	r.members = slices.Clone(r.members)
	workers := 0
	for i := range r.members {
		workers += len(r.members[i].Workers)
	}
	all := make([]Worker, 0, workers) // one piece of memory for all, since every step clones
	for i := range r.members {
		if own := r.members[i].Workers; len(own) > 0 {
			all = append(all, own...)
			r.members[i].Workers = all[len(all)-len(own) : len(all) : len(all)]
		}
	}
	r.byID = slices.Clone(r.byID)
	r.ended, r.launches = slices.Clip(r.ended), slices.Clip(r.launches) // whoever appends makes a copy
	return r
}
