package controller

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/roster"
)

// write turns a decision into records and effects, and applies it to the roster.
//
// It holds only pointers and numbers, so that the outcome, the largest value of a step, stays off the heap: for the
// compiler, what escapes from one field of a struct escapes from all.
type write struct {
	settings *Settings
	rules    roster.Rules
	state    *State
	out      *Outcome
}

// now is the instant of the step.
func (w *write) now() time.Time { return w.out.Observation.At }

// record appends a record of this step.
func (w *write) record(kind muster.RecordKind, body any) {
	w.out.Records = append(w.out.Records, w.settings.record(w.now(), kind, body))
}

// id names an effect by the position of its intent in the history. So it is unique, and a restart derives the same one.
func (w *write) id() string {
	p := w.state.Position
	return fmt.Sprintf("%s.%d.%d", w.settings.Fleet, p.Epoch, p.Seq+int64(len(w.out.Records))+1)
}

// changed records a change of a member.
func (w *write) changed(member string, what roster.Change, why string) {
	w.change(Changed{Member: member, What: what, Why: why})
}

// change records a change with the desired size after it. In shadow mode no launch was wasted by Muster.
func (w *write) change(c Changed) {
	c.Desired, c.Wasted = w.state.desired, c.Wasted && !w.settings.Spec.Shadow
	w.out.Changes = append(w.out.Changes, c)
	w.record(muster.Changed, c)
}

// recordFindings records what the inputs showed: results first, because a change may follow from one.
func (w *write) recordFindings(x findings) {
	for _, r := range x.results {
		w.record(muster.Resulted, ResultedBody{Effect: r.Effect, Failure: r.Failure})
	}
	for _, o := range x.overrides {
		w.record(muster.Overridden, o)
	}
	if !x.flushed.None() {
		w.learned(x.flushed)
	}
	for _, c := range x.changes {
		w.change(c)
	}
}

// learned records the measurements of the last seconds.
func (w *write) learned(l learning.Flush) {
	if w.settings.OmitBodies {
		w.out.Records = append(w.out.Records, w.settings.encoded(w.now(), muster.Learned, nil))
		return
	}
	text, encoded := l.JSON()
	if !encoded {
		w.record(muster.Learned, l.Body())
		return
	}
	w.out.Records = append(w.out.Records, muster.Record{At: w.now(), Kind: muster.Learned, Body: text})
}

