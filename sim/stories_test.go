package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/policy/peer"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// story is a world with its faults, a fleet and a trace, all drawn from one number.
type story struct {
	Options
	messages int64 // of the trace, children included
	rest     int   // the largest size that remains once nothing is left to do; never a fault when it is the maximum
	rival    bool  // its policy is a peer
}

// dice draws what a story is made of.
type dice struct{ *rand.Rand }

func (d dice) often() bool                { return d.IntN(2) == 0 }
func (d dice) share(most float64) float64 { return d.Float64() * most }
func (d dice) between(low, high int) int  { return low + d.IntN(high-low+1) }
func (d dice) seconds(low, high float64) time.Duration {
	return time.Duration((low + d.Float64()*(high-low)) * float64(time.Second))
}

// maybe is v half of the time, and otherwise nothing at all.
func maybe[T any](d dice, v T) (none T) {
	if d.often() {
		return v
	}
	return none
}

func (d dice) draw(most float64) world.Draw {
	draw := world.Draw{Mean: d.seconds(0, most)}
	switch d.IntN(4) {
	case 0:
		draw.CV = d.share(1)
	case 1:
		draw = world.Draw{Samples: []time.Duration{d.seconds(0, most), d.seconds(0, most), 0}}
	}
	return draw
}

// tell makes the story of a seed: short, so that thousands can be told, and with every fault that a world can have.
func tell(t testing.TB, seed uint64) story {
	d := dice{rand.New(rand.NewPCG(seed, 0x5eed))}
	s := story{Options: Options{Seed: seed, World: d.world()}}
	s.Trace, s.messages = d.trace()
	if of := (dice{rand.New(rand.NewPCG(seed, 0x7ee5))}); of.often() { // not of d: what else the story is made of stays
		s.World.Trees, s.World.LoseTrees = true, maybe(of, of.share(0.9))
	}
	if of := (dice{rand.New(rand.NewPCG(seed, 0xc0e5))}); of.IntN(4) == 0 {
		s.World.Cores = of.between(1, 4)
	}
	if of := (dice{rand.New(rand.NewPCG(seed, 0x1a7e))}); of.IntN(4) == 0 {
		s.World.Report = of.draw(30)
	}
	s.Settings, s.rest, s.rival = d.settings(t, s.World)
	if s.rival || s.Settings.Spec.Metric == policy.MetricOldestAge {
		s.World.CountsOnly = false // some go by the age alone
	}
	return s
}

func (d dice) world() world.World {
	w := world.World{
		Boot: d.draw(60), Slots: d.between(1, 3), IdleStop: maybe(d, d.seconds(0.1, 60)),
		Exit: maybe(d, d.seconds(0, 5)),
		Warm: maybe(d, world.WarmPool{Size: d.between(1, 3), Boot: d.draw(5), Refill: d.seconds(1, 60)}),
		Spot: maybe(d, world.Spot{Share: d.share(1), Interruptions: d.share(20), Notice: d.seconds(0, 120)}),

		LaunchFails: maybe(d, d.share(0.5)), RefuseLaunch: maybe(d, d.share(0.5)), Capacity: maybe(d, d.between(1, 4)),
		Crashes: maybe(d, d.share(20)), MinimumBill: maybe(d, time.Minute), BillStep: maybe(d, d.seconds(1, 60)),

		Visibility: d.seconds(2, 60), Poison: maybe(d, d.share(0.3)), MaxReceives: d.between(1, 4),
		RetryBase: maybe(d, d.seconds(0, 20)),
		Random:    d.often(),

		Wakes: d.often(), Wake: maybe(d, d.seconds(0, 2)), LoseWakes: maybe(d, d.share(0.9)),

		MetricPeriod: maybe(d, d.seconds(1, 60)), MetricDelay: maybe(d, d.seconds(0, 60)),
		Stale:      maybe(d, d.seconds(0, 30)),
		CountsOnly: d.often(), Approximate: maybe(d, d.share(0.3)), LoseSamples: maybe(d, d.share(0.7)),
		LoseListings: maybe(d, d.share(0.7)),

		API: maybe(d, d.draw(5)), Throttle: maybe(d, d.share(0.5)), LoseAnswers: maybe(d, d.share(0.3)),
		Report: maybe(d, d.draw(1)), ReportEvery: d.seconds(0.5, 5), LoseReports: maybe(d, d.share(0.5)),
		RepeatReports:     maybe(d, d.share(0.5)),
		ControllerCrashes: maybe(d, d.share(40)), ControllerDown: maybe(d, d.seconds(0, 60)),

		FaultsEnd: d.seconds(60, 900), Tail: 45 * time.Minute,
	}
	if d.IntN(8) == 0 { // a world in which only one kind of thing goes wrong hides nothing behind another
		quiet := world.World{Slots: w.Slots, Boot: w.Boot, Visibility: w.Visibility, Tail: w.Tail,
			FaultsEnd: w.FaultsEnd,
			IdleStop:  w.IdleStop}
		switch d.IntN(6) {
		case 0:
			quiet.LoseReports = w.LoseReports
		case 1:
			quiet.ControllerCrashes, quiet.ControllerDown = w.ControllerCrashes, w.ControllerDown
		case 2:
			quiet.Crashes = w.Crashes
		case 3:
			quiet.Capacity = w.Capacity
		case 4:
			quiet.MetricDelay, quiet.MetricPeriod, quiet.Stale, quiet.CountsOnly = w.MetricDelay, w.MetricPeriod,
				w.Stale,
				w.CountsOnly
		case 5:
			quiet.LoseAnswers, quiet.API = w.LoseAnswers, w.API
		}
		return quiet
	}
	return w
}

