package sim

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/policy/peer"
	"github.com/muster-scale/muster/sim/internal/laws"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// lonely is a trace of single messages of a minute, half an hour apart on average.
func lonely(n int) trace.Trace {
	return laws.Poisson(1, max(8, n/slowdown), 0, 30*time.Minute, time.Minute, laws.Deterministic())
}

// hours is a trace that is on for an hour and off for two: a message each 20 seconds while it is on.
func hours(n int) trace.Trace {
	var messages []trace.Message
	r := rand.New(rand.NewPCG(2, 77))
	for k := range max(2, n/slowdown) {
		for at := time.Duration(0); at < time.Hour; at += time.Duration(r.ExpFloat64() * float64(20*time.Second)) {
			service := time.Duration(r.ExpFloat64() * float64(40*time.Second))
			messages = append(messages, trace.Message{Arrival: time.Duration(k)*3*time.Hour + at, Service: service})
		}
	}
	return trace.Of("hours", messages...)
}

// bursts are so many messages at once, every four hours.
func bursts(n, each int) trace.Trace {
	var messages []trace.Message
	for k := range n * each {
		at, service := time.Duration(k/each)*4*time.Hour, time.Duration(20+k%7*10)*time.Second
		messages = append(messages, trace.Message{Arrival: at, Service: service})
	}
	return trace.Of("bursts", messages...)
}

// quietly is a fleet under a policy, or under another autoscaler that is called so.
func quietly(t *testing.T, name string, latency time.Duration, least int) controller.Settings {
	t.Helper()
	p, other := peer.Find(name)
	spec := policy.Spec{Name: name}
	if other {
		spec.Name, least = "exact", max(least, p.MinWorkers)
	}
	s, err := controller.NewSettings(controller.Settings{
		Fleet: "f", Queues: []string{"q"}, Objective: muster.Objective{Latency: latency, Quantile: 0.99}, Spec: spec,
		Limits: muster.Limits{Min: least, Max: 500, LaunchesPerHour: 1_000_000}, Poll: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if other {
		s = s.Deciding(bounded(p.Build(p.Default, time.Minute)), max(p.Memory, time.Minute))
	}
	return s
}

// both runs a world with the polls left out in which nothing changes, and with all.
func both(t *testing.T, o Options) (fewer, all scoring.Result) {
	t.Helper()
	fewer = ran(t, o)
	o.inject.everyPoll = true
	return fewer, ran(t, o)
}

func TestPollsThatAreLeftOutChangeNothing(t *testing.T) {
	const minute = time.Minute
	boot := world.World{Boot: world.Draw{Mean: minute}}
	with := func(change func(*world.World)) world.World {
		w := boot
		change(&w)
		return w
	}
	idle := with(func(w *world.World) { w.IdleStop = minute })
	for _, x := range []struct {
		name    string
		policy  string
		latency time.Duration
		least   int
		world   world.World
		trace   trace.Trace
		same    bool    // to the last digit
		share   float64 // of all polls that may be left, at the most
	}{
		{"single messages", "deadline", 10 * minute, 0, boot, lonely(40), false, 0.05},
		{"single messages with little time", "deadline", 3 * minute, 0, boot, lonely(40), false, 0.05},
		{"single messages with too little time", "deadline", 90 * time.Second, 0, boot, lonely(40), false, 0.25},
		{"a message each 10 minutes with too little time", "deadline", 3 * minute, 0, boot,
			laws.Poisson(7, 60, 0, 10*minute, 90*time.Second, laws.Exponential()), false, 0.55},
		{"hours on and off", "deadline", 5 * minute, 0, boot, hours(5), false, 0.6},
		{"hours on and off, exact", "exact", 5 * minute, 0, idle, hours(5), true, 0.6},
		{"steady load of 3", "deadline", 5 * minute, 0, boot,
			laws.Poisson(1, 500/slowdown, 0, 20*time.Second, minute, laws.Exponential()), false, 1},
		{"bursts", "deadline", 30 * minute, 0, boot, bursts(5, 60), false, 0.2},
		{"bursts, dynamic backlog", "dynamic-backlog", 5 * minute, 0, boot, bursts(5, 60), true, 0.2},
		{"idle workers stop", "exact", 5 * minute, 0, idle, lonely(30), true, 0.05},
		{"idle workers stop when the paid hour ends", "exact", 5 * minute, 0, with(func(w *world.World) {
			w.BillStep, w.BillMargin = time.Hour, 2*minute
		}), lonely(30), true, 0.05},
		{"keda", "keda", 5 * minute, 0, boot, lonely(40), true, 0.3},
		{"keda's jobs", "keda-job", 5 * minute, 0, with(func(w *world.World) { w.IdleStop = time.Second }), lonely(30),
			true,
			0.2},
		{"AWS target tracking", "aws-dynamic", 5 * minute, 0, boot, hours(5), true, 0.7},
		{"Knative, which decides in every poll", "kpa", 5 * minute, 0, boot, lonely(20), true, 1},
		{"4 slots", "deadline", 5 * minute, 0, with(func(w *world.World) { w.Slots = 4 }), hours(8), false, 0.6},
		{"4 slots, utilization", "worker-utilization", 5 * minute, 0,
			with(func(w *world.World) { w.Slots = 4 }), hours(5), true, 0.6},
		{"reports take 200 ms", "exact", 5 * minute, 0, with(func(w *world.World) {
			w.IdleStop, w.Report.Mean = minute, 200*time.Millisecond
		}), lonely(30), true, 0.05},
		{"reports and polls take 200 ms", "deadline", 10 * minute, 0, with(func(w *world.World) {
			w.Report.Mean, w.API.Mean = 200*time.Millisecond, 200*time.Millisecond
		}), lonely(30), false, 0.05},
		{"one worker always", "deadline", 5 * minute, 1, boot, lonely(30), false, 0.15},
		{"one worker always, backlog per worker", "dynamic-backlog", 5 * minute, 1, boot, lonely(30), true, 0.05},
		{"counts come late", "dynamic-backlog", 5 * minute, 0,
			with(func(w *world.World) { w.Stale = 30 * time.Second }), lonely(30), true, 0.2},
		{"counts alone", "deadline", 10 * minute, 0, with(func(w *world.World) { w.CountsOnly = true }), lonely(30),
			false,
			0.05},
		{"failures and crashes", "exact", 5 * minute, 0, with(func(w *world.World) {
			w.IdleStop, w.Poison, w.Crashes, w.LaunchFails = minute, 0.1, 5, 0.1
		}), lonely(30), true, 0.1},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := quietly(t, x.policy, x.latency, x.least)
			fewer, all := both(t, Options{Settings: s, World: x.world, Trace: x.trace, Seed: 1})
			if share := float64(fewer.Steps) / float64(all.Steps); share > x.share {
				t.Errorf("found %d steps, and %d with all polls: a share of %.3f, want %v at most",
					fewer.Steps, all.Steps, share, x.share)
			}
			if x.same {
				fewer.Steps, fewer.Records = all.Steps, all.Records
				if a, b := fmt.Sprintf("%+v", fewer), fmt.Sprintf("%+v", all); a != b {
					t.Errorf("found\n%s\nand with all polls\n%s", a, b)
				}
				return
			}
			alike(t, fewer, all)
		})
	}
}