// decision makes the decision's size the desired one, and records the decision if it matters: it sets a size, holds for
// another reason, or a minute has passed since the last record. A changed recommendation alone is recorded for policies
// that read it later, at most once a second. Only what is recorded is remembered, so that a restart remembers the same.
func (w *write) decision() {
	d, last := &w.out.Decision, w.state.last()
	if d.Verdict != muster.Shadow {
		w.state.desired = d.Desired
	}
	age := w.now().Sub(w.state.recordedAt)
	memory := w.settings.memory
	same := d.Policy == last.policy && d.Previous == last.previous && d.Desired == last.desired &&
		d.Verdict == last.verdict && d.Reason == last.reason
	// The start, the end and a failed reading of trees are recorded, whatever the size.
	now, before := w.out.Observation.Expected, last.expected
	same = same && now.None() == before.None() && (now.None() || now.Known == before.Known)
	same = same && w.out.Observation.Drift.Last() == last.drift.Last() &&
		w.out.Observation.Overrides.Same(last.overrides) && len(w.out.Observation.Dismissed) == 0
	wished := memory > 0 && (d.Wish != last.wish || !slices.Equal(d.Kept, last.kept)) && age >= wishEvery
	if same && !wished && age < holdEvery && age >= 0 && !w.settings.newPeriod(w.state.recordedAt, w.now()) {
		return
	}
	body := Decided{Observation: w.out.Observation, Decision: *d}
	text, err := w.settings.encode(body)
	if err != nil {
		w.unrecordable(err)
		body = Decided{Observation: w.out.Observation, Decision: *d}
		text, _ = w.settings.encode(body)
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

// releases grants stop permits: always to drained members, and to members that are ready to stop as long as enough
// remain. A member that was ready to stop by itself lowers the desired size, so that it is not replaced.
func (w *write) releases() {
	asked, offered := w.state.roster.Offers(w.now(), w.rules)
	for _, id := range asked {
		w.state.roster.Release(id, w.now())
		w.changed(id, roster.ReleaseGranted, "holds no message and takes no more")
	}
	active := 0
	if len(offered) > 0 {
		// A worker that is ready to stop still counts as in service, so the size without it must cover the floor.
		active = w.state.roster.Capacity(w.now(), w.rules, w.settings.Slots).Active()
	}
	for _, id := range offered {
		if active <= w.out.Decision.Floor || w.unsure() {
			w.state.roster.Refuse(id)
			w.changed(id, roster.Kept, fmt.Sprintf("was ready to stop, but %s needed", isAre(w.out.Decision.Floor)))
			continue
		}
		active--
		w.state.roster.Release(id, w.now())
		w.state.desired = max(w.out.Observation.Limits.Min, w.state.desired-1)
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

// unsure tells whether a signal that could speak against releasing a worker is unknown.
func (w *write) unsure() bool {
	o := w.out.Observation
	return !o.Capacity.Known || len(o.Queues) > 0 && (!o.Backlog().Known || !o.InFlight().Known)
}

// size brings the members to the desired size. Surplus members get a stop request. Missing ones are first made up by
// withdrawing stop requests, then by launches.
func (w *write) size() {
	c := w.state.roster.Capacity(w.now(), w.rules, w.settings.Slots)
	w.orderAgain(c)
	missing := w.state.desired - c.Active()
	if missing < 0 && w.settings.Unreported {
		return // its own service chooses which members end: see restate
	}
	if missing < 0 {
		for _, id := range w.state.roster.Drain(min(-missing, maxMoves), w.now(), w.rules) {
			w.changed(id, roster.AskedToDrain, fmt.Sprintf("%d desired, %d active", w.state.desired, c.Active()))
		}
		return
	}
	if missing == 0 {
		w.exchange()
		return
	}
	kept := w.state.roster.Keep(missing, w.now(), w.rules)
	for _, id := range kept {
		w.changed(id, roster.Kept, "needed again before it was released")
	}
	if n := min(missing-len(kept), w.room(c), maxMoves); n > 0 && w.state.order == nil &&
		w.out.Observation.Capacity.Known {
		w.launch(n, w.total(c, n))
	}
}

// room returns how many members may be launched now: within the maximum and the hour's budget, and one at a time while
// launches fail.
func (w *write) room(c muster.Capacity) int {
	l := w.state.roster.Launches()
	limits := w.out.Observation.Limits
	room := min(limits.Max-c.Live(), limits.LaunchesPerHour-l.LastHour)
	if l.Failed > 0 {
		if l.RetryAt.After(w.now()) || w.state.roster.OnTrial(w.now(), w.rules) {
			return 0
		}
		return min(room, 1)
	}
	return room
}

// launch orders n more members by name. The names derive from the order's id, so that a repeated order starts none
// twice.
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

// orderAgain repeats the order that a restart found without a result. It names the same members, so the fleet does
// nothing twice.
func (w *write) orderAgain(c muster.Capacity) {
	if w.state.orderRecalled && c.Live() <= w.out.Observation.Limits.Max {
		w.out.Effects = append(w.out.Effects, *w.state.order)
	}
	w.state.orderRecalled = false
}

// isAre writes a number with its verb.
func isAre(n int) string {
	if n == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}

// exchange moves stop requests from busy members to idle ones, so that the size falls sooner.
func (w *write) exchange() {
	if w.settings.Unreported || w.unsure() {
		return
	}
	kept, asked := w.state.roster.Exchange(w.now(), w.rules)
	for i := range kept {
		w.changed(kept[i], roster.Kept, "is busy, and another member is idle")
		w.changed(asked[i], roster.AskedToDrain, "is idle, and stops in place of a busy member")
	}
}

// serviceWrites is the memory of writing to the fleet's own service.
type serviceWrites struct {
	// changedAt is when an effect last ended: an older listing does not show it.
	changedAt time.Time
	// open are the ids of effects without a result, issued at openAt. It is replaced, never changed.
	open   []string
	openAt time.Time
	// service is nil for a fleet without a service of its own. It is replaced, never changed.
	service *serviceSize
}

// serviceSize is the memory of the sizes of a fleet's own service.
type serviceSize struct {
	// statedAt is when a size without a launch was last set, protectedAt when members were last protected.
	statedAt, protectedAt time.Time
	// trimmedAt is when machines were last ended.
	trimmedAt time.Time
	// stated is the size that was last set without a launch.
	stated int
	// set is the size of the service by the newest listing or effect; known is false if an effect may have changed it.
	// seenAt is the time of the listing that was compared last.
	set    int
	known  bool
	seenAt time.Time
}

// size returns the memory of the service's sizes.
func (a *serviceWrites) size() serviceSize {
	if a.service == nil {
		return serviceSize{}
	}
	return *a.service
}

// change returns that memory, which the caller may change.
func (a *serviceWrites) change() *serviceSize {
	s := a.size()
	a.service = &s
	return &s
}

const (
	// stateEvery is how often a size is set again that something else has changed.
	stateEvery = time.Minute
	// protectEvery is how often protection is repeated.
	protectEvery = 15 * time.Second
	// trimEvery is how often machines without members are ended.
	trimEvery = 15 * time.Second
	// settles is how long after an effect a listing may still show the size from before it.
	settles = 10 * time.Second
)

// resulted notes that an effect has ended.
func (a *serviceWrites) resulted(x Resulted) {
	if x.At.After(a.changedAt) {
		a.changedAt = x.At
	}
}

// named records the names that the fleet's own service chose.
func (x *findings) named(all ...roster.Naming) {
	for _, n := range all {
		x.changes = append(x.changes, Changed{Member: n.Ordered, What: roster.Named, As: n.Member, Why: "is " +
			n.Member})
	}
}

// service returns the fleet's own service by the newest listing. It is nil if there is none, or if the listing is older
// than the last write.
func (w *write) service() *muster.Service {
	l := w.state.listed
	if l.Failure != "" || l.At.Before(w.state.writes.changedAt) {
		return nil
	}
	return l.Service
}

// total returns how many members exist once n more are launched; zero for a fleet without a service.
func (w *write) total(c muster.Capacity, n int) int {
	if w.state.listed.Service == nil {
		return 0
	}
	return c.Live() + n
}

// restate sets the size of the fleet's own service to the members that exist or were ordered, if it aims at another
// number. Then something else has changed it, or a launch never came and is not needed any more. It launches nothing
// that was not ordered, and ends nothing, because every existing member is counted. Only where workers do not report
// may it shrink the fleet, because there the service chooses which members end.
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
	last := w.state.writes.size()
	recent := w.now().Sub(last.statedAt) < stateEvery
	if s.Desired < total && !more || recent && (total == last.stated || !w.settings.Unreported) {
		return
	}
	own := w.state.writes.change()
	own.statedAt, own.stated = w.now(), total
	e := SetDesired{muster.Order{ID: w.id(), Desired: w.state.desired, Total: total, Shrink: w.settings.Unreported}}
	w.state.order, w.state.orderAt = &e, w.now()
	w.record(muster.Intended, Intended{SetDesired: &e})
	w.out.Effects = append(w.out.Effects, e)
}

// protect asks for the protection of members that the fleet's own service could end.
func (w *write) protect() {
	if !w.settings.Protect || w.service() == nil || w.now().Sub(w.state.writes.size().protectedAt) < protectEvery {
		return
	}
	exposed := w.state.roster.Exposed()
	if len(exposed) == 0 {
		return
	}
	w.state.writes.change().protectedAt = w.now()
	e := Protect{ID: w.id(), Members: slices.Clip(exposed[:min(len(exposed), maxMoves)])}
	w.record(muster.Intended, Intended{Protect: &e})
	w.out.Effects = append(w.out.Effects, e)
}

// trim ends machines that host no member and are not needed. While members or orders are on their way, the machines may
// still be needed.
func (w *write) trim() {
	s := w.service()
	if s == nil || s.Spare == 0 || w.state.order != nil || len(w.out.Effects) > 0 ||
		w.now().Sub(w.state.writes.size().trimmedAt) < trimEvery {
		return
	}
	if c := w.state.roster.Capacity(w.now(), w.rules, w.settings.Slots); !w.out.Observation.Capacity.Known ||
		c.Ordered > 0 || c.Active() < w.state.desired {
		return
	}
	w.state.writes.change().trimmedAt = w.now()
	e := Trim{ID: w.id()}
	w.record(muster.Intended, Intended{Trim: &e})
	w.out.Effects = append(w.out.Effects, e)
}

// handEvery is the default of Settings.HandEvery.
const handEvery = time.Minute

// handed is the last handover.
type handed struct {
	at     time.Time
	target float64
}

// tracked takes over the size of the fleet's own service, which a cloud's target tracking sets.
func (s *Settings) tracked(st *State) {
	if s.Spec.Delegate != nil && st.listed.Service != nil {
		st.desired, st.adopted = st.listed.Service.Desired, true
	}
}

// handOver gives a cloud's target tracking its metric and target, every period and whenever the target changes.
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

// notes returns the remarks of the fleet's own service, and the failure of reading reports.
func (st *State) notes() (notes []string) {
	if st.listed.Service != nil {
		notes = st.listed.Service.Notes
	}
	if st.unread != "" {
		notes = append(slices.Clip(notes), "reports of workers are unknown: "+st.unread)
	}
	// A contested fleet has this as its reason to hold. Before that, nothing else would show that the size was set.
	if st.drift != nil && !st.drift.Contested() {
		notes = append(slices.Clip(notes), st.drift.String()+"; Muster sets its own again")
	}
	return notes
}

// departures lowers the desired size by members that stop by themselves and cannot be answered, as far as they are not
// needed. Otherwise others would be launched in their place and stop in the same way. A service that chooses which
// members end also replaces them.
func (w *write) departures(members []string) {
	if w.settings.Unreported {
		return
	}
	for _, id := range members {
		if !w.unsure() && w.state.desired > max(w.out.Observation.Limits.Min, w.out.Decision.Floor) {
			w.state.desired--
		}
		w.changed(id, roster.Departed, "no message came for it, and its reports get no answer")
	}
}

// written notes that an effect has ended. The size that it set is known, if the service keeps sizes as they are set.
func (st *State) written(x Resulted) {
	a := &st.writes
	a.resulted(x)
	if a.size().known {
		a.change().known = false
	}
	a.open = without(a.open, x.Effect)
	service := st.listed.Service
	if st.order == nil || st.order.ID != x.Effect || x.Failure != "" || service == nil || service.Set == nil ||
		*service.Set != service.Desired {
		return
	}
	if o := st.order; o.Total >= o.Desired {
		own := a.change()
		own.set, own.known = max(o.Total, service.Least), true
	}
}

// issued notes the effects of a step until they have a result.
func (a *serviceWrites) issued(now time.Time, effects []Effect) {
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

// without returns ids without id. ids is not changed.
func without(ids []string, id string) []string {
	if i := slices.Index(ids, id); i >= 0 {
		return slices.Delete(slices.Clone(ids), i, i+1)
	}
	return ids
}

// contest detects sizes that Muster did not set: the size of the fleet's own service changes while no effect of Muster
// is under way.
func (s *Settings) contest(st *State, now time.Time) {
	st.drift = st.drift.Since(now.Add(-muster.DriftWindow))
	l, a := &st.listed, &st.writes
	if s.Spec.Shadow || s.Spec.Delegate != nil || l.Service == nil || l.Service.Set == nil || l.Failure != "" {
		return
	}
	if len(a.open) > 0 || st.order != nil || l.At.Sub(a.changedAt) < settles || !l.At.After(a.size().seenAt) {
		return
	}
	set, own := *l.Service.Set, a.change()
	if own.known && set != own.set {
		st.drift = st.drift.With(muster.DriftChange{At: l.At, From: own.set, To: set})
	}
	own.set, own.known, own.seenAt = set, true, l.At
}

// record returns a record with an encoded body.
func (s *Settings) record(at time.Time, kind muster.RecordKind, body any) muster.Record {
	text, _ := s.encode(body) // after an error, text says what is wrong
	return s.encoded(at, kind, text)
}

// encoded returns the record with an encoded body.
func (s *Settings) encoded(at time.Time, kind muster.RecordKind, text []byte) muster.Record {
	r := muster.Record{At: at, Kind: kind, Body: text}
	if kind == muster.Decided {
		r.Shared = s.spec
	}
	return r
}

// encode returns the body of a record. All bodies consist of finite numbers, strings and times. If one does not, a
// record that says so is better than a lost record.
func (s *Settings) encode(body any) ([]byte, error) {
	if s.OmitBodies {
		return nil, nil
	}
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

// remembered are the parts of a recorded decision that later steps need.
type remembered struct {
	policy                  string
	previous, desired, wish int
	verdict                 muster.Verdict
	reason                  muster.Reason
	kept                    []muster.Value

	processing, boot muster.Estimate
	expected         *muster.Expected
	drift            *muster.Drift
	overrides        override.List
	pool             *muster.Pool
	// whole is the observation, for policies that compute past periods of Muster's own metrics from it; nil for others.
	whole *muster.Observation
}

// remember returns the parts of a recorded decision that later steps need.
func (s *Settings) remember(d Decided) *remembered {
	r := &remembered{policy: d.Decision.Policy, previous: d.Decision.Previous, desired: d.Decision.Desired,
		wish: d.Decision.Wish, verdict: d.Decision.Verdict, reason: d.Decision.Reason, kept: d.Decision.Kept,
		processing: d.Observation.Processing, boot: d.Observation.Boot,
		expected: d.Observation.Expected, drift: d.Observation.Drift, pool: d.Observation.Pool,
		overrides: d.Observation.Overrides}
	if len(s.uses) > 0 {
		whole := d.Observation
		r.whole = &whole
	}
	return r
}

// last returns the last recorded decision; a zero one before the first.
func (st *State) last() *remembered {
	if st.recorded == nil {
		return &remembered{}
	}
	return st.recorded
}
