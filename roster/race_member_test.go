package roster_test

import (
	"errors"
	"strconv"
	"time"

	"github.com/muster-scale/muster/worker/protocol"

	"github.com/muster-scale/muster/worker/lease"
)

// raceMember is a member of a story with its worker, driven as the runner drives it.
type raceMember struct {
	s        *raceStory
	id       string
	launched time.Time
	alive    bool
	booted   bool
	endedAt  time.Duration
	// frozen is until when the process stands still, frozeAt since when.
	frozen, frozeAt time.Duration

	lease  lease.Lease
	tokens int
	// poll is the receive call that the worker knows of, call the last one that it made.
	poll, call *racePoll
	calledAt   time.Duration

	reporting  int64 // the number of the report under way; 0 while there is none
	said       raceGist
	reportedAt time.Duration
	dueAt      time.Duration
	every      time.Duration
	saidIdle   bool
	// cutOff is until when its reports reach no controller.
	cutOff time.Duration

	shield         lease.Shield
	protectedUntil time.Duration // in truth
}

// raceGist is what, when it changes, is reported at once.
type raceGist struct {
	state protocol.WorkerState
	epoch int64
	busy  int
	token string
}

// racePoll is a receive call. While it is open the queue may answer it.
type racePoll struct {
	m     *raceMember
	asked int
	open  bool
	// forgotten is true of a call that a plant made the worker forget.
	forgotten bool
}

func (m *raceMember) boot() {
	if !m.alive {
		return
	}
	m.booted = true
	m.every = m.s.between()
	idle := time.Duration(0)
	if m.s.one(2) {
		idle = m.s.upTo(4 * time.Second)
	}
	m.lease = lease.New(lease.Options{Fleet: "f", Member: m.id, Worker: m.id, Slots: 1 + m.s.IntN(2), IdleStop: idle,
		Billing: m.s.billing(m.id), Born: m.s.time().UnixMilli()})
	if m.s.one(3) {
		m.s.at(m.s.upTo(30*time.Second), m.freeze)
	}
	m.advance()
}

func (m *raceMember) gone() {
	m.alive, m.endedAt = false, m.s.now
	if m.call != nil {
		m.call.open = false
	}
}

// freeze lets the process stand still for a while; it does not know.
func (m *raceMember) freeze() {
	if m.alive && m.s.now >= m.frozen {
		m.s.count.paused++
		m.frozeAt, m.frozen = m.s.now, m.s.now+m.s.lag()
	}
}

// awake does what comes to the process, when it runs again.
func (m *raceMember) awake(do func()) {
	switch {
	case !m.alive:
	case m.s.now < m.frozen:
		m.s.put(m.frozen, func() { m.awake(do) })
	default:
		do()
		m.advance()
	}
}

// advance does all that is due for the worker, in the runner's order.
func (m *raceMember) advance() {
	if !m.alive || !m.booted {
		return
	}
	now := m.s.time()
	covered := !m.s.guarded || m.shield.Covers(now, 12*time.Second) || m.s.bare
	if m.lease.State() == protocol.Starting && covered {
		m.lease.Ready(now)
	}
	m.lease.Tick(now)
	if m.lease.State() == protocol.Draining && m.lease.Cause() == protocol.EndOfBilling &&
		m.said.state == protocol.Receiving {
		m.s.count.unpaid++
	}
	if at, ok := m.lease.IdleAt(); ok && m.poll == nil {
		m.alarm(at.Sub(t0))
	}
	if m.s.forgets && m.poll != nil && m.lease.State() == protocol.Draining {
		m.lease.FailReceive(now, m.poll.asked)
		m.poll.forgotten, m.poll = true, nil
	}
	m.receive(covered)
	if m.lease.CanMint() {
		m.tokens++
		m.lease.Mint(now, m.id+"/"+strconv.Itoa(m.tokens))
		m.s.at(m.s.upTo(time.Second), m.s.burst)
		if m.s.one(10) {
			m.freeze()
		}
	}
	if at, ok := m.lease.OrphanedAt(5 * time.Minute); ok && !now.Before(at) {
		m.lease.Leave()
	}
	m.protect(now)
	if m.lease.State() == protocol.Leaving {
		if m.lease.Busy() > 0 || m.poll != nil {
			m.s.fault("%s left with %d messages and a receive call: %t", m.id, m.lease.Busy(), m.poll != nil)
		}
		m.gone()
		return
	}
	m.report(now)
}

// alarm lets the process look again at the given instant.
func (m *raceMember) alarm(at time.Duration) {
	if at <= m.s.now || m.dueAt > m.s.now && m.dueAt <= at {
		return
	}
	m.dueAt = at
	m.s.put(at, func() { m.awake(func() {}) })
}

// receive begins a receive call.
func (m *raceMember) receive(covered bool) {
	if m.poll != nil || !covered || m.lease.CanReceive() == 0 || !m.s.regular() {
		return
	}
	p := &racePoll{m: m, asked: m.lease.BeginReceive(10)}
	m.poll, m.call, m.calledAt = p, p, m.s.now
	m.s.at(m.s.upTo(20*time.Millisecond), func() {
		if m.alive && (m.poll == p || p.forgotten) {
			p.open = true
			m.s.hand()
		}
	})
	m.s.at(2*time.Second, func() {
		if p.open {
			p.reply(0)
		}
	})
	m.s.at(12*time.Second, p.fail)
	if m.s.one(40) {
		m.freeze()
	}
}

