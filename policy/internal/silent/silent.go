// Package silent sizes fleets of which only the counts of the queue are known: the workers do not report, and no
// duration was stated or measured. [Fleet] tells whether a fleet is one, [Of] how many workers it gets.
//
//	if silent.Fleet(o) {
//		size := silent.Of(o, recent)
//	}
//
// All functions are pure. Each decision must keep Size.Kept for the next one.
package silent

import (
	"fmt"
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/durations"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// The names of the numbers that decisions about a silent fleet keep: when the present window began, in seconds since
// 1970, the backlog and the workers in service at that time, the most messages in flight in the window, and in the
// window before.
const (
	keptFrom    = "window_from_s"
	keptBacklog = "window_backlog"
	keptServing = "window_workers"
	keptBusiest = "busiest"
	keptBefore  = "busiest_before"
)

// window is one measurement of a silent fleet: the change of the backlog between two times, between which at most the
// share [churn] of the workers joined or left. Each decision keeps its window for the next one, because a policy has no
// state.
type window struct {
	from, backlog, serving float64
	busiest, before        float64
}

// shortestWindow and longestWindow bound a window. In between it is a quarter of the objective: the change of a backlog
// within it is more than chance, and there is time left to act on it.
const (
	shortestWindow = 30 * time.Second
	longestWindow  = 5 * time.Minute
)

// churn is the share of the workers that may leave, join or boot without an end of the window. Workers of a large fleet
// are replaced all the time, and a window that each of them ended would never be over.
const churn = 0.25

// windowOf returns the window that the newest decision kept, or false if there is none.
func windowOf(recent muster.Recent) (w window, ok bool) {
	if len(recent) == 0 {
		return w, false
	}
	for _, v := range recent[len(recent)-1].Kept {
		switch v.Name {
		case keptFrom:
			w.from, ok = v.Value, true
		case keptBacklog:
			w.backlog = v.Value
		case keptServing:
			w.serving = v.Value
		case keptBusiest:
			w.busiest = v.Value
		case keptBefore:
			w.before = v.Value
		}
	}
	return w, ok
}

// kept returns the numbers of w for a decision.
func (w window) kept() []muster.Value {
	return []muster.Value{rules.Value(keptFrom, w.from), rules.Value(keptBacklog, w.backlog),
		rules.Value(keptServing, w.serving), rules.Value(keptBusiest, w.busiest), rules.Value(keptBefore, w.before)}
}

// Fleet tells whether only the counts of the queue are known: the workers do not report, and no duration was stated or
// measured.
func Fleet(o muster.Observation) bool {
	c := o.Capacity
	if !c.Unreported || !c.Known || !o.Backlog().Known || !o.InFlight().Known {
		return false
	}
	if _, known := durations.Of(o); known {
		return false
	}
	return c.InService() > 0
}

// Size is how many workers a silent fleet gets.
type Size struct {
	// Workers is their number, In what it was computed from, Why says it in a sentence. While nothing waits these are
	// the workers that stay, and the others are empty.
	Workers int
	In      []muster.Value
	Why     string
	// Kept are the numbers that the decision keeps for the next one.
	Kept []muster.Value
}

// Of returns the size of a silent fleet. Its counts do not say how many workers the work needs, only whether there are
// enough. A falling backlog is gone after
//
//	backlog / (fall of the backlog per second)
//
// seconds. If that is later than the objective allows, or the backlog grows, the fleet doubles, once in a window.
// Doubling reaches any size in a few windows. It exceeds what clears the backlog in time by less than twice.
//
// While nothing waits, as many workers stay as were busy at once in this window or the one before. The messages in
// flight are the load, because nothing else keeps messages in flight.
func Of(o muster.Observation, recent muster.Recent) Size {
	c, backlog, inFlight := o.Capacity, o.Backlog().Value, o.InFlight().Value
	now, active := rules.Seconds(o.At), c.Active()
	latency := o.Objective.Latency
	length := min(max(latency/4, shortestWindow), longestWindow).Seconds()
	w, known := windowOf(recent)
	begin := window{from: now, backlog: backlog, serving: float64(c.InService()), busiest: inFlight, before: w.busiest}
	over := known && now-w.from >= length
	switch {
	case !known || now < w.from:
		begin.before = inFlight
		w = begin
	case math.Abs(float64(c.InService())-w.serving) > churn*w.serving:
		begin.before = math.Max(w.before, w.busiest)
		w = begin
	case inFlight > w.busiest:
		w.busiest = inFlight
	}
	s := Size{Kept: w.kept()}
	if backlog == 0 {
		if over {
			s.Kept = begin.kept()
		}
		s.Workers = min(active, rules.Ceil(math.Max(w.busiest, w.before)/math.Max(1, c.SlotsPerWorker)))
		return s
	}
	s.Workers = max(active, 1)
	s.In = []muster.Value{rules.Value("waiting", backlog), rules.Value("in_flight", inFlight),
		rules.Value("workers", float64(active))}
	const unknown = "how long the work takes is not known, and the workers do not report"
	switch {
	case float64(c.Pending()) > churn*float64(active):
		s.Why = unknown + "; workers are on their way"
	case !over || w.from == now:
		s.Why = fmt.Sprintf("%s; whether %s are enough shows in how the backlog changes within %s", unknown,
			render.Plural(active, "worker"), render.Seconds(length))
	default:
		s.Kept = begin.kept()
		fall := (w.backlog - backlog) / (now - w.from)
		s.In = append(s.In, rules.Value("fall_per_s", rules.Round3(fall)))
		if fall > 0 && backlog/fall <= latency.Seconds() {
			s.Why = fmt.Sprintf("%s; at the present rate the backlog is gone in %s, within the objective", unknown,
				render.Seconds(math.Round(backlog/fall)))
			break
		}
		s.Workers = active + max(1, min(active, rules.Ceil(backlog/math.Max(1, c.SlotsPerWorker))))
		s.Why = fmt.Sprintf("%s; the backlog does not fall fast enough to be gone within the objective, so the "+
			"fleet doubles (state the processing duration to begin with as many as it takes)", unknown)
	}
	return s
}
