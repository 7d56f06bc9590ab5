package sim

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/muster-scale/muster/sim/trace"
)

// Load is what a [Size] decides by: the truth at one instant.
type Load struct {
	// At is the time since the start of the run.
	At time.Duration
	// Backlog messages wait, InFlight ones are being worked on.
	Backlog, InFlight int
	// Booting members take no messages yet, Ready ones do.
	Booting, Ready int
	// Desired is the size that was asked for last.
	Desired int
}

// Size tells how many members there should be. It is asked after each arrival and each departure, and must depend on
// its argument alone.
type Size func(Load) int

// FixedSize is a fleet of n members, always.
func FixedSize(n int) Size { return func(Load) int { return n } }

// DelayedOff launches a member for each message that finds no free slot, with the given slots to a member; members
// leave by themselves after [BareOptions.IdleStop].
func DelayedOff(slots int) Size {
	return func(l Load) int { return (l.Backlog + l.InFlight + slots - 1) / slots }
}

// BareOptions say what a bare run is of.
type BareOptions struct {
	// Name is what the result calls the policy.
	Name  string
	Trace trace.Trace
	Seed  uint64
	// Latency is the latency objective.
	Latency time.Duration
	Size    Size
	// Min and Max bound the size; Max is at least 1.
	Min, Max int
	// Slots is how many messages a member holds at once, 1 to 1000; 1 when zero.
	Slots int
	// Boot is the time from the launch of a member until it takes messages. Its draws are those of [Run] with the same
	// seed.
	Boot Draw
	// IdleStop is how long a member without any message stays while more members are there than were asked for; 0 lets
	// it leave at once.
	IdleStop time.Duration
	// Random hands a message to any member with a free slot, as SQS does, and not to the one that waits longest.
	Random bool
}

// Bare replays a trace in a world without a controller: no leases, no roster, no polls, no records; sizes are decided
// at once from the truth. It is what is left when everything that costs time is taken out, so that theories of queues
// can be tried on long traces, and what [Run] is compared with. Groups and children are refused.
//
// The events, the queue's order and the score are those of [Run]. Memory depends on the messages in the system alone.
func Bare(o BareOptions) (Result, error) {
	b, err := newBare(o)
	if err != nil {
		return Result{}, err
	}
	reader, err := o.Trace.Open()
	if err != nil {
		return Result{}, err
	}
	if c, ok := reader.(io.Closer); ok {
		defer c.Close()
	}
	b.reader = reader
	if err := b.loop(); err != nil {
		return Result{}, err
	}
	return b.finish(), nil
}

// bare is a bare run under way.
type bare struct {
	BareOptions
	events
	reader  trace.Reader
	next    trace.Message
	more    bool
	chance  chance
	now     int64
	score   score
	backlog ring[job]
	flying  []job // messages being worked on, by number
	landed  []int32
	members []post
	gone    []int32
	waiters waiters // members with a free slot

	inFlight, booting, ready int
	desired, launches        int
	restless                 int // members without a message whose idle stop is not under way
	paid, accounted, worked  int64
	faults                   []string
}

// job is a message.
type job struct {
	sent, service int64
	member        int32
}

// post is a member.
type post struct {
	launched, idleSince int64
	generation          uint32
	busy                int32
	ready, timed        bool // timed is true while its idle stop is under way
}

func newBare(o BareOptions) (*bare, error) {
	o.Slots = orElse(o.Slots, 1)
	faults := []error{o.Boot.check("boot")}
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
	b := &bare{BareOptions: o, waiters: newWaiters(), chance: newChance(o.Seed), more: true}
	b.score.objective = int64(o.Latency)
	return b, nil
}

func (b *bare) read() error {
	m, err := b.reader.Next()
	switch {
	case errors.Is(err, io.EOF):
		b.more = false
		return nil
	case err != nil:
		return fmt.Errorf("simulate %s: %w", b.Trace.Name, err)
	case m.Arrival < b.next.Arrival || m.Service < 0:
		return fmt.Errorf("simulate %s: found a message sent at %s with %s of work after one sent at %s; arrivals "+
			"must ascend and work be at least 0s",
			b.Trace.Name, m.Arrival, m.Service, b.next.Arrival)
	case m.Group != "" || len(m.Children) > 0:
		return fmt.Errorf("simulate %s: found a message of the group %q with %d children; without a controller there "+
			"are neither groups nor children",
			b.Trace.Name, m.Group, len(m.Children))
	}
	b.next = m
	return nil
}

func (b *bare) loop() error {
	if err := b.read(); err != nil {
		return err
	}
	if !b.more {
		return fmt.Errorf("simulate %s: the trace is empty", b.Trace.Name)
	}
	b.decide()
	for b.more || b.inFlight+b.backlog.len() > 0 || b.booting+b.ready > b.Min {
		if b.more && (len(b.nodes) == 0 || int64(b.next.Arrival) <= b.nodes[0].at) {
			b.now = int64(b.next.Arrival)
			b.arrive(job{sent: b.now, service: int64(b.next.Service)})
			if err := b.read(); err != nil {
				return err
			}
			continue
		}
		if len(b.nodes) == 0 {
			break // nothing will change any more
		}
		e := b.pop()
		b.now = e.at
		switch e.kind {
		case evFinished:
			b.finished(int32(e.what))
		case evBooted:
			b.booted(e.who)
		case evExit:
			b.rested(e.who, uint32(e.what))
		}
	}
	return nil
}

func (b *bare) arrive(j job) {
	if b.waiters.len() == 0 {
		b.backlog.pushBack(j)
	} else {
		b.begin(b.waits(), j)
	}
	b.decide()
}

