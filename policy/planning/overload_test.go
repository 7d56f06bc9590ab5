package planning

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// overworked is a fleet at its maximum of two workers of ten slots each, with messages of 5 s, boots of 330 s and an
// objective of 16 minutes: a launch is in time. 2.6 messages a second keep 13 slots busy. The oldest waits for half an
// hour, and of the past hour's messages four in ten were in time.
func overworked() muster.Observation {
	o := s0(5, 1800)
	o.Objective.Latency, o.Limits.Max, o.Boot = 16*time.Minute, 2, lasting(330, 10)
	o.Capacity = muster.Capacity{Known: true, Desired: 2, Busy: 2, Slots: 20, BusySlots: 20, SlotsPerWorker: 10}
	o.Queues[0].Backlog = muster.Measured(o.At, 4000)
	o.Waiting = []muster.Waiting{{AgeSeconds: 1800, Messages: 4000}}
	o.Arrivals = muster.Arrivals{Known: true, WatchedSeconds: 3600, TenSeconds: 3, Minute: 3, FiveMinutes: 3,
		TwentyMinutes: 3, Hour: 3}
	o.Progress = &muster.Progress{InTime: muster.Measured(o.At, 0.4), Ended: 9000, Finished: 900}
	return o
}

// Work that is not done while all permitted workers are too few stays late. So they stay until the next busy time,
// although a launch is in time for its first messages, and also while single messages come before it.
func TestWorkersThatWereTooFewAtTheMaximumStayThroughAQuietTime(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*muster.Observation)
		after  float64 // seconds
		want   int
		gone   int
	}{
		{"for an hour", nil, 3600, 2, 0},
		{"one was lost: a launch is in time when messages come", nil, 3600, 1, 1},
		{"both stopped", nil, 3600, 0, 2},
		{"for as long as thirty boots of 330 s", nil, 9890, 2, 0},
		{"and no longer", nil, 9900, 0, 0},
		{"no launch is in time either way", func(o *muster.Observation) {
			o.Objective.Latency = 5 * time.Minute
		}, 3600, 2, 0},
		{"nor then is one launched", func(o *muster.Observation) {
			o.Objective.Latency = 5 * time.Minute
		}, 3600, 1, 1},
		{"the oldest is in time: a burst that the maximum has just finished", func(o *muster.Observation) {
			o.Waiting[0].AgeSeconds = 900
		}, 3600, 0, 0},
		{"what is late failed", func(o *muster.Observation) {
			o.Progress.Failed, o.Progress.Finished = 600, 300
		}, 3600, 0, 0},
		{"nearly all was in time", func(o *muster.Observation) { o.Progress.InTime.Value = 0.95 }, 3600, 0, 0},
		{"how much was in time is unknown", func(o *muster.Observation) { o.Progress = nil }, 3600, 0, 0},
		{"a third of the load: what is late came at once", func(o *muster.Observation) {
			o.Arrivals.FiveMinutes = 1
		}, 3600, 0, 0},
		{"the maximum leaves room", func(o *muster.Observation) { o.Limits.Max = 3 }, 3600, 0, 0},
	} {
		for name, arrivals := range map[string]muster.Arrivals{
			"while nothing comes":        {Known: true, QuietSeconds: row.after, WatchedSeconds: 3600},
			"while single messages come": {Known: true, QuietSeconds: 5, WatchedSeconds: 3600, Hour: 0.001},
		} {
			t.Run(row.name+" "+name, func(t *testing.T) {
				o := overworked()
				if row.change != nil {
					row.change(&o)
				}
				busy, active := Deadline{}.Decide(o, nil), 2-row.gone
				later := overworked()
				later.At = o.At.Add(time.Duration(row.after) * time.Second)
				later.Limits, later.Objective = o.Limits, o.Objective
				later.Capacity = muster.Capacity{Known: true, Desired: active, Idle: active, Slots: 10 * active,
					SlotsPerWorker: 10}
				later.Queues[0].Backlog, later.Waiting = muster.Measured(later.At, 0), nil
				later.Queues[0].OldestAge = muster.Measured(later.At, 0)
				later.Arrivals, later.Progress = arrivals, nil
				d := Deadline{}.Decide(later, muster.Recent{}.With(busy, time.Minute))
				if d.Desired != row.want {
					t.Errorf("%d stay, want %d: %s", d.Desired, row.want, d.Sentence())
				}
				because := "the maximum was too small in the last busy time"
				if said := strings.Contains(d.Sentence(), because); said != (row.want > 0) {
					t.Errorf("the sentence is %q", d.Sentence())
				}
			})
		}
	}
}

