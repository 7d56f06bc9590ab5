// Package alarm is the published rule by which a CloudWatch alarm gets its state from data points, and when it acts.
//
// A [Rule] says which values breach and how many data points must. [Rule.State] returns the state that follows from
// the data points of the evaluation range:
//
//  1. M of the N newest known data points breach: ALARM;
//  2. older data points are used before missing ones are filled in, see [Reserve];
//  3. missing data points count by one of four treatments, see [Treatment];
//  4. without enough data points an alarm is not raised early.
//
// A [Status] is what an alarm remembers between two evaluations; [Status.Act] repeats its scaling action while it
// lasts. [Every] says how often an alarm is evaluated.
//
// The package has no metrics, names or clock. Package sim/cloud/monitoring has alarms with all that, and the
// baselines of policy/peer keep a Status as numbers.
//
// Sources: CloudWatch user guide, "Using Amazon CloudWatch alarms", with the examples of its chapter on missing data;
// EC2 Auto Scaling user guide, "Target tracking scaling policies".
package alarm

import (
	"fmt"
	"slices"
	"time"
)

// State is the state of an alarm, in the words of CloudWatch.
type State string

// The states of an alarm.
const (
	OK               State = "OK"
	Alarm            State = "ALARM"
	InsufficientData State = "INSUFFICIENT_DATA"
)

// Comparison says how a value that breaches compares with the threshold, in the words of CloudWatch.
type Comparison string

// The comparisons. CloudWatch has others for anomaly detection, which this package has not.
const (
	Above   Comparison = "GreaterThanThreshold"
	AtLeast Comparison = "GreaterThanOrEqualToThreshold"
	Below   Comparison = "LessThanThreshold"
	AtMost  Comparison = "LessThanOrEqualToThreshold"
)

// Treatment says what a missing data point counts as, in the words of CloudWatch.
type Treatment string

// The treatments of missing data points. Missing is the default.
const (
	Missing      Treatment = "missing"
	Ignore       Treatment = "ignore"
	Breaching    Treatment = "breaching"
	NotBreaching Treatment = "notBreaching"
)

// Datapoint is the value of one period, compared with the threshold.
type Datapoint int8

// The outcomes of the comparison; Unknown is a missing data point.
const (
	Unknown Datapoint = iota
	Fine
	Breach
)

// Reserve is how many more periods than it needs an alarm fetches. It uses those older data points before it fills
// any in.
const Reserve = 2

// Repeat is the interval at which the scaling action of an alarm is repeated while the alarm lasts.
const Repeat = time.Minute

// Every returns the interval between two evaluations of an alarm over a period: ten seconds for periods under a
// minute, otherwise a minute.
func Every(period time.Duration) time.Duration {
	if period < time.Minute {
		return 10 * time.Second
	}
	return time.Minute
}

// Rule is the configuration that decides on an alarm's state.
type Rule struct {
	Comparison Comparison
	Threshold  float64
	// Periods is how many data points count (EvaluationPeriods), at least 1.
	Periods int
	// Datapoints is how many of them must breach (DatapointsToAlarm), 1 to Periods.
	Datapoints int
	// Missing is the treatment of missing datapoints.
	Missing Treatment
}

// Check returns what is wrong with a rule; nil when nothing is.
func (r Rule) Check() error {
	switch {
	case r.Periods < 1 || r.Datapoints < 1 || r.Datapoints > r.Periods:
		return fmt.Errorf("EvaluationPeriods is %d and DatapointsToAlarm %d; needed are 1 or more, in this order",
			r.Periods, r.Datapoints)
	case !slices.Contains([]Comparison{Above, AtLeast, Below, AtMost}, r.Comparison):
		return fmt.Errorf("there is no comparison operator '%s'", r.Comparison)
	case !slices.Contains([]Treatment{Missing, Ignore, Breaching, NotBreaching}, r.Missing):
		return fmt.Errorf("TreatMissingData '%s' must be missing, ignore, breaching or notBreaching", r.Missing)
	}
	return nil
}

// Range returns how many data points an evaluation fetches: the ones that it needs and the reserve.
func (r Rule) Range() int { return r.Periods + Reserve }

// Datapoint returns how a known value compares with the threshold.
func (r Rule) Datapoint(v float64) Datapoint {
	breaches := false
	switch r.Comparison {
	case Above:
		breaches = v > r.Threshold
	case AtLeast:
		breaches = v >= r.Threshold
	case Below:
		breaches = v < r.Threshold
	case AtMost:
		breaches = v <= r.Threshold
	}
	if breaches {
		return Breach
	}
	return Fine
}

// State returns the state that follows from a state and the data points of the evaluation range, oldest first. If
// enough of them are known, the newest known ones decide. Otherwise missing ones count as the rule says. With the
// treatment missing, breaching data points alone raise the alarm only if the oldest is as old as the rule wants, so
// that no alarm is premature.
func (r Rule) State(before State, points []Datapoint) State {
	var known []int // places of known datapoints, oldest first
	for k, p := range points {
		if p != Unknown {
			known = append(known, k)
		}
	}
	if len(known) == 0 {
		return r.blind(before)
	}
	known = known[max(0, len(known)-r.Periods):]
	breaching := 0
	for _, k := range known {
		if points[k] == Breach {
			breaching++
		}
	}
	filled, fine := r.Periods-len(known), len(known)-breaching
	switch {
	case breaching >= r.Datapoints || r.Missing == Breaching && breaching+filled >= r.Datapoints:
		return Alarm
	case filled == 0 || fine > r.Periods-r.Datapoints || r.Missing == NotBreaching || r.Missing == Breaching:
		return OK
	case r.Missing == Ignore:
		return before
	case fine > 0:
		return OK
	case len(points)-known[0] >= r.Datapoints:
		return Alarm
	}
	return before
}

// blind returns the state when no data point is known.
func (r Rule) blind(before State) State {
	switch r.Missing {
	case Ignore:
		return before
	case Breaching:
		return Alarm
	case NotBreaching:
		return OK
	}
	return InsufficientData
}

// Status is what an alarm remembers. The zero value has the state "", which the first evaluation replaces.
type Status struct {
	State State
	// Acted is when the scaling action last ran in this state; the zero time if it has not.
	Acted time.Time
}

// Evaluate updates the state by the data points of the evaluation range, oldest first, and tells whether it changed.
// A change forgets when the action ran.
func (s *Status) Evaluate(r Rule, points []Datapoint) bool {
	state := r.State(s.State, points)
	if state == s.State {
		return false
	}
	*s = Status{State: state}
	return true
}

// Act tells whether the scaling action is due, and records that it ran: at the first evaluation in ALARM, and then
// every Repeat while the alarm lasts.
func (s *Status) Act(now time.Time) bool {
	if s.State != Alarm || !s.Acted.IsZero() && now.Before(s.Acted.Add(Repeat)) {
		return false
	}
	s.Acted = now
	return true
}