// harmless makes the story of a seed in which chance decides nothing about polls and reports. Its messages are few
// and far between.
func harmless(t *testing.T, seed uint64) story {
	s, d := tell(t, seed), dice{rand.New(rand.NewPCG(seed, 0x9e7))}
	w := &s.World
	w.LoseSamples, w.LoseListings, w.LoseTrees, w.LoseReports, w.RepeatReports = 0, 0, 0, 0, 0
	w.Approximate, w.ControllerCrashes = 0, 0
	w.API, w.Report = maybe(d, world.Draw{Mean: d.seconds(0, 0.5)}), maybe(d, world.Draw{Mean: d.seconds(0, 0.5)})
	w.Random = false // which of the waiting workers is drawn depends on how often all have asked
	if d.often() {
		w.MetricPeriod, w.MetricDelay, w.Stale = 0, 0, 0
	}
	if d.often() {
		w.Crashes, w.LaunchFails, w.RefuseLaunch, w.Throttle, w.LoseAnswers, w.Poison, w.Spot = 0, 0, 0, 0, 0, 0,
			world.Spot{}
	}
	w.Trees = w.Trees && d.often()
	s.Settings.Poll = min(s.Settings.Poll, time.Duration(d.between(1, 20))*time.Second)
	var messages []trace.Message
	gap, mean, at := d.seconds(10, 2000).Seconds(), d.seconds(1, 300).Seconds(), time.Duration(0)
	for range d.between(5, 30) {
		at += time.Duration(d.ExpFloat64() * gap * float64(time.Second))
		for range d.between(1, 6) {
			messages = append(messages, trace.Message{Arrival: at, Service: d.seconds(0, 2*mean)})
		}
	}
	s.Trace, s.messages = trace.Of("harmless", messages...), int64(len(messages))
	return s
}