// A worker that says it finds no message knows more than a count of a minute ago.
func TestIdleWorkersDisproveOldCounts(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*muster.Observation)
		want   bool // that workers are launched
	}{
		{"one in ten finds no message", nil, false},
		{"the counts are of now, so the idle one has just become so", func(o *muster.Observation) {
			o.Queues[0].LateSeconds = 0
		}, true},
		{"all find messages", func(o *muster.Observation) { o.Capacity.Idle, o.Capacity.Busy = 0, 10 }, true},
		{"one in eleven may look idle between two messages", func(o *muster.Observation) {
			o.Capacity.Busy = 10
		}, true},
		{"others boot: the idle one may just have come", func(o *muster.Observation) {
			o.Capacity.Booting = 1
			o.Coming = []muster.Coming{{Members: 1, AgeSeconds: 89}}
		}, true},
		{"workers that do not report cannot say so", func(o *muster.Observation) {
			o.Capacity.Unreported = true
		}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := s0(25, 100)
			o.Queues[0].LateSeconds, o.Queues[0].Backlog = 60, muster.Measured(o.At, 900)
			o.Waiting = []muster.Waiting{{AgeSeconds: 100, Messages: 900}}
			o.Capacity = muster.Capacity{Known: true, Desired: 10, Idle: 1, Busy: 9, Slots: 10, BusySlots: 9,
				SlotsPerWorker: 1}
			if row.change != nil {
				row.change(&o)
			}
			d := Deadline{}.Decide(o, nil)
			if launches := d.Desired > o.Capacity.Active(); launches != row.want {
				t.Errorf("launches: %v, want %v: %s", launches, row.want, d.Sentence())
			}
			if said := strings.Contains(d.Sentence(), "but 1 worker is idle"); said == row.want {
				t.Errorf("the sentence is %q", d.Sentence())
			}
		})
	}
}

// A worker has finished a message. Counts that may have been made before show one that waits.
func TestFinishedMessagesExplainOldCounts(t *testing.T) {
	const boot, lag = 40 * time.Second, 20
	for _, row := range []struct {
		name             string
		waiting, since   float64
		rate             float64 // messages a second
		latency          time.Duration
		late             time.Duration // the price of a late message
		launches, leaves bool
	}{
		{"one waits, one was finished, and messages are rare", 1, 1, 1.0 / 600, 30 * time.Second, 0, false, true},
		{"two wait: one of them was not finished", 2, 1, 1.0 / 600, 30 * time.Second, 0, true, true},
		{"none was finished", 1, 0, 1.0 / 600, 30 * time.Second, 0, true, true},
		{"another one may well have come", 1, 1, 1.0 / 10, 30 * time.Second, 0, true, false},
		{"a late one costs more than a launch in vain", 1, 1, 1.0 / 600, 30 * time.Second, time.Hour, true, false},
		{"there is time to wait for new counts", 1, 1, 1.0 / 10, 10 * time.Minute, 0, false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			o, _ := planned(0.1, row.latency, boot)
			o.Objective.Late = row.late
			o.Arrivals = muster.Arrivals{Known: true, Minute: row.rate, FiveMinutes: row.rate,
				TwentyMinutes: row.rate, Hour: row.rate, WatchedSeconds: 3600}
			o.Queues = []muster.QueueObservation{{Backlog: muster.Measured(o.At, row.waiting),
				InFlight: muster.Measured(o.At, 0), OldestAge: muster.Measured(o.At, row.latency.Seconds()),
				LateSeconds: lag}}
			o.Waiting = []muster.Waiting{{AgeSeconds: row.latency.Seconds(), Messages: row.waiting}}
			o.FinishedSince = row.since
			d := Deadline{}.Decide(o, nil)
			if launches := d.Desired > 0; launches != row.launches {
				t.Errorf("launches: %v, want %v: %s", launches, row.launches, d.Sentence())
			}
			because := "but workers have finished 1 message within the 20s that the counts may be old"
			if said := strings.Contains(d.Sentence(), because); said == row.launches {
				t.Errorf("the sentence is %q", d.Sentence())
			}
			recorded := slices.Contains(d.Trail[0].In, muster.Value{Name: "finished_since", Value: row.since})
			if recorded == row.launches {
				t.Errorf("the trail has %+v", d.Trail[0].In)
			}
			if stop := planOf(o).idleStop(o); (stop < lag*time.Second) != row.leaves {
				t.Errorf("a worker stops after %s of nothing, with counts that are %d s old", stop, lag)
			}
		})
	}
}

