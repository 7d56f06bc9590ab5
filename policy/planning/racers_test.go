package planning

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

// withoutWorkers is a fleet without workers: 100 messages of 50 ms came in each of the last ten seconds. A boot takes
// two minutes, and the objective is one.
func withoutWorkers() muster.Observation {
	o := s0(0.05, 10)
	o.Objective.Latency, o.Boot, o.Limits.Max = time.Minute, stated(120), 1000
	o.Capacity = muster.Capacity{Known: true, SlotsPerWorker: 1}
	o.Queues[0].Backlog = muster.Measured(o.At, 1000)
	o.Arrivals = steadily(100)
	o.Arrivals.WatchedSeconds, o.Waiting = 10, nil
	for age := range 10 {
		o.Waiting = append(o.Waiting, muster.Waiting{AgeSeconds: float64(10 - age), Messages: 100})
	}
	return o
}

// While no worker is in service and what comes is late, workers are launched of which the first is ready sooner. A late
// message costs 5 worker-seconds, and one worker takes 20 a second: 100 worker-seconds for each second.
func TestTheFirstOfSeveralIsReadySooner(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*muster.Observation)
		want   int
	}{
		{"stated boots may vary by 18 s, and an eighth worker is sooner by 0.071 of that", nil, 8},
		{"measured ones vary by 24 s", func(o *muster.Observation) { o.Boot = varying(120, 160, 170, 1000) }, 10},
		{"measured ones do not vary", func(o *muster.Observation) { o.Boot = lasting(120, 100_000) }, 1},
		{"some are coming", func(o *muster.Observation) {
			o.Capacity.Desired, o.Capacity.Booting = 4, 4
			o.Coming = []muster.Coming{{AgeSeconds: 1, Members: 4}}
		}, 4},
		{"one is in service", func(o *muster.Observation) {
			o.Capacity.Desired, o.Capacity.Busy, o.Capacity.Slots, o.Capacity.BusySlots = 1, 1, 1, 1
		}, 0},
		{"the objective leaves time to launch", func(o *muster.Observation) {
			o.Objective.Latency = 3 * time.Minute
		}, 0},
		{"what comes is late in any case", func(o *muster.Observation) {
			o.Objective.Latency = 40 * time.Millisecond
		}, 0},
		{"a warm pool has workers", func(o *muster.Observation) {
			o.Pool = &muster.Pool{Ready: 5, Boot: lasting(5, 10)}
		}, 0},
		{"a warm worker is coming", func(o *muster.Observation) {
			o.Pool = &muster.Pool{Boot: lasting(5, 10)}
			o.Capacity.Desired, o.Capacity.Booting = 1, 1
			o.Coming = []muster.Coming{{AgeSeconds: 1, Members: 1, Warm: 1}}
		}, 0},
		{"a burst came ten seconds ago, and nothing since", func(o *muster.Observation) {
			o.Waiting = []muster.Waiting{{AgeSeconds: 10, Messages: 1000}}
		}, 0},
		{"a burst came just now, after a few others", func(o *muster.Observation) {
			o.Waiting = []muster.Waiting{{AgeSeconds: 10, Messages: 3}, {AgeSeconds: 1, Messages: 997}}
		}, 0},
		{"no age is known", func(o *muster.Observation) { o.Waiting = nil }, 0},
		{"one comes every four seconds", func(o *muster.Observation) {
			o.Waiting = []muster.Waiting{{AgeSeconds: 9, Messages: 1}, {AgeSeconds: 5, Messages: 1},
				{AgeSeconds: 1, Messages: 1}}
		}, 0},
		{"for the hours before, none came", func(o *muster.Observation) {
			o.Arrivals = muster.Arrivals{Known: true, WatchedSeconds: 3600, TenSeconds: 100, Minute: 17,
				FiveMinutes: 3, TwentyMinutes: 0.8, Hour: 0.3}
		}, 7},
		{"no more than there are messages", func(o *muster.Observation) {
			o.Queues[0].Backlog = muster.Measured(o.At, 4)
		}, 4},
		{"no more than the maximum", func(o *muster.Observation) { o.Limits.Max = 3 }, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := withoutWorkers()
			if row.change != nil {
				row.change(&o)
			}
			if got := planOf(o).race(o); got != row.want {
				t.Errorf("%d workers are launched to be sooner, want %d", got, row.want)
			}
		})
	}
}

