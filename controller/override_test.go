package controller_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

// instruct steps with a request and returns its answer.
func (w *world) instruct(q override.Request) override.Answer {
	o := w.stepOn(controller.Instructed{At: w.now, Request: q})
	if len(o.Answers) != 1 {
		w.t.Fatalf("found %d answers, want 1", len(o.Answers))
	}
	return o.Answers[0]
}

// asking is a request for an override of a kind from now until d later.
func (w *world) asking(k override.Kind, d time.Duration, change func(*override.Override)) override.Request {
	o := override.Override{Kind: k, Begin: w.now, End: w.now.Add(d)}
	if change != nil {
		change(&o)
	}
	return override.Request{Add: o}
}

// simple is a fleet that has a worker for each message at once.
func simple() policy.Spec { return policy.Spec{Name: "backlog-per-worker", Acceptable: 1} }

func TestAnInstructionBeforeTheFirstReadingIsRefused(t *testing.T) {
	w := newWorld(t, settings(t, simple(), 10))
	if a := w.instruct(w.asking(override.Pause, time.Hour, nil)); !errors.Is(a.Err, override.ErrRefused) ||
		len(w.records) > 0 {
		t.Errorf("found %+v and %d records", a, len(w.records))
	}
}

func TestAFleetOfTargetTrackingKnowsNoOverrides(t *testing.T) {
	s := simple()
	s.Delegate = &policy.Delegation{ChangePercent: 20}
	w := newWorld(t, settings(t, s, 10))
	w.step(0)
	if a := w.instruct(w.asking(override.Pause, time.Hour, nil)); !errors.Is(a.Err, override.ErrRefused) {
		t.Errorf("found %+v", a)
	}
}

func TestAPauseHoldsTheSizeUntilItsEnd(t *testing.T) {
	w := newWorld(t, settings(t, simple(), 10))
	w.step(0)
	a := w.instruct(w.asking(override.Pause, time.Minute, func(o *override.Override) { o.Reason = "a migration" }))
	if a.Err != nil || a.Override.ID == "" {
		t.Fatalf("found %+v", a)
	}
	w.backlog = 5
	for range 3 {
		o := w.step(10 * time.Second)
		if o.Decision.Reason != muster.Paused || launched(o) > 0 ||
			!strings.Contains(o.Decision.Sentence(), "paused until 12:01 UTC (a migration)") {
			t.Fatalf("launched %d: %s", launched(o), o.Decision.Sentence())
		}
	}
	if o := w.step(30 * time.Second); launched(o) != 5 || len(o.Overrides) != 1 ||
		o.Overrides[0].What != override.Ended {
		t.Errorf("at its end launched %d, changes %+v", launched(o), o.Overrides)
	}
	if len(w.last.Observation.Overrides) > 0 {
		t.Error("an override that has ended is still listed")
	}
}

func TestATemporaryMaximumStopsIdleWorkersAndNoBusyOne(t *testing.T) {
	w := newWorld(t, settings(t, simple(), 10))
	w.backlog = 6
	w.step(0)
	w.obey()
	w.backlog, w.inFlight = 0, 2
	w.step(time.Second, w.receiving(1, 1, 0, 0, 0, 0)...)
	w.step(time.Minute, w.everybody()...)
	w.inFlight, w.backlog = 2, 6
	w.step(time.Second, w.everybody()...)
	one := 1
	q := w.asking(override.Limits, time.Hour, func(o *override.Override) { o.Max = &one })
	f, a := audit.ForecastOf(w.settings, w.state, w.now, controller.Instructed{Request: q})
	if a.Err != nil || f.From != 6 || f.To != 1 || f.StopIdle != 4 || f.StopBusy != 1 {
		t.Errorf("found the forecast %+v, %v", f, a.Err)
	}
	if a := w.instruct(q); a.Err != nil {
		t.Fatal(a.Err)
	}
	for _, c := range w.last.Changes {
		if c.What == roster.ReleaseGranted {
			t.Errorf("%s was released at once", c.Member)
		}
	}
	if w.last.Decision.Desired != 1 || w.last.Observation.Limits.Max != 1 || launched(w.last) > 0 {
		t.Errorf("desired %d in %+v", w.last.Decision.Desired, w.last.Observation.Limits)
	}
}

