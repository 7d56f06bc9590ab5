// Package world describes the world that package sim simulates, without knowing how a run goes: how long members boot,
// how often they fail, what they cost, how late and how wrong the counts of the queue are, which calls fail.
//
// A [World] is plain data. Its zero value is a world in which nothing takes time and nothing fails; each field adds one
// delay or fault. [World.Check] fills in defaults and finds what is impossible. A [Draw] is a random duration, such as
// a boot time. [Parameters] names the fields for the command line and for docs/simulation.md, and [World.Set] sets one:
//
//	var w world.World
//	err := w.Set("boot", "90s")  // or w.Boot.Mean = 90 * time.Second
//	w, err = w.Check()
//
// For something else: app.World makes a world that resembles a configured fleet, package sim/worlds draws worlds at
// random, and package sim/cloud models the rules of AWS in detail.
package world

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/muster-scale/muster/awsrules/spot"
	"github.com/muster-scale/muster/awsrules/tracking"
)

// World holds the parameters of the simulated world. A zero field means that the world has no such delay or fault, or
// the default that the field names; [World.Check] tells what is allowed. Probabilities and shares are from 0 to 1,
// rates are per hour.
type World struct {
	// Start is the instant at which the trace starts, for policies that go by the calendar; by default 2026-01-05 UTC,
	// a Monday.
	Start time.Time

	// Boot is the time from the launch of a member until its worker takes messages. Members from the warm pool boot by
	// Warm.Boot instead.
	Boot Draw
	Warm WarmPool
	// Spot says which members the cloud may take back.
	Spot Spot
	// Slots is how many messages a worker handles at once, at least 1 and by default 1.
	Slots int
	// IdleStop is how long a worker waits for a message until it is ready to stop; 0 is never.
	IdleStop time.Duration
	// Exit is the time that a worker takes to end after its stop was permitted.
	Exit time.Duration
	// Handover is the time a worker takes to delete a finished message before it receives the next one. The message
	// counts as finished when its work is done.
	Handover time.Duration

	// LaunchFails is the probability that a member ends in its boot. RefuseLaunch is the probability that a whole order
	// is refused. Capacity is how many members the cloud has room for; 0 is enough for all.
	LaunchFails  float64
	RefuseLaunch float64
	Capacity     int
	// Crashes is how often an hour a member dies, whatever its worker does.
	Crashes float64

	// MinimumBill is the least time for which a member is paid, BillStep the granularity of the bill. PricePerHour is
	// what a worker costs; by default 1, so that the cost reads in worker-hours.
	MinimumBill, BillStep time.Duration
	// BillMargin is how long before the end of a paid BillStep an idle worker is ready to stop; 0 is never.
	BillMargin   time.Duration
	PricePerHour float64

	// Visibility is the visibility timeout: a received message is hidden for so long. Workers extend it when half of it
	// has passed. By default 30 s.
	Visibility time.Duration
	// Poison is the share of messages whose work fails every time. After MaxReceives, by default 5, a message is a dead
	// letter. RetryBase is the first back-off after a failure, by default 30 s; it doubles with each failure.
	Poison      float64
	MaxReceives int
	RetryBase   time.Duration
	// Congestion makes work take longer the more messages wait, as a shared database does. The duration of a message is
	// multiplied once, when its work first begins, by
	//
	//	1 + Congestion x min(3, b / (10 n))
	//
	// with b the messages that wait and n the members that take messages at that time.
	Congestion float64
	// Cores is how many cores all members share, as processes of one machine do. With more messages in progress than
	// cores, each takes longer in proportion. 0 gives each message a core of its own.
	Cores int
	// Classes lets workers report durations by the classes of the trace.
	Classes bool
	// Random hands a message to any worker that waits, as SQS does, and not to the one that waits longest.
	Random bool

	// Wakes lets the queue wake the controller when messages come, after the delay Wake. LoseWakes is the share of
	// wake-ups that are lost.
	Wakes     bool
	Wake      time.Duration
	LoseWakes float64

	// MetricPeriod is the interval at which counts change, and MetricDelay how much later they are shown. Stale shows
	// counts as they were so long ago under the present instant, as a distributed queue may do. CountsOnly is a source
	// that knows neither ages nor how many messages were sent, as SQS. Approximate is the largest relative error of
	// counts. LoseSamples is the share of measurements that fail.
	MetricPeriod, MetricDelay, Stale time.Duration
	CountsOnly                       bool
	Approximate                      float64
	LoseSamples                      float64
	// Silent workers do not report. A service of the fleet keeps the desired count: it replaces members that end. To
	// shrink, it stops members that hold no message, the oldest first, and the others when they are done. Such workers
	// do not stop by themselves, so IdleStop and BillMargin have no effect.
	Silent bool
	// Tracking, where set, is the scaling policy of AWS that sizes a delegated fleet. It takes its metric and target
	// from what the controller hands over. Its service keeps the count as that of silent workers does, and workers do
	// not stop by themselves. The controller's own spec must be delegated.
	Tracking *tracking.Policy
	// Trees tells the controller how much work running trees are expected to send: messages that have children are
	// nodes of a tree. LoseTrees is the share of readings of the trees that fail.
	Trees     bool
	LoseTrees float64
	// LoseListings is the share of fleet listings that fail.
	LoseListings float64

	// API is the time that an order or a poll takes. Throttle is the share of orders that are refused as too many.
	API      Draw
	Throttle float64
	// LoseAnswers is the share of orders that are carried out and whose answer is lost; they are given again.
	LoseAnswers float64

	// Report is the time that a worker's report takes to the controller, and again the answer back. ReportEvery is the
	// time between two reports while nothing changes, by default 1 s. LoseReports and RepeatReports are the shares of
	// reports that are lost and that arrive twice; an answer is lost as often as a report.
	Report        Draw
	ReportEvery   time.Duration
	LoseReports   float64
	RepeatReports float64

	// ControllerCrashes is how often an hour the controller loses its memory. A new one starts from the history after
	// ControllerDown, and the history must refuse what the replaced one still writes.
	ControllerCrashes float64
	ControllerDown    time.Duration

	// FaultsEnd is the time of the run from which on nothing crashes, fails or is lost; 0 is never.
	FaultsEnd time.Duration
	// Tail is the longest time that a run goes on after the last message finished, for workers to stop; by default 30
	// minutes.
	Tail time.Duration
	// Length is the least length of a run, which then goes on without messages until that time: what the fleet costs
	// in it is comparable with what it cost in as long a time in production.
	Length time.Duration
}