// The decision says why more are launched than the messages need.
func TestADecisionSaysThatTheFirstOfSeveralIsReadySooner(t *testing.T) {
	o := withoutWorkers()
	o.Capacity.SlotsPerWorker = 9
	d := Deadline{}.Decide(o, nil)
	const want = "no worker is in service, and messages that come are late until one is ready; launching 27 now " +
		"instead of 1, because boots vary and the first of 27 is ready sooner"
	if !strings.Contains(d.Sentence(), want) {
		t.Errorf("the decision to launch %d says %q, want %q", d.Desired, d.Sentence(), want)
	}
	var in []string
	for _, v := range d.Trail[0].In {
		in = append(in, v.Name)
	}
	if !slices.Contains(in, "racers") || !slices.Contains(in, "stream_per_s") {
		t.Errorf("the term has the values %v, want the number of workers and the rate among them", in)
	}
}

// Old counts that show no more than was finished since launch nobody, also not to be sooner.
func TestMessagesThatWereFinishedSinceStartNoRace(t *testing.T) {
	o := withoutWorkers()
	o.Queues[0].LateSeconds, o.Queues[0].Backlog = 60, muster.Measured(o.At, 4)
	o.Waiting = []muster.Waiting{{AgeSeconds: 13, Messages: 2}, {AgeSeconds: 5, Messages: 2}}
	o.Arrivals = muster.Arrivals{Known: true, WatchedSeconds: 3600, TenSeconds: 0.2, Minute: 0.07, FiveMinutes: 0.013}
	o.Boot = stated(40)
	for finished, want := range map[float64]bool{0: true, 4: false} {
		o.FinishedSince = finished
		if d := (Deadline{}).Decide(o, nil); (d.Desired > 0) != want {
			t.Errorf("with %v finished since, it launches %d: %s", finished, d.Desired, d.Sentence())
		}
	}
}

// Where counts are old, workers in service have already worked on what they show. Those that have just come have not:
// what they have neither finished nor begun is still to do.
func TestWorkersThatHaveJustComeHaveFinishedNothingSinceTheCounts(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*muster.Observation)
		want   float64
	}{
		{"five workers that have begun one each of 6000", nil, 5995},
		{"and have finished a thousand", func(o *muster.Observation) { o.FinishedSince = 1000 }, 4995},
		{"and have finished all", func(o *muster.Observation) { o.FinishedSince = 6000 }, 0},
		{"nothing has ended lately: perhaps nobody reports", func(o *muster.Observation) { o.Pace = muster.Pace{} }, 0},
		{"counts are exact", func(o *muster.Observation) { o.Queues[0].LateSeconds = 0 }, 0},
		{"idle workers have begun nothing, and begin now", func(o *muster.Observation) {
			o.Capacity.Busy, o.Capacity.Idle, o.Capacity.BusySlots = 0, 5, 0
		}, 6000},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := withoutWorkers()
			o.Queues[0].LateSeconds, o.Arrivals.WatchedSeconds = 60, 3600
			o.Capacity = muster.Capacity{Known: true, Desired: 5, Busy: 5, Slots: 5, BusySlots: 5, SlotsPerWorker: 1}
			o.Pace = muster.Pace{Finished: 10, Seconds: 0.5}
			if row.change != nil {
				row.change(&o)
			}
			p := planOf(o)
			if math.Abs(p.unearned-row.want) > 6 {
				t.Errorf("%v messages are still to do beside those that the counts show, want %v", p.unearned, row.want)
			}
			if q := p.withMean(2 * p.Mean); p.unearned > 0 && math.Abs(q.unearned-p.unearned/2) > 600 {
				t.Errorf("%v are still to do if each takes twice as long, want about half of %v", q.unearned,
					p.unearned)
			}
		})
	}
}
