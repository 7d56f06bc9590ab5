package sim

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// timely are settings with the policy deadline, which was told how long the work takes.
func timely(t testing.TB, latency, work, boot time.Duration, scale float64) controller.Settings {
	s := fleet(t, policy.Spec{Name: "deadline", Processing: work, Scale: scale}, latency, 0, 200)
	s.BootPrior = boot
	return s
}

// The moment of a launch depends on the whole story, so what holds for stories is held to stories: a larger backlog at
// one instant may well launch later than a smaller one, when that is still in time for as many workers.

func TestDeadlineLaunchesAtMostOneWorkerMoreThanMessagesSentAtOnceNeed(t *testing.T) {
	const latency, work, boot = 300 * time.Second, 25 * time.Second, 90 * time.Second
	const each = int((latency-boot-work)/work) + 1 // so many begin on one worker in time
	for n := 1; n <= 60; n++ {
		res := ran(t, Options{Settings: timely(t, latency, work, boot, 1), Trace: batch(n, time.Minute, work),
			World: world.World{Boot: world.Draw{Mean: boot}, Wakes: true}})
		if least := (n + each - 1) / each; res.Launches < least || res.Launches > min(n, least+1) ||
			res.InTime != int64(n) {
			t.Errorf("%d messages: %d launches, %d in time; %d workers can do it", n, res.Launches, res.InTime, least)
		}
	}
}

// A run is not given up while what waits may still be in time: with an objective of a day nothing happens for most of
// one.
func TestARunLastsUntilWhatWaitsForADayIsDone(t *testing.T) {
	const latency, work, boot, n = 24 * time.Hour, 10 * time.Second, time.Minute, 20
	res := ran(t, Options{
		Settings: timely(t, latency, work, boot, 1), Trace: batch(n, time.Minute, work),
		World: world.World{Boot: world.Draw{Mean: boot}},
	})
	if res.InTime != n || res.Unfinished != 0 || res.Launches != 1 {
		t.Errorf("%d of %d in time, %d unfinished, %d launches; want one worker, in time", res.InTime, n,
			res.Unfinished, res.Launches)
	}
}

func TestDeadlineLaunchesAsManyOrMoreForAShorterObjective(t *testing.T) {
	const work, boot, n = 10 * time.Second, 60 * time.Second, 50
	for _, x := range []struct {
		name string
		run  func(seconds int) (time.Duration, float64)
	}{
		{"a shorter objective", func(seconds int) (time.Duration,
			float64) {
			return time.Duration(seconds) * time.Second, 1
		}},
		{"the dial", func(seconds int) (time.Duration, float64) { return 300 * time.Second, float64(seconds) / 300 }},
	} {
		t.Run(x.name, func(t *testing.T) {
			before := 0
			for seconds := 300; seconds >= 90; seconds -= 10 {
				latency, scale := x.run(seconds)
				res := ran(t, Options{Settings: timely(t, latency, work, boot, scale),
					Trace: batch(n, time.Minute, work), World: world.World{Boot: world.Draw{Mean: boot}, Wakes: true}})
				if res.Launches < before || res.InTime != n {
					t.Errorf("%d s: %d launches, %d for 10 s more; %d of %d in time", seconds, res.Launches, before,
						res.InTime, n)
				}
				before = res.Launches
			}
		})
	}
}

// Where the load is no whole number of workers, the size goes between the two around it: fewer make a backlog that has
// time, and one more works it off. The first launch may be one worker short, for as long as the objective allows; what
// it leaves undone has been worked off after an hour and a half.
func TestDeadlineStaysAtTheSizesAroundAConstantLoad(t *testing.T) {
	const work, boot = 20 * time.Second, 60 * time.Second
	for _, gap := range []time.Duration{2 * time.Second, 3500 * time.Millisecond, 7 * time.Second, 45 * time.Second} {
		t.Run(fmt.Sprintf("a message each %s", gap), func(t *testing.T) {
			var all []trace.Message
			for at := time.Minute; at < 4*time.Hour; at += gap {
				all = append(all, trace.Message{Arrival: at, Service: work})
			}
			end := all[len(all)-1].Arrival
			load := work.Seconds() / gap.Seconds()
			least, most := math.MaxInt, 0
			res := ran(t, Options{
				Settings: timely(t, 300*time.Second, work, boot, 1), Trace: trace.Of("constant", all...),
				World: world.World{Boot: world.Draw{Mean: boot}, Wakes: true},
				Stepped: func(v View) {
					if d := v.Outcome.Decision.Desired; v.At > 90*time.Minute && v.At < end {
						least, most = min(least, d), max(most, d)
					}
				},
			})
			t.Logf("%d to %d workers for a load of %.2f, %d reversals, %.0f worker-seconds for %.0f of work", least,
				most, load, res.Reversals,
				res.WorkerSeconds, float64(len(all))*work.Seconds())
			if least < int(load) || most > int(math.Ceil(load))+1 || res.InTime != res.Messages {
				t.Errorf("%d to %d workers for a load of %.2f, %.4f in time; want those around it or one more, and all",
					least, most, load, res.InTimeRatio)
			}
		})
	}
}

func TestCountsThatLagBehindMakeHardlyAnythingLate(t *testing.T) {
	const latency, work, boot = 300 * time.Second, 50 * time.Second, 90 * time.Second
	var seldom []trace.Message
	for at := time.Minute; at < 3*time.Hour; at += 9 * time.Minute {
		seldom = append(seldom, trace.Message{Arrival: at, Service: work})
	}
	for _, x := range []struct {
		name string
		of   trace.Trace
	}{{"a burst", batch(50, time.Minute, work)}, {"a message now and then", trace.Of("seldom", seldom...)}} {
		t.Run(x.name, func(t *testing.T) {
			res := ran(t, Options{Settings: timely(t, latency, work, boot, 1), Trace: x.of,
				World: world.World{Boot: world.Draw{Mean: boot}, Wakes: true, Stale: time.Minute}})
			if lost := 1 - float64(res.InTime)/float64(res.Messages); lost > 0.005 {
				t.Errorf("found %d of %d in time with counts that are a minute old, want all but 0.5 %%", res.InTime,
					res.Messages)
			}
		})
	}
}

// A worker that handles many messages at once costs the same with one of them as with all. So those that can wait do,
// until they fill one, and no worker stays only because some message reaches it all the time.
func TestSlotsAreFilledWhereMessagesCanWait(t *testing.T) {
	const latency, work, boot, apart, slots = 7 * time.Hour, 17 * time.Minute, time.Minute, 75 * time.Second, 36
	var all []trace.Message
	for at := time.Duration(0); at < 50*time.Hour; at += apart {
		all = append(all, trace.Message{Arrival: at, Service: work})
	}
	settings := timely(t, latency, work, boot, 1)
	settings.Poll = 30 * time.Second
	res := ran(t, Options{Settings: settings, Trace: trace.Of("steady", all...),
		World: world.World{Boot: world.Draw{Mean: boot}, Slots: slots}})
	least := float64(len(all)) * work.Seconds() / slots
	if res.InTime != int64(len(all)) || res.WorkerSeconds > 1.5*least {
		t.Errorf("%d of %d in time for %.2f times the worker-seconds that full workers take; want all for 1.5 times",
			res.InTime, len(all), res.WorkerSeconds/least)
	}
}
