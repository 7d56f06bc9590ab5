package policy

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/policy/planning"
)

// Spec is a policy with its parameters, as the configuration states it and as every recorded decision keeps it.
// Durations are nanoseconds in JSON. Zero values mean the default.
type Spec struct {
	// Name is one of [Names].
	Name string `json:"name"`
	// Acceptable is the acceptable backlog per worker: required by backlog-per-worker unless Processing is given; the
	// value used by dynamic-backlog until a processing duration was measured.
	Acceptable float64 `json:"acceptable,omitzero"`
	// Processing is the user's own figure for the mean processing duration. backlog-per-worker computes its acceptable
	// backlog from it once and for all; for the others it is the prior until durations are measured.
	Processing time.Duration `json:"processing_ns,omitzero"`
	// Scale is the dial of deadline from cheap to fast: the share of the latency objective that it plans with, above 0
	// and at most 1, which is the default.
	Scale float64 `json:"scale,omitzero"`
	// Prompt makes deadline begin what waits at once, with one worker at least; see [Deadline].
	Prompt bool `json:"prompt,omitzero"`
	// Forecast makes deadline plan by what came at the same time of other days: [ForecastSeasonal], or [ForecastNone],
	// which is the default.
	Forecast string `json:"forecast,omitzero"`
	// Trees is what exact does for the nodes of running trees: [TreesEach], the default, or [TreesWhole]. First is how
	// many slots a tree then gets of which only the root is known: 1 to 10 000, [DefaultFirst] by default.
	Trees string `json:"trees,omitzero"`
	First int    `json:"first,omitzero"`
	// Target is the utilization that worker-utilization aims at, above 0 and at most 1; 0.7 by default. For metric-math
	// it is the value that the expression shall have, above 0.
	Target float64 `json:"target,omitzero"`
	// Signal is what worker-utilization counts as work: "total" (backlog plus in flight, the default), "in-flight", or
	// "reports" (busy slots reported by workers; the only choice for a fleet without a queue).
	Signal string `json:"signal,omitzero"`
	// Largest lists policies of which the largest size is taken; only with the name "largest". 2 to 8 of them.
	Largest []Spec `json:"largest,omitzero"`
	// Metric, Steps and Cooldown are those of step; see [Step]. The metric is the backlog by default.
	Metric   string        `json:"metric,omitzero"`
	Steps    []StepChange  `json:"steps,omitzero"`
	Cooldown time.Duration `json:"cooldown_ns,omitzero"`
	// Queries is the list of metric-math: metrics and expressions, one of which is returned; see [MetricMath].
	Queries []metricmath.Query `json:"metrics,omitzero"`
	// Intervals are those of schedule; see [Schedule].
	Intervals []Interval `json:"intervals,omitzero"`
	// HeadroomWorkers and HeadroomPercent keep so many workers, or so many per hundred of those needed, above what the
	// policy asks for. At most one of them is set.
	HeadroomWorkers int     `json:"headroom_workers,omitzero"`
	HeadroomPercent float64 `json:"headroom_percent,omitzero"`
	// PricePerHour is what one worker costs in an hour, in any currency; zero is unknown. BudgetPerHour is the most
	// that the fleet may cost in an hour, in the same currency; zero is no ceiling, and one needs a price.
	PricePerHour  float64 `json:"price_per_hour,omitzero"`
	BudgetPerHour float64 `json:"budget_per_hour,omitzero"`
	// Delegate leaves the size to the target tracking of a cloud; nil where the policy itself sets it.
	Delegate *Delegation `json:"delegate,omitzero"`
	// Out and In shape rises and falls, each with its own clock.
	Out Shape `json:"out,omitzero"`
	In  Shape `json:"in,omitzero"`
	// Shadow has decisions recorded and nothing done: another system sizes the fleet; see [Shadow].
	Shadow bool `json:"shadow,omitzero"`
}

