package sim

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/awsrules/counts"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/override"
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
	// Settings are the settings of the fleet, made by [controller.NewSettings]. They name exactly one queue.
	Settings controller.Settings
	World    world.World
	Trace    trace.Trace
	Seed     uint64
	// Instructions are the requests of operators during the run.
	Instructions []Instruction
	// Stepped is called after each step of the controller; it may be nil. No step is made, and Stepped is not called,
	// for a poll in which nothing can change.
	Stepped func(View)
	// Recorded gives the records of each outcome the bodies that they have in production. Without it they are empty,
	// which saves a third of the time. A world whose controller crashes has them either way.
	Recorded bool
	// Finished is called for each message whose work succeeded, with the times since the start of the run at which it
	// was sent and finished; it may be nil.
	Finished func(sent, finished time.Duration)
	// Progress is called after every 65,536 events with the virtual time that has passed; it may be nil. When it
	// returns an error, the run ends with that error.
	Progress func(time.Duration) error

	inject inject
	// before are the levels of an earlier tree that every tree of the run resembles.
	before []tree.Level
}

// Instruction is a request of an operator at a time since the start of the run. It is lost if no controller runs then.
// The begin and the end of an override are instants: see [world.World].Start.
type Instruction struct {
	At time.Duration
	override.Request
}

// inject switches on bugs, to show that the checks of a run find them, and switches off shortcuts, to compare with.
type inject struct {
	nanIsZero bool // bug: a lost measurement reads as zero
	twice     bool // bug: an order that is given twice launches twice
	anyWriter bool // bug: the history accepts records from a replaced controller
	outside   bool // bug: something else stops workers that were idle when they last reported
	unshared  bool // no bug: the controller does not learn that work slows down on shared cores
	everyPoll bool // no bug: no poll is left out
}

// View is the true state of the simulated world right after a step of the controller.
type View struct {
	// At is the time since the start of the run.
	At time.Duration
	// Outcome is what the step came to. It must not be changed, and its Next must not be used after the call.
	Outcome controller.Outcome
	// Sent, Finished and Dead count messages since the start. Backlog, InFlight and OldestAge are those of the time At.
	Sent, Finished, Dead int64
	Backlog, InFlight    int
	OldestAge            time.Duration
	// Live members exist, Ready members take messages, Busy members have at least one message in progress.
	Live, Ready, Busy int
}

// leastStall is the least time without any finished message after which a run gives up the messages that are left.
const leastStall = 13 * time.Hour

// stall returns that time: a message may wait for as long as the objective allows, and then needs a worker.
func (r *run) stall() time.Duration {
	return max(leastStall, 2*r.settings.Objective.Latency)
}

// Run replays a trace. It returns an error when the options are impossible or the trace cannot be read. A policy that
// misses its objective is a result, not an error.
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

// run is a run in progress. Times are nanoseconds since its start. Members are referred to by their index in members.
type run struct {
	Options
	settings controller.Settings
	world    world.World
	chance   kernel.Streams
	now      int64 // the virtual clock: the time of the event that happens
	events   kernel.Events
	reader   trace.Reader
	next     trace.Message // of the trace
	more     bool          // next is still to be sent

	// The fleet and its queue.
	queue          messages.Queue
	members        []*member        // used again, so that a long run needs no more than its largest fleet
	freeMembers    []int32          // places of members that may be used again
	listed         []int32          // members that the fleet lists, in the order of their launches
	byID           map[string]int32 // the listed members by name
	waiters        kernel.Line      // members whose receive call waits for a message
	works          uint32           // numbers the works, each of which is one receive of one message
	cores          kernel.Cores
	sharedPlan     uint64 // numbers the planned ends of works that share cores: only the newest counts
	live, ready    int    // members that exist; members whose workers take messages
	busyMembers    int
	warm           int     // warm pool instances that are ready
	filling        int     // warm pool instances on their way there
	launches       int     // attempts so far
	serviceRuns    bool    // service is in progress, and must not be entered again
	serviceDesired int     // desired count of the fleet's own service, where it has one
	tracked        tracked // what sizes a delegated fleet
	bootTime       float64 // sum over all launches, in seconds
	unsent         int     // children of finished messages that are still to be sent

	// The controller and what is on its way to it.
	shell        shell
	quiet        quiet
	history      record
	replaced     []controller.State      // the state of the controller that crashed last
	transits     []transit               // things on their way, by number
	freeTransits []uint64                // places of transits that may be used again
	woken        bool                    // a wake-up is on its way
	past         counts.Past[seenCounts] // counts that a late source still shows
	seenAt       int64                   // when a measurement last succeeded

	// forest has the trees in progress; treesReadAt is when they were last read successfully.
	forest      trees.Forest
	treesReadAt int64

	// What the run came to so far.
	tally      scoring.Tally
	steps      int64
	lastFinish int64 // when a message last finished or became a dead letter
	paid       int64 // member-nanoseconds until the time accounted, to check the bill with
	accounted  int64
	busyTime   int64 // slot-nanoseconds in which a message was in progress
	faults     []string
}

