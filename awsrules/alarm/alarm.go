// Package alarm is the published rule by which a CloudWatch alarm finds its state from datapoints, and when it acts.
//
// A [Rule] says what breaches and how many datapoints must. [Rule.State] finds the state that a row of datapoints leads
// to: M of N, older datapoints before missing ones are filled in, four treatments of missing ones, and no premature
// alarm. A [Status] is what an alarm remembers between two evaluations. [Every] says how often an alarm is evaluated.
//
// The package knows no metrics, no names and no clock: package sim/cloud has alarms with all that, and the baselines
// of policy/peer keep a Status as numbers.
//
// Sources: CloudWatch user guide, "Using Amazon CloudWatch alarms", with the examples of its chapter on missing data;
// EC2 Auto Scaling user guide, "Target tracking scaling policies".
package alarm

import (
	"fmt"
	"slices"
	"time"
)

// State is what an alarm says, in the words of CloudWatch.
type State string

// The states of an alarm.
const (
	OK               State = "OK"
	Alarm            State = "ALARM"
	InsufficientData State = "INSUFFICIENT_DATA"
)

// Comparison is what a value is to the threshold when it breaches, in the words of CloudWatch.
type Comparison string

// The comparisons. CloudWatch has others for anomaly detection, which this package has not.
const (
	Above   Comparison = "GreaterThanThreshold"
	AtLeast Comparison = "GreaterThanOrEqualToThreshold"
	Below   Comparison = "LessThanThreshold"
	AtMost  Comparison = "LessThanOrEqualToThreshold"
)

// Treatment is what a missing datapoint counts as, in the words of CloudWatch.
type Treatment string

// The treatments of missing datapoints. Missing is that of an alarm which names none.
const (
	Missing      Treatment = "missing"
	Ignore       Treatment = "ignore"
	Breaching    Treatment = "breaching"
	NotBreaching Treatment = "notBreaching"
)

// Datapoint is the value of one period, as it compares with the threshold.
type Datapoint int8

// The datapoints.
const (
	Unknown Datapoint = iota
	Fine
	Breach
)

// Reserve is how many periods more than it needs an alarm fetches: it uses older datapoints before it fills any in.
const Reserve = 2

// Repeat is the time after which the scaling action of an alarm is carried out again while the alarm lasts.
const Repeat = time.Minute

// Every returns the time between two evaluations of an alarm over datapoints of a period: ten seconds for periods under
// a minute, otherwise a minute.
func Every(period time.Duration) time.Duration {
	if period < time.Minute {
		return 10 * time.Second
	}
	return time.Minute
}

// Rule is what an alarm goes by.
type Rule struct {
	Comparison Comparison
	Threshold  float64
	// Periods is how many datapoints are looked at (EvaluationPeriods), at least 1.
	Periods int
	// Datapoints is how many of them must breach (DatapointsToAlarm), 1 to Periods.
	Datapoints int
	// Missing is the treatment of missing datapoints.
	Missing Treatment
}

// Check returns what is wrong with a rule, nil if nothing is.
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

// Range returns how many datapoints an evaluation looks at: those that it needs and the reserve.
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

// State returns the state that follows from a state and the datapoints of the evaluation range, oldest first. Where
// enough of them are known the newest decide. Otherwise missing ones are filled in as the rule says. With the treatment
// missing, breaches alone raise the alarm only when the oldest is as old as the rule wants, so that no alarm is
// premature.
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

// blind returns the state without any datapoint.
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

// Status is what an alarm remembers. The zero value has the state "", which is to become InsufficientData.
type Status struct {
	State State
	// Acted is when its scaling action was last carried out in this state, the zero time if it was not.
	Acted time.Time
}

// Evaluate moves the status on by the datapoints of the evaluation range, oldest first, and tells whether the state
// changed.
func (s *Status) Evaluate(r Rule, points []Datapoint) bool {
	state := r.State(s.State, points)
	if state == s.State {
		return false
	}
	*s = Status{State: state}
	return true
}

// Act tells whether the scaling action is due at an instant, and notes it: at the first evaluation in ALARM, and then
// every Repeat while the alarm lasts.
func (s *Status) Act(now time.Time) bool {
	if s.State != Alarm || !s.Acted.IsZero() && now.Before(s.Acted.Add(Repeat)) {
		return false
	}
	s.Acted = now
	return true
}