// WarmPool describes prepared instances: launches are served from the pool first, while it has any.
type WarmPool struct {
	// Size is how many instances the pool holds. Boot is the boot time of a member from the pool, and Refill the time
	// until a used instance is replaced.
	Size   int
	Boot   Draw
	Refill time.Duration
}

// Spot describes members that the cloud may take back.
type Spot struct {
	// Share is the share of members that can be interrupted, Interruptions how often an hour each of them is, and
	// Notice the time from the notice to the end, by default that of AWS.
	Share         float64
	Interruptions float64
	Notice        time.Duration
}

// Check fills in the defaults of w and returns all its faults, joined; nil when it has none.
func (w World) Check() (World, error) {
	if w.Start.IsZero() {
		w.Start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC) // a Monday
	}
	w.Slots = cmp.Or(w.Slots, 1)
	w.Visibility = cmp.Or(w.Visibility, 30*time.Second)
	w.ReportEvery = cmp.Or(w.ReportEvery, time.Second)
	w.MaxReceives = cmp.Or(w.MaxReceives, 5)
	if w.Spot.Interruptions > 0 {
		w.Spot.Notice = cmp.Or(w.Spot.Notice, spot.Notice)
	}
	w.RetryBase = cmp.Or(w.RetryBase, 30*time.Second)
	w.PricePerHour = cmp.Or(w.PricePerHour, 1)
	w.Tail = cmp.Or(w.Tail, 30*time.Minute)
	faults := []error{w.Boot.Check("boot"), w.Warm.Boot.Check("boot of the warm pool"), w.API.Check("API latency"),
		w.Report.Check("report latency")}
	for _, s := range []struct {
		name  string
		value float64
	}{
		{"share of failing launches", w.LaunchFails}, {"share of refused launches", w.RefuseLaunch},
		{"share of spot members", w.Spot.Share},
		{"share of poison messages", w.Poison}, {"share of lost wakes", w.LoseWakes},
		{"error of counts", w.Approximate},
		{"share of lost samples", w.LoseSamples}, {"share of lost listings", w.LoseListings},
		{"share of lost readings of trees", w.LoseTrees}, {"share of throttled orders", w.Throttle},
		{"share of lost answers", w.LoseAnswers}, {"share of lost reports", w.LoseReports},
		{"share of repeated reports", w.RepeatReports},
	} {
		if !(s.value >= 0 && s.value <= 1) {
			faults = append(faults, fmt.Errorf("%s: found %v, allowed is 0 to 1", s.name, s.value))
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
		least time.Duration
	}{
		{"idle stop", w.IdleStop, 0}, {"exit", w.Exit, 0}, {"handover", w.Handover, 0},
		{"minimum bill", w.MinimumBill, 0}, {"bill granularity", w.BillStep, 0}, {"bill margin", w.BillMargin, 0},
		{"visibility", w.Visibility, 2 * time.Second}, {"retry base", w.RetryBase, 0}, {"wake delay", w.Wake, 0},
		{"metric period", w.MetricPeriod, 0}, {"metric delay", w.MetricDelay, 0}, {"staleness", w.Stale, 0},
		{"report interval", w.ReportEvery, 10 * time.Millisecond}, {"controller's downtime", w.ControllerDown, 0},
		{"end of faults", w.FaultsEnd, 0}, {"tail", w.Tail, 0}, {"refill of the warm pool", w.Warm.Refill, 0},
		{"spot notice", w.Spot.Notice, 0}, {"length", w.Length, 0},
	} {
		if d.value < d.least || d.value > 366*24*time.Hour {
			faults = append(faults, fmt.Errorf("%s: found %s, allowed is %s to 8784h", d.name, d.value, d.least))
		}
	}
	for _, r := range []struct {
		name  string
		value float64
	}{{"crashes", w.Crashes}, {"spot interruptions", w.Spot.Interruptions}, {"controller crashes",
		w.ControllerCrashes}, {"price", w.PricePerHour}, {"congestion", w.Congestion}} {
		if !(r.value >= 0 && r.value <= 1e6) {
			faults = append(faults, fmt.Errorf("%s an hour: found %v, allowed is 0 to 1000000", r.name, r.value))
		}
	}
	if w.Cores < 0 || w.Cores > 100_000 {
		faults = append(faults, fmt.Errorf("cores: found %d, allowed is 0, for enough, to 100000", w.Cores))
	}
	if w.Slots < 1 || w.Slots > 1000 || w.MaxReceives < 1 || w.Capacity < 0 || w.Warm.Size < 0 {
		faults = append(faults, fmt.Errorf("found %d slots, %d receives, capacity %d, warm pool %d; allowed are 1 to "+
			"1000, at least 1, and at least 0",
			w.Slots, w.MaxReceives, w.Capacity, w.Warm.Size))
	}
	return w, errors.Join(faults...)
}
