package roster_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"

	"github.com/muster-scale/muster/worker/lease"
)

const (
	raceMembers    = 3
	raceVisibility = 30 * time.Second
	// raceEvents bounds the regular things that happen in a story: reports, receive calls and looks at the fleet.
	raceEvents = 70
)

// plant is a wrong rule that a story must be caught by.
type plant struct {
	// stale: somebody ends a member that said lately that it holds nothing.
	stale bool
	// forgets: a worker that is to go counts its receive call as over at once.
	forgets bool
	// bare: the protection is wanted only while messages are held.
	bare bool
	// gullible: a token counts whenever the report was made.
	gullible bool
}

// raceStory is one race: a queue, a controller and its members, with everything late, lost and repeated between them.
type raceStory struct {
	chance
	agenda
	plant
	seed   uint64
	count  tally
	faults []string
	now    time.Duration
	left   int // of raceEvents

	settings controller.Settings
	state    controller.State
	inputs   []controller.Input
	waiting  []raceReport
	offers   []raceReport // that carried a token, as they were sent
	due      bool
	frozen   time.Duration // the controller stands still until then
	life     int
	records  []muster.Record

	backlog, inFlight int
	members           []*raceMember
	guarded           bool // members are tasks with protection
	crashes           bool
}

// raceReport is a report on its way or waiting for an answer.
type raceReport struct {
	m *raceMember
	r protocol.Report
}

// whim wants any size at any time.
type whim struct{ seed uint64 }

func (w whim) Decide(o muster.Observation, _ muster.Recent) muster.Decision {
	c := rand.New(rand.NewPCG(w.seed, uint64(o.At.UnixNano())))
	d := muster.Decision{Fleet: o.Fleet, At: o.At, Policy: "whim/1", Previous: o.Capacity.Desired,
		Desired: o.Capacity.Desired, Verdict: muster.Apply}
	if c.IntN(3) == 0 {
		d.Desired = c.IntN(o.Limits.Max + 1)
	}
	d.Wish, d.Floor = d.Desired, c.IntN(d.Desired+1)
	return d
}

// raceSettings are the same for all stories but for the whim.
func raceSettings(seed uint64) (controller.Settings, error) {
	s, err := controller.NewSettings(controller.Settings{
		Fleet: "f", Queues: []string{"q"}, Spec: policy.Spec{Name: "exact"},
		Objective: muster.Objective{Latency: 30 * time.Second, Quantile: 0.99},
		Limits:    muster.Limits{Max: raceMembers, LaunchesPerHour: 1000}, BootPrior: 2 * time.Second,
	})
	return s.Deciding(whim{seed}, 0), err
}

// race tells the story of a seed and returns what went wrong and what happened.
func race(seed uint64, p plant) ([]string, tally) {
	s := &raceStory{chance: chance{rand.New(rand.NewPCG(seed, 7))}, seed: seed, plant: p, left: raceEvents}
	var err error
	if s.settings, err = raceSettings(seed); err == nil {
		s.guarded = s.one(2) || p.bare
		err = s.restart()
	}
	if err != nil {
		return []string{err.Error()}, s.count
	}
	s.at(0, s.look)
	s.at(s.upTo(time.Second), s.arrive)
	s.crashes = s.one(2)
	if s.one(3) {
		s.at(s.upTo(20*time.Second), func() { s.frozen = s.now + s.lag() })
	}
	for over := time.Duration(0); len(s.heap) > 0 && len(s.faults) == 0; {
		h := s.take()
		s.now = h.at
		switch {
		case s.left > 0:
			over = s.now + 2*time.Hour
		case s.now > over:
			return s.faults, s.count
		}
		h.do()
	}
	return s.faults, s.count
}

func (s *raceStory) at(in time.Duration, do func()) { s.put(s.now+in, do) }

// billing are the paid periods of a member. Most have none; those of others are short. They draw nothing from the
// story's chance, so that its seeds tell what they told.
func (s *raceStory) billing(id string) lease.Billing {
	name := uint64(0)
	for i := range len(id) {
		name = 31*name + uint64(id[i])
	}
	c := rand.New(rand.NewPCG(s.seed, name))
	if c.IntN(3) > 0 {
		return lease.Billing{}
	}
	period := time.Second + time.Duration(c.Int64N(int64(10*time.Second)))
	return lease.Billing{Start: s.time(), Period: period, Margin: period / 2}
}