// waits returns the member that gets the next message; there is one.
func (b *bare) waits() int32 {
	if b.Random {
		return b.waiters.any(b.chance.routing.IntN(b.waiters.len()))
	}
	return b.waiters.first()
}

// begin starts the work on a message in a free slot of the member i, which waits.
func (b *bare) begin(i int32, j job) {
	m := &b.members[i]
	b.waiters.remove(i)
	if m.busy == 0 && !m.timed {
		b.restless--
	}
	m.busy++
	if int(m.busy) < b.Slots {
		b.waiters.push(i)
	}
	b.inFlight++
	j.member = i
	at := int32(len(b.flying))
	if n := len(b.landed); n > 0 {
		at, b.landed = b.landed[n-1], b.landed[:n-1]
		b.flying[at] = j
	} else {
		b.flying = append(b.flying, j)
	}
	b.add(b.now+j.service, evFinished, i, uint64(at))
}

func (b *bare) finished(at int32) {
	j := b.flying[at]
	b.landed = append(b.landed, at)
	b.inFlight--
	b.worked += j.service
	b.score.finished(b.now-j.sent, b.now-j.sent-j.service)
	m := &b.members[j.member]
	if m.busy--; int(m.busy) == b.Slots-1 {
		b.waiters.push(j.member)
	}
	if m.busy == 0 {
		m.idleSince = b.now
		if !m.timed {
			b.restless++
		}
	}
	b.take()
	b.decide()
}

func (b *bare) booted(i int32) {
	m := &b.members[i]
	m.ready, m.idleSince = true, b.now
	b.booting--
	b.ready++
	b.restless++
	b.waiters.push(i)
	b.take()
	b.decide()
}

// take hands waiting messages to waiting members.
func (b *bare) take() {
	for b.backlog.len() > 0 && b.waiters.len() > 0 {
		b.begin(b.waits(), b.backlog.popFront())
	}
}

// decide asks for the size and brings the fleet to it: it launches what is missing, and lets idle members go that are
// too many, each after its idle stop.
func (b *bare) decide() {
	want := b.Size(Load{At: time.Duration(b.now), Backlog: b.backlog.len(), InFlight: b.inFlight, Booting: b.booting,
		Ready: b.ready, Desired: b.desired})
	want = min(max(want, b.Min), b.Max)
	b.score.decided(b.desired, want)
	b.desired = want
	live := b.booting + b.ready
	for ; live < want; live++ {
		b.launch()
	}
	for k := 0; live > want && b.restless > 0 && k < b.waiters.len(); k++ {
		i := b.waiters.any(k)
		if m := &b.members[i]; m.busy == 0 && !m.timed {
			m.timed = true
			b.restless--
			b.add(max(b.now, m.idleSince+int64(b.IdleStop)), evExit, i, uint64(m.generation))
		}
	}
}

// rested looks whether the member i has been idle for long enough, and is one too many.
func (b *bare) rested(i int32, generation uint32) {
	m := &b.members[i]
	if m.generation != generation {
		return
	}
	m.timed = false
	switch {
	case m.busy > 0:
	case b.booting+b.ready <= b.desired:
		b.restless++
	case b.now-m.idleSince < int64(b.IdleStop):
		m.timed = true
		b.add(m.idleSince+int64(b.IdleStop), evExit, i, uint64(generation))
	default:
		b.waiters.remove(i)
		b.account()
		b.ready--
		b.leave(i)
	}
}

func (b *bare) launch() {
	b.launches++
	b.account()
	i := int32(len(b.members))
	if n := len(b.gone); n > 0 {
		i, b.gone = b.gone[n-1], b.gone[:n-1]
	} else {
		b.members = append(b.members, post{})
	}
	b.members[i] = post{launched: b.now, generation: b.members[i].generation + 1}
	b.booting++
	b.score.peak = max(b.score.peak, b.booting+b.ready)
	b.add(b.now+int64(b.Boot.nth(b.chance.boot, b.launches-1)), evBooted, i, 0)
}

// leave writes the bill of a member.
func (b *bare) leave(i int32) {
	b.score.bill(time.Duration(b.now-b.members[i].launched), World{})
	b.members[i].launched = -1
	b.gone = append(b.gone, i)
}

// account adds the worker-seconds since the last change of the number of members.
func (b *bare) account() {
	b.paid += int64(b.booting+b.ready) * (b.now - b.accounted)
	b.accounted = b.now
}

func (b *bare) finish() Result {
	b.account()
	for i := range b.members {
		if b.members[i].launched >= 0 {
			b.leave(int32(i))
		}
	}
	b.check()
	res := b.score.result(time.Duration(b.now), int64(b.inFlight+b.backlog.len()), 1)
	res.Policy, res.Trace, res.Seed = b.Name, b.Trace.Name, b.Seed
	res.Launches, res.BusySeconds, res.Faults = b.launches, time.Duration(b.worked).Seconds(), b.faults
	return res
}

// check checks that worker-seconds are conserved and that no slot was used twice.
func (b *bare) check() {
	if paid := time.Duration(b.paid).Seconds(); paid-b.score.billed > 1e-6*paid+1e-3 ||
		b.score.billed-paid > 1e-6*paid+1e-3 {
		b.faults = append(b.faults, fmt.Sprintf("members existed for %v s in all, and %v s were billed", paid,
			b.score.billed))
	}
	if b.worked > b.paid*int64(b.Slots) {
		b.faults = append(b.faults, "slots were busy for longer than their members existed")
	}
}
