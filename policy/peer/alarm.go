package peer

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/awsrules/alarm"
	"github.com/muster-scale/muster/awsrules/tracking"
	"github.com/muster-scale/muster/policy"
)

// Alarm is a pair of CloudWatch alarms on one metric. The high one needs all of the newest High points above the
// target; the low one needs all of the newest Low points below Below * target. Package awsrules/alarm has the rules for
// missing points.
//
// Each point is kept as its comparison with the target at its time, not as a number. If the target changes, CloudWatch
// compares old points with the new target; this does not.
type Alarm struct {
	// Period is the time between two points, above zero.
	Period time.Duration
	// High and Low are 1 to 24.
	High, Low int
	// Below is above 0 and at most 1.
	Below float64
}

// FixedAlarm returns the published pair of target tracking, on points of a minute.
func FixedAlarm() Alarm {
	pair := tracking.Fixed()
	return Alarm{Period: time.Minute, High: pair.High, Low: pair.Low, Below: pair.Below}
}

// FastAlarm returns the same pair on points of ten seconds, the shortest period that target tracking accepts. The
// service tunes its own alarms there and publishes no figures.
func FastAlarm() Alarm {
	a := FixedAlarm()
	a.Period = 10 * time.Second
	return a
}

// The names under which the alarms keep their newest points, and for each alarm its state and the time of its last
// action.
const (
	keptPoints    = "points"
	keptHigh      = "alarm_high"
	keptHighActed = "alarm_high_acted_s"
	keptLow       = "alarm_low"
	keptLowActed  = "alarm_low_acted_s"
	// keptWarm is the time until which instances warm up, keptPoint the time of the next point.
	keptWarm  = "warm_until_s"
	keptPoint = "next_point_s"
)

// keptByAlarms returns the names of the numbers that the alarms keep.
func keptByAlarms() []string {
	return []string{keptPoint, keptPoints, keptHigh, keptHighActed, keptLow, keptLowActed}
}

// The points of both alarms are kept as the digits of one number to the base 4, the newest last.
const (
	pointMissing = iota
	pointBetween
	pointAbove
	pointBelow
	pointKinds

	// mostPoints is how many base-4 digits a float64 holds exactly.
	mostPoints = 26
)

// standing is the answer of one alarm at a point: whether it is in state ALARM, and whether it acts now.
type standing struct{ stands, acts bool }

// standings are the answers of both alarms at a point, and how many of the newest points in a row were above and below.
type standings struct {
	high, low             standing
	highPoints, lowPoints float64
}

// due tells whether the next point is due, and starts the clock of points.
func (a Alarm) due(t *turn) bool {
	struck, due := t.keep.due(keptPoint, t.o.At, a.Period, a.Period)
	t.struck = struck
	return due
}

// see adds a point and returns the answers of both alarms.
func (a Alarm) see(t *turn, above, below bool) standings {
	point := pointBetween
	switch {
	case above:
		point = pointAbove
	case below:
		point = pointBelow
	}
	points := a.take(t, point)
	return standings{
		high:       a.evaluate(t, points, pointAbove, keptHigh, keptHighActed, true),
		low:        a.evaluate(t, points, pointBelow, keptLow, keptLowActed, true),
		highPoints: inARow(points, pointAbove), lowPoints: inARow(points, pointBelow),
	}
}

// miss adds a missing point. It may change the state of an alarm, and no alarm acts.
func (a Alarm) miss(t *turn) {
	points := a.take(t, pointMissing)
	a.evaluate(t, points, pointAbove, keptHigh, keptHighActed, false)
	a.evaluate(t, points, pointBelow, keptLow, keptLowActed, false)
}

// restart puts both alarms into INSUFFICIENT_DATA, as an update of the alarm does. The points stay.
func (a Alarm) restart(t *turn) {
	for _, name := range []string{keptHigh, keptHighActed, keptLow, keptLowActed} {
		t.keep.drop(name)
	}
}

// take adds a point to the kept ones, and returns them, oldest first.
func (a Alarm) take(t *turn, point int) []int {
	kept := t.keep.or(keptPoints, 0)
	n := min(max(a.High, a.Low)+alarm.Reserve, mostPoints)
	if !(kept >= 0 && kept < math.Pow(pointKinds, mostPoints)) {
		kept = 0 // a number of another policy
	}
	code := uint64(kept)<<2 | uint64(point)
	code &= 1<<(2*n) - 1
	t.keep.set(keptPoints, float64(code))
	points := make([]int, n)
	for k := range points {
		points[n-1-k] = int(code >> (2 * k) % pointKinds)
	}
	return points
}

// inARow returns how many of the newest points are of a kind.
func inARow(points []int, kind int) (n float64) {
	for k := len(points) - 1; k >= 0 && points[k] == kind; k-- {
		n++
	}
	return n
}

// states are the states of an alarm; a state is kept as its index.
var states = [...]alarm.State{alarm.InsufficientData, alarm.OK, alarm.Alarm}

// evaluate applies the points to one alarm, of which those of the given kind breach, and returns its answer. state and
// acted are the names of its kept numbers.
func (a Alarm) evaluate(t *turn, points []int, kind int, state, acted string, mayAct bool) standing {
	need := a.High
	if kind == pointBelow {
		need = a.Low
	}
	rule := alarm.Rule{Periods: need, Datapoints: need, Missing: alarm.Missing}
	seen := make([]alarm.Datapoint, 0, rule.Range())
	for _, p := range points[max(0, len(points)-rule.Range()):] {
		switch p {
		case pointMissing:
			seen = append(seen, alarm.Unknown)
		case kind:
			seen = append(seen, alarm.Breach)
		default:
			seen = append(seen, alarm.Fine)
		}
	}
	now := instant(t.struck)
	s := alarm.Status{State: states[0]}
	if k := t.keep.or(state, 0); k == 1 || k == 2 {
		s.State = states[int(k)]
	}
	if at := t.keep.or(acted, 0); at > 0 && at <= t.struck+tick {
		s.Acted = instant(at)
	}
	s.Evaluate(rule, seen)
	out := standing{stands: s.State == alarm.Alarm}
	out.acts = mayAct && s.Act(now)
	for k, of := range states {
		if of == s.State {
			t.keep.set(state, float64(k))
		}
	}
	if s.Acted.IsZero() {
		t.keep.drop(acted)
	} else {
		t.keep.set(acted, seconds(s.Acted))
	}
	return out
}

// instant returns the time, rounded to a microsecond, of seconds since 1970.
func instant(s float64) time.Time { return time.UnixMicro(int64(math.Round(s * 1e6))) }

// warming tells whether any instance warms up: pending ones, and those that came into service less than a warm-up ago.
func warming(k *notes, o muster.Observation, warmup time.Duration) bool {
	if o.Pending() > 0 {
		k.set(keptWarm, seconds(o.At.Add(warmup)))
		return true
	}
	until, ok := k.get(keptWarm)
	return ok && seconds(o.At) < until-tick
}

// acceptable returns the acceptable backlog per instance for a mean processing duration; 0 if that is not above zero.
func acceptable(o muster.Observation, mean time.Duration) float64 {
	if mean <= 0 {
		return 0
	}
	return policy.AcceptableBacklog(o.Objective.Latency, mean, slots(o))
}
