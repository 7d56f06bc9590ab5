package sim

import (
	"strconv"
	"time"

	"github.com/muster-scale/muster/sim/internal/kernel"
	"github.com/muster-scale/muster/sim/internal/messages"
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
	// generation grows when the trees.Place in run.members is used again, so that events of the one before are void.
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
	free stage = iota // its trees.Place is unused
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
	if r.world.BillMargin > 0 && !r.serviced() {
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
	n := min(asked, r.queue.Receivable())
	if n == 0 {
		m.asked = asked
		m.polled++
		r.waiters.Push(i)
		r.after(min(pollWait, r.world.Visibility/2), evPollEnd, i, uint64(m.generation)<<32|uint64(m.polled))
		return false
	}
	m.lease.EndReceive(r.time(), asked, n)
	for range n {
		r.begin(i, m)
	}
	return true
}

// hand gives waiting messages to waiting workers.
func (r *run) hand() {
	for r.queue.Receivable() > 0 && r.waiters.Len() > 0 {
		i := r.waiters.First()
		if r.world.Random {
			i = r.waiters.Any(r.chance.Routing.IntN(r.waiters.Len()))
		}
		m := r.members[i]
		r.waiters.Remove(i)
		asked := m.asked
		m.asked = 0
		m.lease.EndReceive(r.time(), asked, 1)
		r.begin(i, m)
		r.advance(i)
	}
}

// pollEnded ends a receive call that brought nothing.
func (r *run) pollEnded(i int32) {
	m := r.members[i]
	r.waiters.Remove(i)
	asked := m.asked
	m.asked = 0
	m.lease.EndReceive(r.time(), asked, 0)
	r.advance(i)
}

// begin receives the next message that waits, and starts the work on it.
func (r *run) begin(i int32, m *member) {
	ref := r.queue.Receive(r.now)
	x := r.queue.At(ref)
	r.works++
	m.held = append(m.held, held{ref, r.works})
	if len(m.held) == 1 {
		r.busyMembers++
	}
	if r.world.Congestion > 0 && x.Receives == 1 {
		crowd := float64(r.queue.Backlog()) / (10 * float64(max(1, r.ready)))
		x.Service = int64(float64(x.Service) * (1 + r.world.Congestion*min(3, crowd)))
	}
	if r.world.Cores > 0 {
		r.share(i, ref, r.works)
		return
	}
	r.events.Add(r.now+x.Service+int64(r.world.Handover), evFinished, i, uint64(r.works))
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
	x := r.queue.At(ref)
	r.busyTime += int64(r.took(x))
	ok := !x.Poison
	class := ""
	if r.world.Classes {
		class = x.Class
	}
	end := lease.End{Received: r.at(x.Since), Took: r.took(x), OK: ok, Class: class, SentAt: r.at(x.Sent)}
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
	x := r.queue.At(ref)
	done := r.now - int64(r.world.Handover)
	r.tally.Finished(done-x.Sent, done-x.Sent-int64(r.took(x)))
	r.lastFinish = r.now
	if r.Finished != nil {
		r.Finished(time.Duration(x.Sent), time.Duration(done))
	}
	r.forest.Ended(x.Place, len(x.Children), false)
	for _, c := range x.Children {
		r.awaitChild(c, x.Place.Below())
	}
	r.queue.Finish(ref)
	r.hand()
}

// failed gives a message back whose work failed, or moves it to the dead letters.
func (r *run) failed(ref int32, again time.Duration) {
	x := r.queue.At(ref)
	if r.spent(x) {
		r.tally.Dead()
		r.forest.Ended(x.Place, 0, true)
		r.lastFinish = r.now
		r.queue.Bury(ref)
		r.hand()
		return
	}
	r.hide(ref, again, true)
}

// spent tells whether a message has used up its attempts.
func (r *run) spent(x *messages.Message) bool { return int(x.Receives) >= r.world.MaxReceives }

// backoff is how long a message whose work failed is hidden; 0 for a dead letter.
func (r *run) backoff(x *messages.Message) time.Duration {
	if r.spent(x) {
		return 0
	}
	hold := lease.Hold(r.time().Add(-time.Duration(r.now-x.Since)), r.world.Visibility.Truncate(time.Second))
	return hold.GiveBack(r.time(), lease.Backoff(r.world.RetryBase, int(x.Receives)))
}

// hide makes a message in progress receivable again after the duration d. With retry a worker returned it for another
// attempt; otherwise its worker died.
func (r *run) hide(ref int32, d time.Duration, retry bool) {
	r.queue.Hide(ref, retry)
	r.after(d, evVisible, kernel.None, uint64(ref))
}

// die ends a member at once, whatever it does. Its messages come back when their holds end, or at once when it could
// still give them back.
func (r *run) die(i int32, why string, givesBack bool) {
	m := r.members[i]
	if m.stage != booting && m.stage != working {
		return
	}
	for _, h := range m.held {
		x := r.queue.At(h.ref)
		r.busyTime += r.now - x.Since
		if givesBack {
			x.Receives--
			r.hide(h.ref, 0, false)
			continue
		}
		// The hold was extended each time at half of the visibility; the last extension decides.
		step := int64(r.world.Visibility) / 2
		until := x.Since + (r.now-x.Since)/step*step + int64(r.world.Visibility)
		r.hide(h.ref, time.Duration(until-r.now), false)
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
