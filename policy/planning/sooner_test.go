package planning

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/congestion"
	"github.com/muster-scale/muster/policy/internal/durations"
	"pgregory.net/rapid"
)

// growing is a fleet of one worker, of three that are permitted: messages of a second, boots of 190 s and an objective
// of seven minutes. The arrivals have grown for minutes, to 1.4 a second, and 80 messages wait for up to a minute.
func growing() muster.Observation {
	o := s0(1, 60)
	o.Objective.Latency, o.Limits.Max, o.Boot = 7*time.Minute, 3, lasting(190, 10)
	o.Capacity = muster.Capacity{Known: true, Desired: 1, Busy: 1, Slots: 1, BusySlots: 1, SlotsPerWorker: 1}
	o.Queues[0].Backlog = muster.Measured(o.At, 80)
	o.Waiting = []muster.Waiting{{AgeSeconds: 60, Messages: 40}, {AgeSeconds: 20, Messages: 40}}
	o.Arrivals = muster.Arrivals{Known: true, WatchedSeconds: 400, TenSeconds: 1.4, Minute: 1.4, FiveMinutes: 0.8,
		TwentyMinutes: 0.6, Hour: 0.6}
	o.Pace = muster.Pace{Finished: 120, Seconds: 120}
	return o
}

func TestLaunchesAreNotPostponedWhereTheArrivalsGrowTowardsTheMaximum(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*muster.Observation)
		want   int
	}{
		{"most of three workers are needed soon", func(*muster.Observation) {}, 3},
		{"of ten there is room for a later launch", func(o *muster.Observation) { o.Limits.Max = 10 }, 1},
		{"they are there", func(o *muster.Observation) {
			o.Capacity.Desired, o.Capacity.Busy, o.Capacity.Slots, o.Capacity.BusySlots = 3, 3, 3, 3
		}, 3},
		{"the arrivals do not grow", func(o *muster.Observation) {
			o.Arrivals.Minute, o.Arrivals.FiveMinutes, o.Arrivals.TwentyMinutes = 1, 1, 1
		}, 1},
		{"a single message fills one worker", func(o *muster.Observation) {
			o.Queues[0].Backlog, o.Waiting = muster.Measured(o.At, 1), []muster.Waiting{{AgeSeconds: 1, Messages: 1}}
		}, 1},
		{"the arrivals are unknown", func(o *muster.Observation) { o.Arrivals = muster.Arrivals{} }, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := growing()
			row.change(&o)
			d := Deadline{}.Decide(o, nil)
			if d.Desired != row.want {
				t.Errorf("found %d, want %d: %s", d.Desired, row.want, d.Sentence())
			}
		})
	}
	why := (Deadline{}).Decide(growing(), nil).Sentence()
	if !strings.Contains(why, "most of the 3 permitted workers") {
		t.Errorf("the sentence does not say why: %s", why)
	}
}

// patient is a fleet of two workers with messages of ten minutes, boots of a second and an objective of a day: the
// messages could wait for hours. 60 an hour keep ten workers busy.
func patient() muster.Observation {
	o := s0(600, 120)
	o.Objective.Latency, o.Limits.Max, o.Boot = 24*time.Hour, 100, lasting(1, 100)
	o.Capacity = muster.Capacity{Known: true, Desired: 2, Busy: 2, Slots: 2, BusySlots: 2, SlotsPerWorker: 1}
	o.Queues[0].Backlog = muster.Measured(o.At, 9)
	o.Waiting = []muster.Waiting{{AgeSeconds: 120, Messages: 9}}
	rate := 60.0 / 3600
	o.Arrivals = muster.Arrivals{Known: true, WatchedSeconds: 3600, TenSeconds: rate, Minute: rate, FiveMinutes: rate,
		TwentyMinutes: rate, Hour: rate, FourHours: rate, TwelveHours: rate}
	return o
}

func TestWorkersThatAreNeverIdleComeAtOnceWhereBootsCostHardlyAnything(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*muster.Observation)
		want   int
	}{
		// 20 messages in 20 minutes, less one deviation of chance, keep 7.8 workers busy.
		{"as many as are surely busy", func(*muster.Observation) {}, 7},
		{"no more than wait", func(o *muster.Observation) {
			o.Queues[0].Backlog, o.Waiting = muster.Measured(o.At, 2), []muster.Waiting{{AgeSeconds: 120, Messages: 2}}
		}, 4},
		{"workers are on their way", func(o *muster.Observation) {
			o.Capacity.Desired, o.Capacity.Booting = 5, 3
			o.Coming = []muster.Coming{{AgeSeconds: 0, Members: 3}}
		}, 7},
		{"a boot costs as much as a fifth of a message", func(o *muster.Observation) { o.Boot = lasting(120, 100) }, 2},
		{"several slots: a worker that waits is filled", func(o *muster.Observation) {
			o.Capacity.SlotsPerWorker, o.Capacity.Slots = 2, 4
		}, 2},
		{"no worker says how many slots it has", func(o *muster.Observation) {
			o.Capacity = muster.Capacity{Known: true, SlotsPerWorker: 1}
		}, 0},
		{"the arrivals are unknown", func(o *muster.Observation) { o.Arrivals = muster.Arrivals{} }, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := patient()
			row.change(&o)
			d := Deadline{}.Decide(o, nil)
			if d.Desired != row.want {
				t.Errorf("found %d, want %d: %s", d.Desired, row.want, d.Sentence())
			}
		})
	}
	why := (Deadline{}).Decide(patient(), nil).Sentence()
	if !strings.Contains(why, "the arrivals keep so many busy") {
		t.Errorf("the sentence does not say why: %s", why)
	}
}