// Shape limits how a size changes in one direction.
type Shape struct {
	// Stabilization is how long a wish must have lasted: a rise goes to the smallest wish of that time, a fall to the
	// largest. 0 to 24 h; zero acts at once.
	Stabilization time.Duration `json:"stabilization_ns,omitzero"`
	// MaxWorkers and MaxPercent limit the change within any Period; where both are set the larger change is allowed.
	// Zero means no limit.
	MaxWorkers int           `json:"max_workers,omitzero"`
	MaxPercent float64       `json:"max_percent,omitzero"`
	Period     time.Duration `json:"period_ns,omitzero"`
	// Disabled allows no change in this direction at all, but for the limits of the fleet.
	Disabled bool `json:"disabled,omitzero"`
}

// limits tells whether s limits how far the size changes.
func (s Shape) limits() bool { return s.Disabled || s.Period > 0 }

// Default is the name of the policy of a fleet that names none.
const Default = "deadline"

// longest is the longest stabilization or period, and so the longest memory any policy has.
const longest = 24 * time.Hour

// kind is one policy a configuration can name. Its check, if any, returns the faults of its own parameters.
type kind struct {
	name  string
	what  string
	build func(Spec) muster.Policy
	check func(Spec) []error
	facts
}

// facts are what others ask of a policy.
type facts struct {
	// falls: the size falls when nothing is left to do, when workers leave, or by the clock. leaves: because idle
	// workers leave.
	falls, leaves bool
	// plans: it asks for the busiest times. learns: it sizes by durations as they are measured.
	plans, learns bool
	// alone: it needs no queue, because it goes by metrics of its own or by the calendar. reports: it can go by worker
	// reports.
	alone, reports bool
	// slow: durations count for longer than they do for others. clock: it goes by the calendar.
	slow, clock bool
	// trees: it goes by what running trees are expected to send. slots: by the share of the slots that are in use.
	trees, slots bool
}

// kinds lists the policies. It is a function because the largest of several policies is built from the same table.
func kinds() []kind {
	return []kind{
		{"deadline", "the fewest workers that keep the latency objective, launched at the last moment that is still " +
			"in time",
			func(s Spec) muster.Policy {
				return planning.Deadline{Scale: s.Scale, Prompt: s.Prompt, Seasonal: s.Seasonal()}
			},
			checkDeadline,
			facts{falls: true, plans: true, learns: true, slow: true, trees: true}},
		{"exact", "one slot for each message: what waits and has neither a worker on its way nor an idle one is " +
			"launched; falls because idle workers leave",
			buildExact, nil, facts{falls: true, leaves: true, trees: true}},
		{"backlog-per-worker", "keeps the backlog per worker at a fixed acceptable number",
			func(s Spec) muster.Policy {
				return BacklogPerWorker{Acceptable: s.Acceptable, Processing: s.Processing}
			}, checkBacklog, facts{}},
		{"dynamic-backlog", "keeps the backlog per worker at latency objective / mean processing duration, as measured",
			func(s Spec) muster.Policy { return DynamicBacklog{Prior: s.Acceptable} }, nil, facts{learns: true}},
		{"worker-utilization", "keeps total work / total slots at a target",
			func(s Spec) muster.Policy {
				return WorkerUtilization{Target: cmp.Or(s.Target, DefaultTarget),
					Signal: cmp.Or(s.Signal, SignalTotal)}
			}, checkUtilization, facts{reports: true, slots: true}},
		{metricMath, "keeps the value of a CloudWatch metric-math expression at a target", buildMetricMath,
			checkMetricMath,
			facts{alone: true}},
		{"step", "changes the size by an amount that depends on how far a metric has gone",
			func(s Spec) muster.Policy {
				return Step{Metric: cmp.Or(s.Metric, MetricBacklog), Steps: s.Steps, Cooldown: s.Cooldown}
			}, checkStep, facts{}},
		{"schedule", "keeps a size by the calendar",
			func(s Spec) muster.Policy { return Schedule{Intervals: s.Intervals} }, checkSchedule,
			facts{falls: true, alone: true, clock: true}},
		{"largest", "the largest size that any of several policies wants", buildLargest, checkLargest, facts{}},
	}
}

