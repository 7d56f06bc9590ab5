package leader_test

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/leader"
	"github.com/muster-scale/muster/leader/leasetest"
)

// This file simulates several controllers in virtual time: their clocks run at different rates, their processes are
// killed and paused, their calls are slow, lost, or done without an answer. The machines and the histories are those
// of production; what a controller does for a fleet is reduced to recording an order and sending it.

// event is something that happens at a time; seq keeps the order of events of one time.
type event struct {
	at  time.Duration
	seq int
	do  func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any     { last := (*e)[len(*e)-1]; *e = (*e)[:len(*e)-1]; return last }

// order is a write to a fleet.
type order struct {
	fleet   string
	epoch   int64
	seq     int64
	node    *node
	end     int           // the number of a worker that it ends; 0 for none
	slipped bool          // the process was paused between the check of its clock and the call
	checked time.Duration // true time of the check
}

// fleetState is a fleet in the real world.
type fleetState struct {
	writer   map[int64]string // of each epoch
	orders   map[[2]int64]bool
	newest   int64 // the highest epoch of an order that arrived
	stale    int   // orders that arrived after one of a higher epoch
	takeover int   // how often the highest epoch grew
	last     time.Duration
	by       string
	worker   int // the number of the newest worker; each begins busy
	released int // the newest worker that has stopped receiving by its own report
}

// world is one simulated run.
type world struct {
	now     time.Duration
	queue   events
	seq     int
	rnd     *rand.Rand
	store   *leasetest.Memory
	history *history.Memory
	nodes   []*node
	names   []string
	fleets  map[string]*fleetState
	calm    bool // no call is lost any more
	wrong   []string
	timing  leader.Timing
	// loops is false for runs that are about claims alone.
	loops bool
}

func newWorld(seed uint64, fleets int) *world {
	w := &world{rnd: rand.New(rand.NewPCG(seed, 17)), store: leasetest.NewMemory(), history: history.NewMemory(),
		fleets: map[string]*fleetState{}, timing: leader.DefaultTiming(), loops: true}
	for i := range fleets {
		name := fmt.Sprintf("fleet-%05d", i)
		w.names = append(w.names, name)
		w.fleets[name] = &fleetState{writer: map[int64]string{}, orders: map[[2]int64]bool{}, worker: 1}
	}
	return w
}

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, event{w.now + d, w.seq, do})
}

func (w *world) run(until time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= until {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
	}
	w.now = until
}

func (w *world) fault(format string, args ...any) {
	if len(w.wrong) < 10 {
		w.wrong = append(w.wrong, fmt.Sprintf("%9s ", w.now.Round(time.Millisecond))+fmt.Sprintf(format, args...))
	}
}

// between draws a duration.
func (w *world) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.rnd.Int64N(int64(most-least)+1))
}

// node is one process of a controller. A restart makes another one.
type node struct {
	w       *world
	name    string
	machine *leader.Machine
	// local time is offset + rate * true time.
	offset time.Duration
	rate   float64
	dead   bool
	// pausedUntil and cutUntil are true times: of a stopped process, and of a partition from the store.
	pausedUntil, cutUntil time.Duration
	// trap is a pause that begins with the next order, between the check of the clock and the call.
	trap  time.Duration
	wall  time.Duration // how far the wall clock, which only records have, was set
	tick  int           // the newest timer; older ones do nothing
	loops map[string]*loop
}

// loop is what a controller does for one fleet.
type loop struct {
	fleet   string
	stopped bool
	sending int // orders under way
	at      muster.Position
}

// start starts a process.
func (w *world) start(name string) *node {
	n := &node{w: w, name: name, offset: w.between(0, time.Hour), rate: 0.9 + 0.2*w.rnd.Float64(),
		loops: map[string]*loop{}}
	n.machine = leader.New(leader.Options{ID: fmt.Sprintf("%s-%d", name, w.rnd.Uint32()), Name: name, Timing: w.timing,
		Fleets: w.names})
	w.nodes = append(w.nodes, n)
	n.step(leader.Tick{})
	return n
}

func (n *node) local() time.Duration { return n.offset + time.Duration(float64(n.w.now)*n.rate) }

