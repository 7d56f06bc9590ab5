package sim

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/worker/protocol"
)

// ending is what a story came to.
type ending struct {
	scoring.Result
	live int // members when the run was over, before it swept up
}

// told runs a story to its end, with a witness.
func (s story) told() (ending, error) {
	r, err := newRun(s.Options)
	if err != nil {
		return ending{}, err
	}
	w := &witness{run: r, careful: !s.rival}
	r.Stepped = func(v View) {
		w.see(v)
		if s.Stepped != nil {
			s.Stepped(v)
		}
	}
	if r.reader, err = s.Trace.Open(); err != nil {
		return ending{}, err
	}
	if err := r.loop(); err != nil {
		return ending{}, err
	}
	e := ending{live: r.live}
	e.Result = r.finish()
	e.Faults = append(w.faults, e.Faults...)
	return e, nil
}

// witness holds every step of a run to what must be true of it, knowing all of the world.
type witness struct {
	run      *run
	careful  bool          // the policy promises not to fall while a signal is unknown
	last     time.Duration // when the step before was
	life     uint64        // of the controller then
	launches []time.Duration
	orders   []string // seen; one that a restart gives again counts once
	faults   []string
}

func (w *witness) fault(at time.Duration, format string, args ...any) {
	if len(w.faults) < maxFaults {
		w.faults = append(w.faults, fmt.Sprintf("at %s: ", at)+fmt.Sprintf(format, args...))
	}
}

func (w *witness) see(v View) {
	if life := w.run.shell.life; life == w.life && v.At-w.last < controller.Gather {
		w.fault(v.At, "two steps within %s", v.At-w.last)
	}
	w.last, w.life = v.At, w.run.shell.life
	w.members(v)
	w.budget(v)
	w.decision(v)
}

// members counts them again, and asks each worker whether it does what it says.
func (w *witness) members(v View) {
	live, ready, busy := 0, 0, 0
	for _, m := range w.run.members {
		if m.stage == booting || m.stage == working {
			live++
		}
		if m.stage != working {
			continue
		}
		ready++
		if len(m.held) > 0 {
			busy++
		}
		if n := m.lease.Busy(); n != len(m.held) {
			w.fault(v.At, "%s says that it holds %d messages, and holds %d", m.id, n, len(m.held))
		}
		if state := m.lease.State(); (state == protocol.Idle || state == protocol.Leaving) && len(m.held) > 0 {
			w.fault(v.At, "%s is %s and holds a message", m.id, state)
		}
		if free := m.lease.CanReceive(); free > 0 && m.asked == 0 {
			w.fault(v.At, "%s has %d free slots and asks for nothing", m.id, free)
		}
	}
	if v.Live != live || v.Ready != ready || v.Busy != busy {
		w.fault(v.At, "%d live, %d ready, %d busy are shown; there are %d, %d and %d", v.Live, v.Ready, v.Busy, live,
			ready, busy)
	}
	if waiting, asking := w.run.queue.Receivable(), w.run.waiters.Len(); waiting > 0 && asking > 0 {
		w.fault(v.At, "%d messages wait although %d workers ask for some", waiting, asking)
	}
}

// budget counts the launches of an hour.
func (w *witness) budget(v View) {
	for _, e := range v.Outcome.Effects {
		if order, ok := e.(controller.SetDesired); ok && !slices.Contains(w.orders, order.ID) {
			w.orders = append(w.orders, order.ID)
			for range order.Launch {
				w.launches = append(w.launches, v.At)
			}
		}
	}
	for len(w.launches) > 0 && w.launches[0] < v.At-time.Hour {
		w.launches = w.launches[1:]
	}
	if n, most := len(w.launches), w.run.settings.Limits.LaunchesPerHour; n > most {
		w.fault(v.At, "%d launches within an hour, %d are allowed", n, most)
	}
}

// decision holds a fall to its conditions.
func (w *witness) decision(v View) {
	o, d := v.Outcome.Observation, v.Outcome.Decision
	if !v.Outcome.Ready {
		return
	}
	known := o.Capacity.Known && o.Backlog().Known && o.InFlight().Known
	if !known && w.careful && d.Desired < d.Previous {
		w.fault(v.At, "the size fell from %d to %d while a signal was unknown", d.Previous, d.Desired)
	}
	left := 0
	for _, c := range v.Outcome.Changes {
		if c.What == roster.Left {
			left++
		}
	}
	if !known && left > 0 {
		w.fault(v.At, "%d workers were stopped while a signal was unknown", left)
	}
	if most := max(0, o.Capacity.Active()-d.Floor); left > most {
		w.fault(v.At, "%d workers were stopped although only %d were there above the floor of %d", left, most, d.Floor)
	}
}

// wrong lists what must not be in the ending of any story.
func (s story) wrong(e ending) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, f := range e.Faults[:min(3, len(e.Faults))] {
		fault("%s", f)
	}
	// A dead message leaves no children.
	if e.Messages > s.messages || e.Messages < s.messages && e.Dead+e.Unfinished == 0 ||
		e.InTime > e.Messages-e.Dead-e.Unfinished {
		fault("%d messages were counted, %d of them in time; the trace has %d", e.Messages, e.InTime, s.messages)
	}
	if e.Unfinished != 0 {
		fault("%d messages were never finished", e.Unfinished)
	}
	if e.Dead > 0 && s.World.Poison == 0 {
		fault("%d messages are dead although none was poison", e.Dead)
	}
	if e.live > s.rest {
		fault("%d workers are left, and the policy comes to rest at %d", e.live, s.rest)
	}
	return faults
}

// seeds returns the first and the last seed of the stories to tell: MUSTER_SEEDS=20000 asks for so many, of which a
// test whose stories are long tells one in some, and MUSTER_SEEDS=17-17 asks for the one that failed.
func seeds(t *testing.T, usual, oneIn uint64) (first, last uint64) {
	text, set := os.LookupEnv("MUSTER_SEEDS")
	if !set {
		return 1, usual
	}
	from, to, ranged := strings.Cut(text, "-")
	if !ranged {
		from, to = "1", text
	}
	first, err1 := strconv.ParseUint(from, 10, 64)
	last, err2 := strconv.ParseUint(to, 10, 64)
	if err1 != nil || err2 != nil || first > last {
		t.Fatalf("MUSTER_SEEDS: found %q, allowed is a number of seeds as in 20000, or a range as in 17-17", text)
	}
	if !ranged {
		last = max(1, last/oneIn)
	}
	return first, last
}

func TestAnyWorldWhoseFaultsEndComesToItsEnd(t *testing.T) {
	first, last := seeds(t, 100/slowdown, 1)
	var next atomic.Uint64
	next.Store(first)
	var failed atomic.Int64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for seed := next.Add(1) - 1; seed <= last && failed.Load() < 20; seed = next.Add(1) - 1 {
				s := tell(t, seed)
				e, err := s.told()
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
					continue
				}
				if wrong := s.wrong(e); len(wrong) > 0 {
					failed.Add(1)
					t.Errorf("MUSTER_SEEDS=%d-%d go test ./sim -run %s\n\t%s", seed, seed, t.Name(),
						strings.Join(wrong, "\n\t"))
				}
			}
		})
	}
	all.Wait()
}