// regular tells whether there is to be one more of what happens again and again. In the end everybody who may take a
// message has one, and what is still under way arrives.
func (s *raceStory) regular() bool {
	s.left--
	return s.left > 0
}

// carry takes something from one to another: late, twice or never.
func (s *raceStory) carry(do func()) {
	switch s.IntN(16) {
	case 0:
	case 1:
		s.at(s.lag(), do)
		s.at(s.lag(), do)
	default:
		s.at(s.lag(), do)
	}
}

func (s *raceStory) time() time.Time { return t0.Add(s.now) }

func (s *raceStory) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf("at %s: %s", s.now, fmt.Sprintf(format, args...)))
}

// arrive sends messages.
func (s *raceStory) arrive() {
	s.backlog += 1 + s.IntN(2)
	s.hand()
	if s.regular() {
		s.at(s.between(), s.arrive)
	}
}

// restart begins the controller's life anew, from the history.
func (s *raceStory) restart() (err error) {
	s.life++
	s.inputs, s.waiting, s.due = nil, nil, false
	s.state, err = s.settings.Restore(muster.Position{Epoch: int64(s.life), Seq: int64(len(s.records))}, s.records)
	return err
}

func (s *raceStory) crash() {
	s.count.restarts++
	if err := s.restart(); err != nil {
		s.fault("restart: %v", err)
	}
	// What is late comes at the worst time: first, while nothing newer of the member comes through.
	for _, old := range s.offers {
		if old.m.alive && old.m.lease.Epoch() > old.r.Epoch && s.one(2) {
			s.count.revived++
			old.m.cutOff = s.now + s.upTo(time.Minute)
			s.at(s.upTo(200*time.Millisecond), func() { s.reported(old) })
		}
	}
}

// look is a poll of the queue and the fleet, with a step after it.
func (s *raceStory) look() {
	if s.now < s.frozen {
		s.put(s.frozen, s.look)
		return
	}
	s.observe()
	s.step()
	s.outsider()
	if s.guarded {
		s.cull()
	}
	if s.regular() {
		s.at(s.between(), s.look)
	}
}

func (s *raceStory) observe() {
	now := s.time()
	q := muster.QueueObservation{Queue: "q", Backlog: muster.Measured(now, float64(s.backlog)),
		InFlight: muster.Measured(now, float64(s.inFlight))}
	l := muster.Listing{At: now}
	for _, m := range s.members {
		if m.alive || m.endedAt+time.Minute > s.now {
			l.Members = append(l.Members, muster.Member{ID: m.id, LaunchedAt: m.launched, Ended: !m.alive})
		}
	}
	s.inputs = append(s.inputs, controller.Measured{QueueObservation: q}, controller.Listed{Listing: l})
}

// step lets the controller step, and sends its effects and its answers on their way.
func (s *raceStory) step() {
	s.due = false
	s.count.steps++
	o := s.settings.Advance(s.state, s.time(), s.inputs)
	for i, r := range o.Records {
		r.Position = muster.Position{Epoch: int64(s.life), Seq: int64(len(s.records) + i + 1)}
		o.Records[i] = r
	}
	s.records = append(s.records, o.Records...)
	s.state, s.inputs = o.Next, s.inputs[:0]
	for _, c := range o.Changes {
		s.note(c)
	}
	for _, e := range o.Effects {
		s.execute(e, s.life)
	}
	waiting := s.waiting
	s.waiting = nil
	for _, w := range waiting {
		s.answer(w, s.state.Directive(w.r.Member, w.r.Worker))
	}
}

// note counts a change. Messages often come just when members are told to go.
func (s *raceStory) note(c controller.Changed) {
	switch c.What {
	case roster.AskedToDrain:
		s.count.asked++
		s.at(s.upTo(200*time.Millisecond), s.burst)
	case roster.Kept:
		s.count.kept++
		if s.crashes && s.one(2) {
			s.at(s.upTo(5*time.Second), s.crash)
		}
	case roster.ReleaseGranted, roster.Left:
		s.count.granted++
	}
}

