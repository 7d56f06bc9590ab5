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
	"github.com/muster-scale/muster/policy/instructed"
	"github.com/muster-scale/muster/policy/planning"
)

// Spec is a policy with its parameters, as the configuration states it and as every recorded decision keeps it. In
// JSON, durations are nanoseconds. A zero value stands for the default.
type Spec struct {
	// Name is one of [Names].
	Name string `json:"name"`
	// Acceptable is the acceptable backlog per worker in messages. backlog-per-worker requires it unless Processing is
	// given. dynamic-backlog uses it until a processing duration was measured.
	Acceptable float64 `json:"acceptable,omitzero"`
	// Processing is the mean processing duration that the user states. backlog-per-worker computes its acceptable
	// backlog from it and never changes it. Other policies use it until durations were measured.
	Processing time.Duration `json:"processing_ns,omitzero"`
	// Scale is the dial of deadline from cheap to fast: the share of the latency objective that it plans with, above 0
	// and at most 1. The default is 1.
	Scale float64 `json:"scale,omitzero"`
	// Prompt makes deadline launch a first worker at once for waiting messages; see [planning.Deadline].
	Prompt bool `json:"prompt,omitzero"`
	// Forecast is whether deadline plans by what arrived at the same time of other days: [ForecastSeasonal], or
	// [ForecastNone], the default.
	Forecast string `json:"forecast,omitzero"`
	// Trees is how exact sizes for the nodes of running trees: [TreesEach], the default, or [TreesWhole]. With the
	// latter, First is how many slots a tree gets of which only the root is known: 1 to 10 000, by default
	// [DefaultFirst].
	Trees string `json:"trees,omitzero"`
	First int    `json:"first,omitzero"`
	// Target is the utilization that worker-utilization keeps, above 0 and at most 1; by default [DefaultTarget]. For
	// metric-math it is the value to keep the expression at, above 0.
	Target float64 `json:"target,omitzero"`
	// Signal is what worker-utilization counts as work: "total" (backlog plus in flight, the default), "in-flight", or
	// "reports" (busy slots reported by workers; the only choice for a fleet without a queue).
	Signal string `json:"signal,omitzero"`
	// Largest lists the policies of which "largest" takes the largest size: 2 to 8 of them.
	Largest []Spec `json:"largest,omitzero"`
	// Metric, Steps and Cooldown are the parameters of step; see [Step]. The default metric is the backlog.
	Metric   string        `json:"metric,omitzero"`
	Steps    []StepChange  `json:"steps,omitzero"`
	Cooldown time.Duration `json:"cooldown_ns,omitzero"`
	// Queries is the list of metrics and expressions of metric-math, exactly one of which is returned; see
	// [MetricMath].
	Queries []metricmath.Query `json:"metrics,omitzero"`
	// Intervals are the parameters of schedule; see [Schedule].
	Intervals []Interval `json:"intervals,omitzero"`
	// HeadroomWorkers and HeadroomPercent keep so many workers, or so many per hundred needed ones, above what the work
	// occupies. At most one of them is set.
	HeadroomWorkers int     `json:"headroom_workers,omitzero"`
	HeadroomPercent float64 `json:"headroom_percent,omitzero"`
	// PricePerHour is the cost of one worker in an hour, in any currency; zero is unknown. BudgetPerHour bounds the
	// cost of the fleet in an hour, in the same currency; zero is no bound. A budget needs a price.
	PricePerHour  float64 `json:"price_per_hour,omitzero"`
	BudgetPerHour float64 `json:"budget_per_hour,omitzero"`
	// Delegate leaves the size to a cloud's target tracking; nil if the policy sets it.
	Delegate *Delegation `json:"delegate,omitzero"`
	// Out and In limit rises and falls. Each has its own times.
	Out Shape `json:"out,omitzero"`
	In  Shape `json:"in,omitzero"`
	// Shadow records decisions without carrying them out, because another system sizes the fleet; see [Shadow].
	Shadow bool `json:"shadow,omitzero"`
}

// Shape limits how a size changes in one direction.
type Shape struct {
	// Stabilization is how long a recommendation must have lasted: a rise goes to the smallest one of that time, a fall
	// to the largest. 0 to 24 h; zero acts at once.
	Stabilization time.Duration `json:"stabilization_ns,omitzero"`
	// MaxWorkers and MaxPercent limit the change within any Period. If both are set, the larger change is allowed. Zero
	// means no limit.
	MaxWorkers int           `json:"max_workers,omitzero"`
	MaxPercent float64       `json:"max_percent,omitzero"`
	Period     time.Duration `json:"period_ns,omitzero"`
	// Disabled forbids changes in this direction, except those that min and max force.
	Disabled bool `json:"disabled,omitzero"`
}

