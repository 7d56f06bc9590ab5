package sim

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/tree"
)

// Options say what a run is of.
type Options struct {
	// Settings are those of the fleet, made by [controller.NewSettings]; it serves one queue.
	Settings controller.Settings
	World    World
	Trace    trace.Trace
	Seed     uint64
	// Stepped is called after each step of the controller with what it came to; it may be nil. There is no step for a
	// poll in which nothing changes.
	Stepped func(View)
	// Finished is called for each message that was worked on to a good end, with when it was sent and finished since
	// the start of the run; it may be nil.
	Finished func(sent, finished time.Duration)
	// Progress is called now and then with the virtual time that has passed; it may be nil. When it returns an error
	// the run ends with that.
	Progress func(time.Duration) error

	plant plant
	// before is what is told of an earlier tree that each is like.
	before []tree.Level
}

// plant are faults put in on purpose, to show that the checks find them.
type plant struct {
	nanIsZero bool // a lost measurement reads as zero
	twice     bool // an order given twice launches twice
	anyWriter bool // the history takes what anyone writes
	outside   bool // the fleet ends workers that looked idle some time ago
	unshared  bool // how durations grow on shared cores is not measured: no fault, but the run to compare with
	everyPoll bool // no poll is left out: no fault, but the run to compare with
}

// View is the truth beside what the controller saw, right after one of its steps.
type View struct {
	// At is the time since the start of the run.
	At time.Duration
	// Outcome is the step's; it must not be changed, and its Next not be used later.
	Outcome controller.Outcome
	// Sent, Finished and Dead count messages since the start. Backlog, InFlight and OldestAge are those of this
	// instant.
	Sent, Finished, Dead int64
	Backlog, InFlight    int
	OldestAge            time.Duration
	// Live members exist, Ready ones take messages, Busy ones hold one.
	Live, Ready, Busy int
}

// leastStall is how long a run may go on after the last message was sent without any of them finishing, at the least.
const leastStall = 13 * time.Hour

// stall is how long that is: a message may wait for as long as the objective, and then needs a worker.
func (r *run) stall() time.Duration {
	return max(leastStall, 2*r.settings.Objective.Latency)
}

// Run replays a trace. It returns an error when the parameters are impossible or the trace cannot be read; a policy
// that does badly is a result.
func Run(o Options) (Result, error) {
	r, err := newRun(o)
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
	r.reader = reader
	if err := r.loop(); err != nil {
		return Result{}, err
	}
	return r.finish(), nil
}

// run is a run under way.
type run struct {
	Options
	settings controller.Settings
	world    World
	chance   chance
	now      int64
	events
	reader  trace.Reader
	next    trace.Message
	more    bool // next is still to come
	anySent bool

	queue       backlog
	members     []*member
	freeMembers []int32
	listed      []int32
	byID        map[string]int32
	waiters     waiters
	works       uint32
	cores       cores
	live, ready int
	busyMembers int
	warm        int
	launches    int
	serving     bool    // the service is at work
	aim         int     // of the fleet's own service, in a silent world
	bootTime    float64 // seconds
	unborn      int

	shell    shell
	quiet    quiet
	history  record
	replaced []controller.State
	mail     []letter
	freeMail []uint64
	woken    bool
	past     []counts
	seenAt   int64 // when a measurement last succeeded

	// trees are those that run; treesReadAt is when a look at them last succeeded.
	trees       []*tree.Root
	treesReadAt int64

	score      score
	steps      int64
	lastFinish int64
	paid       int64 // member-nanoseconds
	accounted  int64
	busyTime   int64
	faults     []string
}

func newRun(o Options) (*run, error) {
	w, err := o.World.Check()
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	if len(o.Settings.Queues) != 1 {
		return nil, fmt.Errorf("simulate: found %d queues, a simulated fleet serves exactly 1", len(o.Settings.Queues))
	}
	r := &run{
		Options: o, settings: o.Settings, world: w, chance: newChance(o.Seed), byID: map[string]int32{},
		waiters: newWaiters(),
		warm:    w.Warm.Size, more: true,
	}
	r.settings.Trees = w.Trees
	if !o.plant.unshared {
		r.settings.Cores = w.Cores
	}
	r.score.objective = int64(o.Settings.Objective.Latency)
	r.history.keep, r.history.anyone = w.ControllerCrashes > 0, o.plant.anyWriter
	r.quiet.off = r.everyPollMatters()
	return r, nil
}

func (r *run) at(ns int64) time.Time { return r.world.Start.Add(time.Duration(ns)) }
func (r *run) time() time.Time       { return r.at(r.now) }

// faulty tells whether faults still happen.
func (r *run) faulty() bool {
	return r.world.FaultsEnd == 0 || r.now < int64(r.world.FaultsEnd)
}

// read takes the next message from the trace.
func (r *run) read() error {
	m, err := r.reader.Next()
	if errors.Is(err, io.EOF) {
		r.more = false
		return nil
	}
	if err != nil {
		return fmt.Errorf("simulate %s: %w", r.Trace.Name, err)
	}
	if m.Arrival < r.next.Arrival || m.Service < 0 {
		return fmt.Errorf("simulate %s: found a message sent at %s with %s of work after one sent at %s; arrivals "+
			"must ascend and work be at least 0s",
			r.Trace.Name, m.Arrival, m.Service, r.next.Arrival)
	}
	r.next = m
	return nil
}