// later runs do on the node after a local duration, or when its pause ends.
func (n *node) later(d time.Duration, do func()) {
	n.w.after(time.Duration(float64(d)/n.rate), func() { n.wake(do) })
}

// wake runs do now, or at the end of the pause; not on a dead node.
func (n *node) wake(do func()) {
	switch {
	case n.dead:
	case n.w.now < n.pausedUntil:
		n.w.after(n.pausedUntil-n.w.now, func() { n.wake(do) })
	default:
		do()
	}
}

// call makes a call over the network: do at the other side, then the result on the node. It may be lost on the way, or
// its answer; the node then gets an error after a second.
func (n *node) call(latency time.Duration, do func() error, result func(error)) {
	w := n.w
	lost, unanswered := w.rnd.IntN(200) == 0, w.rnd.IntN(200) == 0
	if w.calm {
		lost, unanswered = false, false
	}
	lost = lost || w.now < n.cutUntil
	answered := false
	answer := func(err error) {
		if !answered {
			answered = true
			result(err)
		}
	}
	n.later(time.Second, func() { answer(errors.New("timeout")) })
	if lost {
		return
	}
	w.after(w.between(time.Millisecond, latency), func() {
		err := do()
		if unanswered || w.now < n.cutUntil {
			return
		}
		w.after(w.between(time.Millisecond, latency), func() { n.wake(func() { answer(err) }) })
	})
}

const network = 40 * time.Millisecond

// step steps the machine and carries out its actions.
func (n *node) step(in leader.Input) {
	ctx, w := context.Background(), n.w
	for _, a := range n.machine.Step(n.local(), in) {
		switch a := a.(type) {
		case leader.Beat:
			n.call(network, func() error { return w.store.Beat(ctx, a.Session) }, func(err error) {
				n.step(leader.Beaten{Session: a.Session, Err: err})
			})
		case leader.Read:
			var board leader.Board
			n.call(network, func() (err error) { board, err = w.store.Read(ctx, a.Claims); return err },
				func(err error) { n.step(leader.Found{Board: board, Err: err}) })
		case leader.Evict:
			n.call(network, func() error { return w.store.Evict(ctx, a.Session) }, func(err error) {
				n.step(leader.Evicted{Session: a.Session, Err: err})
			})
		case leader.Take:
			n.call(network, func() error { return w.store.Take(ctx, a.Fleet, a.Was, a.To) }, func(err error) {
				n.step(leader.Took{Take: a, Err: err})
			})
		case leader.Lead:
			if w.loops {
				l := &loop{fleet: a.Fleet}
				n.loops[a.Fleet] = l
				n.begin(l)
			}
		case leader.Yield:
			l := n.loops[a.Fleet]
			if l == nil {
				l = &loop{fleet: a.Fleet}
			}
			n.later(w.between(0, 300*time.Millisecond), func() { n.stop(l) })
		}
	}
	n.tick++
	mine := n.tick
	n.later(max(time.Millisecond, n.machine.Next()-n.local()), func() {
		if n.tick == mine {
			n.step(leader.Tick{})
		}
	})
}

// acts tells whether the node may act for a fleet now, as its guard does.
func (n *node) acts(fleet string) bool {
	return !n.dead && n.local() < n.machine.Until() && slices.Contains(n.machine.Leads(n.local()), fleet)
}

// guard is the check before each call. It is where no other controller may have the same right.
func (n *node) guard(l *loop) bool {
	if l.stopped || !n.acts(l.fleet) {
		return false
	}
	for _, o := range n.w.nodes {
		if o != n && o.acts(l.fleet) {
			n.w.fault("%s and %s may act for %s at the same time", n.name, o.name, l.fleet)
		}
	}
	return true
}

// begin opens the history of a fleet, as a loop does first and after each failure.
func (n *node) begin(l *loop) {
	if !n.guard(l) {
		return
	}
	var at muster.Position
	n.call(network, func() (err error) {
		if at, err = n.w.history.Begin(context.Background(), l.fleet); err == nil {
			f := n.w.fleets[l.fleet]
			if f.writer[at.Epoch] != "" {
				n.w.fault("epoch %d of %s has two writers", at.Epoch, l.fleet)
			}
			f.writer[at.Epoch] = n.name
		}
		return err
	}, func(err error) {
		if l.at = at; err != nil {
			n.later(200*time.Millisecond, func() { n.begin(l) })
			return
		}
		n.poll(l)
	})
}

