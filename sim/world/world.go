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

	"github.com/muster-scale/muster/awsrules/tracking"
)

// World are the parameters of the simulated world. Zero values mean a world without that delay or fault; [World.Check]
// tells what is allowed. Probabilities are from 0 to 1, rates are per hour.
type World struct {
	// Start is the date of the trace's start; it matters to policies that go by the calendar.
	Start time.Time

	// Boot is the time from the launch of a member until its worker takes messages. The first Warm.Size members at a
	// time come from a warm pool and boot by Warm.Boot.
	Boot Draw
	Warm WarmPool
	// Spot is the share of members that can be interrupted.
	Spot Spot
	// Slots is how many messages a worker holds at once, at least 1.
	Slots int
	// IdleStop is how long a worker waits for a message before it offers to leave; 0 never.
	IdleStop time.Duration
	// Exit is the time a worker takes to end once it may.
	Exit time.Duration
	// Handover is the time a worker takes to delete a finished message before it receives the next; the message counts
	// as finished when its work is done.
	Handover time.Duration

	// LaunchFails is the probability that a member ends in its boot. RefuseLaunch is the probability that an order is
	// refused whole, and Capacity how many members can exist at most because the cloud has no more; 0 means enough.
	LaunchFails  float64
	RefuseLaunch float64
	Capacity     int
	// Crashes is how often an hour a worker's member dies, whatever it does.
	Crashes float64

	// MinimumBill and BillStep are the least time a member is paid for and the granularity. PricePerHour is what a
	// worker costs; 1 when zero, so that cost reads in worker-hours.
	MinimumBill, BillStep time.Duration
	// BillMargin is how long before the end of a BillStep that is paid for an idle worker offers to leave; zero is
	// never.
	BillMargin   time.Duration
	PricePerHour float64

	// Visibility is how long a received message is hidden unless its hold is extended; workers extend it at half of
	// that.
	Visibility time.Duration
	// Poison is the share of messages whose work fails every time; after MaxReceives they are dead letters. RetryBase
	// is the first back-off of a failed message.
	Poison      float64
	MaxReceives int
	RetryBase   time.Duration
	// Congestion makes work take longer the more messages wait, as a shared database does: a message that begins while
	// b messages wait and n members take messages takes 1 + Congestion x min(3, b / (10 n)) times its service.
	Congestion float64
	// Cores is how many cores all members share, as processes of one machine do: while more messages are worked on,
	// each takes longer in proportion. 0 means that each has its own.
	Cores int
	// Classes has workers report durations by the classes of the trace.
	Classes bool
	// Random hands a message to any of the waiting workers, as SQS does, instead of to the one that waits longest.
	Random bool

	// Wakes makes the queue wake the controller when messages come, after the delay Wake; LoseWakes is the share lost.
	Wakes     bool
	Wake      time.Duration
	LoseWakes float64

	// MetricPeriod makes counts change only so often, MetricDelay shows them so much later. Stale shows counts as they
	// were so long ago under the present instant, as a distributed queue may. CountsOnly is a source that knows neither
	// ages nor how many messages were sent. Approximate is the largest relative error of counts, LoseSamples the share
	// of measurements that fail.
	MetricPeriod, MetricDelay, Stale time.Duration
	CountsOnly                       bool
	Approximate                      float64
	LoseSamples                      float64
	// Silent workers report to nobody. A service of the fleet's own keeps the number of members that it was set to: it
	// replaces those that end, and where it has too many it ends members that hold no message, the oldest first, and
	// the others when they are done. Such workers do not leave by themselves, so IdleStop does not count.
	Silent bool
	// Tracking, where set, is the scaling policy of AWS that sizes a delegated fleet. It takes its metric and target
	// from what the controller hands over, and its service keeps the count as that of a silent fleet does; workers do
	// not leave by themselves. The controller's own spec must be delegated.
	Tracking *tracking.Policy
	// Trees tells the controller what running trees are expected to send: the messages that have children are taken for
	// nodes. LoseTrees is the share of looks at them that fail.
	Trees     bool
	LoseTrees float64
	// LoseListings is the share of fleet listings that fail.
	LoseListings float64

	// API is the time an order takes to be carried out and answered, Throttle the share of orders refused as too many.
	API      Draw
	Throttle float64
	// LoseAnswers is the share of orders that are carried out and whose answer is lost; they are given again.
	LoseAnswers float64

	// Report is how long a worker's report takes to the controller, and the answer back. ReportEvery is the time
	// between reports while nothing changes. LoseReports and RepeatReports are shares.
	Report        Draw
	ReportEvery   time.Duration
	LoseReports   float64
	RepeatReports float64

	// ControllerCrashes is how often an hour the controller loses its memory and starts again from the history, after
	// ControllerDown. The one before goes on for a while and must be refused.
	ControllerCrashes float64
	ControllerDown    time.Duration

	// FaultsEnd is when crashes, losses and refusals stop; 0 means never.
	FaultsEnd time.Duration
	// Tail bounds how long a run goes on after the last message finished, for workers to leave; 30 minutes when zero.
	Tail time.Duration
}

// WarmPool are members that were prepared: the first ones launched come from there.
type WarmPool struct {
	// Size is how many there are; Refill is how long it takes to replace one that was taken.
	Size   int
	Boot   Draw
	Refill time.Duration
}

// Spot are members that the cloud takes back.
type Spot struct {
	// Share of the members, Interruptions per member and hour, Notice before the end.
	Share         float64
	Interruptions float64
	Notice        time.Duration
}

// Check completes w with defaults and returns every fault of it, joined.
func (w World) Check() (World, error) {
	if w.Start.IsZero() {
		w.Start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC) // a Monday
	}
	w.Slots = cmp.Or(w.Slots, 1)
	w.Visibility = cmp.Or(w.Visibility, 30*time.Second)
	w.ReportEvery = cmp.Or(w.ReportEvery, time.Second)
	w.MaxReceives = cmp.Or(w.MaxReceives, 5)
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
		{"share of lost looks at trees", w.LoseTrees}, {"share of throttled orders", w.Throttle},
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
		{"spot notice", w.Spot.Notice, 0},
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