// pair is what a story came to with polls left out, and with all.
type pair struct {
	fewer, all ending
	// plansAhead is true where the two may differ a little.
	plansAhead bool
}

// differs tells what of a pair should be the same and is not.
func (p pair) differs() string {
	a, b := p.fewer, p.all
	a.Steps, a.Records = b.Steps, b.Records
	// A decision that changes and changes back before its worker ever joins is not noticed, and counts as two.
	if blips := b.ScaleEvents - a.ScaleEvents; blips > 0 && blips%2 == 0 && blips == b.Reversals-a.Reversals {
		a.ScaleEvents, a.Reversals = b.ScaleEvents, b.Reversals
	}
	if found, want := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b); found != want {
		return fmt.Sprintf("found\n%s\nand with all polls\n%s", found, want)
	}
	return ""
}

// Each of these stories is told twice and is hours long.
func TestPollsThatAreLeftOutChangeNothingInAnyWorld(t *testing.T) {
	first, last := seeds(t, 30/slowdown, 10)
	pairs := make([]pair, last-first+1)
	var next atomic.Uint64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < uint64(len(pairs)); i = next.Add(1) - 1 {
				s := harmless(t, first+i)
				var errs [2]error
				pairs[i].plansAhead = s.Settings.Spec.PlansAhead()
				pairs[i].fewer, errs[0] = s.told()
				s.inject.everyPoll = true
				pairs[i].all, errs[1] = s.told()
				if err := errors.Join(errs[:]...); err != nil {
					t.Errorf("seed %d: %v", first+i, err)
				}
				if wrong := s.wrong(pairs[i].fewer); len(wrong) > 0 {
					t.Errorf("seed %d: %q", first+i, wrong)
				}
				if found := pairs[i].differs(); !pairs[i].plansAhead && found != "" {
					t.Errorf("MUSTER_SEEDS=%d-%d: %s", first+i, first+i, found)
				}
			}
		})
	}
	all.Wait()
	var fewer, every scoring.Result // of the policy deadline
	left, steps := int64(0), int64(0)
	for _, p := range pairs {
		left, steps = left+p.fewer.Steps, steps+p.all.Steps
		if p.plansAhead {
			add(&fewer, p.fewer.Result)
			add(&every, p.all.Result)
		}
	}
	alike(t, fewer, every)
	if last-first > 10 && left > steps*3/4 {
		t.Errorf("found %d of %d steps, want fewer", left, steps)
	}
}

// add adds to sum what [alike] compares.
func add(sum *scoring.Result, of scoring.Result) {
	sum.InTime, sum.Messages = sum.InTime+of.InTime, sum.Messages+of.Messages
	sum.WorkerSeconds, sum.Launches = sum.WorkerSeconds+of.WorkerSeconds, sum.Launches+of.Launches
}

// alike holds a result to another one, within what an autoscaler may differ by that comes a few seconds later.
func alike(t *testing.T, fewer, all scoring.Result) {
	t.Helper()
	if off := math.Abs(float64(fewer.InTime - all.InTime)); off > max(1, 0.002*float64(all.Messages)) {
		t.Errorf("found %d of %d messages in time, and with all polls %d", fewer.InTime, all.Messages, all.InTime)
	}
	// Of few messages, one that gets a worker of its own is more than 2 %.
	if off := math.Abs(fewer.WorkerSeconds - all.WorkerSeconds); off > max(120, 0.02*all.WorkerSeconds) {
		t.Errorf("found %.0f worker-seconds, and with all polls %.0f", fewer.WorkerSeconds, all.WorkerSeconds)
	}
	if off := math.Abs(float64(fewer.Launches - all.Launches)); off > max(2, 0.03*float64(all.Launches)) {
		t.Errorf("found %d launches, and with all polls %d", fewer.Launches, all.Launches)
	}
}