func (r *run) loop() error {
	r.shell.begin(controller.State{Position: muster.Position{}})
	at, _ := r.history.begin(r.time())
	st, err := r.settings.Restore(at, nil)
	if err != nil {
		return err
	}
	r.shell.begin(st)
	r.add(0, evPoll, none, 0)
	if r.world.MetricPeriod > 0 || r.world.MetricDelay > 0 || r.world.Stale > 0 {
		r.add(0, evSnapshot, none, 0)
	}
	if r.world.ControllerCrashes > 0 {
		r.after(wait(r.chance.life, r.world.ControllerCrashes), evController, none, 0)
	}
	if err := r.read(); err != nil {
		return err
	}
	if !r.more {
		return fmt.Errorf("simulate %s: the trace is empty", r.Trace.Name)
	}
	for n := 0; !r.over(); n++ {
		if n&0xffff == 0 && r.Progress != nil {
			if err := r.Progress(time.Duration(r.now)); err != nil {
				return err
			}
		}
		if r.more && int64(r.next.Arrival) <= r.nodes[0].at {
			r.now = int64(r.next.Arrival)
			r.send(r.next, r.plantTree(r.next))
			if err := r.read(); err != nil {
				return err
			}
			continue
		}
		e := r.pop()
		r.now = e.at
		if err := r.happen(e); err != nil {
			return err
		}
	}
	return nil
}

// over tells whether nothing is left to see: every message is done with, and the fleet is as small as it will get.
func (r *run) over() bool {
	if r.more {
		return false
	}
	quiet := time.Duration(r.now - r.lastFinish)
	if r.queue.inSystem() > 0 || r.unborn > 0 {
		return quiet > r.stall() && r.now-int64(r.next.Arrival) > int64(r.stall())
	}
	return r.live <= r.settings.Limits.Min || quiet >= r.world.Tail
}

// send puts a message into the queue.
func (r *run) send(m trace.Message, at place) {
	r.stir(true)
	ref := r.queue.add(message{
		sent: r.now, service: int64(m.Service), class: m.Class, group: m.Group, children: m.Children, place: at,
		poison: hit(r.chance.message, r.world.Poison),
	})
	r.queue.offer(ref)
	r.hand()
	r.wake()
}

// happen makes an event happen.
func (r *run) happen(e event) error {
	if e.kind == evShared && e.what != r.cores.turn {
		return nil // works have begun or ended since that was planned
	}
	if !e.kind.routine() {
		r.stir(e.kind == evFinished || e.kind == evBooted)
	}
	switch e.kind {
	case evPoll:
		if r.putOff() {
			return nil
		}
		if !r.shell.down {
			r.look(r.shell.Wake())
		}
		r.after(r.settings.Poll, evPoll, none, 0)
		r.outside()
	case evLooked:
		if e.what == r.shell.life && !r.shell.down {
			r.looked()
		}
	case evStep:
		if e.what == r.shell.life && !r.shell.down && e.at == r.shell.stepAt {
			r.shell.stepAt = never
			r.plan()
		}
	case evOrder, evEnd:
		r.order(r.open(e.what))
	case evController:
		r.crash()
	case evRestart:
		return r.restart()
	case evReport:
		r.take(r.open(e.what).call)
	case evAnswer:
		l := r.open(e.what)
		r.answered(l.call, l.directive)
	case evTimeout:
		r.unanswered(e.who, int64(e.what))
	case evVisible:
		r.queue.hidden--
		delete(r.queue.retrying, int32(e.what))
		r.queue.again(int32(e.what))
		r.hand()
		r.wake()
	case evBorn:
		r.unborn--
		l := r.open(e.what)
		r.send(l.child, l.place)
	case evSnapshot:
		r.snapshot()
	case evWake:
		r.woken = false
		if !r.shell.down {
			r.look(r.shell.Wake())
		}
	case evRefill:
		r.warm++
	case evFinished:
		r.finished(e.who, uint32(e.what))
	case evShared:
		r.sharedEnded()
	default:
		r.happenTo(e)
	}
	return nil
}

// finish ends every member that is left and sums up.
func (r *run) finish() Result {
	for i, m := range r.members {
		if m.stage == booting || m.stage == working {
			if m.asked > 0 {
				r.waiters.remove(int32(i))
				m.asked = 0
			}
			r.leave(int32(i), "")
		}
	}
	r.checkEnd()
	res := r.score.result(time.Duration(r.now), r.queue.inSystem(), r.world.PricePerHour)
	res.Policy, res.Trace, res.Seed = r.settings.Spec.Name, r.Trace.Name, r.Seed
	res.Launches, res.Steps, res.Records = r.launches, r.steps, r.history.count
	res.BusySeconds = time.Duration(r.busyTime).Seconds()
	res.BootSeconds = r.bootTime
	if res.Seconds > 0 {
		res.LaunchesPerHour = float64(res.Launches) / res.Seconds * 3600
	}
	res.price(r.settings.Objective, r.world.Boot.Average())
	res.Faults = r.faults
	return res
}