// burst sends a message for each member.
func (s *raceStory) burst() {
	s.backlog += len(s.members)
	s.hand()
}

// execute carries an effect to the fleet, and its result back to the controller that wants it.
func (s *raceStory) execute(e controller.Effect, life int) {
	s.carry(func() {
		switch e := e.(type) {
		case controller.SetDesired:
			for _, id := range e.Launch {
				s.launch(id)
			}
		case controller.End:
			for _, id := range e.Members {
				if m := s.member(id); m != nil {
					s.count.forced++
					s.end(m, "ended by force")
				}
			}
		}
		s.carry(func() {
			if life == s.life {
				s.inputs = append(s.inputs, controller.Resulted{At: s.time(), Effect: e.EffectID()})
			}
		})
	})
}

func (s *raceStory) member(id string) *raceMember {
	i := slices.IndexFunc(s.members, func(m *raceMember) bool { return m.id == id })
	if i < 0 || !s.members[i].alive {
		return nil
	}
	return s.members[i]
}

// reported takes a report to the controller, which answers at once unless it bears on a release.
func (s *raceStory) reported(w raceReport) {
	if s.now < s.frozen {
		s.put(s.frozen, func() { s.reported(w) })
		return
	}
	w.r.At = s.time()
	if s.gullible {
		if w.r.Challenge = s.state.Directive(w.r.Member, w.r.Worker).Challenge; w.r.Challenge == 0 {
			w.r.Challenge = w.r.At.UnixMicro()
		}
	}
	s.inputs = append(s.inputs, controller.Reported{Report: w.r})
	if w.r.State == protocol.Receiving {
		if d, ok := s.state.Answer(w.r.Member, w.r.Worker); ok {
			s.answer(w, d)
			return
		}
	}
	s.waiting = append(s.waiting, w)
	if !s.due {
		s.due = true
		life := s.life
		s.at(50*time.Millisecond, func() {
			if s.due && life == s.life {
				s.observe()
				s.step()
			}
		})
	}
}

func (s *raceStory) answer(w raceReport, d protocol.Directive) {
	s.carry(func() { w.m.answered(w.r, d) })
}

// outsider is the planted rule that believes what members said.
func (s *raceStory) outsider() {
	if !s.stale {
		return
	}
	for _, m := range s.members {
		if m.alive && m.saidIdle && s.one(2) {
			s.at(s.lag(), func() { s.end(m, "ended by an outsider") })
		}
	}
}

// cull is the service that scales in by itself: it ends any task that is not protected.
func (s *raceStory) cull() {
	for _, m := range s.members {
		if m.alive && s.one(3) && s.now >= m.protectedUntil {
			s.count.culled++
			s.end(m, "ended without protection")
		}
	}
}

// end ends a member, which must neither hold a message nor be able to get one.
func (s *raceStory) end(m *raceMember, how string) {
	if !m.alive {
		return
	}
	// What a process held before it stood still for longer than its holds last is somebody else's by now.
	forsaken := min(s.now, m.frozen) > m.frozeAt+raceVisibility && m.calledAt <= m.frozeAt &&
		how == "ended without protection"
	if m.booted && !forsaken && (m.lease.Busy() > 0 || m.poll != nil) {
		s.fault("%s %s: it is %s with %d messages and a receive call: %t", m.id, how, m.lease.State(), m.lease.Busy(),
			m.poll != nil)
	}
	m.gone()
}

// launch starts a member, once.
func (s *raceStory) launch(id string) {
	if slices.ContainsFunc(s.members, func(m *raceMember) bool { return m.id == id }) {
		return
	}
	m := &raceMember{s: s, id: id, launched: s.time(), alive: true, shield: lease.NewShield(15 * time.Minute)}
	s.members = append(s.members, m)
	s.at(s.upTo(3*time.Second), m.boot)
}

// hand gives what waits to receive calls that wait, in any order.
func (s *raceStory) hand() {
	for s.backlog > 0 {
		var free []*raceMember
		for _, m := range s.members {
			if m.alive && m.call != nil && m.call.open {
				free = append(free, m)
			}
		}
		if len(free) == 0 {
			return
		}
		m := free[s.IntN(len(free))]
		m.call.reply(min(s.backlog, m.call.asked))
	}
}
