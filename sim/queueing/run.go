package queueing

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/muster-scale/muster/sim/internal/kernel"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
)

// The events of a run.
const (
	evBooted   kernel.Kind = iota // the member Who takes messages from now on
	evFinished                    // the work numbered What is done
	evIdleStop                    // the member Who, of the generation What, may have been idle for IdleStop
)

// run is a run in progress. Times are nanoseconds since its start.
type run struct {
	Options
	events kernel.Events
	reader trace.Reader
	next   trace.Message
	more   bool // next is still to be sent
	chance kernel.Streams
	now    int64
	tally  scoring.Tally

	backlog kernel.Ring[job]
	works   []job // messages in progress, by number
	freed   []int32
	members []member
	gone    []int32     // unused places of members
	waiting kernel.Line // members with a free slot

	inFlight, booting, ready int
	desired, launches        int
	unwatched                int   // idle members for which no evIdleStop is planned
	paid                     int64 // member-nanoseconds until accounted
	accounted                int64
	worked                   int64 // sum of the services of finished messages
	faults                   []string
}

// job is a message that waits or is in progress.
type job struct {
	sent, service int64
	member        int32
}

// member is a member of the fleet.
type member struct {
	// launched is when it was launched, or -1 after it left; idleSince is when its last message finished.
	launched, idleSince int64
	// generation grows when the place in run.members is used again, so that events of the member before it are void.
	generation uint32
	busy       int32 // messages in progress
	// timed is true while an evIdleStop is planned for it.
	timed bool
}

// newRun checks the options and returns a run at its start.
func newRun(o Options) (*run, error) {
	o.Slots = cmp.Or(o.Slots, 1)
	faults := []error{o.Boot.Check("boot")}
	if o.Size == nil {
		faults = append(faults, errors.New("found no size function"))
	}
	if o.Slots < 1 || o.Slots > 1000 || o.Min < 0 || o.Max < 1 || o.Max < o.Min || o.IdleStop < 0 || o.Latency < 0 {
		faults = append(faults, fmt.Errorf("found %d slots, sizes from %d to %d, idle stop %s, latency objective %s; "+
			"allowed are 1 to 1000 slots, 0 <= min <= max, max at least 1, and times of at least 0s",
			o.Slots, o.Min, o.Max, o.IdleStop, o.Latency))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("simulate without a controller: %w", err)
	}
	r := &run{Options: o, waiting: kernel.NewLine(), chance: kernel.NewStreams(o.Seed), more: true}
	r.tally.Objective = int64(o.Latency)
	return r, nil
}

// read reads the next message of the trace.
func (r *run) read() error {
	m, err := r.reader.Next()
	switch {
	case errors.Is(err, io.EOF):
		r.more = false
		return nil
	case err != nil:
		return fmt.Errorf("simulate %s: %w", r.Trace.Name, err)
	case m.Arrival < r.next.Arrival || m.Service < 0:
		return fmt.Errorf("simulate %s: found a message sent at %s with %s of work after one sent at %s; arrivals "+
			"must ascend and work be at least 0s",
			r.Trace.Name, m.Arrival, m.Service, r.next.Arrival)
	case m.Group != "" || len(m.Children) > 0:
		return fmt.Errorf("simulate %s: found a message of the group %q with %d children; without a controller there "+
			"are neither groups nor children",
			r.Trace.Name, m.Group, len(m.Children))
	}
	r.next = m
	return nil
}

// loop runs arrivals and events in the order of their times, until every message is finished and the fleet has shrunk
// to its minimum. It also ends when no event is left, because then nothing can change any more.
func (r *run) loop() error {
	if err := r.read(); err != nil {
		return err
	}
	if !r.more {
		return fmt.Errorf("simulate %s: the trace is empty", r.Trace.Name)
	}
	r.decide()
	for r.more || r.inFlight+r.backlog.Len() > 0 || r.booting+r.ready > r.Min {
		if r.more && (r.events.Len() == 0 || int64(r.next.Arrival) <= r.events.Next()) {
			r.now = int64(r.next.Arrival)
			r.arrive(job{sent: r.now, service: int64(r.next.Service)})
			if err := r.read(); err != nil {
				return err
			}
			continue
		}
		if r.events.Len() == 0 {
			break
		}
		e := r.events.Pop()
		r.now = e.At
		switch e.Kind {
		case evFinished:
			r.finished(int32(e.What))
		case evBooted:
			r.booted(e.Who)
		case evIdleStop:
			r.rested(e.Who, uint32(e.What))
		}
	}
	return nil
}

// arrive hands a new message to a member with a free slot, or lets it wait.
func (r *run) arrive(j job) {
	if r.waiting.Len() == 0 {
		r.backlog.PushBack(j)
	} else {
		r.begin(r.waits(), j)
	}
	r.decide()
}

// waits returns the member that gets the next message. At least one must wait.
func (r *run) waits() int32 {
	if r.Random {
		return r.waiting.Any(r.chance.Routing.IntN(r.waiting.Len()))
	}
	return r.waiting.First()
}

