package sim

import (
	"strconv"
	"time"

	"github.com/muster-scale/muster/worker/protocol"

	"github.com/muster-scale/muster/worker/lease"
)

const (
	// pollWait is how long a worker's receive call waits, reportGap the least time between two of its reports and
	// maxBatch the most messages a call brings: those of the runner.
	pollWait  = 2 * time.Second
	reportGap = 100 * time.Millisecond
	maxBatch  = 10
	// orphaned is how long an idle worker waits for a controller that does not answer.
	orphaned = 5 * time.Minute
)

// member is one member of the simulated fleet with its worker, which runs the lease of production.
type member struct {
	id       string
	launched int64
	// generation grows when the place in run.members is used again, so that events of the one before are void.
	generation uint32
	stage      stage
	failure    string
	ended      int64
	spot, warm bool

	lease lease.Lease
	// held are the messages in hand, in the order of their receipt.
	held []held
	// asked is how many messages the outstanding receive call asks for; 0 while there is none. polled numbers the
	// calls.
	asked  int
	polled uint32
	// calling is true while a receive call is being made that was not answered yet.
	calling bool

	// reporting is true while the next report waits for the answer to the newest one, number expected; said is what
	// that one said, reportedAt when it left, reportDue when the next is looked at.
	reporting             bool
	expected              int64
	said                  gist
	reportedAt, reportDue int64
	leaving               bool
	tokens                int
}

// held is a message in the hands of a worker.
type held struct {
	ref  int32
	work uint32
}

// stage is how far a member has come.
type stage uint8

const (
	free stage = iota // its place is unused
	booting
	working
	over // it ended, and is still listed
)

// gist is what, when it changes, a worker reports at once.
type gist struct {
	state protocol.WorkerState
	cause protocol.Cause
	epoch int64
	busy  int
	token string
}

func (m *member) gist() gist {
	return gist{m.lease.State(), m.lease.Cause(), m.lease.Epoch(), m.lease.Busy(), m.lease.Token()}
}

// booted begins the life of a member's worker.
func (r *run) booted(i int32) {
	m := r.members[i]
	m.stage = working
	o := lease.Options{Fleet: r.settings.Fleet, Member: m.id, Worker: m.id, Slots: r.world.Slots,
		IdleStop: r.idleStop()}
	if r.world.BillMargin > 0 && !r.world.Silent {
		o.Billing = lease.Billing{Start: r.at(m.launched), Period: r.world.BillStep, Margin: r.world.BillMargin}
	}
	m.lease = lease.New(o)
	m.lease.Ready(r.time())
	m.reportedAt, m.reportDue = r.now-int64(time.Hour), never
	r.ready++
	r.advance(i)
	r.service()
}

// advance does everything that is due for a worker now, in the order of the runner's loop: a receive call is begun, and
// what it brings comes after the report that says how the worker stands. So a worker that goes from one message to the
// next is seen without one in between.
func (r *run) advance(i int32) {
	m := r.members[i]
	for m.stage == working {
		now := r.time()
		m.lease.Tick(now)
		asked := 0
		if m.asked == 0 && !m.calling {
			asked = m.lease.BeginReceive(maxBatch)
			m.calling = asked > 0
		}
		if m.lease.CanMint() {
			m.tokens++
			m.lease.Mint(now, m.id+"/"+strconv.Itoa(m.tokens))
		}
		if at, ok := m.lease.OrphanedAt(orphaned); ok && !now.Before(at) {
			m.lease.Leave()
		}
		r.report(i, m)
		if m.lease.State() == protocol.Leaving && !m.leaving {
			m.leaving = true
			r.after(r.world.Exit, evExit, i, uint64(m.generation))
		}
		if asked == 0 || !r.receive(i, m, asked) {
			return
		}
	}
}

// receive is the answer to a receive call: what waits is taken at once, and true is returned; otherwise the call waits
// for a message.
func (r *run) receive(i int32, m *member, asked int) bool {
	m.calling = false
	n := min(asked, r.queue.waiting.len())
	if n == 0 {
		m.asked = asked
		m.polled++
		r.waiters.push(i)
		r.after(min(pollWait, r.world.Visibility/2), evPollEnd, i, uint64(m.generation)<<32|uint64(m.polled))
		return false
	}
	m.lease.EndReceive(r.time(), asked, n)
	for range n {
		r.begin(i, m, r.queue.waiting.popFront())
	}
	return true
}

// hand gives waiting messages to waiting workers.
func (r *run) hand() {
	for r.queue.waiting.len() > 0 && r.waiters.len() > 0 {
		i := r.waiters.first()
		if r.world.Random {
			i = r.waiters.any(r.chance.routing.IntN(r.waiters.len()))
		}
		m := r.members[i]
		r.waiters.remove(i)
		asked := m.asked
		m.asked = 0
		m.lease.EndReceive(r.time(), asked, 1)
		r.begin(i, m, r.queue.waiting.popFront())
		r.advance(i)
	}
}