// trace draws messages in bursts, some of them in FIFO groups and some with children.
func (d dice) trace() (trace.Trace, int64) {
	grouped, trees := maybe(d, d.share(1)), maybe(d, d.share(0.2))
	gap, burst, mean := d.seconds(0.1, 30).Seconds(), d.between(1, 20), d.seconds(0.1, 30).Seconds()
	var messages []trace.Message
	at, all := time.Duration(0), int64(0)
	for range d.between(1, 15) {
		at += d.seconds(0, 4*gap)
		for range d.between(1, burst) {
			m := trace.Message{Arrival: at, Service: d.seconds(0, 2*mean), Class: "a"}
			if d.Float64() < grouped {
				m.Group = fmt.Sprintf("g%d", d.IntN(4))
			}
			for all++; d.Float64() < trees && len(m.Children) < 5; all++ {
				m.Children = append(m.Children, trace.Message{Arrival: time.Duration(len(m.Children)) * time.Second,
					Service: d.seconds(0, mean)})
			}
			messages = append(messages, m)
		}
	}
	return trace.Of("story", messages...), all
}

func (d dice) settings(t testing.TB, w world.World) (controller.Settings, int, bool) {
	limits := muster.Limits{Max: d.between(1, 8), LaunchesPerHour: d.between(100, 1000)}
	limits.Min = maybe(d, d.between(0, limits.Max))
	s := controller.Settings{
		Fleet: "f", Queues: []string{"q"}, Objective: muster.Objective{Latency: d.seconds(5, 300), Quantile: 0.99},
		Limits: limits,
		Slots:  d.between(1, 3), BootPrior: d.seconds(1, 60), Poll: d.seconds(1, 20), Learn: d.seconds(30, 600),
	}
	var rest int
	s.Spec, rest = d.spec(w, limits)
	rival := d.IntN(3) == 0
	var p muster.Policy
	var memory time.Duration
	if rival {
		p, memory, rest = d.rival(w, &s.Limits)
	}
	made, err := controller.NewSettings(s)
	if err != nil {
		t.Errorf("a story with a policy that cannot be: %v", err) // stories are told on several goroutines
	}
	if rival {
		made = made.Deciding(p, memory)
	}
	return made, rest, rival
}

// spec draws one of the built-in policies with its combinators, and says at which size it comes to rest.
func (d dice) spec(w world.World, limits muster.Limits) (policy.Spec, int) {
	rest := limits.Min
	s := d.single()
	if d.IntN(5) == 0 {
		s = policy.Spec{Name: "largest", Largest: []policy.Spec{s, d.single()}}
	}
	for _, x := range append([]policy.Spec{s}, s.Largest...) {
		switch {
		case x.Name == "exact" && w.IdleStop == 0, x.Name == "step", x.Name == "deadline":
			rest = limits.Max // exact stops no worker, and the others may keep some for long
		case x.Name == "schedule":
			rest = max(rest, x.Intervals[0].Workers)
		}
	}
	switch d.IntN(4) {
	case 0:
		s.HeadroomWorkers = d.between(1, 3)
		rest += s.HeadroomWorkers
	case 1:
		s.HeadroomPercent = d.share(100)
		rest = min(limits.Max, 2*rest)
	}
	for _, shape := range []*policy.Shape{&s.Out, &s.In} {
		if d.IntN(3) == 0 {
			shape.Stabilization = d.seconds(1, 300)
		}
		if d.IntN(3) == 0 {
			shape.MaxWorkers, shape.Period = d.between(1, 4), d.seconds(1, 60)
		}
	}
	return s, min(rest, limits.Max)
}

