package advice

import (
	"fmt"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

// Stated is what the configuration of one fleet says.
type Stated struct {
	// Slots is how many calls a worker makes at once, Batch how many messages a call has at most; both at least 1.
	Slots, Batch int
	// Local is true for processes that share this machine, Reported for workers that report.
	Local, Reported bool
	// Boot is the stated boot time. Processing is the stated mean processing duration; zero for none.
	Boot, Processing time.Duration
	// Visibility is the visibility timeout that workers use. Retention is that of its embedded queue; zero for a queue
	// elsewhere.
	Visibility, Retention time.Duration
	Objective             muster.Objective
	Limits                muster.Limits
	// Price is the price of one worker for an hour; zero for none.
	Price float64
}

// Measured is what the history recorded of the fleet in a window. Its zero value knows nothing.
type Measured struct {
	// Window is the length of the window, Covered how much of it decisions were recorded in.
	Window, Covered time.Duration
	// Processing are the durations of finished messages, Boots those of boots that did not come from a warm pool.
	Processing, Boots series.Durations
	// Ended counts the finished messages whose sending time is known, InTime those of them in time.
	Ended, InTime float64
	// Usage is what the measured calls used.
	Usage protocol.Usage
	// Utilization is the mean share of busy slots while there were slots, from 0 to 1; SlotSeconds is over how much.
	Utilization, SlotSeconds float64
	// SlotsPerMember is the mean number of slots that workers reported on a member; 0 if unknown.
	SlotsPerMember float64
	// PeakSize is the largest size that the policy recommended, or that the fleet had. PeakBusy is the most busy slots
	// at a time, MeanBusy their mean over Covered.
	PeakSize, PeakBusy int
	MeanBusy           float64
	// AtMax is how long the recommendation was above the maximum.
	AtMax time.Duration
	// Oldest is the greatest age of a waiting message; it is valid if OldestKnown.
	Oldest      time.Duration
	OldestKnown bool
	// LeasesLost counts the messages whose visibility timeout ended while a worker had them, MembersLost the members
	// that stopped reporting.
	LeasesLost, MembersLost int
	// CPU is the mean share of the members' cores in use, from 0 to 1, that another system measured, in CPUPoints
	// readings; unknown without any. CPUUnknown says why, if it was asked for.
	CPU        float64
	CPUPoints  int
	CPUUnknown string
	// Unreported is true if the workers did not report.
	Unreported bool
}

// Confidence says how much an advice rests on.
type Confidence string

// The confidences. The function that counts samples says from how many on each holds.
const (
	Low    Confidence = "low"
	Medium Confidence = "medium"
	High   Confidence = "high"
)

// Key names a value of the configuration: its path below the fleet, or below the fleet's queue.
type Key string

// The keys that advice is about. Members has no key: the size of a member is stated in a launch template or task
// definition.
const (
	Slots           Key = "workers.slots"
	Boot            Key = "workers.boot"
	Visibility      Key = "workers.visibility"
	Processing      Key = "policy.processing"
	Latency         Key = "objective.latency"
	Max             Key = "max"
	Min             Key = "min"
	QueueRetention  Key = "queue.retention"
	Members         Key = ""
	smallestSamples     = 30
)

// RuleSlots is the rule that compares stated slots with reported ones. Its value is what the workers have already.
const RuleSlots = "slots"

// Advice is one value that does not fit, and the value that would.
type Advice struct {
	// Rule names the rule, in one word or two. Key is what to change.
	Rule string `json:"rule"`
	Key  Key    `json:"key,omitzero"`
	// Old and New are the values as a configuration has them; for Members they are words.
	Old string `json:"old"`
	New string `json:"new"`
	// Why has the measured figures. Samples is the number of measurements that they rest on.
	Why        string     `json:"why"`
	Samples    int64      `json:"samples"`
	Confidence Confidence `json:"confidence"`
	// Whole and Duration are the new value of a key that is a number or a duration; the other one is zero.
	Whole    int           `json:"-"`
	Duration time.Duration `json:"-"`
}

// Unjudged is a rule that could not be applied.
type Unjudged struct {
	Rule string `json:"rule"`
	// Why says what is unknown, Needed what would make it known.
	Why    string `json:"why"`
	Needed string `json:"needed"`
}

// Report is the advice about one fleet. Both lists are in the order of the rules.
type Report struct {
	Advice   []Advice   `json:"advice"`
	Unjudged []Unjudged `json:"unjudged"`
	// Fits names the rules whose values fit.
	Fits []string `json:"fits"`
}

// rule is one rule. It returns an advice, or what it could not judge, or neither if the value fits.
type rule struct {
	name  string
	judge func(s Stated, m Measured) (*Advice, *Unjudged)
}

// rules are all rules, in the order of a report.
func rules() []rule {
	return []rule{
		{RuleSlots, slots}, {"processor time", processorTime}, {"memory", memory}, {"processing duration",
			processing}, {"boot time", boot},
		{"objective", objective}, {"minimum", minimum}, {"maximum", maximum}, {"visibility timeout", visibility},
		{"retention", retention}, {"price", price},
	}
}

// Of applies all rules.
func Of(s Stated, m Measured) Report {
	r := Report{Advice: []Advice{}, Unjudged: []Unjudged{}, Fits: []string{}}
	for _, x := range rules() {
		a, u := x.judge(s, m)
		switch {
		case a != nil:
			a.Rule = x.name
			r.Advice = append(r.Advice, *a)
		case u != nil:
			u.Rule = x.name
			r.Unjudged = append(r.Unjudged, *u)
		default:
			r.Fits = append(r.Fits, x.name)
		}
	}
	return r
}

// unjudged returns why a rule could not be applied.
func unjudged(needed, why string, args ...any) (*Advice, *Unjudged) {
	return nil, &Unjudged{Why: fmt.Sprintf(why, args...), Needed: needed}
}

// confidence counts samples: from few on it is low, from ten times as many medium, from a hundred times as many high.
// A window of less than a day is never high, because days differ.
func confidence(m Measured, samples, few int64) Confidence {
	switch {
	case samples >= 100*few && m.Covered >= 24*time.Hour:
		return High
	case samples >= 10*few:
		return Medium
	}
	return Low
}

// whole returns an advice for a number.
func whole(k Key, old, new int, why string, args ...any) *Advice {
	return &Advice{Key: k, Old: fmt.Sprint(old), New: fmt.Sprint(new), Whole: new, Why: fmt.Sprintf(why, args...)}
}

// lasting returns an advice for a duration.
func lasting(k Key, old, new time.Duration, why string, args ...any) *Advice {
	return &Advice{Key: k, Old: Text(old), New: Text(new), Duration: new, Why: fmt.Sprintf(why, args...)}
}

// resting returns a with its samples and confidence.
func (a *Advice) resting(m Measured, samples, few int64) *Advice {
	a.Samples, a.Confidence = samples, confidence(m, samples, few)
	return a
}

// Text writes a duration as a configuration has it: without zero units.
func Text(d time.Duration) string {
	switch {
	case d == 0:
		return "none"
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}

// share writes a share as a percentage.
func share(v float64) string { return render.Number(float64(int(v*1000+0.5))/10) + " %" }

// Effect is what a simulated run came to.
type Effect struct {
	// InTime is the share of messages in time, from 0 to 1, WorkerHours what was paid for. Cost is in the currency of
	// the price; zero without a price.
	InTime      float64 `json:"in_time_ratio"`
	WorkerHours float64 `json:"worker_hours"`
	Cost        float64 `json:"cost,omitzero"`
}

// Effects tells whether a change is worth it: more messages in time, or the same share for less. quantile is the share
// of the objective: beyond it, more in time is worth nothing. Equal results are worth it as well, because a value that
// fits the measurements misleads no person and no policy.
func Effects(before, after Effect, quantile float64) bool {
	const same = 0.0005 // half a message in a thousand is chance
	short := func(e Effect) float64 { return max(0, quantile-e.InTime) }
	switch b, a := short(before), short(after); {
	case a > b+same:
		return false
	case a < b-same:
		return true
	}
	return after.WorkerHours <= before.WorkerHours*1.01
}
