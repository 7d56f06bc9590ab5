package controller

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/policy"
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

// exchange sees to it that those leave that are idle.
func (w *write) exchange() {
	if w.settings.Unreported || w.unsure() {
		return
	}
	kept, asked := w.state.roster.Exchange(w.now(), w.rules)
	for i := range kept {
		w.changed(kept[i], roster.Kept, "holds a message, and another one is idle")
		w.changed(asked[i], roster.AskedToDrain, "is idle, in place of one that holds a message")
	}
}

// aim is what is remembered of writing to the fleet's own service.
type aim struct {
	// changedAt is when an effect last ended: what was listed before says nothing of it.
	changedAt time.Time
	// statedAt is when the service was last told its size without a launch, protectedAt when members were last
	// protected.
	statedAt, protectedAt time.Time
	// trimmedAt is when machines were last ended.
	trimmedAt time.Time
	// stated is the size that was last stated without a launch.
	stated int
	// set is the size that the service was seen with last, or that an effect gave it; known is false where an effect
	// may have changed it to something else. seenAt is the listing that was looked at for that.
	set    int
	known  bool
	seenAt time.Time
	// open are the effects without a result, issued at openAt. It is replaced, never changed.
	open   []string
	openAt time.Time
}

const (
	// stateEvery is how often a size is stated again that somebody else has changed.
	stateEvery = time.Minute
	// protectEvery is how often protection is asked for again.
	protectEvery = 15 * time.Second
	// trimEvery is how often machines without members are ended.
	trimEvery = 15 * time.Second
	// settles is how long after an effect a service may still be seen with the size from before.
	settles = 10 * time.Second
)

func (a *aim) resulted(x Resulted) {
	if x.At.After(a.changedAt) {
		a.changedAt = x.At
	}
}

func (x *seen) named(all ...roster.Naming) {
	for _, n := range all {
		x.changes = append(x.changes, Changed{Member: n.Ordered, What: roster.Named, As: n.Member, Why: "is " +
			n.Member})
	}
}

// service returns what the newest listing says of the fleet's own service; nil where there is none, and where the
// listing is from before the last write.
func (w *write) service() *muster.Service {
	l := w.state.listed
	if l.Failure != "" || l.At.Before(w.state.aim.changedAt) {
		return nil
	}
	return l.Service
}

// total is how many members there shall be with n more; zero for a fleet without a service.
func (w *write) total(c muster.Capacity, n int) int {
	if w.state.listed.Service == nil {
		return 0
	}
	return c.Live() + n
}

// restate tells the fleet's own service how many members there are and are on their way, when it aims at another
// number: because somebody else has set it, or because what was launched never came and is not wanted any more. It
// launches nothing that was not ordered, and it ends nothing, because every member that exists is counted.
func (w *write) restate() {
	s := w.service()
	if s == nil || w.state.order != nil || !w.out.Observation.Capacity.Known || len(w.out.Effects) > 0 {
		return
	}
	c := w.state.roster.Capacity(w.now(), w.rules, w.settings.Slots)
	total := w.total(c, 0)
	if w.settings.Unreported {
		total -= max(0, c.Active()-w.state.desired)
	}
	if s.Desired == total {
		return
	}
	more := s.Desired < total && (c.Ordered > 0 || w.settings.Unreported)
	again := total == w.state.aim.stated && w.now().Sub(w.state.aim.statedAt) < stateEvery
	if s.Desired < total && !more || again || !w.settings.Unreported && w.now().Sub(w.state.aim.statedAt) < stateEvery {
		return
	}
	w.state.aim.statedAt, w.state.aim.stated = w.now(), total
	e := SetDesired{muster.Order{ID: w.id(), Desired: w.state.desired, Total: total, Shrink: w.settings.Unreported}}
	w.state.order, w.state.orderAt = &e, w.now()
	w.record(muster.Intended, Intended{SetDesired: &e})
	w.out.Effects = append(w.out.Effects, e)
}

// protect has members protected that the fleet's own service could end.
func (w *write) protect() {
	if !w.settings.Protect || w.service() == nil || w.now().Sub(w.state.aim.protectedAt) < protectEvery {
		return
	}
	exposed := w.state.roster.Exposed()
	if len(exposed) == 0 {
		return
	}
	w.state.aim.protectedAt = w.now()
	e := Protect{ID: w.id(), Members: slices.Clip(exposed[:min(len(exposed), maxMoves)])}
	w.record(muster.Intended, Intended{Protect: &e})
	w.out.Effects = append(w.out.Effects, e)
}

// trim has machines ended that hold no member and are not needed. While members are ordered, or orders are on their
// way, they may be.
func (w *write) trim() {
	s := w.service()
	if s == nil || s.Spare == 0 || w.state.order != nil || len(w.out.Effects) > 0 ||
		w.now().Sub(w.state.aim.trimmedAt) < trimEvery {
		return
	}
	if c := w.state.roster.Capacity(w.now(), w.rules, w.settings.Slots); !w.out.Observation.Capacity.Known ||
		c.Ordered > 0 || c.Active() < w.state.desired {
		return
	}
	w.state.aim.trimmedAt = w.now()
	e := Trim{ID: w.id()}
	w.record(muster.Intended, Intended{Trim: &e})
	w.out.Effects = append(w.out.Effects, e)
}

// handEvery is how often a fleet is handed over where nothing else is configured.
const handEvery = time.Minute

// handed is what was last handed over.
type handed struct {
	at     time.Time
	target float64
}