func (d dice) single() policy.Spec {
	all := slices.DeleteFunc(policy.Names(),
		func(name string) bool { return name == "largest" || name == "metric-math" })
	s := policy.Spec{Name: all[d.IntN(len(all))], Processing: maybe(d, d.seconds(1, 30))}
	switch s.Name {
	case "exact":
		if s.Processing%2 == 1 { // some of them for whole trees, without a draw of its own
			s.Trees, s.First = policy.TreesWhole, 1+int(s.Processing/2%8)
		}
	case "deadline":
		s.Scale, s.Prompt = maybe(d, 0.05+d.share(0.95)), d.often()
	case "backlog-per-worker", "dynamic-backlog":
		s.Acceptable = 0.5 + d.share(5)
	case "worker-utilization":
		s.Target = 0.2 + d.share(0.8)
		// half of them by the formula, without a draw of its own: other stories stay what they are
		if int(s.Target*1000)%2 == 0 {
			s.Name, s.Queries = "metric-math", utilization("q")
		}
	case "step":
		s.Metric = []string{policy.MetricBacklog, policy.MetricBacklogPerWorker, policy.MetricOldestAge,
			policy.MetricUtilization}[d.IntN(4)]
		s.Steps = []policy.StepChange{{To: 0.4, Add: -1}, {From: 0.4, To: 5, Add: 1}, {From: 5, Percent: 50}}
		s.Cooldown = maybe(d, d.seconds(1, 60))
	case "schedule":
		s.Intervals = []policy.Interval{{From: "00:00", To: "24:00", Workers: d.between(1, 4)}}
	}
	return s
}

// rival draws one of the peers, and says at which size it comes to rest; the maximum where that is not known.
func (d dice) rival(w world.World, limits *muster.Limits) (p muster.Policy, memory time.Duration, rest int) {
	all := peer.All()
	x := all[d.IntN(len(all))]
	setting := x.Default
	if len(x.Sweep) > 0 && d.often() {
		setting = x.Sweep[d.IntN(len(x.Sweep))]
	}
	limits.Min = max(limits.Min, x.MinWorkers)
	limits.Max = max(limits.Max, limits.Min)
	rest = limits.Max
	leaves := strings.HasPrefix(x.Name, "keda-job") || x.Name == "s3" || x.Name == "delayedoff" || x.Name == "buildkite"
	switch {
	case strings.HasPrefix(x.Name, "aws-") && x.Name != "aws-step", strings.HasPrefix(x.Name, "keda") && !leaves,
		x.Name == "kpa":
		rest = limits.Min
	case leaves && w.IdleStop > 0:
		rest = limits.Min
	}
	return bounded(x.Build(setting, d.seconds(1, 60))), max(x.Memory, time.Minute), rest
}

// bounded gives a peer the limits that every fleet has.
func bounded(p muster.Policy) muster.Policy { return policy.Bounds{Of: policy.LaunchLimits{Of: p}} }

// utilization is the published list for worker utilization.
func utilization(queue string) []metricmath.Query {
	of := func(id, namespace, name string, dimensions ...metricmath.Dimension) metricmath.Query {
		return metricmath.Query{ID: id,
			MetricStat: &metricmath.MetricStat{Stat: "Maximum",
				Metric: metricmath.Metric{Namespace: namespace, MetricName: name, Dimensions: dimensions}}}
	}
	named := metricmath.Dimension{Name: "QueueName", Value: queue}
	return []metricmath.Query{
		of("backlog", "AWS/SQS", "ApproximateNumberOfMessagesVisible", named),
		of("inFlight", "AWS/SQS", "ApproximateNumberOfMessagesNotVisible", named),
		of("workers", "YourApp", "TotalWorkers"),
		{ID: "totalWork", Expression: "FILL(backlog, REPEAT) + FILL(inFlight, REPEAT)"},
		{ID: "utilization", Expression: "IF(FILL(workers, 0) > 0, totalWork / workers, IF(totalWork > 0, 1, 0))",
			ReturnData: new(true)},
	}
}