// begin begins a message in a free slot of the member i, which must wait. The member waits on while it has another
// free slot, but goes to the end of the line.
func (r *run) begin(i int32, j job) {
	m := &r.members[i]
	r.waiting.Remove(i)
	if m.busy == 0 && !m.timed {
		r.unwatched--
	}
	m.busy++
	if int(m.busy) < r.Slots {
		r.waiting.Push(i)
	}
	r.inFlight++
	j.member = i
	at := int32(len(r.works))
	if n := len(r.freed); n > 0 {
		at, r.freed = r.freed[n-1], r.freed[:n-1]
		r.works[at] = j
	} else {
		r.works = append(r.works, j)
	}
	r.events.Add(r.now+j.service, evFinished, i, uint64(at))
}

// finished ends the work of the given number.
func (r *run) finished(at int32) {
	j := r.works[at]
	r.freed = append(r.freed, at)
	r.inFlight--
	r.worked += j.service
	r.tally.Finished(r.now-j.sent, r.now-j.sent-j.service)
	m := &r.members[j.member]
	if m.busy--; int(m.busy) == r.Slots-1 {
		r.waiting.Push(j.member)
	}
	if m.busy == 0 {
		m.idleSince = r.now
		if !m.timed {
			r.unwatched++
		}
	}
	r.take()
	r.decide()
}

// booted lets a member take messages from now on.
func (r *run) booted(i int32) {
	m := &r.members[i]
	m.idleSince = r.now
	r.booting--
	r.ready++
	r.unwatched++
	r.waiting.Push(i)
	r.take()
	r.decide()
}

// take hands messages that wait to members with a free slot.
func (r *run) take() {
	for r.backlog.Len() > 0 && r.waiting.Len() > 0 {
		r.begin(r.waits(), r.backlog.PopFront())
	}
}

// decide brings the fleet to the size that Size returns. It launches what is missing at once. Of the members beyond the
// size it plans the end of those that are idle, each when it has been idle for IdleStop.
func (r *run) decide() {
	want := r.Size(Load{At: time.Duration(r.now), Backlog: r.backlog.Len(), InFlight: r.inFlight, Booting: r.booting,
		Ready: r.ready, Desired: r.desired})
	want = min(max(want, r.Min), r.Max)
	r.tally.Decided(r.desired, want)
	r.desired = want
	live := r.booting + r.ready
	for ; live < want; live++ {
		r.launch()
	}
	for k := 0; live > want && r.unwatched > 0 && k < r.waiting.Len(); k++ {
		i := r.waiting.Any(k)
		if m := &r.members[i]; m.busy == 0 && !m.timed {
			m.timed = true
			r.unwatched--
			r.events.Add(max(r.now, m.idleSince+int64(r.IdleStop)), evIdleStop, i, uint64(m.generation))
		}
	}
}

// rested ends the member i if it has been idle for IdleStop and the fleet is larger than desired. If it was busy in
// between, its idle time starts again.
func (r *run) rested(i int32, generation uint32) {
	m := &r.members[i]
	if m.generation != generation {
		return
	}
	m.timed = false
	switch {
	case m.busy > 0:
	case r.booting+r.ready <= r.desired:
		r.unwatched++
	case r.now-m.idleSince < int64(r.IdleStop):
		m.timed = true
		r.events.Add(m.idleSince+int64(r.IdleStop), evIdleStop, i, uint64(generation))
	default:
		r.waiting.Remove(i)
		r.account()
		r.ready--
		r.leave(i)
	}
}

// launch launches a member.
func (r *run) launch() {
	r.launches++
	r.account()
	i := int32(len(r.members))
	if n := len(r.gone); n > 0 {
		i, r.gone = r.gone[n-1], r.gone[:n-1]
	} else {
		r.members = append(r.members, member{})
	}
	r.members[i] = member{launched: r.now, generation: r.members[i].generation + 1}
	r.booting++
	r.tally.Members(r.booting + r.ready)
	r.events.Add(r.now+int64(r.Boot.Nth(r.chance.Boot, r.launches-1)), evBooted, i, 0)
}

// leave writes the bill of a member, whose place may be used again.
func (r *run) leave(i int32) {
	r.tally.Bill(time.Duration(r.now - r.members[i].launched))
	r.members[i].launched = -1
	r.gone = append(r.gone, i)
}

// account adds the member-nanoseconds since the number of members last changed.
func (r *run) account() {
	r.paid += int64(r.booting+r.ready) * (r.now - r.accounted)
	r.accounted = r.now
}

// finish ends all members and sums up.
func (r *run) finish() scoring.Result {
	r.account()
	for i := range r.members {
		if r.members[i].launched >= 0 {
			r.leave(int32(i))
		}
	}
	r.check()
	res := r.tally.Result(time.Duration(r.now), int64(r.inFlight+r.backlog.Len()), 1)
	res.Policy, res.Trace, res.Seed = r.Name, r.Trace.Name, r.Seed
	res.Launches, res.BusySeconds, res.Faults = r.launches, time.Duration(r.worked).Seconds(), r.faults
	return res
}

// check finds violated invariants: the bill must equal the integral over the number of members, and slots cannot have
// been busy for longer than their members existed.
func (r *run) check() {
	if paid := time.Duration(r.paid).Seconds(); paid-r.tally.Billed() > 1e-6*paid+1e-3 ||
		r.tally.Billed()-paid > 1e-6*paid+1e-3 {
		r.faults = append(r.faults, fmt.Sprintf("members existed for %v s in all, and %v s were billed", paid,
			r.tally.Billed()))
	}
	if r.worked > r.paid*int64(r.Slots) {
		r.faults = append(r.faults, "slots were busy for longer than their members existed")
	}
}
