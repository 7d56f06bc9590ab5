package planning

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/durations"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// Work of twenty minutes that comes at random keeps many slots busy in the end. Until a worker is ready that is
// launched now it can keep none busy but those for what is there or comes by then.
func TestHeadroomIsNoMoreThanCanHaveSomethingToDoByThen(t *testing.T) {
	for _, row := range []struct {
		name              string
		boot, busy, waits float64
		rate              float64
		busiest           muster.Busiest
		want              float64
		slots             float64
	}{
		{"nothing comes and nothing is there: by chance one", 1, 0, 0, 0, muster.Busiest{}, 1, 1},
		{"what is in hand and what waits", 1, 3, 4, 0, muster.Busiest{}, 3 + 4 + 1, 1},
		{"a message each two seconds for 100 s: 50, and 1 + 2 x 7.07 by chance", 98, 0, 0, 0.5, muster.Busiest{},
			65.142, 1},
		{"as many as within the shortest window at the busiest times", 1, 0, 0, 0,
			muster.Busiest{OverSeconds: 10, Messages: 40}, 40, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := muster.Arrivals{Known: true, TenSeconds: row.rate, Minute: row.rate, FiveMinutes: row.rate,
				TwentyMinutes: row.rate, Hour: row.rate}
			if row.busiest.OverSeconds > 0 {
				a.Busiest = []muster.Busiest{row.busiest}
			}
			p := &plan{Work: durations.Work{LongTermMean: 1200, LongTermTail: 1200}, latency: 900,
				boot: row.boot, step: 2,
				slots:     row.slots,
				inService: row.busy, arrivals: a}
			o := muster.Observation{Arrivals: a,
				Queues: []muster.QueueObservation{{Backlog: muster.Measured(time.Time{}, row.waits)}}}
			if got := p.usableSlots(o); math.Abs(got-row.want) > 1e-3 {
				t.Errorf("found %v slots, want %v", got, row.want)
			}
		})
	}
}

// A ramp is foreseen only where the objective leaves no time to launch workers for messages that have arrived.
func TestARampIsForeseenOnlyIfALaunchIsTooLate(t *testing.T) {
	ramp := muster.Arrivals{Known: true, WatchedSeconds: 600, TenSeconds: 99, Minute: 95, FiveMinutes: 75,
		TwentyMinutes: 50, Hour: 50}
	for _, row := range []struct {
		name          string
		latency, want float64
	}{
		{"a launch is too late: 99.3 a second now, 0.144 more each second", 60, (99.3238 + 0.1441*50) * 100},
		{"a launch is in time", 600, 95*100 - math.Sqrt(95*60)*100/60},
	} {
		work := durations.Work{LongTermMean: 1, LongTermTail: 1}
		p := &plan{Work: work, latency: row.latency, boot: 100, arrivals: ramp, pace: 95}
		if got := p.expectedArrivals(100); math.Abs(got-row.want) > 1 {
			t.Errorf("%s: %v come within 100 s, want %v", row.name, got, row.want)
		}
	}
}

// Of work that may take longer than the objective, the usual messages can still be in time: they are not given up with
// the others.
func TestWorkThatMayTakeLongerThanTheObjectiveStillLeavesTimeToWait(t *testing.T) {
	long := lasting(60, 1000)
	long.P95Seconds, long.P99Seconds = 400, 600
	o := s0(60, 0)
	o.Processing = long
	p := planOf(o)
	if p.slack() > 0 {
		t.Fatalf("a launch is in time: the slack is %v s", p.slack())
	}
	if got := p.lastMoment(muster.Waiting{}); got < 50 {
		t.Errorf("a message must begin within %v s, want half of what a usual one can wait", got)
	}
}

// Workers with a little work each go where fewer can hold all of it, if what is kept is known from long enough.
func TestWhoMayGather(t *testing.T) {
	for _, row := range []struct {
		name                    string
		slots, latency, watched float64
		want                    bool
	}{
		{"a launch is in time", 4, 600, 0.5, true},
		{"it is not, and arrivals were watched for five minutes", 4, 60, 300, true},
		{"they were watched for less", 4, 60, 200, false},
		{"a worker takes one message at a time", 1, 600, 3600, false},
	} {
		p := &plan{slots: row.slots, latency: row.latency, boot: 100,
			arrivals: muster.Arrivals{Known: true, WatchedSeconds: row.watched}}
		if got := p.mayConsolidate(); got != row.want {
			t.Errorf("%s: found %v", row.name, got)
		}
	}
}

// A fraction of a worker is idle as a whole one.
func TestWhoIsKeptForAFractionOfAWorkerRestsAsAWholeOne(t *testing.T) {
	p := &plan{Work: durations.Work{LongTermMean: 1}, latency: 2, slots: 10, boot: 4, bootMean: 4,
		price: 3, tooLateShare: 1}
	a := muster.Arrivals{Busiest: []muster.Busiest{{OverSeconds: 10, Messages: 100}}} // 30 of them within 3 s
	for quiet, want := range map[float64]bool{93: false, 95: true} {
		if a.QuietSeconds = quiet; p.idleTooLong(a, 2) != want {
			t.Errorf("after %v s of quiet, which cost as much as 30 late messages at 3 s and a boot of 4 s: rested "+
				"is %v", quiet, !want)
		}
	}
}