// Near the maximum no launch is postponed, because the next ones may find no room. A burst that is over soon is no such
// load: the objective leaves time to work it off.
func TestABurstThatIsOverSoonIsNoLoadNearTheMaximum(t *testing.T) {
	for _, row := range []struct {
		name      string
		objective time.Duration
		arrivals  muster.Arrivals
		postponed bool // that nothing of the objective is given away
	}{
		{"a burst of a minute, objective of an hour", time.Hour,
			muster.Arrivals{Minute: 4, FiveMinutes: 0.8, TwentyMinutes: 0.2, Hour: 0.07}, true},
		{"a burst of five minutes, objective of six hours", 6 * time.Hour,
			muster.Arrivals{Minute: 4, FiveMinutes: 4, TwentyMinutes: 1, Hour: 0.4}, true},
		{"a burst of a minute, objective of five minutes", 5 * time.Minute,
			muster.Arrivals{Minute: 4, FiveMinutes: 0.8, TwentyMinutes: 0.2, Hour: 0.07}, false},
		{"five minutes of it, objective of an hour", time.Hour,
			muster.Arrivals{Minute: 4, FiveMinutes: 4, TwentyMinutes: 1, Hour: 0.4}, false},
		{"an hour of it, objective of six hours", 6 * time.Hour,
			muster.Arrivals{Minute: 4, FiveMinutes: 4, TwentyMinutes: 4, Hour: 4, FourHours: 1}, false},
		{"an hour of it, objective of a day", 24 * time.Hour,
			muster.Arrivals{Minute: 4, FiveMinutes: 4, TwentyMinutes: 4, Hour: 4, FourHours: 1, TwelveHours: 0.4},
			true},
		{"four hours of it, objective of a day", 24 * time.Hour,
			muster.Arrivals{Minute: 4, FiveMinutes: 4, TwentyMinutes: 4, Hour: 4, FourHours: 4, TwelveHours: 2},
			false},
		{"four hours of it, objective of three days", 72 * time.Hour,
			muster.Arrivals{Minute: 4, FiveMinutes: 4, TwentyMinutes: 4, Hour: 4, FourHours: 4, TwelveHours: 1},
			true},
		{"half a day of it, objective of three days", 72 * time.Hour,
			muster.Arrivals{Minute: 4, FiveMinutes: 4, TwentyMinutes: 4, Hour: 4, FourHours: 4, TwelveHours: 4},
			false},
	} {
		o := s0(5, 1)
		o.Objective.Latency, o.Limits.Max = row.objective, 20
		o.Arrivals = row.arrivals
		o.Arrivals.Known, o.Arrivals.WatchedSeconds = true, 3600
		p := planOf(o)
		whole := row.objective.Seconds() - math.Min(reservedShare*row.objective.Seconds(), reservedPolls)
		if got := p.latency == whole; got != row.postponed {
			t.Errorf("%s: the plan uses %.0f s of %.0f s; all: want %v", row.name, p.latency, whole, row.postponed)
		}
	}
}

// 94 messages of 14 s have waited for longer than the objective of 30 s, and a worker boots for a minute. If more come,
// the sooner the old ones have begun the fewer of the next are late. If none come, nothing is in a hurry.
func TestLateMessagesHurryOnlyForThoseThatCome(t *testing.T) {
	for _, row := range []struct {
		name string
		rate float64
		want int
	}{
		{"nothing arrives: within a boot, when each has begun 5", 0, 19},
		{"one an hour", 1.0 / 3600, 19},
		{"100 a second: those of a boot too, within half of one, when each has begun 3; the last part of a worker " +
			"does not pay", 100, 2879},
	} {
		o, _ := planned(14, 30*time.Second, time.Minute)
		o.Queues = []muster.QueueObservation{{Backlog: muster.Measured(o.At, 94), InFlight: muster.Measured(o.At, 0),
			OldestAge: muster.Measured(o.At, 75)}}
		o.Waiting = []muster.Waiting{{AgeSeconds: 75, Messages: 94}}
		o.Arrivals = muster.Arrivals{Known: true, WatchedSeconds: 3600, Minute: row.rate, FiveMinutes: row.rate,
			TwentyMinutes: row.rate, Hour: row.rate}
		if got := rules.Ceil(planOf(o).needAfter(0).workers); got != row.want {
			t.Errorf("%s: %d workers, want %d", row.name, got, row.want)
		}
	}
}

// Of eight busy workers some hold a message that hangs for ten minutes, where 2 s are usual. They stay in addition to
// those that the arrivals of 1.5 busy workers need, and begin none of the messages that wait.
func TestWorkersThatHangAreNotCountedOn(t *testing.T) {
	held := func(hang, busy float64) (mean, deviation float64) {
		share := hang / busy
		return share * 600, 600 * math.Sqrt(share*(1-share))
	}
	for _, row := range []struct {
		name       string
		hang, keep float64
	}{{"none", 0, 4}, {"one", 1, 5}, {"four", 4, 8}, {"all", 8, 12}} {
		o, _ := planned(2, 5*time.Second, 30*time.Second)
		mean, deviation := held(row.hang, 8)
		o.Capacity = muster.Capacity{Known: true, Desired: 12, Busy: 8, Idle: 4, Slots: 12, BusySlots: 8,
			SlotsPerWorker: 1, HeldMeanSeconds: mean, HeldDeviationSeconds: deviation}
		o.Arrivals = muster.Arrivals{Known: true, WatchedSeconds: 3600, Minute: 0.75, FiveMinutes: 0.75,
			TwentyMinutes: 0.75, Hour: 0.75}
		p := planOf(o)
		if got := p.keptWorkers(o); p.Hanging != row.hang || float64(got) != row.keep {
			t.Errorf("%s: %v hang and %d workers are kept, want %v and %v", row.name, p.Hanging, got, row.hang,
				row.keep)
		}
		if begun := p.begunByBusy(20); row.hang == 8 && begun != 0 {
			t.Errorf("%s: %v messages are begun by slots that hang, want none", row.name, begun)
		}
	}
}