// reply is the queue's answer. The messages count as in flight until they are done with, or their visibility ends.
func (p *racePoll) reply(n int) {
	m, s := p.m, p.m.s
	p.open = false
	s.backlog -= n
	s.inFlight += n
	s.count.handed += n
	if n > 0 && s.state.Directive(m.id, m.id).Ask != protocol.Work {
		s.count.crossed++
	}
	at := s.now
	if s.one(12) { // the answer is lost
		s.at(raceVisibility, func() { s.back(n) })
		return
	}
	s.at(s.upTo(100*time.Millisecond), func() { p.bring(n, at) })
}

// bring is the arrival of the answer at the process.
func (p *racePoll) bring(n int, handed time.Duration) {
	m := p.m
	if p.forgotten && n > 0 && m.alive { // it was forgotten, and somebody works on what it brings all the same
		if st := m.lease.State(); st == protocol.Idle || st == protocol.Leaving {
			m.s.fault("a message came to %s, which is %s", m.id, st)
		}
	}
	if m.poll != p || !m.alive {
		m.s.at(raceVisibility, func() { m.s.back(n) })
		return
	}
	m.awake(func() {
		if m.poll != p {
			m.s.back(n)
			return
		}
		m.poll = nil
		m.lease.EndReceive(m.s.time(), p.asked, n)
		received := m.s.time()
		for range n {
			takes := m.s.lag()
			if m.s.now-handed > raceVisibility {
				m.s.count.stale++
				takes = time.Millisecond // its hold is over: the work is stopped at once
			}
			m.s.at(takes, func() { m.done(received, takes) })
		}
	})
}

// fail is the end of a call without an answer.
func (p *racePoll) fail() {
	m := p.m
	if m.poll != p || !m.alive {
		return
	}
	p.open = false
	m.awake(func() {
		if m.poll == p {
			m.poll = nil
			m.lease.FailReceive(m.s.time(), p.asked)
		}
	})
}

func (s *raceStory) back(n int) {
	s.inFlight -= n
	s.backlog += n
	s.hand()
}

// done is the end of the work on a message.
func (m *raceMember) done(received time.Time, took time.Duration) {
	if !m.alive {
		m.s.back(1)
		return
	}
	m.awake(func() {
		m.s.inFlight--
		m.lease.End(m.s.time(), lease.End{Received: received, Took: took, OK: true})
	})
}

// report sends a report when something changed, or at intervals.
func (m *raceMember) report(now time.Time) {
	gist := raceGist{m.lease.State(), m.lease.Epoch(), m.lease.Busy(), m.lease.Token()}
	due := m.reportedAt + m.every
	if gist != m.said {
		due = m.reportedAt + 100*time.Millisecond
	}
	if m.reporting != 0 {
		return
	}
	if m.s.now < due && m.said.state != "" {
		m.alarm(due)
		return
	}
	if !m.s.regular() {
		return
	}
	r := m.lease.Report(now)
	m.said, m.reportedAt, m.reporting = gist, m.s.now, r.Seq
	if r.Token != "" {
		m.s.offers = append(m.s.offers, raceReport{m, r})
	}
	if m.s.now >= m.cutOff {
		m.s.carry(func() {
			m.saidIdle = r.Busy == 0
			m.s.reported(raceReport{m, r})
		})
	}
	m.s.at(5*time.Second, func() {
		m.awake(func() {
			if m.reporting == r.Seq {
				m.reporting = 0
			}
		})
	})
}

// answered is the arrival of an answer, in time or late, once or again.
func (m *raceMember) answered(r protocol.Report, d protocol.Directive) {
	m.awake(func() {
		if m.reporting != r.Seq {
			m.s.count.late++
		}
		if m.reporting == r.Seq {
			m.reporting = 0
		}
		m.lease.Obey(m.s.time(), r, d)
	})
}

var errLostCall = errors.New("no answer")

// protect makes the call for the protection that is due.
func (m *raceMember) protect(now time.Time) {
	if !m.s.guarded {
		return
	}
	want := m.lease.State() != protocol.Idle && m.lease.State() != protocol.Leaving
	if m.s.bare {
		want = m.lease.Busy() > 0
	}
	m.shield.Want(want)
	at, term, ok := m.shield.Due()
	if !ok {
		return
	}
	if now.Before(at) {
		m.alarm(at.Sub(t0))
		return
	}
	m.shield.Begin(now)
	change := func() {
		if m.alive {
			m.protectedUntil = m.s.now + term
		}
	}
	var err error
	switch m.s.IntN(12) {
	case 0:
		err = errLostCall
	case 1:
		err = errLostCall
		m.s.at(10*time.Second+m.s.upTo(29*time.Second), change)
	default:
		m.s.at(10*time.Millisecond, change)
	}
	took := 20 * time.Millisecond
	if err != nil {
		took = 10 * time.Second
	}
	m.s.at(took, func() { m.awake(func() { m.shield.End(m.s.time(), err) }) })
}