// newRun checks the options and returns a run at its start.
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
	// What the configuration of a real fleet would state.
	r.settings.Trees = w.Trees
	if !o.inject.unshared {
		r.settings.Cores = w.Cores
	}
	r.tally.Objective = int64(o.Settings.Objective.Latency)
	r.tally.Billing = scoring.Billing{Minimum: w.MinimumBill, Step: w.BillStep}
	r.cores.Count = w.Cores
	r.history.keep, r.history.anyone = w.ControllerCrashes > 0, o.inject.anyWriter
	r.quiet.off = r.everyPollMatters()
	return r, nil
}

// at returns a time of the run as an instant.
func (r *run) at(ns int64) time.Time { return r.world.Start.Add(time.Duration(ns)) }

// time returns the present as an instant.
func (r *run) time() time.Time { return r.at(r.now) }

// faulty tells whether faults still happen at present.
func (r *run) faulty() bool {
	return r.world.FaultsEnd == 0 || r.now < int64(r.world.FaultsEnd)
}

// read reads the next message of the trace.
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

// loop runs the events in their order until the run is over. A message of the trace is sent before the events of the
// same time, and events of the same time happen in the order in which they were planned.
func (r *run) loop() error {
	r.shell.begin(controller.State{Position: muster.Position{}})
	r.settings.OmitBodies = !r.Recorded && !r.history.keep
	// A run starts as a controller does after an installation: from an empty history.
	at, _ := r.history.begin(r.time())
	st, err := r.settings.Restore(at, nil)
	if err != nil {
		return err
	}
	r.shell.begin(st)
	r.events.Add(0, evPoll, kernel.None, 0)
	// Only a late source needs old counts.
	if r.world.MetricPeriod > 0 || r.world.MetricDelay > 0 || r.world.Stale > 0 {
		r.events.Add(0, evSnapshot, kernel.None, 0)
	}
	if r.world.ControllerCrashes > 0 {
		r.after(kernel.Wait(r.chance.Life, r.world.ControllerCrashes), evController, kernel.None, 0)
	}
	if r.world.Tracking != nil {
		r.serviceDesired = r.settings.Limits.Min
		r.service()
		r.trackEvery()
	}
	for i, x := range r.Instructions {
		r.events.Add(int64(x.At), evInstruction, kernel.None, uint64(i))
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
			r.send(r.next, r.beginTree(r.next), kernel.Luck(r.chance.Message.Uint64()))
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

// over tells whether the run is over: its length has passed, every message is finished, dead or given up, and the fleet
// has shrunk to its minimum or the tail has passed.
func (r *run) over() bool {
	if r.more || r.now < int64(r.world.Length) {
		return false
	}
	// A message may still be waiting for a worker that boots or retries, so the run goes on for stall before it gives
	// up.
	quiet := time.Duration(r.now - r.lastFinish)
	if r.queue.InSystem() > 0 || r.unsent > 0 {
		return quiet > r.stall() && r.now-int64(r.next.Arrival) > int64(r.stall())
	}
	return r.live <= r.settings.Limits.Min || quiet >= r.world.Tail
}

// send puts a message into the queue, hands it to a waiting worker and wakes the controller.
func (r *run) send(m trace.Message, at trees.Place, luck kernel.Luck) {
	r.noteChange(true)
	r.queue.Send(messages.Message{
		Sent: r.now, Service: int64(m.Service), Class: m.Class, Group: m.Group, Children: m.Children, Place: at,
		Luck: luck, Poison: luck.Hit(r.world.Poison),
	})
	r.hand()
	r.wake()
}

// happen applies the rule of an event's kind. Events of a member are left to happenTo.
func (r *run) happen(e kernel.Event) error {
	if e.Kind == evShared && e.What != r.sharedPlan {
		return nil // works have begun or ended since that end was planned
	}
	if !routine(e.Kind) {
		r.noteChange(e.Kind == evFinished || e.Kind == evBooted)
	}
	switch e.Kind {
	case evPoll: // polls go on by themselves, as the timer of the live loop does
		if r.postpone() {
			return nil
		}
		if !r.shell.down {
			r.poll(r.shell.Wake())
		}
		r.after(r.settings.Poll, evPoll, kernel.None, 0)
		r.outside()
	case evPolled:
		if e.What == r.shell.life && !r.shell.down {
			r.polled()
		}
	case evStep: // only the newest plan of a step counts
		if e.What == r.shell.life && !r.shell.down && e.At == r.shell.stepAt {
			r.shell.stepAt = never
			r.plan()
		}
	case evOrder, evEnd:
		r.order(r.arrive(e.What))
	case evController:
		r.crash()
	case evRestart:
		return r.restart()
	case evReport:
		l := r.arrive(e.What)
		r.take(&l.call)
	case evAnswer:
		l := r.arrive(e.What)
		r.answered(&l.call, l.directive)
	case evTimeout:
		r.unanswered(e.Who, int64(e.What))
	case evVisible:
		r.queue.Show(int32(e.What))
		r.hand()
		r.wake()
	case evChild:
		r.unsent--
		l := r.arrive(e.What) // a child is sent when it is due, not when its parent finishes
		r.send(l.child, l.place, l.luck)
	case evSnapshot:
		r.snapshot()
	case evWake:
		r.woken = false
		if !r.shell.down {
			r.poll(r.shell.Wake())
		}
	case evTracked:
		r.track()
	case evInstruction:
		r.instruct(r.Instructions[e.What].Request)
	case evRefill:
		r.warm++
		r.filling--
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
		// Members that still exist are billed until the end of the run.
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
