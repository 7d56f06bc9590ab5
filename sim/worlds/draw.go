package worlds

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// World is one drawn world. Durations are in seconds, loads in busy workers.
type World struct {
	// Number is the number from which it was drawn. Chance tells apart repetitions of one world: see [World.Repeat].
	Number, Chance uint64
	// Event is the world as contenders play it. Its seed is the number.
	Event contest.Event
	// Shape says how messages arrive, and Drift how the work changes; "" is not at all.
	Shape Shape
	Drift string
	// Mean and CV describe the work at the start, and Tail is the 99th percentile. Boot is the mean boot time, and
	// BootCV its coefficient of variation.
	Mean, CV, Tail, Boot, BootCV float64
	// Latency is the objective, Load the mean number of busy workers, Length the time in which messages arrive.
	Latency, Load, Length float64
	// Slots is how many messages a worker handles at once, Messages about how many arrive.
	Slots    int
	Messages int
	// Told says what the configuration states of the mean duration: none, right, half or double.
	Told string
	// Binding is true where the maximum is near or below the number of workers that the load needs.
	Binding bool
}

// The bounds of the distribution. [Draw] says how each quantity is distributed within them.
const (
	shortestWork, longestWork = 5e-3, 4 * 3600.0
	shortestBoot, longestBoot = 0.2, 1800.0
	leastLoad, mostLoad       = 0.01, 1000.0
	leastRoom, mostRoom       = 0.3, 50.0
	// mostMessages bounds the messages of a world; shortest and longest bound its length. So fast work comes with small
	// loads, and slow work with few messages.
	mostMessages      = 100_000
	shortest, longest = 600.0, 150 * 86400.0
	// soonestReport and latestReport bound the delay of reports in most worlds; soonestLate and latestLate bound it in
	// the share lateShare of them.
	soonestReport, latestReport = 0.01, 3.0
	soonestLate, latestLate     = 0.1, 30.0
	lateShare                   = 0.3
	// mostPolls bounds the polls of a world, where its objective allows that. mostReports bounds its reports, where
	// rarestReport allows that.
	mostPolls, mostReports = 50_000, 300_000
	// rarestReport is the longest time between two reports of a worker. A worker whose reports are half a minute late
	// still reports often enough not to be taken for lost.
	rarestReport = 8.0
	// mostWork bounds the worker-seconds of a world, over the time between two reports.
	mostWork = 1e6
)

// draws are the random draws of one world.
type draws struct{ *rand.Rand }

// log draws from a log-uniform distribution.
func (d draws) log(least, most float64) float64 {
	return least * math.Pow(most/least, d.Float64())
}

// between draws from a uniform distribution.
func (d draws) between(least, most float64) float64 { return least + (most-least)*d.Float64() }

// hit tells whether something of the given probability happens.
func (d draws) hit(probability float64) bool { return d.Float64() < probability }

