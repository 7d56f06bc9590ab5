package sim

import (
	"strconv"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/awsrules/spot"
	"github.com/muster-scale/muster/awsrules/warmpool"
	"github.com/muster-scale/muster/sim/internal/kernel"
)

// rememberEnded is how long the fleet lists a member after its end, as cloud services do.
const rememberEnded = 5 * time.Minute

// launch carries out an order, and returns why not all members could be launched; "" when all could. A member whose
// name is known already is not launched again, so an order may be repeated. In a world of silent workers the order
// only sets the desired count of the service, which names its own members.
func (r *run) launch(o muster.Order) (failure string) {
	if r.world.Silent {
		if o.Shrink || o.Total > r.serviceDesired {
			r.serviceDesired = o.Total
		}
		return r.service()
	}
	for _, id := range o.Launch {
		if _, known := r.byID[id]; known {
			if !r.inject.twice {
				continue
			}
			r.fault("a member was launched twice: " + id)
		}
		if r.world.Capacity > 0 && r.live >= r.world.Capacity && r.faulty() {
			return "the cloud has no capacity for more"
		}
		r.start(id)
	}
	return ""
}

// service brings the fleet to the desired count of its service, in a world of silent workers. It stops the oldest
// members first, and none that holds a message, because those are protected from scale-in. It returns why not all
// members could be launched; "" when all could. It runs after everything that frees or ends a member.
func (r *run) service() (failure string) {
	if !r.serviced() || r.serviceRuns {
		return ""
	}
	r.serviceRuns = true
	defer func() { r.serviceRuns = false }()
	for r.live < r.serviceDesired {
		if r.world.Capacity > 0 && r.live >= r.world.Capacity && r.faulty() {
			return "the cloud has no capacity for more"
		}
		r.start("member-" + strconv.Itoa(r.launches+1))
	}
	for _, i := range r.listed {
		if r.live <= r.serviceDesired {
			break
		}
		if m := r.members[i]; (m.stage == booting || m.stage == working) && len(m.held) == 0 {
			r.die(i, "", false)
		}
	}
	return ""
}

// idleStop is how long a worker without any message waits until it leaves by itself; 0 is never.
func (r *run) idleStop() time.Duration {
	if r.serviced() {
		return 0
	}
	return r.world.IdleStop
}

// start launches one member. It draws now what will happen to the member: its boot time, whether it fails in its boot,
// when it crashes, and when a spot instance is interrupted.
func (r *run) start(id string) {
	r.launches++
	var i int32
	// The place of a member that is not listed any more is used again.
	if n := len(r.freeMembers); n > 0 {
		i = r.freeMembers[n-1]
		r.freeMembers = r.freeMembers[:n-1]
	} else {
		i = int32(len(r.members))
		r.members = append(r.members, &member{})
	}
	m := r.members[i]
	*m = member{id: id, launched: r.now, generation: m.generation + 1, stage: booting, held: m.held[:0]}
	r.byID[id] = i
	r.listed = append(r.listed, i)
	r.account()
	r.live++
	r.tally.Members(r.live)
	boot := r.world.Boot.Nth(r.chance.Boot, r.launches-1)
	if r.warm > 0 {
		r.warm--
		m.warm, boot = true, r.world.Warm.Boot.Nth(r.chance.Boot, r.launches-1)
		r.fillPool()
	}
	r.bootTime += boot.Seconds()
	fails := kernel.Hit(r.chance.Launch, r.world.LaunchFails) && r.faulty()
	m.spot = kernel.Hit(r.chance.Launch, r.world.Spot.Share)
	what := uint64(m.generation)
	switch {
	case fails:
		m.failure = "it ended in its boot"
		r.after(time.Duration(r.chance.Launch.Float64()*float64(boot)), evDied, i, what)
	default:
		r.after(boot, evBooted, i, what)
	}
	// The events are planned now even if the member ends before them: its generation makes them void then.
	if r.world.Crashes > 0 {
		r.after(boot+kernel.Wait(r.chance.Life, r.world.Crashes), evDied, i, what)
	}
	if m.spot && r.world.Spot.Interruptions > 0 {
		r.after(spot.Until(r.world.Spot.Interruptions, r.chance.Life.ExpFloat64()), evNotice, i, what)
	}
}