// A machine that stands still for a moment shows in the messages in hand of all workers at once. That is no other work:
// of 18,170 messages none took so long. After longer the workers are taken to hang, and no more than those are
// replaced.
func TestAMomentsStandstillIsNoLongerWork(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	see := func(held float64) muster.Observation {
		return muster.Observation{
			At: at, Poll: time.Second,
			Objective: muster.Objective{Latency: 20 * time.Second, Quantile: 0.99},
			Limits:    muster.Limits{Max: 60, LaunchesPerHour: 1_000_000},
			Queues: []muster.QueueObservation{{
				Queue: "q", Backlog: muster.Measured(at, 1624), InFlight: muster.Measured(at, 6),
				OldestAge: muster.Measured(at, 7),
			}},
			Waiting: []muster.Waiting{{AgeSeconds: 7, Messages: 1624}},
			Capacity: muster.Capacity{
				Known: true, Desired: 6, Busy: 6, Slots: 6, BusySlots: 6, SlotsPerWorker: 1,
				HeldMeanSeconds: held, HeldDeviationSeconds: 0.12 * held,
			},
			Processing: muster.Estimate{
				Known: true, Count: 18_170, MeanSeconds: 0.02136, P50Seconds: 0.021, P95Seconds: 0.0237,
				P99Seconds: 0.0354,
			},
			Pace: muster.Pace{Finished: 18_170, Seconds: 388.09},
			Boot: muster.Estimate{Known: true, Count: 8, MeanSeconds: 3.13, P50Seconds: 3.13, P95Seconds: 3.18,
				P99Seconds: 3.18},
			Arrivals: muster.Arrivals{Known: true, TenSeconds: 250, Minute: 231, FiveMinutes: 240, TwentyMinutes: 240,
				Hour: 240, WatchedSeconds: 82},
		}
	}
	for _, row := range []struct {
		held float64
		most int
	}{{0.012, 6}, {0.067, 6}, {0.15, 6}, {2, 10}, {5, 10}} { // 10 do for all that waits and comes if those 6 hang
		if d := (Deadline{}).Decide(see(row.held), nil); d.Desired > row.most {
			t.Errorf("for %v s: %s; want %d at most", row.held, d.Sentence(), row.most)
		}
	}
}

// Counts that are old hide what has come since, so more messages arrive until a worker launched now is ready. They do
// not make it ready any sooner: it has as long for them as with fresh counts.
func TestOldCountsGiveAWorkerNoMoreTimeForWhatArrives(t *testing.T) {
	latest := func(lag float64) (begun, messages float64) {
		p := &plan{Work: durations.Work{Mean: 1, FinishedMean: 1}, slots: 1, latency: 20, boot: 10, lag: lag, step: 2,
			price: 60, arrivals: muster.Arrivals{Known: true, TenSeconds: 2, Minute: 2, FiveMinutes: 2,
				TwentyMinutes: 2, Hour: 2, WatchedSeconds: 3600}}
		p.needForArrivals(0, 5, func(_ cause, ahead, by, _ float64) {
			begun, messages = by, ahead
		})
		return begun, messages
	}
	fresh, few := latest(0)
	old, more := latest(50)
	if fresh <= 10 || fresh != old {
		t.Errorf("begun within %v s with fresh counts and %v s with old ones, want equal times after the boot", fresh,
			old)
	}
	if more-few < 90 {
		t.Errorf("%v messages are planned for with fresh counts and %v with counts of 50 s ago, want 100 more", few,
			more)
	}
}

// Ten workers have held messages for 20 s on average where 5 s is usual, so the work may take 40 s from now on. It
// surely takes 14.8 s, and no more workers are launched than that needs.
func TestMessagesInProgressAloneLaunchNoMoreThanTheyProve(t *testing.T) {
	for _, row := range []struct {
		name          string
		waiting, age  float64
		want          int
		says          string
		may, for14Sec int
	}{
		{"many wait", 200, 150, 34, "which is enough if those end now", 88, 24},
		{"few wait", 60, 150, 10, "if those end now, no more workers are needed", 18, 0},
	} {
		o, _ := planned(5, 300*time.Second, time.Minute)
		o.Capacity = muster.Capacity{Known: true, Desired: 10, Busy: 10, Slots: 10, BusySlots: 10, SlotsPerWorker: 1,
			HeldMeanSeconds: 20, HeldDeviationSeconds: 11}
		o.Queues = []muster.QueueObservation{{Backlog: muster.Measured(o.At, row.waiting),
			InFlight: muster.Measured(o.At, 10), OldestAge: muster.Measured(o.At, row.age)}}
		o.Waiting = []muster.Waiting{{AgeSeconds: row.age, Messages: row.waiting}}
		p := planOf(o)
		sure := p.withMean(durations.SurelyHeld(o.Capacity))
		if may, least := rules.Ceil(p.needAfter(0).workers), rules.Ceil(sure.needAfter(0).workers); may != row.may ||
			least != row.for14Sec {
			t.Errorf("%s: %d are needed if it takes 40 s, %d if it takes 14.8 s; want %d and %d", row.name, may, least,
				row.may, row.for14Sec)
		}
		d := (Deadline{}).Decide(o, nil)
		if d.Desired != row.want || !strings.Contains(d.Sentence(), row.says) {
			t.Errorf("%s: %d workers: %s; want %d and %q", row.name, d.Desired, d.Sentence(), row.want, row.says)
		}
	}
}