// One burst near the maximum shortens the latency to plan with, but not the time in which old counts are replaced.
func TestABurstAtTheMaximumDoesNotKeepAnIdleWorkerForOldCounts(t *testing.T) {
	o := s0(6, 5)
	o.Objective.Latency, o.Limits.Max, o.Boot, o.Poll = 8*time.Minute, 1, lasting(13, 100), 10*time.Second
	o.Queues[0].LateSeconds = 54
	o.Queues[0].Backlog = muster.Measured(o.At, 8)
	o.Waiting = []muster.Waiting{{AgeSeconds: 3, Messages: 8}}
	o.Capacity = muster.Capacity{Known: true, Desired: 1, Busy: 1, Slots: 1, BusySlots: 1, SlotsPerWorker: 1}
	o.FinishedSince, o.Pace = 12, muster.Pace{Finished: 12, Seconds: 72}
	o.Arrivals = muster.Arrivals{Known: true, WatchedSeconds: 3600, TenSeconds: 0.2, Minute: 0.2, FiveMinutes: 0.04,
		TwentyMinutes: 0.01, Hour: 0.003}
	work, _ := durations.Of(o)
	p := newPlan(o, work, 0)
	if p.slack() > p.lag {
		t.Fatalf("a slack of %v s is no example: the burst must shorten it", p.slack())
	}
	if idle := p.idleStop(o); idle >= 54*time.Second {
		t.Errorf("an idle worker waits %s for new counts, and the slack is %v s without the burst", idle, p.farSlack())
	}
}

// slowed is a fleet of one worker of one slot for which 40 messages of a minute wait, with boots of two minutes and an
// objective of a day.
func slowed() muster.Observation {
	o := s0(60, 60)
	o.Objective.Latency, o.Limits.Max, o.Boot = 24*time.Hour, 100, lasting(120, 100)
	o.Capacity = muster.Capacity{Known: true, Desired: 1, Busy: 1, Slots: 1, BusySlots: 1, SlotsPerWorker: 1}
	o.Queues[0].Backlog = muster.Measured(o.At, 40)
	o.Waiting = []muster.Waiting{{AgeSeconds: 60, Messages: 40}}
	return o
}

// longer is a past of hours in which the work took so much longer for each message that waited for the worker.
func longer(share float64) muster.Recent {
	trend, o := congestion.Trend{}, slowed()
	for k := range 100 {
		o.At = o.At.Add(o.Pace.Over())
		o.Queues[0].Backlog = muster.Measured(o.At, float64(k%30))
		o.Pace = muster.Pace{Finished: 2, Seconds: 2 * 60 * (1 + share*trend.Waiting)}
		trend = trend.Next(o, 60)
	}
	return muster.Recent{}.With(muster.Decision{Kept: trend.Kept()}, time.Hour)
}

func TestFewerMessagesWaitForAWorkerWhereTheWorkTakesLongerForIt(t *testing.T) {
	for _, row := range []struct {
		name   string
		share  float64
		change func(*muster.Observation)
		want   int
	}{
		{"a tenth longer for each: 6.3 wait for a worker", 0.1, func(*muster.Observation) {}, 6},
		{"a fiftieth longer: 14 wait", 0.02, func(*muster.Observation) {}, 2},
		{"no longer: they all can wait for one", 0, func(*muster.Observation) {}, 1},
		{"five slots: 20 wait, also for the idle slots", 0.1, func(o *muster.Observation) {
			o.Capacity.Slots, o.Capacity.BusySlots, o.Capacity.SlotsPerWorker = 5, 5, 5
		}, 2},
		{"three wait", 0.1, func(o *muster.Observation) {
			o.Queues[0].Backlog, o.Waiting[0].Messages = muster.Measured(o.At, 3), 3
		}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := slowed()
			row.change(&o)
			if d := (Deadline{}).Decide(o, longer(row.share)); d.Desired != row.want {
				t.Errorf("found %d, want %d: %s", d.Desired, row.want, d.Sentence())
			}
		})
	}
	why := (Deadline{}).Decide(slowed(), longer(0.1)).Sentence()
	if !strings.Contains(why, "takes longer the more messages wait, so only 6 wait for each worker") {
		t.Errorf("the sentence does not say why: %s", why)
	}
}

// However steep the line is, no more workers are launched than the waiting messages fill, and no fewer than without it.
func TestLongerWorkLaunchesNoMoreThanTheMessagesFill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := slowed()
		waiting, slots := rapid.Float64Range(0, 500).Draw(t, "waiting"), rapid.IntRange(1, 20).Draw(t, "slots")
		o.Queues[0].Backlog = muster.Measured(o.At, math.Round(waiting))
		o.Waiting[0].Messages = math.Round(waiting)
		o.Boot = lasting(rapid.Float64Range(0.1, 3600).Draw(t, "boot"), 100)
		o.Capacity.Slots, o.Capacity.BusySlots = slots, rapid.IntRange(1, slots).Draw(t, "busy")
		o.Capacity.SlotsPerWorker = float64(slots)
		without := Deadline{}.Decide(o, nil).Desired
		with := Deadline{}.Decide(o, longer(rapid.Float64Range(0, 2).Draw(t, "share"))).Desired
		if most := max(without, 1+int(math.Ceil(math.Round(waiting)/float64(slots)))); with < without || with > most {
			t.Fatalf("found %d workers, want %d to %d", with, without, most)
		}
	})
}