// fillPool launches what the warm pool lacks. It is full at the start, so it lacks as many as members were taken from
// it and not replaced yet.
func (r *run) fillPool() {
	pool := warmpool.Of(r.world.Warm.Size)
	for range pool.Lacks(r.live, r.warm+r.filling) {
		r.filling++
		r.after(r.world.Warm.Refill, evRefill, kernel.None, 0)
	}
}

// died ends a member that fails in its boot, or crashes.
func (r *run) died(i int32) {
	if m := r.members[i]; m.failure != "" {
		r.die(i, m.failure, false)
	} else if r.faulty() {
		r.die(i, "it crashed", false)
	}
}

// noticed gives a spot member notice that it will be taken back. Its worker receives no more messages and returns in
// time what it cannot finish.
func (r *run) noticed(i int32) {
	m := r.members[i]
	if m.stage != booting && m.stage != working || !r.faulty() {
		return
	}
	r.after(r.world.Spot.Notice, evTaken, i, uint64(m.generation))
	if m.stage == working {
		m.lease.Signal()
		r.advance(i)
	}
}

// exited ends a worker that stopped by itself, after its stop was permitted.
func (r *run) exited(i int32) {
	if m := r.members[i]; m.stage == working && len(m.held) == 0 {
		r.leave(i, "")
		r.service()
	}
}

// end ends members whose stop was permitted. It is a fault when one of them still holds a message.
func (r *run) end(ids []string) {
	for _, id := range ids {
		i, ok := r.byID[id]
		if !ok {
			continue
		}
		if m := r.members[i]; m.stage == working || m.stage == booting {
			if len(m.held) > 0 {
				r.fault("busy worker ended: " + id)
			}
			r.die(i, "", false)
		}
	}
}

// leave takes a member out of the fleet and writes its bill. Its place is used again once the fleet stops listing it.
func (r *run) leave(i int32, why string) {
	m := r.members[i]
	if m.asked > 0 {
		r.waiters.Remove(i)
		m.asked = 0
	}
	if m.stage == working {
		r.ready--
	}
	r.account()
	r.live--
	m.stage, m.failure, m.ended = over, why, r.now
	r.tally.Bill(time.Duration(m.ended - m.launched))
}

// account adds the worker-nanoseconds since the last change of the number of members.
func (r *run) account() {
	r.paid += int64(r.live) * (r.now - r.accounted)
	r.accounted = r.now
}

// list returns the listing of the fleet: the members that exist, and those that ended lately. It forgets the others.
func (r *run) list() muster.Listing {
	l := muster.Listing{At: r.time(), Members: r.shell.spare.listing(len(r.listed))}
	kept := r.listed[:0]
	for _, i := range r.listed {
		m := r.members[i]
		// From now on events and reports of the member find its place free, or of another generation.
		if m.stage == over && r.now-m.ended > int64(rememberEnded) {
			delete(r.byID, m.id)
			m.stage = free
			r.freeMembers = append(r.freeMembers, i)
			continue
		}
		kept = append(kept, i)
		l.Members = append(l.Members, muster.Member{ID: m.id, LaunchedAt: r.at(m.launched), Ended: m.stage == over,
			Failure: m.failure, Tier: r.tier(m), Serving: r.world.Silent && m.stage == working})
	}
	if r.serviced() {
		serviceDesired := r.serviceDesired
		l.Service = &muster.Service{Desired: serviceDesired, Set: &serviceDesired}
	}
	r.listed = kept
	if r.world.Warm.Size > 0 {
		ready := r.warm
		l.Ready = &ready
	}
	return l
}

// tier tells how a member was launched, in a world with a warm pool.
func (r *run) tier(m *member) muster.Tier {
	switch {
	case m.warm:
		return muster.Warm
	case r.world.Warm.Size > 0:
		return muster.Cold
	}
	return ""
}
