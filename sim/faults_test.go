package sim

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-scale/muster/controller"
)

// ending is what a story came to.
type ending struct {
	Result
	live int // members when the run was over, before it swept up
}

// told runs a story to its end.
func (s story) told() (ending, error) {
	r, err := newRun(s.Options)
	if err != nil {
		return ending{}, err
	}
	if r.reader, err = s.Trace.Open(); err != nil {
		return ending{}, err
	}
	if err := r.loop(); err != nil {
		return ending{}, err
	}
	live := r.live
	return ending{r.finish(), live}, nil
}

// wrong lists what must not be in the ending of any story. launches are the instants of the launch attempts.
func (s story) wrong(e ending) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, f := range e.Faults[:min(3, len(e.Faults))] {
		fault("%s", f)
	}
	// A dead message leaves no children.
	if e.Messages > s.messages || e.Messages < s.messages && e.Dead+e.Unfinished == 0 || e.InTime > e.Messages-e.Dead-e.Unfinished {
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

// budgeted watches the launches of a story and calls fault when an hour sees more of them than are allowed.
func (s *story) budgeted(fault func(string)) {
	var launches []time.Duration
	s.Stepped = func(v View) {
		for _, e := range v.Outcome.Effects {
			if order, ok := e.(controller.SetDesired); ok {
				for range order.Launch {
					launches = append(launches, v.At)
				}
			}
		}
		for len(launches) > 0 && launches[0] < v.At-time.Hour {
			launches = launches[1:]
		}
		if n, most := len(launches), s.Settings.Limits.LaunchesPerHour; n > most {
			fault(fmt.Sprintf("at %s: %d launches within an hour, %d are allowed", v.At, n, most))
		}
	}
}

// seeds returns how many stories to tell and the first of their seeds: MUSTER_SEEDS=20000 tells so many, and
// MUSTER_SEEDS=17-17 the one that failed.
func seeds(t *testing.T, usual uint64) (first, last uint64) {
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
	return first, last
}

func TestAnyWorldWhoseFaultsEndComesToItsEnd(t *testing.T) {
	first, last := seeds(t, 300)
	var next atomic.Uint64
	next.Store(first)
	var failed atomic.Int64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for seed := next.Add(1) - 1; seed <= last && failed.Load() < 20; seed = next.Add(1) - 1 {
				s := tell(t, seed)
				var over []string
				s.budgeted(func(f string) { over = append(over[:0], f) })
				e, err := s.told()
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
					continue
				}
				if wrong := append(s.wrong(e), over...); len(wrong) > 0 {
					failed.Add(1)
					t.Errorf("MUSTER_SEEDS=%d-%d go test ./sim -run %s\n\t%s", seed, seed, t.Name(), strings.Join(wrong, "\n\t"))
				}
			}
		})
	}
	all.Wait()
}
