package controller

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/roster"
)

// write turns a decision into records and effects, and brings the roster to it.
//
// It holds nothing but pointers and numbers, so that the outcome, the largest value of a step, stays off the heap: for
// the compiler, what escapes from one field of a struct escapes from all.
type write struct {
	settings *Settings
	rules    roster.Rules
	state    *State
	out      *Outcome
}

// now is the instant of the step.
func (w *write) now() time.Time { return w.out.Observation.At }

func (w *write) record(kind muster.RecordKind, body any) {
	w.out.Records = append(w.out.Records, w.settings.record(w.now(), kind, body))
}

// id names an effect by the place its intent takes in the history.
func (w *write) id() string {
	p := w.state.Position
	return fmt.Sprintf("%s.%d.%d", w.settings.Fleet, p.Epoch, p.Seq+int64(len(w.out.Records))+1)
}

func (w *write) changed(member string, what roster.Change, why string) {
	w.change(Changed{Member: member, What: what, Why: why})
}

func (w *write) change(c Changed) {
	c.Desired, c.Wasted = w.state.desired, c.Wasted && !w.settings.Spec.Shadow
	w.out.Changes = append(w.out.Changes, c)
	w.record(muster.Changed, c)
}

// seen records what the inputs showed.
func (w *write) seen(x seen) {
	for _, r := range x.results {
		w.record(muster.Resulted, ResultedBody{Effect: r.Effect, Failure: r.Failure})
	}
	if !x.flushed.None() {
		w.learned(x.flushed)
	}
	for _, c := range x.changes {
		w.change(c)
	}
}

// learned records what was learned just now.
func (w *write) learned(l learning.Flush) {
	text, quick := l.JSON()
	if !quick {
		w.record(muster.Learned, l.Body())
		return
	}
	w.out.Records = append(w.out.Records, muster.Record{At: w.now(), Kind: muster.Learned, Body: text})
}

// decision makes the decision the size asked for, and records it when it sets a size, holds for another reason or is a
// minute old. A wish alone is recorded for policies that look back at it, once a second at most. Only what is recorded
// is remembered, so that a restart remembers the same.
func (w *write) decision() {
	d, last := &w.out.Decision, &w.state.last().decision
	if d.Verdict != muster.Shadow {
		w.state.desired = d.Desired
	}
	age := w.now().Sub(w.state.recordedAt)
	memory := w.settings.memory
	same := d.Policy == last.Policy && d.Previous == last.Previous && d.Desired == last.Desired &&
		d.Verdict == last.Verdict && d.Reason == last.Reason
	// That trees begin, end or can no longer be read is news, whatever it comes to.
	now, before := w.out.Observation.Expected, w.state.last().expected
	same = same && now.None() == before.None() && (now.None() || now.Known == before.Known)
	same = same && w.out.Observation.Drift.Last() == w.state.last().drift.Last()
	wished := memory > 0 && (d.Wish != last.Wish || !slices.Equal(d.Kept, last.Kept)) && age >= wishEvery
	if same && !wished && age < holdEvery && age >= 0 && !w.settings.newPeriod(w.state.recordedAt, w.now()) {
		return
	}
	body := Decided{Observation: w.out.Observation, Decision: *d}
	text, err := encode(body)
	if err != nil {
		w.unrecordable(err)
		body = Decided{Observation: w.out.Observation, Decision: *d}
		text, _ = encode(body)
		if d.Verdict != muster.Shadow {
			w.state.desired = d.Desired
		}
	}
	w.state.recent = w.state.recent.With(*d, memory)
	w.state.recorded, w.state.recordedAt = w.settings.remember(body), w.now()
	w.state.learned.Noted(w.now(), w.out.Observation)
	w.state.learned.Watch(w.out.Observation)
	w.out.Records = append(w.out.Records, w.settings.encoded(w.now(), muster.Decided, text))
}