// limitsChange tells whether s bounds how far the size changes.
func (s Shape) limitsChange() bool { return s.Disabled || s.Period > 0 }

// Default is the name of the policy of a fleet that names none.
const Default = "deadline"

// maxMemory bounds stabilization, period and cooldown, and so how far back any policy reads decisions.
const maxMemory = 24 * time.Hour

// kind is a policy that a configuration can name: a row of the table that kinds returns.
type kind struct {
	name        string
	description string
	build       func(Spec) muster.Policy
	check       func(Spec) []error
	facts
}

// facts are the properties of a policy that other packages need to know, so that none of them compares names.
type facts struct {
	// fallsByItself: the size falls when nothing is left to do, when workers leave, or by the calendar, so it needs no
	// stabilisation. fallsByReports: it falls only because idle workers leave.
	fallsByItself, fallsByReports bool
	// plansAhead: the policy reads the busiest times. learnsDurations: it sizes by measured durations.
	plansAhead, learnsDurations bool
	// needsNoQueue: the policy reads metrics of its own or the calendar. readsReports: it can size by worker reports.
	needsNoQueue, readsReports bool
	// forgetsSlowly: measured durations count for longer than for other policies. byCalendar: the policy reads the
	// calendar.
	forgetsSlowly, byCalendar bool
	// byTrees: the policy reads what running trees are expected to send. bySlots: it reads the share of the slots in
	// use.
	byTrees, bySlots bool
}

// kinds returns the table of the policies, in the order of the documentation. It is a function because "largest" builds
// its parts from the same table, and a variable could not refer to itself.
func kinds() []kind {
	return []kind{
		{"deadline", "the fewest workers that keep the latency objective, launched at the last moment that is still " +
			"in time",
			func(s Spec) muster.Policy {
				return planning.Deadline{Scale: s.Scale, Prompt: s.Prompt, Seasonal: s.Seasonal()}
			},
			checkDeadline,
			facts{fallsByItself: true, plansAhead: true, learnsDurations: true, forgetsSlowly: true, byTrees: true}},
		{"exact", "one slot for each message: launches a slot for each waiting message without a free or pending " +
			"one; falls because idle workers leave",
			buildExact, nil, facts{fallsByItself: true, fallsByReports: true, byTrees: true}},
		{"backlog-per-worker", "keeps the backlog per worker at a fixed acceptable number",
			func(s Spec) muster.Policy {
				return BacklogPerWorker{Acceptable: s.Acceptable, Processing: s.Processing}
			}, checkBacklog, facts{}},
		{"dynamic-backlog", "keeps the backlog per worker at latency objective / mean processing duration, as measured",
			func(s Spec) muster.Policy { return DynamicBacklog{Prior: s.Acceptable} }, nil,
			facts{learnsDurations: true}},
		{"worker-utilization", "keeps total work / total slots at a target",
			func(s Spec) muster.Policy {
				return WorkerUtilization{Target: cmp.Or(s.Target, DefaultTarget),
					Signal: cmp.Or(s.Signal, SignalTotal)}
			}, checkUtilization, facts{readsReports: true, bySlots: true}},
		{metricMath, "keeps the value of a CloudWatch metric-math expression at a target", buildMetricMath,
			checkMetricMath,
			facts{needsNoQueue: true}},
		{"step", "changes the size by an amount that depends on how far a metric has gone",
			func(s Spec) muster.Policy {
				return Step{Metric: cmp.Or(s.Metric, MetricBacklog), Steps: s.Steps, Cooldown: s.Cooldown}
			}, checkStep, facts{}},
		{"schedule", "keeps a size by the calendar",
			func(s Spec) muster.Policy { return Schedule{Intervals: s.Intervals} }, checkSchedule,
			facts{fallsByItself: true, needsNoQueue: true, byCalendar: true}},
		{"largest", "the largest size that any of several policies recommends", buildLargest, checkLargest, facts{}},
	}
}

// kindOf returns the row of a name, or false for an unknown name.
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

// Describe says in one line what the named policy does; "" for an unknown name.
func Describe(name string) string {
	k, _ := kindOf(name)
	return k.description
}

