package roster_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// racesWanted is how many stories TestNoRaceEndsABusyWorker tells: what MUSTER_RACES says, or 10000, and a tenth under
// the race detector.
func racesWanted(t *testing.T) int {
	if text := os.Getenv("MUSTER_RACES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("MUSTER_RACES: found %q, a number above 0 is allowed", text)
		}
		return n
	}
	if testing.Short() {
		return 1000
	}
	return 10_000 / slowdown
}

// TestNoRaceEndsABusyWorker lets the queue hand out messages while members are asked to go, offer to go, are kept and
// are released, by the step of the controller and the lease and shield of the worker, under a seeded scheduler.
// Reports, answers and effects come late, up to an hour, twice, or never; processes and the controller stand still, up
// to an hour; the controller starts again from its history; tasks without protection are ended at any time. No member
// may be ended, or leave, that holds a message or could still get one.
func TestNoRaceEndsABusyWorker(t *testing.T) {
	n := racesWanted(t)
	begun := time.Now()
	faults, all := raceAll(n, plant{})
	t.Logf("%d stories in %s: %s", n, time.Since(begun).Round(time.Millisecond), all)
	for _, f := range faults {
		t.Error(f)
	}
	// What never happens proves nothing.
	for what, count := range map[string]int{
		"messages handed to a member that was to go": all.crossed, "releases granted": all.granted,
		"members ended by force": all.forced,
		"offers refused":         all.kept, "answers after their time": all.late, "pauses": all.paused,
		"restarts":                   all.restarts,
		"stops of unprotected tasks": all.culled, "messages that came to a process after a pause": all.stale,
		"offers to leave at the end of a paid period": all.unpaid,
	} {
		if count < n/100 {
			t.Errorf("%s: %d in %d stories, want at least one in a hundred", what, count, n)
		}
	}
}

func TestARaceIsNamedByItsSeed(t *testing.T) {
	for seed := range uint64(50) {
		_, a := race(seed, plant{})
		_, b := race(seed, plant{})
		if a != b {
			t.Errorf("seed %d: %s, and the second time %s", seed, a, b)
		}
	}
}

// TestPlantedRulesThatEndBusyWorkersAreCaught: a check that never fails checks nothing.
func TestPlantedRulesThatEndBusyWorkersAreCaught(t *testing.T) {
	for _, row := range []struct {
		name  string
		plant plant
		says  string
	}{
		{"a member is ended because it said lately that it holds nothing", plant{stale: true}, "ended by an outsider"},
		{"a receive call is cut off and forgotten, and then brings a message", plant{forgets: true}, "a message came"},
		{"protection is given up while a receive call waits", plant{bare: true}, "ended without protection"},
		{"a token counts although its report is from before the controller started", plant{gullible: true},
			"ended by force"},
	} {
		t.Run(row.name, func(t *testing.T) {
			const within = 5000
			for seed := range uint64(within) {
				faults, _ := race(seed, row.plant)
				if strings.Contains(strings.Join(faults, "\n"), row.says) {
					t.Logf("caught at seed %d: %s", seed, faults[0])
					return
				}
			}
			t.Errorf("not caught within %d seeds", within)
		})
	}
}

// raceAll runs the stories of the first n seeds on all processors and returns the first faults.
func raceAll(n int, p plant) (faults []string, all tally) {
	var mu sync.Mutex
	var running sync.WaitGroup
	next := 0
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for {
				mu.Lock()
				from := next
				next += 100
				mu.Unlock()
				if from >= n {
					return
				}
				var some tally
				var found []string
				for seed := from; seed < min(n, from+100); seed++ {
					f, c := race(uint64(seed), p)
					some.add(c)
					if len(f) > 0 {
						found = append(found, fmt.Sprintf("seed %d: %s", seed, f[0]))
					}
				}
				mu.Lock()
				all.add(some)
				faults = append(faults, found[:min(len(found), max(0, 20-len(faults)))]...)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return faults, all
}

// tally counts what happened in stories.
type tally struct {
	crossed, granted, kept, asked, forced, late, paused, restarts, revived, culled, stale, handed, steps, unpaid int
}

func (c *tally) add(o tally) {
	c.crossed += o.crossed
	c.granted += o.granted
	c.kept += o.kept
	c.asked += o.asked
	c.forced += o.forced
	c.late += o.late
	c.paused += o.paused
	c.restarts += o.restarts
	c.revived += o.revived
	c.culled += o.culled
	c.stale += o.stale
	c.handed += o.handed
	c.steps += o.steps
	c.unpaid += o.unpaid
}

func (c tally) String() string {
	return fmt.Sprintf("%d messages handed out, %d of them to members that were to go; %d requests to go, %d "+
		"releases, %d kept, %d ended by force, %d without protection; %d late answers, %d pauses, %d restarts, %d "+
		"old tokens after one, %d messages after a pause; %d offers at the end of a paid period; %d steps",
		c.handed, c.crossed, c.asked, c.granted, c.kept, c.forced, c.culled, c.late, c.paused, c.restarts, c.revived,
		c.stale, c.unpaid, c.steps)
}

// chance is the seeded randomness of a story.
type chance struct{ *rand.Rand }

func (c chance) one(in int) bool { return c.IntN(in) == 0 }

func (c chance) upTo(d time.Duration) time.Duration { return time.Duration(c.Int64N(int64(d)) + 1) }

// lag is how long something is under way: most often milliseconds, at times up to an hour.
func (c chance) lag() time.Duration {
	switch n := c.IntN(100); {
	case n < 70:
		return c.upTo(30 * time.Millisecond)
	case n < 90:
		return c.upTo(2 * time.Second)
	case n < 97:
		return c.upTo(time.Minute)
	default:
		return c.upTo(time.Hour)
	}
}

// between is the time from one regular thing to the next.
func (c chance) between() time.Duration {
	return [...]time.Duration{100 * time.Millisecond, 300 * time.Millisecond, time.Second, time.Second, 3 * time.Second,
		9 * time.Second, time.Minute, 12 * time.Minute}[c.IntN(8)]
}

// agenda is what is going to happen, soonest first; what was put in first goes before others of the same instant.
type agenda struct {
	heap []happening
	n    int
}

type happening struct {
	at time.Duration
	n  int
	do func()
}

func (a *agenda) before(i, j int) bool {
	return a.heap[i].at < a.heap[j].at || a.heap[i].at == a.heap[j].at && a.heap[i].n < a.heap[j].n
}

func (a *agenda) put(at time.Duration, do func()) {
	a.n++
	a.heap = append(a.heap, happening{at, a.n, do})
	for i := len(a.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !a.before(i, up) {
			break
		}
		a.heap[i], a.heap[up] = a.heap[up], a.heap[i]
		i = up
	}
}

func (a *agenda) take() happening {
	first, last := a.heap[0], len(a.heap)-1
	a.heap[0] = a.heap[last]
	a.heap[last] = happening{}
	a.heap = a.heap[:last]
	for i := 0; ; {
		least := i
		for _, c := range [...]int{2*i + 1, 2*i + 2} {
			if c < last && a.before(c, least) {
				least = c
			}
		}
		if least == i {
			return first
		}
		a.heap[i], a.heap[least] = a.heap[least], a.heap[i]
		i = least
	}
}
