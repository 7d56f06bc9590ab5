package incident

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/outlook"
	"github.com/muster-scale/muster/worker/protocol"
)

// View is what is known of a running Muster at one time.
type View struct {
	At     time.Time
	Fleets []Fleet
	// Faults are the problems that concern no single fleet.
	Faults []Fault
	// Damaged counts, by embedded queue, the messages that were set aside because their content is damaged.
	Damaged map[string]int
}

// Fault is a problem that concerns no single fleet.
type Fault struct {
	Kind Kind
	Text string
}

// Fleet is one fleet in a [View].
type Fleet struct {
	Name string
	// Local tells whether its workers run on this machine, so that muster logs shows their output.
	Local bool
	// Observed is false while Observation and Decision are absent or out of date.
	Observed    bool
	Observation muster.Observation
	Decision    muster.Decision
	// Trouble says why the fleet is not sized, or not as configured; Unrecorded why nothing can be recorded. Both are
	// empty if all is well.
	Trouble, Unrecorded string
	// Past is what its steps have told.
	Past Past
}

// enoughFailures is how many attempts must have failed before work counts as failing, and how many launches in a row as
// a crash loop.
const enoughFailures = 3

// Conditions returns what is wrong in v. No two of them have the same kind, fleet and subject.
func (v View) Conditions() []Condition {
	var all []Condition
	for _, f := range v.Fleets {
		for _, c := range f.conditions(v.At) {
			c.Fleet = f.Name
			all = append(all, c)
		}
	}
	for _, f := range v.Faults {
		all = append(all, Condition{Kind: f.Kind, Sentence: f.Text, Command: commandOf(f.Kind)})
	}
	for queue, n := range v.Damaged {
		all = append(all, Condition{
			Kind: QueueDamaged, Subject: "queue " + queue, Evidence: numbers("damaged", float64(n)),
			Sentence: fmt.Sprintf("%s of the queue %s had damaged content and %s set aside",
				render.Plural(n, "message"), queue, was(n)),
			Command: "muster queue peek " + queue + " --from damaged",
		})
	}
	for i := range all {
		all[i].Sentence = Line(all[i].Sentence, MaxSentence)
	}
	slices.SortStableFunc(all, func(a, b Condition) int { return a.key().compare(b.key()) })
	return slices.CompactFunc(all, func(a, b Condition) bool { return a.key() == b.key() })
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// commandOf returns the command that shows a fault.
func commandOf(k Kind) string {
	if k == ConfigurationInvalid {
		return "muster check"
	}
	return "muster status"
}

// conditions returns the conditions of one fleet, without its name.
func (f Fleet) conditions(now time.Time) []Condition {
	var all []Condition
	add := func(k Kind, subject, command, sentence string, evidence ...muster.Value) {
		all = append(all, Condition{Kind: k, Subject: subject, Sentence: "fleet " + f.Name + ": " + sentence,
			Command: command, Evidence: evidence})
	}
	explain := "muster explain " + f.Name
	if f.Unrecorded != "" {
		add(HistoryStuck, "", "muster status", f.Unrecorded)
	}
	if f.Trouble != "" {
		add(FleetStopped, "", "muster status", f.Trouble)
	}
	if !f.Observed {
		return all
	}
	f.actions(now, add, explain)
	f.signals(add, explain)
	f.size(add, explain)
	f.work(now, add)
	f.reported(now, add)
	if f.Decision.Reason == muster.Contested {
		add(Contested, "", explain, "another controller sizes it too: "+f.Observation.Drift.String(),
			value("set_by_others", float64(len(f.Observation.Drift.Changes))))
	}
	return all
}

// adder adds a condition.
type adder func(k Kind, subject, command, sentence string, evidence ...muster.Value)

// actions adds failed actions and launches. Launches that fail as an action are told as such, and not twice.
func (f Fleet) actions(now time.Time, add adder, explain string) {
	failed := false
	for what, x := range f.Past.failed {
		if now.Sub(x.at) < failedFor {
			failed = true
			add(ActionFailed, what, explain, what+" failed: "+x.text, value("failed_in_a_row", float64(x.count)))
		}
	}
	if l := f.Observation.Launches; l.Failed >= enoughFailures && !failed {
		add(CrashLoop, "", explain, fmt.Sprintf("%d launches in a row ended before they were of use", l.Failed),
			value("failed_in_a_row", float64(l.Failed)), value("launches_last_hour", float64(l.LastHour)))
	}
}

// signals adds what cannot be read. A doubted count is about to be confirmed, so it is not blind.
func (f Fleet) signals(add adder, explain string) {
	for _, q := range f.Observation.Queues {
		if !q.Backlog.Known && !q.Backlog.Doubted {
			add(SignalUnknown, "queue "+q.Queue, explain, "the backlog of the queue "+q.Queue+" is "+q.Backlog.String()+
				"; its size cannot fall meanwhile")
		}
	}
	if c := f.Observation.Capacity; !c.Known {
		add(SignalUnknown, "members", explain, "its members cannot be listed: "+c.Reason)
	}
}

// size adds a fleet that may not grow although its objective is missed. Where another system sets the size, or the
// maximum is 0, there is nothing that Muster could have done.
func (f Fleet) size(add adder, explain string) {
	o, d := f.Observation, f.Decision
	if d.Verdict == muster.Shadow || d.Verdict == muster.Delegate || o.Limits.Max == 0 {
		return
	}
	full := d.Desired >= o.Limits.Max && (d.Wish > o.Limits.Max || slices.ContainsFunc(d.Trail,
		func(t muster.Term) bool { return t.Rule == "max" }))
	limited := d.Reason == muster.LaunchBudget || d.Reason == muster.OverBudget
	if !full && !limited {
		return
	}
	why, evidence := missed(o, d)
	if why == "" {
		return
	}
	evidence = append(evidence, value("desired", float64(d.Desired)), value("wish", float64(d.Wish)))
	objective := render.Seconds(o.Objective.Latency.Seconds())
	if full {
		add(AtMaximum, "", explain, fmt.Sprintf("it is at its maximum of %s and cannot keep its objective of %s: %s",
			render.Plural(o.Limits.Max, "worker"), objective, why), evidence...)
		return
	}
	limit := fmt.Sprintf("%d launches are allowed in an hour and are used up", o.Limits.LaunchesPerHour)
	if d.Reason == muster.OverBudget {
		limit = "its budget allows no more workers"
	}
	add(LaunchesLimited, "", explain, fmt.Sprintf("%s, and it cannot keep its objective of %s: %s", limit, objective,
		why), evidence...)
}

// missed says why the objective is missed, with the numbers; it is empty if it is not.
func missed(o muster.Observation, d muster.Decision) (why string, evidence []muster.Value) {
	if late := o.Progress.Value().Late; late.Known && late.Value > 0 {
		n, _ := late.Count()
		return render.Plural(n, "message") + " " + is(n) + " late already", numbers("late", late.Value)
	}
	if age := o.OldestAge(); age.Known && age.Value > o.Objective.Latency.Seconds() {
		return "the oldest message has waited for " + render.Seconds(math.Round(age.Value)),
			numbers("oldest_age_s", age.Value)
	}
	if e := outlook.ArrivingNow(o, d.Desired); e.Known && e.InTime < o.Objective.Quantile/2 {
		return fmt.Sprintf("a message that arrives now is in time with a probability of %s %%",
			render.Number(math.Round(100*e.InTime))), numbers("in_time", e.InTime)
	}
	return "", nil
}

func is(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// work adds failing work and growing dead-letter queues.
func (f Fleet) work(now time.Time, add adder) {
	command := "muster explain " + f.Name
	if f.Local {
		command = "muster logs " + f.Name + " --failed"
	}
	p := f.Observation.Progress.Value()
	if p.Failed >= enoughFailures && p.Finished == 0 {
		add(AllFailing, "", command, fmt.Sprintf("%s attempts failed in the last %d minutes and no message was "+
			"finished", render.Number(p.Failed), int(muster.FailedOver.Minutes())), value("failed", p.Failed))
	}
	for queue, l := range f.Past.letters {
		if l.grewAt.IsZero() || now.Sub(l.grewAt) >= grewFor {
			continue
		}
		add(DeadLetters, "queue "+queue, command, fmt.Sprintf("the dead letters of the queue %s grew from %s to %s "+
			"since %s", queue, render.Number(l.from), render.Number(l.last), l.since.UTC().Format(time.RFC3339)),
			value("dead_letters", l.last), value("before", l.from))
	}
}

// reported adds the problems that workers report, one for each kind. The text of an endpoint is told: it names the
// endpoint and what connecting to it answered. Texts of other kinds name messages, so their kind is told alone.
func (f Fleet) reported(now time.Time, add adder) {
	told := map[protocol.IncidentKind]int{}
	away := ""
	for _, r := range f.Past.reported {
		if now.Sub(r.at) >= reportedFor {
			continue
		}
		if told[r.Kind]++; r.Kind == protocol.EndpointDown && away == "" {
			away = r.Text
		}
	}
	for k, n := range told {
		if k == protocol.EndpointDown {
			add(EndpointAway, "", "muster status", "the endpoint that does the work is away, and its workers receive "+
				"nothing: "+away, value("reports", float64(n)))
			continue
		}
		what := string(k)
		if named, ok := troubles(k); ok {
			what = named
		}
		add(WorkerTrouble, string(k), "muster status", fmt.Sprintf("its workers sent %s in the last minutes: %s",
			render.Plural(n, "report"), what), value("reports", float64(n)))
	}
}

// troubles describes the kinds of problems of workers.
func troubles(k protocol.IncidentKind) (what string, known bool) {
	switch k {
	case protocol.ProtectionFailed:
		return "the protection from scale-in could not be changed, or ran out", true
	case protocol.LeaseLost:
		return "the lease on a message in progress was lost, so its work is repeated", true
	case protocol.DeleteFailed:
		return "a finished message could not be deleted, so its work is repeated", true
	case protocol.ReportFailed:
		return "a report to another destination failed", true
	case protocol.HookFailed:
		return "the lifecycle hook that keeps the machine could not be extended", true
	}
	return "", false
}

func value(name string, v float64) muster.Value { return muster.Value{Name: name, Value: v} }

func numbers(name string, v float64) []muster.Value { return []muster.Value{value(name, v)} }

// span renders a duration rounded to its size.
func span(d time.Duration) string { return render.Rounded(max(0, d)).String() }