func kindOf(name string) (kind, bool) {
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool { return k.name == name })
	if i < 0 {
		return kind{}, false
	}
	return all[i], true
}

// Names returns the names of all policies, in the order in which they are documented.
func Names() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// Describe says in one line what the named policy does; it is empty for an unknown name.
func Describe(name string) string {
	k, _ := kindOf(name)
	return k.what
}

// Memory returns how far back the policy of s looks into the recent decisions.
func (s Spec) Memory() time.Duration {
	memory := max(s.Out.Stabilization, s.Out.Period, s.In.Stabilization, s.In.Period, s.Cooldown)
	if s.Delegate != nil {
		memory = max(memory, s.Delegate.Every, time.Minute) // what it keeps is in the newest decision
	}
	for _, of := range s.Largest {
		memory = max(memory, of.Memory())
	}
	return memory
}

// The choices of [Spec.Forecast].
const (
	ForecastNone     = "none"
	ForecastSeasonal = "seasonal"
)

// Seasonal tells whether s, or any policy within it, goes by a seasonal forecast.
func (s Spec) Seasonal() bool {
	return s.Forecast == ForecastSeasonal || slices.ContainsFunc(s.Largest, Spec.Seasonal)
}

// PlansAhead tells whether the policy asks for the busiest times.
func (s Spec) PlansAhead() bool {
	k, _ := kindOf(s.Name)
	return k.plans || slices.ContainsFunc(s.Largest, Spec.PlansAhead)
}

// LearnsDurations tells whether the policy sizes by how long messages take, as it is measured.
func (s Spec) LearnsDurations() bool {
	k, _ := kindOf(s.Name)
	return k.learns || slices.ContainsFunc(s.Largest, Spec.LearnsDurations)
}

// FallsByItself tells whether the size falls when nothing is left to do, when workers leave, or by the clock, so that a
// fall needs no time to prove itself.
func (s Spec) FallsByItself() bool {
	k, _ := kindOf(s.Name)
	return k.falls
}

// FallsByReports tells whether the size falls, of the policy or of one within it, only because workers say that they
// are idle.
func (s Spec) FallsByReports() bool {
	k, _ := kindOf(s.Name)
	return k.leaves || slices.ContainsFunc(s.Largest, Spec.FallsByReports)
}

// ForgetsSlowly tells whether measured durations count for longer than they do for other policies.
func (s Spec) ForgetsSlowly() bool {
	k, _ := kindOf(s.Name)
	return k.slow
}

// ByCalendar tells whether the policy, or one within it, goes by the calendar.
func (s Spec) ByCalendar() bool {
	k, _ := kindOf(s.Name)
	return k.clock || slices.ContainsFunc(s.Largest, Spec.ByCalendar)
}

// ByTrees tells whether the policy of the given name goes by what running trees are expected to send.
func ByTrees(name string) bool {
	k, _ := kindOf(name)
	return k.trees
}

// BySlots tells whether the policy goes by the share of the slots that are in use.
func (s Spec) BySlots() bool {
	k, _ := kindOf(s.Name)
	return k.slots
}

// NeedsNoQueue tells whether the policy goes by worker reports, by metrics of its own or by the calendar.
func (s Spec) NeedsNoQueue() bool {
	if len(s.Largest) > 0 {
		return !slices.ContainsFunc(s.Largest, func(of Spec) bool { return !of.NeedsNoQueue() })
	}
	k, _ := kindOf(s.Name)
	return k.alone || k.reports && s.Signal == SignalReports
}