func TestAReservationIsUsedUpOnceItsWorkersAreBusy(t *testing.T) {
	w := newWorld(t, settings(t, simple(), 10))
	w.step(0)
	a := w.instruct(w.asking(override.Reserve, time.Hour, func(o *override.Override) { o.Workers = 4 }))
	if a.Err != nil || a.Override.Grant.Workers != 4 || launched(w.last) != 4 {
		t.Fatalf("found %+v, launched %d", a, launched(w.last))
	}
	w.obey()
	if o := w.step(time.Second, w.receiving()...); o.Decision.Desired != 4 || len(o.Overrides) > 0 {
		t.Fatalf("while it is unused: desired %d", o.Decision.Desired)
	}
	w.step(time.Minute, w.receiving()...)
	for _, m := range w.members {
		m.busy = 1
	}
	w.inFlight = 4
	o := w.step(time.Second, w.everybody()...)
	if len(o.Overrides) != 1 || o.Overrides[0].What != override.UsedUp || len(o.Observation.Overrides) > 0 {
		t.Fatalf("while all are busy: %+v", o.Overrides)
	}
	for _, m := range w.members {
		m.busy = 0
	}
	w.inFlight = 0
	if o := w.step(time.Second, w.everybody()...); o.Decision.Desired != 0 {
		t.Errorf("then demand alone should size: %s", o.Decision.Sentence())
	}
}

func TestCancellingEndsAnOverride(t *testing.T) {
	w := newWorld(t, settings(t, simple(), 10))
	w.step(0)
	a := w.instruct(w.asking(override.Pause, time.Hour, nil))
	if c := w.instruct(override.Request{Cancel: a.Override.ID}); c.Err != nil || c.Override.ID != a.Override.ID {
		t.Fatalf("found %+v", c)
	}
	records := len(w.records)
	c := w.instruct(override.Request{Cancel: a.Override.ID}) // the answer to the first request was lost
	if c.Err != nil || c.Override.Over != override.Cancelled || len(w.records) != records {
		t.Errorf("a second time: found %+v, and %d new records", c, len(w.records)-records)
	}
	if c := w.instruct(override.Request{Cancel: "another"}); !errors.Is(c.Err, override.ErrUnknown) {
		t.Errorf("an unknown one: found %v", c.Err)
	}
	w.backlog = 2
	if o := w.step(time.Second); launched(o) != 2 {
		t.Errorf("launched %d, want 2: %s", launched(o), o.Decision.Sentence())
	}
}

// A client that repeats its request after the workers became busy, or after the end, must not reserve twice.
func TestAnOverrideThatEndedIsNotGrantedAgainAlsoAfterARestart(t *testing.T) {
	w := newWorld(t, settings(t, simple(), 10))
	w.step(0)
	q := w.asking(override.Reserve, 10*time.Minute, func(o *override.Override) { o.ID, o.Workers = "newsletter", 4 })
	if a := w.instruct(q); a.Err != nil || a.Override.Grant.Workers != 4 {
		t.Fatalf("found %+v", a)
	}
	w.obey()
	o := w.step(10 * time.Minute)
	if len(o.Overrides) != 1 || o.Overrides[0].What != override.Ended {
		t.Fatalf("found the changes %+v, want one end", o.Overrides)
	}
	for _, restart := range []bool{false, true} {
		if restart {
			w.restart()
			w.step(time.Second)
		}
		a := w.instruct(q)
		if a.Err != nil || a.Override.Over != override.Ended || a.Override.Grant.Workers != 4 ||
			len(w.last.Overrides) > 0 || len(w.state.Overrides()) > 0 {
			t.Errorf("restart %v: found %+v, changes %+v", restart, a, w.last.Overrides)
		}
		other := q
		other.Add.Workers = 5
		if a := w.instruct(other); !errors.Is(a.Err, override.ErrRefused) ||
			!strings.Contains(a.Err.Error(), "give another id") {
			t.Errorf("restart %v: another request with the id: found %+v", restart, a)
		}
	}
	w.step(override.Remembered)
	q.Add.End = w.now.Add(time.Hour)
	if a := w.instruct(q); a.Err != nil || a.Override.Over != "" || len(w.state.Overrides()) != 1 {
		t.Errorf("after %s: found %+v, want a new reservation", override.Remembered, a)
	}
}

