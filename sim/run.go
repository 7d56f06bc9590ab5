package sim

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/sim/internal/kernel"
	"github.com/muster-scale/muster/sim/internal/messages"
	"github.com/muster-scale/muster/sim/internal/trees"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
	"github.com/muster-scale/muster/tree"
)

// Options say what a run is of.
type Options struct {
	// Settings are those of the fleet, made by [controller.NewSettings]; it serves one queue.
	Settings controller.Settings
	World    world.World
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
func Run(o Options) (scoring.Result, error) {
	r, err := newRun(o)
	if err != nil {
		return scoring.Result{}, err
	}
	reader, err := o.Trace.Open()
	if err != nil {
		return scoring.Result{}, err
	}
	if c, ok := reader.(io.Closer); ok {
		defer c.Close()
	}
	r.reader = reader
	if err := r.loop(); err != nil {
		return scoring.Result{}, err
	}
	return r.finish(), nil
}

// run is a run under way.
type run struct {
	Options
	settings controller.Settings
	world    world.World
	chance   kernel.Streams
	now      int64
	events   kernel.Events
	reader   trace.Reader
	next     trace.Message
	more     bool // next is still to come
	anySent  bool

	queue       messages.Queue
	members     []*member
	freeMembers []int32
	listed      []int32
	byID        map[string]int32
	waiters     kernel.Line
	works       uint32
	cores       kernel.Cores
	sharedPlan  uint64 // numbers the planned ends of works that share cores: only the newest counts
	live, ready int
	busyMembers int
	warm        int
	launches    int
	serving     bool    // the service is at work
	aim         int     // the count of the fleet's own service, where it has one
	tracked     tracked // what sizes a delegated fleet
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

	// forest has the trees in progress; treesReadAt is when they were last read.
	forest      trees.Forest
	treesReadAt int64

	tally      scoring.Tally
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
		Options: o, settings: o.Settings, world: w, chance: kernel.NewStreams(o.Seed), byID: map[string]int32{},
		waiters: kernel.NewLine(),
		warm:    w.Warm.Size, more: true,
	}
	r.settings.Trees = w.Trees
	if !o.plant.unshared {
		r.settings.Cores = w.Cores
	}
	r.tally.Objective = int64(o.Settings.Objective.Latency)
	r.tally.Billing = scoring.Billing{Minimum: w.MinimumBill, Step: w.BillStep}
	r.cores.Count = w.Cores
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
	r.events.Add(0, evPoll, kernel.None, 0)
	if r.world.MetricPeriod > 0 || r.world.MetricDelay > 0 || r.world.Stale > 0 {
		r.events.Add(0, evSnapshot, kernel.None, 0)
	}
	if r.world.ControllerCrashes > 0 {
		r.after(kernel.Wait(r.chance.Life, r.world.ControllerCrashes), evController, kernel.None, 0)
	}
	if r.world.Tracking != nil {
		r.aim = r.settings.Limits.Min
		r.service()
		r.trackEvery()
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
		if r.more && int64(r.next.Arrival) <= r.events.Next() {
			r.now = int64(r.next.Arrival)
			r.send(r.next, r.plantTree(r.next))
			if err := r.read(); err != nil {
				return err
			}
			continue
		}
		e := r.events.Pop()
		r.now = e.At
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
	if r.queue.InSystem() > 0 || r.unborn > 0 {
		return quiet > r.stall() && r.now-int64(r.next.Arrival) > int64(r.stall())
	}
	return r.live <= r.settings.Limits.Min || quiet >= r.world.Tail
}

// send puts a message into the queue.
func (r *run) send(m trace.Message, at trees.Place) {
	r.stir(true)
	r.queue.Send(messages.Message{
		Sent: r.now, Service: int64(m.Service), Class: m.Class, Group: m.Group, Children: m.Children, Place: at,
		Poison: kernel.Hit(r.chance.Message, r.world.Poison),
	})
	r.hand()
	r.wake()
}

// happen makes an event happen.
func (r *run) happen(e kernel.Event) error {
	if e.Kind == evShared && e.What != r.sharedPlan {
		return nil // works have begun or ended since that was planned
	}
	if !routine(e.Kind) {
		r.stir(e.Kind == evFinished || e.Kind == evBooted)
	}
	switch e.Kind {
	case evPoll:
		if r.putOff() {
			return nil
		}
		if !r.shell.down {
			r.look(r.shell.Wake())
		}
		r.after(r.settings.Poll, evPoll, kernel.None, 0)
		r.outside()
	case evLooked:
		if e.What == r.shell.life && !r.shell.down {
			r.looked()
		}
	case evStep:
		if e.What == r.shell.life && !r.shell.down && e.At == r.shell.stepAt {
			r.shell.stepAt = never
			r.plan()
		}
	case evOrder, evEnd:
		r.order(r.open(e.What))
	case evController:
		r.crash()
	case evRestart:
		return r.restart()
	case evReport:
		r.take(r.open(e.What).call)
	case evAnswer:
		l := r.open(e.What)
		r.answered(l.call, l.directive)
	case evTimeout:
		r.unanswered(e.Who, int64(e.What))
	case evVisible:
		r.queue.Show(int32(e.What))
		r.hand()
		r.wake()
	case evBorn:
		r.unborn--
		l := r.open(e.What)
		r.send(l.child, l.place)
	case evSnapshot:
		r.snapshot()
	case evWake:
		r.woken = false
		if !r.shell.down {
			r.look(r.shell.Wake())
		}
	case evTracked:
		r.track()
	case evRefill:
		r.warm++
	case evFinished:
		r.finished(e.Who, uint32(e.What))
	case evShared:
		r.sharedEnded()
	default:
		r.happenTo(e)
	}
	return nil
}

// finish ends every member that is left and sums up.
func (r *run) finish() scoring.Result {
	for i, m := range r.members {
		if m.stage == booting || m.stage == working {
			if m.asked > 0 {
				r.waiters.Remove(int32(i))
				m.asked = 0
			}
			r.leave(int32(i), "")
		}
	}
	r.checkEnd()
	res := r.tally.Result(time.Duration(r.now), r.queue.InSystem(), r.world.PricePerHour)
	res.Policy, res.Trace, res.Seed = r.settings.Spec.Name, r.Trace.Name, r.Seed
	res.Launches, res.Steps, res.Records = r.launches, r.steps, r.history.count
	res.BusySeconds = time.Duration(r.busyTime).Seconds()
	res.BootSeconds = r.bootTime
	if res.Seconds > 0 {
		res.LaunchesPerHour = float64(res.Launches) / res.Seconds * 3600
	}
	res.Price(r.settings.Objective, r.world.Boot.Average())
	res.Faults = r.faults
	return res
}