// releases grants release tokens: always to those that were asked to go, and to those that offered as long as enough
// remain. With a worker that offered, the size asked for falls.
func (w *write) releases() {
	asked, offered := w.state.roster.Offers(w.now(), w.rules)
	for _, id := range asked {
		w.state.roster.Release(id, w.now())
		w.changed(id, roster.ReleaseGranted, "holds no message and takes no more")
	}
	active := 0
	if len(offered) > 0 {
		// A worker that offers to go still counts as in service, so the size without it must cover the floor.
		active = w.state.roster.Capacity(w.now(), w.rules, w.settings.Slots).Active()
	}
	for _, id := range offered {
		if active <= w.out.Decision.Floor || w.unsure() {
			w.state.roster.Refuse(id)
			w.changed(id, roster.Kept, fmt.Sprintf("offered to leave, but %s needed", isAre(w.out.Decision.Floor)))
			continue
		}
		active--
		w.state.roster.Release(id, w.now())
		w.state.desired = max(w.settings.Limits.Min, w.state.desired-1)
		w.changed(id, roster.Left, w.state.whyLeft(id))
	}
	if overdue := w.state.roster.Overdue(w.now(), endOverdue); len(overdue) > 0 &&
		w.now().Sub(w.state.endAt) > endOverdue {
		w.state.endAt = w.now()
		e := End{ID: w.id(), Members: overdue}
		w.record(muster.Intended, Intended{End: &e})
		w.out.Effects = append(w.out.Effects, e)
	}
}

// unsure tells whether a signal is unknown that could speak against letting a worker go.
func (w *write) unsure() bool {
	o := w.out.Observation
	return !o.Capacity.Known || len(o.Queues) > 0 && (!o.Backlog().Known || !o.InFlight().Known)
}

// size brings the members to the size asked for: too many are asked to drain; too few are first made up by those that
// were asked to drain and are still there, then by launches.
func (w *write) size() {
	c := w.state.roster.Capacity(w.now(), w.rules, w.settings.Slots)
	w.orderAgain(c)
	missing := w.state.desired - c.Active()
	if missing < 0 && w.settings.Unreported {
		return // its own service chooses who ends: see restate
	}
	if missing < 0 {
		for _, id := range w.state.roster.Drain(min(-missing, maxMoves), w.now(), w.rules) {
			w.changed(id, roster.AskedToDrain, fmt.Sprintf("%d wanted, %d there", w.state.desired, c.Active()))
		}
		return
	}
	if missing == 0 {
		w.exchange()
		return
	}
	kept := w.state.roster.Keep(missing, w.now(), w.rules)
	for _, id := range kept {
		w.changed(id, roster.Kept, "wanted again before it was released")
	}
	if n := min(missing-len(kept), w.room(c), maxMoves); n > 0 && w.state.order == nil &&
		w.out.Observation.Capacity.Known {
		w.launch(n, w.total(c, n))
	}
}

// room is how many more members may be launched now: within the maximum, the hour's budget, and one at a time while
// launches fail.
func (w *write) room(c muster.Capacity) int {
	l := w.state.roster.Launches()
	room := min(w.settings.Limits.Max-c.Live(), w.settings.Limits.LaunchesPerHour-l.LastHour)
	if l.Failed > 0 {
		if l.RetryAt.After(w.now()) || w.state.roster.OnTrial(w.now(), w.rules) {
			return 0
		}
		return min(room, 1)
	}
	return room
}

func (w *write) launch(n, total int) {
	id := w.id()
	e := SetDesired{muster.Order{ID: id, Desired: w.state.desired, Total: total}}
	for i := range n {
		e.Launch = append(e.Launch, fmt.Sprintf("%s.%d", id, i+1))
	}
	w.state.roster.Launched(w.now(), e.Launch)
	e.Warm = w.state.fromPool(e.Launch)
	w.state.order, w.state.orderAt = &e, w.now()
	w.record(muster.Intended, Intended{SetDesired: &e})
	w.out.Effects = append(w.out.Effects, e)
}

// orderAgain gives the order again that a restart found without a result. It names the same members, so what it did the
// first time it does not do twice.
func (w *write) orderAgain(c muster.Capacity) {
	if w.state.again && c.Live() <= w.settings.Limits.Max {
		w.out.Effects = append(w.out.Effects, *w.state.order)
	}
	w.state.again = false
}

func isAre(n int) string {
	if n == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}