// New builds the policy that s describes, with its combinators, or returns every fault of s, joined.
func New(s Spec) (muster.Policy, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	k, _ := kindOf(s.Name)
	var p muster.Policy = k.build(s)
	// What limits nothing is left out: it would pass on what it is given, in every step of every fleet.
	if s.HeadroomWorkers != 0 || s.HeadroomPercent != 0 {
		p = Headroom{Of: p, Workers: s.HeadroomWorkers, Percent: s.HeadroomPercent}
	}
	p = Stabilised{Of: p, Out: s.Out.Stabilization, In: s.In.Stabilization} // it notes the wish, too
	if s.Out.limits() || s.In.limits() {
		p = Rate{Of: p, Out: s.Out, In: s.In}
	}
	if s.BudgetPerHour > 0 {
		p = Budget{Of: p, PerHour: s.BudgetPerHour, PricePerHour: s.PricePerHour}
	}
	p = Cautious{Of: p}
	p = LaunchLimits{Of: p}
	p = Bounds{Of: p}
	if s.Delegate != nil {
		p = Delegated{Of: p, Spec: s}
	}
	if s.Shadow {
		p = Shadow{Of: p}
	}
	return p, nil
}

// Fault is one wrong parameter of a [Spec].
type Fault struct {
	// Field is the parameter as the configuration calls it, as in "scale_in.stabilization".
	Field string
	// Found and Allowed say what is there and what may be.
	Found, Allowed string
}

// Error says what was found and what is allowed.
func (f *Fault) Error() string {
	return fmt.Sprintf("%s: found %s, allowed is %s", f.Field, f.Found, f.Allowed)
}

// Check returns every fault of s, joined, or nil. Each is a [*Fault].
func (s Spec) Check() error {
	k, ok := kindOf(s.Name)
	if !ok {
		return &Fault{"policy", fmt.Sprintf("%q", s.Name), strings.Join(Names(), ", ")}
	}
	var faults []error
	if k.check != nil {
		faults = k.check(s)
	}
	faults = append(faults, s.Out.check("scale_out")...)
	faults = append(faults, s.In.check("scale_in")...)
	faults = append(faults, s.checkForecast()...)
	faults = append(faults, s.checkTrees()...)
	faults = append(faults, s.checkDelegate()...)
	switch {
	case s.HeadroomWorkers < 0 || s.HeadroomPercent < 0 || s.HeadroomPercent > 1000:
		faults = append(faults, &Fault{"headroom",
			fmt.Sprintf("%d workers, %v %%", s.HeadroomWorkers, s.HeadroomPercent),
			"a number of workers of at least 0, or a percentage from 0% to 1000%"})
	case s.HeadroomWorkers > 0 && s.HeadroomPercent > 0:
		faults = append(faults, &Fault{"headroom", "both a number and a percentage", "one of them"})
	}
	return errors.Join(append(faults, s.checkBudget()...)...)
}

func (s Shape) check(field string) []error {
	var faults []error
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"stabilization", s.Stabilization}, {"period", s.Period}} {
		if d.value < 0 || d.value > longest {
			faults = append(faults, &Fault{field + "." + d.name, d.value.String(), "0s to " + longest.String()})
		}
	}
	if s.MaxWorkers < 0 || s.MaxPercent < 0 {
		faults = append(faults, &Fault{field, "a negative limit", "a limit of at least 0, where 0 means none"})
	}
	if (s.MaxWorkers > 0 || s.MaxPercent > 0) != (s.Period > 0) {
		faults = append(faults, &Fault{field + ".period", s.Period.String(), "a period together with max_workers or " +
			"max_percent"})
	}
	return faults
}

func (s Spec) checkForecast() []error {
	switch {
	case !slices.Contains([]string{"", ForecastNone, ForecastSeasonal}, s.Forecast):
		return []error{&Fault{"policy.forecast", strconv.Quote(s.Forecast), ForecastNone + ", " + ForecastSeasonal}}
	case s.Forecast == ForecastSeasonal && s.Name != "deadline":
		return []error{&Fault{"policy.forecast", ForecastSeasonal + " with " + s.Name, ForecastSeasonal +
			" with deadline"}}
	}
	return nil
}

func checkDeadline(s Spec) []error {
	if s.Scale < 0 || s.Scale > 1 || math.IsNaN(s.Scale) {
		return []error{&Fault{"policy.scale", render.Number(s.Scale), "a number above 0 and at most 1, as in 0.5"}}
	}
	return nil
}
