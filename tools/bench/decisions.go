package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

// Part decisions. It calls the pure step of package controller directly, without loops, queues or files: so it measures
// what one process could control at most.

const (
	// workersPerFleet is the size of every fleet.
	workersPerFleet = 4
	// decisionsAt is how many decisions are measured for a number of fleets, about.
	decisionsAt = 100_000
)

// decisions measures the pure step on one core. A step gets what one poll brings for a fleet of four busy workers with
// one slot each: one measurement of the queue, one listing, and a report of every worker.
func (b *bench) decisions() error {
	// The garbage collector shares that core, too.
	old := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(old)
	if _, _, _, err := decide(10); err != nil { // what is made once for all fleets is not theirs
		return err
	}
	for _, fleets := range []int{1000, 10_000} {
		perSecond, state, all, err := decide(fleets)
		if err != nil {
			return err
		}
		b.page.goal(fmt.Sprintf("decisions on one core, policy exact, %s fleets", count(float64(fleets))),
			">= 100,000/s", fmt.Sprintf("%s per second of processor time, %.1f us each", count(perSecond),
				1e6/perSecond), perSecond >= 100_000,
			"a step takes in one measurement, one listing and four reports, and writes its arithmetic down in words.")
		b.page.goal(fmt.Sprintf("memory of a fleet, %s fleets", count(float64(fleets))), "<= 8 kB",
			fmt.Sprintf("%.2f kB of settings and state, %.2f kB with the last outcome, which the API shows", state/1e3,
				all/1e3), state <= 8000,
			"a fifth of it is what ten minutes of processing durations look like, in 16 steps, and the rest the "+
				"settings, what came when, the members, their workers and the last recorded decision.")
	}
	return nil
}

// station is a fleet as the live loop holds it: its settings, which never change, and its state.
type station struct {
	settings controller.Settings
	state    controller.State
}

// feed makes the inputs of a fleet. It reuses its slices, so that making inputs leaves little garbage.
type feed struct {
	queue   string
	members []muster.Member
	reports []protocol.Report
	in      []controller.Input
}

// decide steps every fleet again and again, and returns decisions per second of processor time, and the bytes of a
// fleet without and with its last outcome. The inputs are made outside the measured time: they are the shell's work.
// Garbage collection during the steps counts.
func decide(fleets int) (perSecond, state, whole float64, err error) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	// The memory of a fleet is the growth from here on, divided by their number.
	before := heap()
	all, lasts, feeds := make([]station, fleets), make([]controller.Outcome, fleets), make([]feed, fleets)
	for i := range all {
		if err := all[i].begin(i); err != nil {
			return 0, 0, 0, err
		}
		feeds[i].begin(i, now)
	}
	var took time.Duration
	made := 0
	// Each pass steps every fleet once.
	for passes := 0; made < decisionsAt; passes++ {
		// At first the fleets age: their windows of ten minutes fill with durations. These passes are not measured.
		young, finished := passes < 75, 1
		if young {
			finished = 8
		}
		now = now.Add(time.Duration(finished) * time.Second)
		for i := range all {
			feeds[i].look(now, finished)
		}
		runtime.GC() // of the inputs; the steps pay for their own
		begin, err := host.OwnTime()
		if err != nil {
			return 0, 0, 0, err
		}
		for i := range all {
			o := all[i].settings.Step(all[i].state, now, feeds[i].in)
			all[i].state, lasts[i] = o.Next, o
		}
		end, err := host.OwnTime()
		if err != nil {
			return 0, 0, 0, err
		}
		if young {
			continue
		}
		took += end - begin
		made += fleets
	}
	for i := range all {
		// A fleet that lost its workers would decide faster, and wrongly.
		if c := lasts[i].Observation.Capacity; c.Busy != workersPerFleet ||
			lasts[i].Decision.Desired != workersPerFleet {
			return 0, 0, 0, fmt.Errorf("fleet %d: found %d busy and %d desired, want %d: the measurement is wrong", i,
				c.Busy, lasts[i].Decision.Desired, workersPerFleet)
		}
	}
	// What is dropped here no longer counts as memory of a fleet; the outcomes follow below.
	feeds = nil
	whole = float64(heap()-before) / float64(fleets)
	runtime.KeepAlive(lasts)
	lasts = nil
	state = float64(heap()-before) / float64(fleets)
	runtime.KeepAlive(all)
	return float64(made) / took.Seconds(), state, whole, nil
}

// heap is the memory in use after a full collection, in bytes. The second collection frees what finalizers kept.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// begin makes the settings and an empty state.
func (s *station) begin(i int) (err error) {
	s.settings, err = controller.NewSettings(controller.Settings{
		Fleet: fmt.Sprintf("fleet-%d", i), Queues: []string{fmt.Sprintf("queue-%d", i)},
		Spec:      policy.Spec{Name: "exact"},
		Objective: muster.Objective{Latency: 30 * time.Second, Quantile: 0.99},
		Limits:    muster.Limits{Max: 10, LaunchesPerHour: 60},
	})
	if err != nil {
		return err
	}
	s.state, err = s.settings.Restore(muster.Position{Epoch: 1}, nil)
	return err
}

// begin makes four members, each with one busy worker.
func (f *feed) begin(i int, now time.Time) {
	f.queue = fmt.Sprintf("queue-%d", i)
	for n := range workersPerFleet {
		id := fmt.Sprintf("fleet-%d.1.2.%d", i, n)
		f.members = append(f.members, muster.Member{ID: id, LaunchedAt: now})
		f.reports = append(f.reports, protocol.Report{Member: id, Worker: id, Epoch: 1, State: protocol.Receiving,
			Slots: 1, Busy: 1})
	}
}

// look makes the inputs of one poll, since which every worker finished so many messages of 0.5 to 2 s. Reports have
// what those of the runner have: the time of each message in the system, and the retries.
func (f *feed) look(now time.Time, finished int) {
	measured := func(v float64) muster.Sample { return muster.Measured(now, v) }
	f.in = append(f.in[:0], controller.Measured{QueueObservation: muster.QueueObservation{
		Queue: f.queue, Backlog: measured(0), InFlight: measured(workersPerFleet), Delayed: measured(0),
		OldestAge: measured(0),
	}}, controller.Listed{Listing: muster.Listing{At: now, Members: f.members}})
	for i := range f.reports {
		r := &f.reports[i]
		// Reports are numbered; the roster ignores one that it has seen.
		r.Seq++
		r.At = now
		r.Finished, r.Processing, r.InSystem = int64(finished), series.Durations{}, series.Durations{}
		r.Retries = &protocol.Retries{}
		for n := range int64(finished) {
			took := time.Duration(500+(r.Seq*271+int64(i)*97+n*619)%1500) * time.Millisecond
			r.Processing, r.InSystem = series.Add(r.Processing, took), series.Add(r.InSystem, took+20*time.Millisecond)
		}
		f.in = append(f.in, controller.Reported{Report: *r})
	}
}