// pollEnded ends a receive call that brought nothing.
func (r *run) pollEnded(i int32) {
	m := r.members[i]
	r.waiters.remove(i)
	asked := m.asked
	m.asked = 0
	m.lease.EndReceive(r.time(), asked, 0)
	r.advance(i)
}

// begin starts the work on a message just received.
func (r *run) begin(i int32, m *member, ref int32) {
	x := &r.queue.all[ref]
	x.receives++
	x.since = r.now
	r.queue.inFlight++
	r.works++
	m.held = append(m.held, held{ref, r.works})
	if len(m.held) == 1 {
		r.busyMembers++
	}
	if r.world.Congestion > 0 && x.receives == 1 {
		crowd := float64(r.queue.visible()) / (10 * float64(max(1, r.ready)))
		x.service = int64(float64(x.service) * (1 + r.world.Congestion*min(3, crowd)))
	}
	if r.world.Cores > 0 {
		r.share(i, ref, r.works)
		return
	}
	r.add(r.now+x.service+int64(r.world.Handover), evFinished, i, uint64(r.works))
}

// finished ends the work on a message.
func (r *run) finished(i int32, work uint32) {
	m := r.members[i]
	at := -1
	for k := range m.held {
		if m.held[k].work == work {
			at = k
		}
	}
	if at < 0 || m.stage != working {
		return // the member died meanwhile
	}
	ref := m.held[at].ref
	m.held = append(m.held[:at], m.held[at+1:]...)
	if len(m.held) == 0 {
		r.busyMembers--
	}
	x := &r.queue.all[ref]
	r.busyTime += int64(r.took(x))
	r.queue.inFlight--
	ok := !x.poison
	class := ""
	if r.world.Classes {
		class = x.class
	}
	end := lease.End{Received: r.at(x.since), Took: r.took(x), OK: ok, Class: class, SentAt: r.at(x.sent)}
	if ok {
		m.lease.End(r.time(), end)
		r.settle(ref)
	} else {
		end.Again, end.Error = r.backoff(x), "the message is poison"
		m.lease.End(r.time(), end)
		r.failed(ref, end.Again)
	}
	r.advance(i)
	r.service()
}

// settle scores a finished message, sends its children and forgets it.
func (r *run) settle(ref int32) {
	x := &r.queue.all[ref]
	r.queue.finished++
	done := r.now - int64(r.world.Handover)
	r.score.finished(done-x.sent, done-x.sent-int64(r.took(x)))
	r.lastFinish = r.now
	if r.Finished != nil {
		r.Finished(time.Duration(x.sent), time.Duration(done))
	}
	r.settled(x, false)
	for _, c := range x.children {
		r.awaitChild(c, x.place.below())
	}
	r.queue.gone(ref)
	r.hand()
}

// failed gives a message back whose work failed, or moves it to the dead letters.
func (r *run) failed(ref int32, again time.Duration) {
	x := &r.queue.all[ref]
	if r.spent(x) {
		r.queue.dead++
		r.score.lost()
		r.settled(x, true)
		r.lastFinish = r.now
		r.queue.gone(ref)
		r.hand()
		return
	}
	if r.queue.retrying == nil {
		r.queue.retrying = map[int32]bool{}
	}
	r.queue.retrying[ref] = true
	r.hide(ref, again)
}

// spent tells whether a message has used up its attempts.
func (r *run) spent(x *message) bool { return int(x.receives) >= r.world.MaxReceives }

// backoff is how long a message whose work failed is hidden; 0 for a dead letter.
func (r *run) backoff(x *message) time.Duration {
	if r.spent(x) {
		return 0
	}
	hold := lease.Hold(r.time().Add(-time.Duration(r.now-x.since)), r.world.Visibility.Truncate(time.Second))
	return hold.GiveBack(r.time(), lease.Backoff(r.world.RetryBase, int(x.receives)))
}

// hide makes a message receivable again after the duration d.
func (r *run) hide(ref int32, d time.Duration) {
	r.queue.hidden++
	r.after(d, evVisible, none, uint64(ref))
}

// die ends a member at once, whatever it does. Its messages come back when their holds end, or at once when it could
// still give them back.
func (r *run) die(i int32, why string, givesBack bool) {
	m := r.members[i]
	if m.stage != booting && m.stage != working {
		return
	}
	for _, h := range m.held {
		x := &r.queue.all[h.ref]
		r.queue.inFlight--
		r.busyTime += r.now - x.since
		if givesBack {
			x.receives--
			r.hide(h.ref, 0)
			continue
		}
		// The hold was extended each time at half of the visibility; the last extension decides.
		step := int64(r.world.Visibility) / 2
		until := x.since + (r.now-x.since)/step*step + int64(r.world.Visibility)
		r.hide(h.ref, time.Duration(until-r.now))
	}
	if len(m.held) > 0 {
		r.busyMembers--
		if r.world.Cores > 0 {
			r.unshare(i)
		}
	}
	m.held = m.held[:0]
	r.leave(i, why)
	r.service()
}