// poll records an order, checks the clock again, and sends it. A pause may come between any two of these.
func (n *node) poll(l *loop) {
	again := func() { n.later(n.w.between(100*time.Millisecond, 300*time.Millisecond), func() { n.poll(l) }) }
	if l.stopped {
		return
	}
	if !n.guard(l) {
		again()
		return
	}
	record := muster.Record{At: time.Unix(1e9, 0).Add(n.local() + n.wall), Kind: muster.Intended, Body: []byte(`1`)}
	var next muster.Position
	n.call(network, func() (err error) {
		next, err = n.w.history.Append(context.Background(), l.fleet, l.at, record)
		return err
	}, func(err error) {
		if err != nil {
			n.later(200*time.Millisecond, func() { n.begin(l) })
			return
		}
		l.at = next
		if l.sending == 0 && n.guard(l) { // one order is under way at a time
			f := n.w.fleets[l.fleet]
			o := order{fleet: l.fleet, epoch: next.Epoch, seq: next.Seq, node: n, checked: n.w.now, end: f.released}
			l.sending++
			n.pausedUntil, n.trap = max(n.pausedUntil, n.w.now+n.trap), 0
			n.later(10*time.Microsecond, func() { n.send(l, o) })
		}
		again()
	})
}

// send sends an order. Without a pause it arrives within a third of the lease.
func (n *node) send(l *loop, o order) {
	o.slipped = n.w.now-o.checked > time.Millisecond
	n.call(n.w.timing.Lease/4, func() error { n.w.arrive(o); return nil }, func(error) { l.sending-- })
}

// stop stops a loop and answers once its calls have returned.
func (n *node) stop(l *loop) {
	l.stopped = true
	if l.sending == 0 {
		n.step(leader.Yielded{Fleet: l.fleet})
		return
	}
	n.later(10*time.Millisecond, func() { n.stop(l) })
}

// arrive is the arrival of an order at the fleet, which knows no epochs.
func (w *world) arrive(o order) {
	f := w.fleets[o.fleet]
	if key := [2]int64{o.epoch, o.seq}; f.orders[key] {
		w.fault("order %d of epoch %d of %s arrived twice", o.seq, o.epoch, o.fleet)
	} else {
		f.orders[key] = true
	}
	if f.writer[o.epoch] != o.node.name {
		w.fault("%s sent an order of epoch %d of %s, which is of %s", o.node.name, o.epoch, o.fleet,
			f.writer[o.epoch])
	}
	if o.end > f.released {
		w.fault("%s ended the busy worker %d of %s", o.node.name, o.end, o.fleet)
	}
	switch {
	case o.epoch < f.newest:
		if f.stale++; !o.slipped && w.now-o.checked < w.timing.Lease/3 {
			w.fault("%s sent an order of epoch %d of %s after one of epoch %d, without a pause", o.node.name, o.epoch,
				o.fleet, f.newest)
		}
		if f.stale > f.takeover {
			w.fault("%d stale orders of %s in %d take-overs", f.stale, o.fleet, f.takeover)
		}
	case o.epoch > f.newest:
		f.newest = o.epoch
		f.takeover++
	}
	f.last, f.by = w.now, o.node.name
	switch {
	case o.end == f.worker:
		f.worker++ // another one takes its place
	case w.rnd.IntN(10) == 0:
		f.released = f.worker
	}
}

// disturb makes one fault, and another one later.
func (w *world) disturb(until time.Duration) {
	if w.now >= until {
		return
	}
	alive := slices.DeleteFunc(slices.Clone(w.nodes), func(n *node) bool { return n.dead })
	n := alive[w.rnd.IntN(len(alive))]
	n.wall = w.between(0, time.Hour)
	switch w.rnd.IntN(4) {
	case 0:
		n.dead = true
		w.after(w.between(0, 8*time.Second), func() { w.start(n.name + "'") })
		if len(alive) == 1 {
			w.start("spare" + strconv.Itoa(len(w.nodes)))
		}
	case 1:
		n.trap = w.between(10*time.Millisecond, 10*time.Second)
	case 2:
		n.pausedUntil = w.now + w.between(10*time.Millisecond, 10*time.Second)
	case 3:
		n.cutUntil = w.now + w.between(100*time.Millisecond, 8*time.Second)
	}
	w.after(w.between(100*time.Millisecond, 6*time.Second), func() { w.disturb(until) })
}

