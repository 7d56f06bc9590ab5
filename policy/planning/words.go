package planning

import (
	"fmt"
	"math"
	"strings"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/risk"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// finished returns in how many seconds the existing workers, in service and on their way, have finished so many
// messages, to half a second. It returns false if that is more than a day away, or if there is no worker.
func (p *plan) finished(messages float64) (float64, bool) {
	const day = 86400.0
	if p.begun(day) < messages {
		return 0, false
	}
	high := day
	// The text shows seconds, so half a second is exact enough. The first guess spreads the work over all slots.
	soon := p.residual + p.boot + 2*messages*p.Mean/(p.inService+p.unusedSlots()+1)
	if soon < day && p.begun(soon) >= messages {
		high = soon
	}
	begun := func(messages, within float64) bool { return p.begun(within) >= messages }
	return risk.When(messages, high, 0.5, begun) + p.Mean, true
}

// reasons returns the values of a term that only some decisions have: the idle stop, the workers that full ones ask
// for, what workers received since old counts, what failing attempts add to the work, and the workers kept because
// messages were late, with the share of those.
func (p *plan) reasons(d muster.Decision, o muster.Observation) (in []muster.Value) {
	if d.IdleStop > 0 {
		in = append(in, rules.Value("idle_stop_s", rules.Round3(d.IdleStop.Seconds())))
	}
	if p.saturated > 0 {
		in = append(in, rules.Value("saturated", float64(p.saturated)))
	}
	if p.done {
		in = append(in, rules.Value("finished_since", o.FinishedSince))
	}
	if p.received > 0 {
		in = append(in, rules.Value("received_since", rules.Round3(p.received)))
	}
	if p.attempts > 1 {
		in = append(in, rules.Value("attempts", rules.Round3(p.attempts)))
	}
	if p.forLate >= notable {
		in = append(in, rules.Value("kept_for_late", rules.Round3(p.forLate)))
		if share := o.Progress.Value().InTime; share.Known {
			in = append(in, rules.Value("late_share", rules.Round3(1-share.Value)))
		}
	}
	return in
}

// termValues returns in with the values of the warm pool, the number of message classes and the reasons, if there are
// any.
func (p *plan) termValues(in, reasons []muster.Value) []muster.Value {
	if p.pool.exists {
		in = append(in, rules.Value("warm", p.pool.ready), rules.Value("warm_boot_s", p.pool.boot))
	}
	if p.Classes > 0 {
		in = append(in, rules.Value("classes", float64(p.Classes)))
	}
	if p.Hanging > 0 {
		in = append(in, rules.Value("hanging", p.Hanging))
	}
	if p.spared > 0 {
		in = append(in, rules.Value("spared", float64(p.spared)))
	}
	if p.racers > 0 {
		in = append(in, rules.Value("racers", float64(p.racers)), rules.Value("stream_per_s", rules.Round3(p.stream)))
	}
	return append(in, reasons...)
}

// notable is how many workers a reason must account for to be said.
const notable = 0.1

// whySpared says as a clause why no worker is launched.
func (p *plan) whySpared() string {
	if p.slack() > 0 {
		return "so few are likely late that the quantile permits it"
	}
	return "a launch costs more than what it saves"
}

// whySaturated says as a clause why more workers are there than the counts explain.
func (p *plan) whySaturated() string {
	return fmt.Sprintf("they finish more than the counts explain, which may be %s old",
		render.Seconds(math.Round(p.lag)))
}

// whyLate continues a sentence about the kept workers, if late messages are one of the reasons for them.
func (p *plan) whyLate(o muster.Observation) string {
	if p.forLate < notable {
		return ""
	}
	share := o.Progress.Value().InTime
	if !share.Known { // as for a moment, while the age of messages that wait for their retry is unknown
		return ", and messages were late in the past hour"
	}
	return fmt.Sprintf(", and %s %% of the past hour's messages were late",
		render.Number(math.Round(1000*(1-share.Value))/10))
}

// why says in one sentence what the plan found and what is done. n is the need at the observation, launch the number of
// workers to launch.
//
// The sentence has three parts: what waits and how old it is; when the existing workers finish it, against when they
// should; what is launched and why now, or that a later launch is still in time.
func (p *plan) why(o muster.Observation, n need, launch int) string {
	waiting := fmt.Sprintf("%s waiting, the oldest %s old", render.Number(o.Backlog().Value),
		render.Seconds(math.Round(p.oldest())))
	if late := o.LateSeconds(); late > 0 {
		waiting += " or up to " + render.Seconds(math.Round(late)) + " more"
		if n := math.Round(p.received); n > 0 {
			waiting += fmt.Sprintf(", without %.0f that workers have received since", n)
		}
	}
	if p.guessed {
		waiting += fmt.Sprintf("; one may take %s, for few durations are measured (%d)",
			render.Seconds(math.Round(p.Tail)), int(p.Count))
	}
	if p.Hanging > 0 {
		waiting += ", " + render.Number(p.Hanging) + " in progress taken to hang"
	}
	workers, verb := render.Plural(o.Capacity.Active(), "worker"), " finish "
	if o.Capacity.Active() == 1 {
		verb = " finishes "
	}
	boots := p.bootText(launch)
	switch {
	case p.promptLaunch:
		return fmt.Sprintf("%s; there is no worker; launching 1 at once, because the fleet is prompt", waiting)
	case p.racers > 0:
		return fmt.Sprintf("%s; no worker is in service, and messages that come are late until one is ready; "+
			"launching %d now instead of %d, because boots vary and the first of %d is ready sooner", waiting, launch,
			launch-p.racers, launch)
	case launch > 0 && launch+o.Capacity.Active() == p.saturated:
		return fmt.Sprintf("%s; all %d workers are busy without a pause, and %s: more may have come; launching %d "+
			"now%s", waiting, o.Capacity.Active(), p.whySaturated(), launch, boots)
	case launch > 0 && p.whySooner != "":
		return fmt.Sprintf("%s; launching %d now: %s", waiting, launch, p.whySooner)
	case launch > 0 && (n.workers == 0 || p.outdated || p.done):
		return fmt.Sprintf("%s; launching %d to be ready for the busiest times of the past hours%s%s", waiting, launch,
			strings.Replace(boots, " because", ", because", 1), p.whyLate(o))
	case launch > 0 && n.cause == forArriving:
		return fmt.Sprintf("%s, and %s a second arrive; %s would be late for those that arrive while "+
			"others boot; launching %d now%s",
			waiting, render.Number(rules.Round3(p.expectedArrivals(p.boot)/p.boot)), workers, launch, boots)
	case launch > 0 && p.probing:
		return fmt.Sprintf("%s; %s if all messages take as long as those in progress may; launching %d%s, which is "+
			"enough if those end now", waiting, p.dueText(o, n, workers+verb), launch, boots)
	case launch > 0:
		return fmt.Sprintf("%s; %s; launching %d now%s", waiting, p.dueText(o, n, workers+verb), launch, boots)
	case n.workers > 0 && p.done:
		return fmt.Sprintf("%s; but workers have finished %s within the %s that the counts may be old", waiting,
			render.Plural(int(o.FinishedSince), "message"), render.Seconds(math.Round(p.lag)))
	case n.workers > 0 && p.outdated:
		return fmt.Sprintf("%s; but %s idle, so workers have received the counted ones since", waiting,
			rules.CountIs(o.Capacity.Idle, "worker"))
	case n.workers > 0 && p.probing:
		return fmt.Sprintf("%s; %s if all messages take as long as those in progress may; if those end now, no more "+
			"workers are needed", waiting, p.dueText(o, n, workers+verb))
	case n.workers > 0 && p.spared > 0:
		return fmt.Sprintf("%s; %s; %s", waiting, p.dueText(o, n, workers+verb), p.whySpared())
	case n.workers > 0:
		return fmt.Sprintf("%s; %s; %s more would be enough, and a later launch is still in time", waiting,
			p.dueText(o, n, workers+verb), render.Number(math.Ceil(n.workers*100)/100))
	}
	at, ok := p.finished(o.Backlog().Value)
	if !ok {
		return fmt.Sprintf("%s; %s", waiting, workers)
	}
	if p.oldestIsLate() {
		return fmt.Sprintf("%s; %s%sthem by %s, some of them too late in any case", waiting, workers, verb,
			rules.Clock(o, at))
	}
	return fmt.Sprintf("%s; %s%sthem by %s, in time", waiting, workers, verb, rules.Clock(o, at))
}

// dueText says when the workers finish the messages of a need, and when they should. workersFinish is the subject and
// the verb of the sentence.
func (p *plan) dueText(o muster.Observation, n need, workersFinish string) string {
	which := fmt.Sprintf("the first %s", render.Number(math.Ceil(n.messages)))
	if math.Ceil(n.messages) >= o.Backlog().Value {
		which = "them"
	}
	// The plan uses only a part of the objective; the sentence names the whole one.
	due := n.latest + p.Tail + o.Objective.Latency.Seconds() - p.latency
	at, ok := p.finished(n.messages)
	nobody := "there is no worker"
	if o.Capacity.Active() > 0 {
		nobody = "no worker is free"
	}
	switch {
	case !ok && n.cause == forLate:
		return nobody + ", and they are late already"
	case !ok:
		return fmt.Sprintf("%s, and the objective is %s", nobody, rules.Clock(o, due))
	case n.cause == forLate:
		return fmt.Sprintf("%s%s by %s, too late in any case", workersFinish, which, rules.Clock(o, at))
	case at < due && p.share < 1:
		return fmt.Sprintf("%s%s by %s, the objective is %s, and the plan uses %.0f %% of it",
			workersFinish, which, rules.Clock(o, at), rules.Clock(o, due), 100*p.share)
	case at < due:
		return fmt.Sprintf("%s%s by %s, the objective is %s and some take longer than most", workersFinish, which,
			rules.Clock(o, at), rules.Clock(o, due))
	}
	return fmt.Sprintf("%s%s by %s, the objective is %s", workersFinish, which, rules.Clock(o, at), rules.Clock(o, due))
}