// Draw returns the world of a number. What it draws, each independent of the others unless said:
//
//   - work: mean 5 ms to 4 h, log-uniform; variation 0 in a fifth of the worlds, 0.2 to 1.2 in half, 1.2 to 6
//     log-uniform in the rest (lognormal); two classes 1 : 4 to 1 : 50 in a seventh, reported as classes in half of
//     these;
//   - drift, in four of ten: up or down by 1.5 to 8 at once or evenly, back and forth, or with the length of the queue;
//   - boots: 0.2 s to 30 min, log-uniform; of one length in four of ten, else with a variation of 0.05 to 0.5;
//   - objective: 0.3 to 50 times the 99th percentile of the work plus the boot, log-uniform; 95, 99 or 99.9 %;
//   - load: 0.01 to 1,000 busy workers, log-uniform; slots: 1 in six of ten, else 2 to 64;
//   - arrivals: see [Shape]; trees are one of them;
//   - failing messages: none in seven of ten, else up to 20 %;
//   - reports 10 ms to 3 s late, log-uniform, in three of ten worlds 100 ms to 30 s instead, and the answers to them as
//     late again;
//   - polls each 1 to 30 s, log-uniform, at least ten within an objective above 10 s; rarer in worlds of weeks, at
//     least four within the objective; reports each 1 to 5 s, log-uniform, up to 8 s in worlds of many workers or of
//     weeks;
//   - counts up to a minute old, counts alone, counts off by a fifth;
//   - the maximum binds in a sixth; launches that fail, spot interruptions and crashes in a tenth each;
//   - stated beforehand of the mean: nothing in four of ten, else the right one, half or double; of the boot: the right
//     one in half.
//
// A world has at most 100,000 messages and lasts ten minutes to 150 days, so fast work comes with small loads; it lasts
// at least eight boots and three objectives.
func Draw(number uint64) World {
	d := draws{rand.New(rand.NewPCG(number, 0x776f726c6473))}
	w := World{Number: number, Slots: 1, Told: "none"}
	w.Mean = d.log(shortestWork, longestWork)
	switch x := d.Float64(); {
	case x < 0.2:
	case x < 0.7:
		w.CV = d.between(0.2, 1.2)
	default:
		w.CV = d.log(1.2, 6)
	}
	work := drawWork(d, &w)
	w.Boot = d.log(shortestBoot, longestBoot)
	if d.hit(0.6) {
		w.BootCV = d.between(0.05, 0.5)
	}
	w.Latency = math.Max(0.05, (w.Tail+w.Boot)*d.log(leastRoom, mostRoom))
	w.Latency = math.Min(w.Latency, 13*86400)
	if d.hit(0.4) {
		w.Slots = int(math.Exp2(d.between(1, 6)) + 0.5)
	}
	w.Load = d.log(leastLoad, mostLoad)
	flow := drawFlow(d, &w)
	event := contest.Event{
		Name: fmt.Sprintf("world %d", number),
		Objective: muster.Objective{Latency: seconds(w.Latency),
			Quantile: []float64{0.95, 0.99, 0.99, 0.99, 0.999}[d.IntN(5)]},
		Limits: muster.Limits{Max: 1, LaunchesPerHour: contest.LaunchesPerHour},
	}
	drawCircumstances(d, &w, &event)
	flow.settle(&w, event.World.ReportEvery.Seconds())
	slowDown(&w, &event)
	// What is kept after the last message is in proportion to the length of the world, so that a world of a minute is
	// not judged by its end.
	event.World.Tail = seconds(math.Min(1800, math.Max(60, w.Length/10)))
	drawMax(d, &w, &event)
	drawTold(d, &w, &event)
	drawLate(d, &event) // drawn last, so that no other draw of a world depends on it
	event.Trace = func(seed uint64) (trace.Trace, error) {
		flow, work := flow, work
		again := seed - number // 0 for the first draw
		flow.seed, work.seed = flow.seed+again, work.seed+again
		return flow.trace(w, work), nil
	}
	w.Event = event
	return w
}

// Repeat returns the k-th repetition of the world: the same circumstances, with other arrivals, durations and faults
// drawn from the same distributions. Repeat(0) is the first draw. The mean over a few repetitions shows less of the
// luck of one.
func (w World) Repeat(k int) World {
	w.Chance = uint64(k)
	return w
}

// seed is the seed of the trace and of the run. Numbers of worlds are below 2^32 wherever worlds are drawn, so no two
// worlds share one.
func (w World) seed() uint64 { return w.Number + w.Chance<<32 }

// seconds returns a number of seconds as a duration.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// drawCircumstances draws how the fleet, the reports and the source behave.
func drawCircumstances(d draws, w *World, e *contest.Event) {
	s := &e.World
	s.Slots, s.Boot = w.Slots, world.Draw{Mean: seconds(w.Boot)}
	if w.BootCV > 0 {
		random := rand.New(rand.NewPCG(d.Uint64(), 1))
		one := world.Draw{Mean: seconds(w.Boot), CV: w.BootCV}
		for range 64 {
			s.Boot.Samples = append(s.Boot.Samples, one.Next(random))
		}
	}
	s.Classes = d.hit(0.5)
	if d.hit(0.3) {
		s.Poison = d.between(0.002, 0.2)
		s.RetryBase = seconds(d.log(1, 60))
	}
	s.Report.Mean = seconds(d.log(soonestReport, latestReport))
	e.Poll = seconds(math.Max(1, math.Min(d.log(1, 30), w.Latency/10)))
	s.ReportEvery = seconds(d.log(1, 5))
	s.Wakes, s.Wake = d.hit(0.5), seconds(d.log(0.001, 1))
	if d.hit(0.2) {
		s.Stale = seconds(d.between(1, 60))
	}
	s.CountsOnly = d.hit(0.3)
	if d.hit(0.1) {
		s.Approximate = 0.2
	}
	if d.hit(0.1) {
		s.LaunchFails = d.between(0.01, 0.2)
	}
	if d.hit(0.1) {
		s.Spot = world.Spot{Share: 1, Interruptions: d.log(0.02, 0.5), Notice: 2 * time.Minute}
	}
	if d.hit(0.1) {
		s.Crashes = d.log(0.01, 0.3)
	}
	s.Random = d.hit(0.3)
	if w.Drift == driftQueue {
		s.Congestion = d.between(0.2, 1)
	}
	s.MaxReceives = 3
	s.Visibility = 30 * time.Second
}