// settled checks that each fleet has one leader, which acts.
func (w *world) settled() {
	for _, name := range w.names {
		var by []string
		for _, n := range w.nodes {
			if n.acts(name) {
				by = append(by, n.name)
			}
		}
		if len(by) != 1 {
			w.fault("%s is led by %q", name, by)
		} else if f := w.fleets[name]; w.loops && (f.by != by[0] || w.now-f.last > 2*time.Second) {
			w.fault("%s is led by %s, and its last order came %s ago from %s", name, by[0], w.now-f.last, f.by)
		}
	}
}

// seeds is how many runs a test makes: MUSTER_SEEDS, or the usual number.
func seeds(t *testing.T, usual int) uint64 {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("MUSTER_SEEDS"))
	if err != nil {
		n = usual
	}
	return uint64(n)
}

// TestNoFaultLetsTwoControllersAct is the proof of the package: whatever happens to processes, clocks and calls, no two
// controllers have the right to act for a fleet at the same time, no order comes twice, an order of an earlier epoch
// comes late only from a process that was paused inside of its call, once for each take-over, and after the last fault
// each fleet has one leader.
func TestNoFaultLetsTwoControllersAct(t *testing.T) {
	stale, takeovers, orders := 0, 0, 0
	for seed := range seeds(t, 300) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		w := newWorld(seed, 1+rnd.IntN(5))
		for i := range 2 + rnd.IntN(3) {
			w.after(w.between(0, 3*time.Second), func() { w.start("n" + strconv.Itoa(i)) })
		}
		w.run(4 * time.Second)
		w.disturb(60 * time.Second)
		w.run(70 * time.Second)
		w.calm = true
		for _, n := range w.nodes {
			n.trap = 0
		}
		w.run(100 * time.Second) // with the balancing that follows after 15 s
		w.settled()
		for _, line := range w.wrong {
			t.Errorf("seed %d: %s", seed, line)
		}
		if t.Failed() {
			t.FailNow()
		}
		for _, name := range w.names {
			f := w.fleets[name]
			stale, takeovers, orders = stale+f.stale, takeovers+f.takeover, orders+len(f.orders)
		}
	}
	t.Logf("%d orders, %d epochs with orders, %d stale orders", orders, takeovers, stale)
	if takeovers < int(seeds(t, 300)) || stale == 0 {
		t.Errorf("%d take-overs and %d stale orders: the test proves nothing", takeovers, stale)
	}
}

// TestTheSimulationFindsALeaseThatIsTooShort plants the fault of a controller that evicts after half of the time that
// the others act, as with clocks of another kind or a configuration of its own.
func TestTheSimulationFindsALeaseThatIsTooShort(t *testing.T) {
	for seed := range uint64(50) {
		w := newWorld(seed, 3)
		w.start("n0")
		w.timing.Lease = time.Second
		w.start("n1")
		w.timing = leader.DefaultTiming()
		w.run(4 * time.Second)
		w.disturb(60 * time.Second)
		w.run(70 * time.Second)
		if len(w.wrong) > 0 {
			t.Logf("found with seed %d: %s", seed, w.wrong[0])
			return
		}
	}
	t.Error("fifty runs found no fault: the simulation proves nothing")
}

// TestAnotherControllerFollowsWithinFiveSeconds kills the leader and measures until the next order arrives.
func TestAnotherControllerFollowsWithinFiveSeconds(t *testing.T) {
	var longest time.Duration
	for seed := range seeds(t, 200) {
		w := newWorld(seed, 3)
		w.calm = true
		for i := range 2 + int(seed%3) {
			w.start("n" + strconv.Itoa(i)).rate = 1
		}
		w.run(5*time.Second + w.between(0, 3*time.Second))
		w.settled()
		name := w.names[seed%3]
		for _, n := range w.nodes {
			if n.acts(name) {
				n.dead = true
			}
		}
		killed, by := w.now, w.fleets[name].by
		for f := w.fleets[name]; f.by == by && w.now < killed+20*time.Second; {
			w.run(w.now + 10*time.Millisecond)
		}
		longest = max(longest, w.now-killed)
		for _, line := range w.wrong {
			t.Fatalf("seed %d: %s", seed, line)
		}
	}
	t.Logf("the longest take-over took %s", longest)
	if longest > 5*time.Second {
		t.Errorf("the longest take-over took %s, want at most 5s", longest)
	}
}