// Months of single messages are made of few steps: those around each message, and few in an hour of nothing. Where
// the objective leaves no time to launch, the policy deadline is asked in every second until five minutes after the
// message.
func TestMonthsOfSingleMessagesTakeFewSteps(t *testing.T) {
	for _, x := range []struct {
		latency time.Duration
		n       int
		most    int64 // steps for a message
	}{{10 * time.Minute, 2000 / slowdown, 60}, {90 * time.Second, 300 / slowdown, 400}} {
		res := ran(t, Options{
			Settings: quietly(t, "deadline", x.latency, 0), World: world.World{Boot: world.Draw{Mean: time.Minute}},
			Seed:  1,
			Trace: laws.Poisson(1, x.n, 0, 30*time.Minute, time.Minute, laws.Deterministic()),
		})
		if each := res.Steps / int64(x.n); each > x.most {
			t.Errorf("objective %s: found %d steps for each of %d messages within %.0f days, want %d at most",
				x.latency, each, x.n, res.Seconds/86400, x.most)
		}
	}
}

// Polls keep their rhythm, and whatever is left out, every step sees a fresh queue and every worker.
func TestPollsThatAreLeftKeepTheirRhythm(t *testing.T) {
	const poll = 7 * time.Second
	s := quietly(t, "exact", 5*time.Minute, 2)
	s.Poll = poll
	seen := 0
	ran(t, Options{
		Settings: s, Trace: lonely(30), Seed: 1,
		World: world.World{Boot: world.Draw{Mean: time.Minute}, IdleStop: 20 * time.Minute,
			ReportEvery: 3 * time.Second},
		Stepped: func(v View) {
			o := v.Outcome.Observation
			if q := o.Queues[0]; o.At.Sub(q.Backlog.At) > controller.Gather || !q.Backlog.Known || !o.Capacity.Known {
				t.Errorf("at %s: the backlog is of %s before", v.At, o.At.Sub(q.Backlog.At))
			}
			if c := o.Capacity; c.Lost > 0 || c.Idle+c.Busy+c.Draining+c.Released != v.Ready {
				t.Errorf("at %s: %+v is seen where %d take messages", v.At, c, v.Ready)
			}
			if len(v.Outcome.Changes) == 0 && v.At%poll == 0 {
				seen++
			}
		},
	})
	if seen < 300/slowdown {
		t.Errorf("found %d polls at the usual times, want more", seen)
	}
}

func TestNoPollIsLeftOutWhereAnyMayMatter(t *testing.T) {
	calendar := policy.Spec{Name: "largest", Largest: []policy.Spec{
		{Name: "exact"}, {Name: "schedule", Intervals: []policy.Interval{{From: "08:00", To: "08:01", Workers: 2}}},
	}}
	for _, x := range []struct {
		name string
		spec policy.Spec
		w    world.World
	}{
		{"measurements fail", policy.Spec{Name: "exact"}, world.World{LoseSamples: 0.1}},
		{"listings fail", policy.Spec{Name: "exact"}, world.World{LoseListings: 0.1}},
		{"reports are lost", policy.Spec{Name: "exact"}, world.World{LoseReports: 0.1}},
		{"reports come twice", policy.Spec{Name: "exact"}, world.World{RepeatReports: 0.1}},
		{"counts are approximate", policy.Spec{Name: "exact"}, world.World{Approximate: 0.1}},
		{"the controller crashes", policy.Spec{Name: "exact"}, world.World{ControllerCrashes: 0.1}},
		{"reports take a time that varies", policy.Spec{Name: "exact"},
			world.World{Report: world.Draw{Mean: time.Second, CV: 1}}},
		{"polls take a time that varies", policy.Spec{Name: "exact"},
			world.World{API: world.Draw{Mean: time.Second, Exponential: true}}},
		{"a calendar", calendar, world.World{}},
		{"a forecast", policy.Spec{Name: "deadline", Forecast: policy.ForecastSeasonal}, world.World{}},
		{"metric math", policy.Spec{Name: "metric-math", Target: 0.5, Queries: utilization("q")}, world.World{}},
	} {
		t.Run(x.name, func(t *testing.T) {
			s, err := controller.NewSettings(controller.Settings{
				Fleet: "f", Queues: []string{"q"}, Spec: x.spec,
				Objective: muster.Objective{Latency: 5 * time.Minute, Quantile: 0.99},
				Limits:    muster.Limits{Max: 10, LaunchesPerHour: 1000},
			})
			if err != nil {
				t.Fatal(err)
			}
			x.w.IdleStop = time.Minute
			if res := ran(t, Options{Settings: s, World: x.w, Trace: lonely(8),
				Seed: 1}); float64(res.Steps) < 0.7*res.Seconds {
				t.Errorf("found %d steps in %.0f seconds, want one in nearly each", res.Steps, res.Seconds)
			}
		})
	}
}