// TestARestartKeepsTheOverrides holds even when nothing but the newest decision is left in the history.
func TestARestartKeepsTheOverrides(t *testing.T) {
	w := newWorld(t, settings(t, simple(), 10))
	w.step(0)
	w.instruct(w.asking(override.Reserve, time.Hour, func(o *override.Override) {
		o.Workers, o.Begin, o.End = 4, w.now.Add(48*time.Hour), w.now.Add(49*time.Hour)
	}))
	w.instruct(w.asking(override.Pause, 20*24*time.Hour, nil))
	want := w.state.Overrides()
	w.restart()
	w.step(2 * time.Minute)
	i := slices.IndexFunc(w.records, func(r muster.Record) bool { return r.At.Equal(w.now) })
	w.records = w.records[i:]
	w.restart()
	got := w.state.Overrides()
	if len(got) != 2 || !got.Same(want) || got[0].Granted() != 4 || !got[0].Begin.Equal(want[0].Begin) {
		t.Errorf("found %+v\nwant  %+v", got, want)
	}
	if checked, _, err := audit.Verify(w.records); err != nil || checked == 0 {
		t.Errorf("verified %d decisions: %v", checked, err)
	}
}

func TestInAnyStoryWithInstructionsEverySizeIsLimitedAndEveryDecisionRecomputes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := func(least, most int, name string) int { return rapid.IntRange(least, most).Draw(rt, name) }
		s := settings(t, simple(), n(1, 12, "max"))
		s.Limits.LaunchesPerHour = n(1, 20, "launches")
		w := newWorld(t, s)
		w.step(0)
		var launches []time.Time
		for range n(5, 30, "steps") {
			w.backlog = n(0, 15, "backlog")
			var in []controller.Input
			if n(0, 2, "instructed") == 0 {
				k := rapid.SampledFrom(override.Kinds()).Draw(rt, "kind")
				q := w.asking(k, time.Duration(n(1, 600, "seconds"))*time.Second, func(o *override.Override) {
					v := n(1, 20, "number")
					switch k {
					case override.Reserve:
						o.Workers, o.Begin = v, o.Begin.Add(time.Duration(n(0, 300, "begin"))*time.Second)
						o.End = o.Begin.Add(time.Minute)
					case override.Limits:
						o.Max = &v
					}
				})
				if all := w.state.Overrides(); len(all) > 0 && n(0, 2, "cancel") == 0 {
					q = override.Request{Cancel: all[0].ID}
				}
				in = append(in, controller.Instructed{At: w.now, Request: q})
			}
			o := w.step(time.Duration(n(1, 60, "later"))*time.Second, append(w.everybody(), in...)...)
			for range launched(o) {
				launches = append(launches, w.now)
			}
			w.obey()
			switch l := o.Observation.Limits; {
			case o.Decision.Desired > l.Max || o.Decision.Desired < l.Min || l.Max > s.Limits.Max:
				rt.Fatalf("desired %d in %+v: %s", o.Decision.Desired, l, o.Decision.Sentence())
			case o.Observation.Capacity.Live() > s.Limits.Max:
				rt.Fatalf("%d members exist, at most %d are allowed", o.Observation.Capacity.Live(), s.Limits.Max)
			}
			recent := slices.DeleteFunc(slices.Clone(launches), func(at time.Time) bool {
				return w.now.Sub(at) >= time.Hour
			})
			if len(recent) > s.Limits.LaunchesPerHour {
				rt.Fatalf("%d launches within an hour, %d are allowed", len(recent), s.Limits.LaunchesPerHour)
			}
			if n(0, 9, "restart") == 0 {
				before := w.state.Overrides()
				if w.restart(); !before.Same(w.state.Overrides()) {
					rt.Fatalf("before a restart %+v, after it %+v", before, w.state.Overrides())
				}
			}
		}
		if _, _, err := audit.Verify(w.records); err != nil {
			rt.Fatal(err)
		}
	})
}

