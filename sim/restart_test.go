package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
)

// shadow restarts the controller of a run beside it: from time to time it restores another one from the records alone,
// lets both see the same world, and compares what they decide.
type shadow struct {
	t       *testing.T
	run     *run
	records []muster.Record
	steps   int
	checked int
	wary    int
}

// crashed tells whether a member crashed lately. Whether its launch counts as failed depends on what it did within
// seconds before, and that is in no record.
func (s *shadow) crashed() bool {
	return slices.ContainsFunc(s.run.members, func(m *member) bool {
		return m.stage == over && m.failure != "" && m.ended >= s.run.now-int64(time.Minute)
	})
}

// sees is what a controller would learn if it polled and every worker reported at this instant.
func (s *shadow) sees() []controller.Input {
	r, at := s.run, s.run.time()
	pollAt := at.Add(time.Nanosecond) // another one than that of the step before
	c := r.count()
	q := muster.QueueObservation{
		Queue: r.settings.Queues[0], Backlog: muster.Measured(pollAt, float64(c.backlog)),
		InFlight: muster.Measured(pollAt, float64(c.inFlight)),
		Delayed:  muster.Measured(pollAt, 0), OldestAge: muster.Measured(pollAt, c.oldest),
		Sent: muster.Measured(pollAt, float64(c.sent)),
	}
	if r.world.CountsOnly {
		q.OldestAge, q.Sent = muster.Unknown(pollAt, "not told"), muster.Unknown(pollAt, "not counted")
	}
	in := []controller.Input{controller.Measured{QueueObservation: q}, controller.Listed{Listing: r.list()}}
	if r.world.Trees {
		in = append(in, controller.Expected{Expected: r.expect(at)})
	}
	for _, i := range r.listed {
		if m := r.members[i]; m.stage == working {
			lease := m.lease // a copy is independent
			report := lease.Report(at)
			report.At = at
			in = append(in, controller.Reported{Report: report})
		}
	}
	return in
}

func (s *shadow) stepped(v View) {
	for _, x := range v.Outcome.Records {
		x.Position = muster.Position{Epoch: 1, Seq: int64(len(s.records)) + 1}
		s.records = append(s.records, x)
	}
	if s.steps++; s.steps%5 != 0 || s.crashed() {
		return
	}
	settings, at := s.run.settings, s.run.time()
	restored, err := settings.Restore(v.Outcome.Next.Position, s.records)
	if err != nil {
		s.t.Fatal(err)
	}
	in := s.sees()
	a, b := settings.Step(v.Outcome.Next, at, in), settings.Step(restored, at, in)
	s.checked++
	x, y := a.Decision, b.Decision
	if c, d := a.Observation.Capacity, b.Observation.Capacity; c.Draining != d.Draining || c.Released != d.Released ||
		c.Active() != d.Active() || c.Lost != d.Lost {
		s.t.Errorf("seed %d at %s: without a restart %+v\nafter one %+v", s.run.Seed, v.At, c, d)
	}
	switch {
	case x.Previous == y.Previous && x.Wish == y.Wish && x.Desired == y.Desired && x.Floor == y.Floor &&
		x.Verdict == y.Verdict && x.Reason == y.Reason:
	case b.Observation.Launches.RetryAt.After(a.Observation.Launches.RetryAt) && y.Desired <= x.Desired:
		// A worker joined, and proves only now that launching works again. That it had not done so before is in no
		// record: the restored controller takes it for proved, and lets the back-off run out.
		s.wary++
	case b.Observation.Retrying < a.Observation.Retrying && y.Desired >= x.Desired && y.Floor >= x.Floor:
		// What no worker holds shows within ten seconds; until then all that is in flight counts as held.
		s.wary++
	default:
		s.t.Errorf("seed %d at %s: without a restart %s\n%+v\nafter one %s\n%+v", s.run.Seed, v.At, x.Sentence(),
			a.Observation, y.Sentence(), b.Observation)
	}
}

func TestARestartAtAnyStepOfAnyWorldChangesNoDecision(t *testing.T) {
	checked, wary := 0, 0
	first, last := seeds(t, 40/slowdown, 100)
	for seed := first; seed <= last; seed++ {
		s := tell(t, seed)
		s.World.ControllerCrashes, s.Recorded = 0, true
		s.World.Tail = 10 * time.Minute
		r, err := newRun(s.Options)
		if err != nil {
			t.Fatal(err)
		}
		x := shadow{t: t, run: r}
		r.Stepped = x.stepped
		if r.reader, err = s.Trace.Open(); err != nil {
			t.Fatal(err)
		}
		if err := r.loop(); err != nil {
			t.Fatal(err)
		}
		checked, wary = checked+x.checked, wary+x.wary
	}
	t.Logf("%d restarts, %d of them more wary than before", checked, wary)
	told := int(last - first + 1)
	if checked < 5*told || told >= 10 && wary > checked/100 {
		t.Errorf("%d restarts were tried, %d of them more wary than before; want at least %d, and one in a hundred "+
			"at most",
			checked, wary, 5*told)
	}
}