// slowDown makes polls and reports rarer in a world that is long or has many workers, as operators of such fleets do.
// It aims at mostPolls polls, if four polls still fit into the objective, and at mostReports reports, if each worker
// still sends one every rarestReport.
func slowDown(w *World, e *contest.Event) {
	e.Poll = max(e.Poll, seconds(math.Min(w.Length/mostPolls, w.Latency/4)))
	reports := (w.Load + 10) * w.Length
	e.World.ReportEvery = max(e.World.ReportEvery, seconds(math.Min(reports/mostReports, rarestReport)))
}

// drawMax draws the maximum: in most worlds far above what the work needs.
func drawMax(d draws, w *World, e *contest.Event) {
	if d.hit(1.0 / 6) {
		w.Binding = true
		e.Limits.Max = max(1, int(math.Ceil(w.Load*d.between(0.5, 2))))
		return
	}
	e.Limits.Max = int(math.Min(20_000, math.Max(20, 30*w.Load)))
}

// drawTold draws what the configuration states.
func drawTold(d draws, w *World, e *contest.Event) {
	e.TellBoot = d.hit(0.5)
	factor := 1.0
	switch x := d.Float64(); {
	case x < 0.4:
		return
	case x < 0.7:
		w.Told = "right"
	case x < 0.85:
		w.Told, factor = "half", 0.5
	default:
		w.Told, factor = "double", 2
	}
	e.Prior = max(time.Microsecond, seconds(factor*w.Mean))
}

// drawLate draws whether reports are late, as behind a slow or distant network.
func drawLate(d draws, e *contest.Event) {
	if d.hit(lateShare) {
		e.World.Report.Mean = seconds(d.log(soonestLate, latestLate))
	}
}

// Slack returns how much of the objective is left, in seconds, after the tail of the work, the longest usual boot and
// the delay of what is observed. Above 0, a launch for a message that waits still finishes it in time.
func (w World) Slack() float64 {
	e := w.Event
	late := e.World.Stale.Seconds() + 2*e.Poll.Seconds() + e.World.Report.Mean.Seconds()
	return w.Latency - w.Tail - w.Boot*(1+2*w.BootCV) - late
}

// Failing tells whether messages, launches or workers fail.
func (w World) Failing() bool {
	s := w.Event.World
	return s.Poison > 0 || s.LaunchFails > 0 || s.Crashes > 0 || s.Spot.Share > 0
}

// String describes the world in one line.
func (w World) String() string {
	s := w.Event.World
	text := fmt.Sprintf("%s load %.3g of %s (cv %.2g", w.Shape, w.Load, short(w.Mean), w.CV)
	if w.Drift != "" {
		text += ", " + w.Drift
	}
	text += fmt.Sprintf("), boot %s (cv %.2g), objective %s at %g, slots %d, told %s", short(w.Boot), w.BootCV,
		short(w.Latency), w.Event.Objective.Quantile, w.Slots, w.Told)
	for _, x := range []struct {
		on   bool
		text string
	}{
		{w.Binding, fmt.Sprintf("max %d", w.Event.Limits.Max)}, {s.Poison > 0, fmt.Sprintf("%.2g failing", s.Poison)},
		{s.Stale > 0, "counts " + short(s.Stale.Seconds()) + " old"},
		{s.CountsOnly, "counts only"}, {s.LaunchFails > 0, "launches fail"}, {s.Crashes > 0, "crashes"},
		{s.Spot.Share > 0, "spot"},
		{s.Report.Mean > 2*time.Second, "reports " + short(s.Report.Mean.Seconds()) + " late"},
	} {
		if x.on {
			text += ", " + x.text
		}
	}
	return text
}

// short returns seconds with two digits and a unit.
func short(s float64) string {
	two := func(v float64) string {
		if v >= 100 {
			return fmt.Sprintf("%.0f", v)
		}
		return fmt.Sprintf("%.2g", v)
	}
	switch {
	case s < 1:
		return two(s*1000) + " ms"
	case s < 100:
		return two(s) + " s"
	case s < 6000:
		return two(s/60) + " min"
	}
	return fmt.Sprintf("%.3g h", s/3600)
}