// dismiss steps with a request that a member goes.
func (w *world) dismiss(id string) error {
	return w.stepOn(controller.Instructed{At: w.now, Dismiss: id, Why: "its disk is full"}).Answers[0].Err
}

func TestAMemberThatAnOperatorAsksToGoIsReplacedOnlyWhereItIsNeeded(t *testing.T) {
	for _, x := range []struct {
		name     string
		backlog  int
		desired  int
		launches int
	}{{"no work", 0, 1, 0}, {"as much work as workers", 2, 2, 1}} {
		t.Run(x.name, func(t *testing.T) {
			w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
			w.backlog = 2
			w.step(0)
			w.obey()
			w.backlog, w.inFlight = 0, x.backlog
			busy := min(1, x.backlog)
			w.step(time.Second, w.receiving(busy, busy)...)
			w.step(11*time.Second, w.everybody()...)
			m := w.members[0]
			in := controller.Instructed{Dismiss: m.id, Why: "its disk is full"}
			f, a := audit.ForecastOf(w.settings, w.state, w.now, in)
			if a.Err != nil || f.From != 2 || f.To != 1+x.launches || f.Launch != x.launches || f.Stop != 1 ||
				f.StopBusy != busy {
				t.Errorf("found the forecast %+v, %v", f, a.Err)
			}
			if err := w.dismiss(m.id); err != nil {
				t.Fatal(err)
			}
			c := w.last.Changes[0]
			if c.Member != m.id || !strings.HasSuffix(c.Why, "finish and go: its disk is full") {
				t.Errorf("found the change %+v", c)
			}
			decided := func(r muster.Record) bool { return r.Kind == muster.Decided }
			if s := w.last.Decision.Sentence(); !slices.ContainsFunc(w.last.Records, decided) ||
				!strings.Contains(s, "asked a worker to finish and go: "+m.id+": its disk is full") {
				t.Errorf("the decision of the request is not recorded, or says nothing of it: %s", s)
			}
			if w.ask(m) != protocol.Drain || w.last.Decision.Desired != 2 {
				t.Fatalf("it is told %s: %s", w.ask(m), w.last.Decision.Sentence())
			}
			o := w.last
			w.obey()
			if launched(o) != x.launches {
				t.Errorf("launched %d in its place, want %d", launched(o), x.launches)
			}
			if o = w.step(time.Second, w.everybody()...); o.Decision.Desired != x.desired {
				t.Errorf("then desired %d, want %d: %s", o.Decision.Desired, x.desired, o.Decision.Sentence())
			}
			// Demand that returns, and a restart, do not withdraw the request.
			w.restart()
			w.backlog = 5
			w.step(time.Second, w.everybody()...)
			if w.ask(m) != protocol.Drain {
				t.Errorf("after a restart and with more work it is told %s", w.ask(m))
			}
			for _, c := range w.last.Changes {
				if c.Member == m.id {
					t.Errorf("it changed: %+v", c)
				}
			}
			if _, _, err := audit.Verify(w.records); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOnlyAMemberInServiceCanBeAskedToGo(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.backlog = 1
	w.step(0)
	w.obey()
	w.step(time.Second)
	if err := w.dismiss("nobody"); !errors.Is(err, override.ErrUnknown) {
		t.Errorf("an unknown member: found %v", err)
	}
	if err := w.dismiss(w.members[0].id); !errors.Is(err, override.ErrRefused) ||
		!strings.Contains(err.Error(), "it is booting") {
		t.Errorf("a booting member: found %v", err)
	}
	s := settings(t, policy.Spec{Name: "exact", Shadow: true}, 10)
	shadow := newWorld(t, s)
	shadow.step(0)
	if err := shadow.dismiss("m"); !errors.Is(err, override.ErrRefused) {
		t.Errorf("in shadow mode: found %v", err)
	}
}