// TestALeaderThatQuitsHandsOverAtOnce: an orderly stop costs no lease.
func TestALeaderThatQuitsHandsOverAtOnce(t *testing.T) {
	w := newWorld(1, 5)
	w.calm = true
	first := w.start("first")
	w.run(2 * time.Second)
	w.start("second")
	w.run(4 * time.Second)
	first.step(leader.Quit{})
	w.run(6 * time.Second)
	if !first.machine.Over() {
		t.Error("the first controller has not ended")
	}
	first.dead = true
	w.settled()
	for _, line := range w.wrong {
		t.Error(line)
	}
}

// TestManyFleetsSpread lets ten controllers share a thousand fleets, or ten thousand, which the first one takes alone.
// Then one ends and another comes. Fleets move no more than they must.
func TestManyFleetsSpread(t *testing.T) {
	const controllers = 10
	fleets := 1000
	if seeds(t, 0) >= 1000 {
		fleets = 10_000 // takes half a minute
	}
	w := newWorld(1, fleets)
	w.calm, w.loops = true, false
	first := w.start("n0")
	w.run(30 * time.Second)
	if got := len(first.machine.Leads(first.local())); got != fleets {
		t.Fatalf("a controller alone leads %d of %d fleets after 30 s", got, fleets)
	}
	for i := 1; i < controllers; i++ {
		w.start("n" + strconv.Itoa(i))
	}
	w.run(6 * time.Minute)
	count := func() (least, most, all int) {
		least = fleets
		for _, n := range w.nodes {
			if !n.dead {
				led := len(n.machine.Leads(n.local()))
				least, most, all = min(least, led), max(most, led), all+led
			}
		}
		return least, most, all
	}
	least, most, all := count()
	t.Logf("ten controllers: %d to %d fleets each", least, most)
	if all != fleets || most > fleets/controllers*112/100 || least < fleets/controllers*80/100 {
		t.Errorf("ten controllers lead %d fleets, %d to %d each", all, least, most)
	}
	before := w.leaders()
	w.nodes[3].dead = true
	lost := w.leads(w.nodes[3], before)
	killed := w.now
	for _, _, all = count(); all < fleets && w.now < killed+time.Minute; _, _, all = count() {
		w.run(w.now + 100*time.Millisecond)
	}
	t.Logf("the %d fleets of a controller that was killed have another leader after %s", lost, w.now-killed)
	if w.now-killed > 10*time.Second {
		t.Errorf("%d fleets were taken over after %s", lost, w.now-killed)
	}
	if moved := w.moved(before); moved != lost {
		t.Errorf("%d fleets moved, want the %d of the controller that was killed", moved, lost)
	}
	before = w.leaders()
	w.start("late")
	w.run(w.now + 2*time.Minute)
	least, most, all = count()
	t.Logf("after another one came: %d to %d fleets each, %d moved", least, most, w.moved(before))
	if moved := w.moved(before); all != fleets || moved > fleets/controllers*12/10 {
		t.Errorf("after another one came %d fleets moved, %d are led", moved, all)
	}
	before = w.leaders()
	w.run(w.now + time.Minute)
	if moved := w.moved(before); moved > 0 {
		t.Errorf("%d fleets moved although nothing happened", moved)
	}
}

// leaders returns the leader of each fleet.
func (w *world) leaders() map[string]*node {
	by := map[string]*node{}
	for _, n := range w.nodes {
		if n.dead {
			continue
		}
		for _, name := range n.machine.Leads(n.local()) {
			by[name] = n
		}
	}
	return by
}

// leads counts the fleets of a node.
func (w *world) leads(n *node, by map[string]*node) (count int) {
	for _, o := range by {
		if o == n {
			count++
		}
	}
	return count
}

// moved counts the fleets that have another leader than before.
func (w *world) moved(before map[string]*node) (count int) {
	for name, n := range w.leaders() {
		if before[name] != n {
			count++
		}
	}
	return count
}