// tracked takes the size from the fleet's own service, which a cloud's target tracking sets.
func (s *Settings) tracked(st *State) {
	if s.Spec.Delegate != nil && st.listed.Service != nil {
		st.desired, st.adopted = st.listed.Service.Desired, true
	}
}

// handOver tells a cloud's target tracking what it needs, at every period and when the target moves.
func (w *write) handOver() {
	target := policy.TargetOf(w.out.Decision)
	every := w.settings.HandEvery
	if every <= 0 {
		every = handEvery
	}
	last := w.state.handed
	if age := w.now().Sub(last.at); target == last.target && age >= 0 && age < every {
		return
	}
	w.state.handed = handed{w.now(), target}
	id := fmt.Sprintf("%s.handover.%d", w.settings.Fleet, w.now().UnixMilli())
	w.out.Effects = append(w.out.Effects, HandOver{muster.HandoverOf(id, w.out.Observation, target)})
}

// notes are what the fleet's own service says, and that reports could not be read.
func (st *State) notes() (notes []string) {
	if st.listed.Service != nil {
		notes = st.listed.Service.Notes
	}
	if st.unread != "" {
		notes = append(slices.Clip(notes), "reports of workers are unknown: "+st.unread)
	}
	return notes
}

// departures lowers the size asked for by members that leave by themselves, because nobody answers them, as far as they
// are not needed. Else others would be launched in their place, to leave as they did. Where a service chooses who ends,
// it replaces them by itself.
func (w *write) departures(members []string) {
	if w.settings.Unreported {
		return
	}
	for _, id := range members {
		if !w.unsure() && w.state.desired > max(w.settings.Limits.Min, w.out.Decision.Floor) {
			w.state.desired--
		}
		w.changed(id, roster.Departed, "no message came for it, and nobody answers it")
	}
}

// written takes in that an effect has ended. A size that it has set is known, if the service takes it as it is stated.
func (st *State) written(x Resulted) {
	a := &st.aim
	a.resulted(x)
	a.known = false
	a.open = without(a.open, x.Effect)
	service := st.listed.Service
	if st.order == nil || st.order.ID != x.Effect || x.Failure != "" || service == nil || service.Set == nil ||
		*service.Set != service.Desired {
		return
	}
	if o := st.order; o.Total >= o.Desired && !o.Shrink {
		a.set, a.known = max(o.Total, service.Least), true
	}
}

// issued notes the effects of a step, until they have a result.
func (a *aim) issued(now time.Time, effects []Effect) {
	if len(a.open) > 0 && now.Sub(a.openAt) > OrderTimeout {
		a.open = nil
	}
	if len(effects) == 0 {
		return
	}
	a.open, a.openAt = slices.Clone(a.open), now
	for _, e := range effects {
		a.open = append(a.open, e.EffectID())
	}
}

func without(ids []string, id string) []string {
	if i := slices.Index(ids, id); i >= 0 {
		return slices.Delete(slices.Clone(ids), i, i+1)
	}
	return ids
}

// contest looks for sizes that others have set: the size of the fleet's own service changes while no effect of Muster
// is under way.
func (s *Settings) contest(st *State, now time.Time) {
	st.drift = st.drift.Since(now.Add(-muster.DriftWindow))
	l, a := &st.listed, &st.aim
	if s.Spec.Shadow || s.Spec.Delegate != nil || l.Service == nil || l.Service.Set == nil || l.Failure != "" {
		return
	}
	if len(a.open) > 0 || st.order != nil || l.At.Sub(a.changedAt) < settles || !l.At.After(a.seenAt) {
		return
	}
	set := *l.Service.Set
	if a.known && set != a.set {
		st.drift = st.drift.With(muster.DriftChange{At: l.At, From: a.set, To: set})
	}
	a.set, a.known, a.seenAt = set, true, l.At
}

func (s *Settings) record(at time.Time, kind muster.RecordKind, body any) muster.Record {
	text, _ := encode(body) // which says in the record what is wrong
	return s.encoded(at, kind, text)
}

// encoded is the record with a body that was encoded already.
func (s *Settings) encoded(at time.Time, kind muster.RecordKind, text []byte) muster.Record {
	r := muster.Record{At: at, Kind: kind, Body: text}
	if kind == muster.Decided {
		r.Shared = s.spec
	}
	return r
}

// encode returns the body of a record. Every body is made of finite numbers, strings and times; should one not be, a
// record that says so beats a lost one.
func encode(body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err == nil {
		return text, nil
	}
	said, failure := json.Marshal(unencodable{err.Error()})
	if failure != nil {
		return nil, failure
	}
	return said, err
}

// remembered is what a recorded decision is still asked for.
type remembered struct {
	decision         muster.Decision
	processing, boot muster.Estimate
	expected         *muster.Expected
	drift            *muster.Drift
	pool             *muster.Pool
	// whole is all that it was made from, for policies that tell the past periods of metrics from it; nil for others.
	whole *muster.Observation
}

func (s *Settings) remember(d Decided) *remembered {
	r := &remembered{decision: d.Decision, processing: d.Observation.Processing, boot: d.Observation.Boot,
		expected: d.Observation.Expected, drift: d.Observation.Drift, pool: d.Observation.Pool}
	r.decision.Trail = nil // every fleet has one
	if len(s.uses) > 0 {
		whole := d.Observation
		r.whole = &whole
	}
	return r
}

// last is the last decision that was recorded; a zero one before the first.
func (st *State) last() *remembered {
	if st.recorded == nil {
		return &remembered{}
	}
	return st.recorded
}
