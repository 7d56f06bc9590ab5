package planning

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

// pooled is the published test with a warm pool: messages of 25 s must begin within 266 s, a worker boots in 90 s, and
// one from the pool in 15 s.
func pooled(ready int, age float64) muster.Observation {
	o := s0(25, age)
	o.Pool = &muster.Pool{Ready: ready, Boot: lasting(15, 10)}
	return o
}

func TestWorkersOfTheWarmPoolCountFromTheirOwnBootTime(t *testing.T) {
	for _, row := range []struct {
		name       string
		o          muster.Observation
		delay      float64
		workers    float64
		unsaveable bool // some are late whatever is done
	}{
		// One of the pool begins 1 + (266 - 15) / 25 = 11, another 8.
		{"an empty pool is none", pooled(0, 0), 0, 6.25, false},
		{"all from the pool: 50 / 11", pooled(5, 0), 0, 4.545, false},
		{"two of the pool and (50 - 22) / 8 others", pooled(2, 0), 0, 5.5, false},
		{"20 s later still 10 for each of the pool: 50 / 10", pooled(5, 0), 20, 5, false},
		// Of 200 s ago they must begin within 66 s: 1 + (66 - 15) / 25 = 3 on each of the pool, and no other comes in
		// time.
		{"what only the pool can save, it saves: 50 / 3", pooled(20, 200), 0, 16.667, false},
		{"50 s later one for each, where the pool has enough", pooled(60, 200), 50, 50, false},
		{"50 s later not any more", pooled(20, 200), 50, math.Inf(1), false},
		{"of a pool that is too small all, and the rest for the late ones", pooled(4, 200), 0, 4, true},
		{"of 260 s ago none can be saved", pooled(60, 260), 0, 50.0 / 15, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			n := planOf(row.o).needAfter(row.delay)
			if !about(n.workers, row.workers) || (n.cause == forLate || n.sooner) != row.unsaveable {
				t.Errorf("%v workers are needed (for %v), want %v", n.workers, n.cause, row.workers)
			}
		})
	}
}

func TestWorkersThatComeFromThePoolAreExpectedSooner(t *testing.T) {
	o := pooled(0, 0)
	o.Capacity.Booting, o.Coming = 3, []muster.Coming{{AgeSeconds: 10, Members: 3, Warm: 2}}
	p := planOf(o)
	if len(p.pending) != 2 || p.pending[0] != (pendingSlots{5, 2, -1}) || p.pending[1] != (pendingSlots{80, 1, 10}) {
		t.Errorf("there come %+v, want 2 in 5 s and 1 in 80 s", p.pending)
	}
}

func TestTheTermSaysHowManyComeFromThePool(t *testing.T) {
	for _, row := range []struct {
		name  string
		ready int
		age   float64
		want  string
	}{
		{"none", 0, 0, " because a worker needs 1m30s to boot"},
		{"some", 2, 90, ": 2 from the warm pool in about 15s, "},
		{"all", 20, 150, " now: from the warm pool in about 15s"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := pooled(row.ready, row.age)
			d := Deadline{}.Decide(o, nil)
			for d.Desired == 0 && o.Waiting[0].AgeSeconds < 260 { // until the last moment
				o.Waiting[0].AgeSeconds++
				d = Deadline{}.Decide(o, nil)
			}
			if text := d.Sentence(); !strings.Contains(text, row.want) {
				t.Errorf("found %q, want %q in it", text, row.want)
			}
		})
	}
}

// Where a worker that is started anew is too late for whatever is there already, a pool that is in time is headroom, as
// long as it has enough: what is launched from it is not in it any more.
func TestAPoolThatIsInTimeIsHeadroom(t *testing.T) {
	for _, row := range []struct {
		name               string
		idle, ready, boots int
		want               int
	}{
		{"no pool", 0, 0, 15, 12},
		{"a pool that has enough for all", 0, 14, 15, 0},
		{"one that has too few", 0, 4, 15, 12},
		{"one that has enough beside the idle workers", 8, 4, 15, 8},
		{"twenty idle workers: those stay that the pool cannot replace, 11.57 - 4 x (1 - 15 / 33.2) and a half, " +
			"rounded up", 20, 4, 15, 10},
		{"one that has too few beside the idle workers", 5, 4, 15, 12},
		{"one that is too late", 8, 4, 60, 12},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := pooled(row.ready, 0)
			o.Pool.Boot = lasting(float64(row.boots), 10)
			o.Objective.Latency = 60 * time.Second
			o.Waiting, o.Queues[0].Backlog = nil, muster.Measured(o.At, 0)
			o.Capacity.Idle, o.Capacity.Slots, o.Capacity.Desired = row.idle, row.idle, row.idle
			o.Arrivals = muster.Arrivals{Known: true, TenSeconds: 0.1, Minute: 0.1, FiveMinutes: 0.1, Hour: 1,
				Busiest: allAlike([]muster.Busiest{{OverSeconds: 10, Messages: 20}})}
			if d := (Deadline{}).Decide(o, nil); d.Desired != row.want {
				t.Errorf("%d are kept, want %d: %s", d.Desired, row.want, d.Sentence())
			}
		})
	}
}