// Memory returns how far back the policy of s reads the recent decisions.
func (s Spec) Memory() time.Duration {
	memory := max(s.Out.Stabilization, s.Out.Period, s.In.Stabilization, s.In.Period, s.Cooldown)
	if s.Delegate != nil {
		memory = max(memory, s.Delegate.Every, time.Minute) // the target is in the newest decision
	}
	if s.PlansAhead() {
		memory = max(memory, time.Minute) // the headroom of the last busy time is in the newest decision
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

// Seasonal tells whether s, or any policy within it, uses a seasonal forecast.
func (s Spec) Seasonal() bool {
	return s.Forecast == ForecastSeasonal || slices.ContainsFunc(s.Largest, Spec.Seasonal)
}

// PlansAhead tells whether the policy reads the busiest times of the past.
func (s Spec) PlansAhead() bool {
	k, _ := kindOf(s.Name)
	return k.plansAhead || slices.ContainsFunc(s.Largest, Spec.PlansAhead)
}

// LearnsDurations tells whether the policy sizes by measured processing durations.
func (s Spec) LearnsDurations() bool {
	k, _ := kindOf(s.Name)
	return k.learnsDurations || slices.ContainsFunc(s.Largest, Spec.LearnsDurations)
}

// FallsByItself tells whether the size falls when nothing is left to do, when workers leave, or by the calendar. Such a
// fall needs no stabilisation by default.
func (s Spec) FallsByItself() bool {
	k, _ := kindOf(s.Name)
	return k.fallsByItself
}

// FallsByReports tells whether the size of the policy, or of one within it, falls only because workers report that they
// are idle.
func (s Spec) FallsByReports() bool {
	k, _ := kindOf(s.Name)
	return k.fallsByReports || slices.ContainsFunc(s.Largest, Spec.FallsByReports)
}

// ForgetsSlowly tells whether measured durations count for longer than they do for other policies.
func (s Spec) ForgetsSlowly() bool {
	k, _ := kindOf(s.Name)
	return k.forgetsSlowly
}

// ByCalendar tells whether the policy, or one within it, reads the calendar.
func (s Spec) ByCalendar() bool {
	k, _ := kindOf(s.Name)
	return k.byCalendar || slices.ContainsFunc(s.Largest, Spec.ByCalendar)
}

// ByTrees tells whether the named policy reads what running trees are expected to send.
func ByTrees(name string) bool {
	k, _ := kindOf(name)
	return k.byTrees
}

// BySlots tells whether the policy reads the share of the slots that are in use.
func (s Spec) BySlots() bool {
	k, _ := kindOf(s.Name)
	return k.bySlots
}

// NeedsNoQueue tells whether the policy sizes by worker reports, by metrics of its own or by the calendar alone.
func (s Spec) NeedsNoQueue() bool {
	if len(s.Largest) > 0 {
		return !slices.ContainsFunc(s.Largest, func(of Spec) bool { return !of.NeedsNoQueue() })
	}
	k, _ := kindOf(s.Name)
	return k.needsNoQueue || k.readsReports && s.Signal == SignalReports
}

// New builds the policy that s describes, with its combinators, or returns every fault of s, joined. The order of the
// combinators matters:
//
//   - headroom comes first, because it adds to what the work occupies;
//   - stabilisation and rate work on the recommendation, before any hard limit cuts it;
//   - reservations come after them, because they do not wait, and before the budget, which binds them too;
//   - caution comes after all of them, so that no combinator lowers the size while a signal is unknown;
//   - launch limits, the instructions of operators and bounds come last, because nothing may exceed them.
func New(s Spec) (muster.Policy, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	k, _ := kindOf(s.Name)
	var p muster.Policy = k.build(s)
	// A combinator without an effect is left out, because each costs a call in every step of every fleet.
	if s.HeadroomWorkers != 0 || s.HeadroomPercent != 0 {
		p = Headroom{Of: p, Workers: s.HeadroomWorkers, Percent: s.HeadroomPercent}
	}
	p = Stabilised{Of: p, Out: s.Out.Stabilization, In: s.In.Stabilization} // it also records the recommendation
	if s.Out.limitsChange() || s.In.limitsChange() {
		p = Rate{Of: p, Out: s.Out, In: s.In}
	}
	p = instructed.Reserved{Of: p}
	if s.BudgetPerHour > 0 {
		p = Budget{Of: p, PerHour: s.BudgetPerHour, PricePerHour: s.PricePerHour}
	}
	p = Cautious{Of: p}
	p = LaunchLimits{Of: p}
	p = instructed.Instructed{Of: p}
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
	// Field is the parameter by its name in the configuration, as in "scale_in.stabilization".
	Field string
	// Found is the value there, Allowed says which values are valid.
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

// check returns the faults of s; field is its name in the configuration.
func (s Shape) check(field string) []error {
	var faults []error
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"stabilization", s.Stabilization}, {"period", s.Period}} {
		if d.value < 0 || d.value > maxMemory {
			faults = append(faults, &Fault{field + "." + d.name, d.value.String(), "0s to " + maxMemory.String()})
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

// checkForecast returns the faults of Forecast: only deadline uses one.
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

// checkDeadline returns the faults of the parameters of deadline. A NaN would pass both comparisons.
func checkDeadline(s Spec) []error {
	if s.Scale < 0 || s.Scale > 1 || math.IsNaN(s.Scale) {
		return []error{&Fault{"policy.scale", render.Number(s.Scale), "a number above 0 and at most 1, as in 0.5"}}
	}
	return nil
}
