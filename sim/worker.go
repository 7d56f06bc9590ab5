package sim

import (
	"strconv"
	"time"

	"github.com/muster-scale/muster/sim/internal/kernel"
	"github.com/muster-scale/muster/sim/internal/messages"
	"github.com/muster-scale/muster/worker/protocol"

	"github.com/muster-scale/muster/worker/lease"
)

// These are the constants of the production runner.
const (
	// receiveWait is the longest time that a receive call waits for a message.
	receiveWait = 2 * time.Second
	// reportGap is the least time between two reports of a worker.
	reportGap = 100 * time.Millisecond
	// maxBatch is the most messages that a receive call returns.
	maxBatch = 10
	// orphaned is how long an idle worker keeps running while no controller answers it.
	orphaned = 5 * time.Minute
)

// member is one member of the simulated fleet with its worker, which runs the production lease.
type member struct {
	id       string
	launched int64
	// generation grows when the place in run.members is used again, so that events of the member before it are void.
	generation uint32
	stage      stage
	failure    string
	ended      int64
	spot, warm bool

	lease lease.Lease
	// held are the messages in progress, in the order of their receipt.
	held []held
	// asked is how many messages the open receive call asks for; 0 while none is open. receives numbers the calls, so
	// that the end of an earlier call is void.
	asked    int
	receives uint32
	// calling is true from the decision to receive until the call is answered or waits.
	calling bool

	// reporting is true while the next report waits for the answer to the newest one, which has the number expected.
	// reported is what the newest report said, reportedAt when it was sent, and reportDue when the next one is due.
	reporting             bool
	expected              int64
	reported              status
	reportedAt, reportDue int64
	leaving               bool
	tokens                int
}

// held is a message that a worker handles: its number in the queue, and the number of this attempt.
type held struct {
	ref  int32
	work uint32
}

// stage is how far a member has come. A member goes through the stages in their order, and may skip working.
type stage uint8

const (
	free stage = iota // its place in run.members is unused
	booting
	working
	over // it has ended, and the fleet still lists it
)

// status is the part of a report whose change is reported at once, and not only at the next regular report.
type status struct {
	state protocol.WorkerState
	cause protocol.Cause
	epoch int64
	busy  int
	token string
}

// status returns the present status of a worker.
func (m *member) status() status {
	return status{m.lease.State(), m.lease.Cause(), m.lease.Epoch(), m.lease.Busy(), m.lease.Token()}
}

// booted starts the worker of a member whose boot is over.
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
	m.reportedAt, m.reportDue = r.now-int64(time.Hour), never // long ago, so that the first report is due now
	r.ready++
	r.advance(i)
	r.service()
}

// advance does everything that is due for a worker now, in the order of the runner's loop. First a receive call is
// begun, then the worker reports, and only then the call may return messages. So the controller sees a worker that goes
// from one message to the next as busy throughout.
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
		if m.lease.CanMint() { // it is draining and holds no message: it may be ready to stop
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

// receive answers a receive call. If messages wait, it begins them at once and returns true; otherwise the call stays
// open, until a message comes or the call ends, and it returns false.
func (r *run) receive(i int32, m *member, asked int) bool {
	m.calling = false
	n := min(asked, r.queue.Receivable())
	if n == 0 {
		m.asked = asked
		m.receives++
		r.waiters.Push(i)
		wait := m.lease.ReceiveWait(r.time(), min(receiveWait, r.world.Visibility/2))
		r.after(wait, evReceiveEnd, i, uint64(m.generation)<<32|uint64(m.receives))
		return false
	}
	m.lease.EndReceive(r.time(), asked, n)
	for range n {
		r.begin(i, m)
	}
	return true
}

// hand gives messages that wait to workers whose receive call is open, until one of both runs out.
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

// receiveEnded ends an open receive call, which returns no message.
func (r *run) receiveEnded(i int32) {
	m := r.members[i]
	r.waiters.Remove(i)
	asked := m.asked
	m.asked = 0
	m.lease.EndReceive(r.time(), asked, 0)
	r.advance(i)
}

// begin receives the next message that waits and begins the work on it.
func (r *run) begin(i int32, m *member) {
	ref := r.queue.Receive(r.now)
	x := r.queue.At(ref)
	r.works++
	m.held = append(m.held, held{ref, r.works})
	if len(m.held) == 1 {
		r.busyMembers++
	}
	if r.world.Congestion > 0 && x.Receives == 1 {
		// The factor counts once for each message, at its first attempt.
		crowd := float64(r.queue.Backlog()) / (10 * float64(max(1, r.ready)))
		x.Service = int64(float64(x.Service) * (1 + r.world.Congestion*min(3, crowd)))
	}
	if r.world.Cores > 0 {
		r.share(i, ref, r.works)
		return
	}
	r.events.Add(r.now+x.Service+int64(r.world.Handover), evFinished, i, uint64(r.works))
}

// finished ends the work of the given number. The message is deleted when the work succeeded; otherwise it waits for a
// retry or becomes a dead letter.
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

// settle scores a message whose work succeeded, plans its children and deletes it. The work was done before the
// handover, which is the time that the deletion took.
func (r *run) settle(ref int32) {
	x := r.queue.At(ref)
	// The deletion is not part of the time that a message takes.
	done := r.now - int64(r.world.Handover)
	r.tally.Finished(done-x.Sent, done-x.Sent-int64(r.took(x)))
	r.lastFinish = r.now
	if r.Finished != nil {
		r.Finished(time.Duration(x.Sent), time.Duration(done))
	}
	r.forest.Ended(x.Place, len(x.Children), false)
	for k, c := range x.Children {
		r.planChild(c, x.Place.Below(), x.Luck.Child(k))
	}
	r.queue.Finish(ref)
	r.hand()
}

// failed returns a message whose work failed to the queue, to be retried after the time again, or makes it a dead
// transit.
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

// spent tells whether a message has used up its attempts and becomes a dead letter.
func (r *run) spent(x *messages.Message) bool { return int(x.Receives) >= r.world.MaxReceives }

// backoff returns how long a message whose work failed is hidden; 0 for a dead letter.
func (r *run) backoff(x *messages.Message) time.Duration {
	if r.spent(x) {
		return 0
	}
	// The back-off is limited by the rules of the production lease.
	hold := lease.Hold(r.time().Add(-time.Duration(r.now-x.Since)), r.world.Visibility.Truncate(time.Second))
	return hold.GiveBack(r.time(), lease.Backoff(r.world.RetryBase, int(x.Receives)))
}

// hide makes a message in progress receivable again after the duration d. With retry a worker returned it for another
// attempt; otherwise its worker died.
func (r *run) hide(ref int32, d time.Duration, retry bool) {
	r.queue.Hide(ref, retry)
	r.after(d, evVisible, kernel.None, uint64(ref))
}

// die ends a member at once, whatever it does. Its messages become receivable again when their visibility timeouts end.
// With givesBack its worker had notice and returned them: they are receivable at once, and the attempt does not count.
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
		// The worker extended the timeout each time at half of it; the last extension decides.
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
