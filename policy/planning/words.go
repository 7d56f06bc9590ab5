package planning

import (
	"fmt"
	"math"
	"strings"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// finished returns when the workers that are there and on their way have finished so many messages, in seconds from
// now; false when that is more than a day away.
func (p *plan) finished(messages float64) (float64, bool) {
	const day = 86400.0
	if p.begun(day) < messages {
		return 0, false
	}
	low, high := 0.0, day
	// Half a second does for a clock in words. Mostly it takes about as long as all slots together.
	soon := p.residual + p.boot + 2*messages*p.Mean/(p.inService+p.unusedSlots()+1)
	if soon < day && p.begun(soon) >= messages {
		high = soon
	}
	for high-low > 0.5 {
		if middle := (low + high) / 2; p.begun(middle) >= messages {
			high = middle
		} else {
			low = middle
		}
	}
	return high + p.Mean, true
}

// told are the numbers of a term, with how many classes were told apart, where they were.
func (p *plan) termValues(in []muster.Value) []muster.Value {
	if p.pool.exists {
		in = append(in, rules.Value("warm", p.pool.ready), rules.Value("warm_boot_s", p.pool.boot))
	}
	if p.Classes == 0 {
		return in
	}
	return append(in, rules.Value("classes", float64(p.Classes)))
}

// why says the plan in words.
func (p *plan) why(o muster.Observation, n need, launch int) string {
	waiting := fmt.Sprintf("%s waiting, the oldest %s old", render.Number(o.Backlog().Value),
		render.Seconds(math.Round(p.oldest())))
	if late := o.LateSeconds(); late > 0 {
		waiting += " or " + render.Seconds(math.Round(late)) + " more"
	}
	workers, verb := render.Plural(o.Capacity.Active(), "worker"), " finish "
	if o.Capacity.Active() == 1 {
		verb = " finishes "
	}
	boots := p.bootText(launch)
	switch {
	case p.promptLaunch:
		return fmt.Sprintf("%s; no worker is there; launching 1 at once, because the fleet is prompt", waiting)
	case launch > 0 && n.workers == 0:
		return fmt.Sprintf("%s; launching %d to be ready for times as busy as those past%s", waiting, launch,
			strings.Replace(boots, " because", ", because", 1))
	case launch > 0 && n.cause == forArriving:
		return fmt.Sprintf("%s, and %s a second come; %s would be late for those that come while more boot; "+
			"launching %d now%s",
			waiting, render.Number(rules.Round3(p.expectedArrivals(p.boot)/p.boot)), workers, launch, boots)
	case launch > 0 && p.probing:
		return fmt.Sprintf("%s; %s if all work takes as long as that in hand; launching %d to find out%s",
			waiting, p.raceText(o, n, workers+verb), launch, boots)
	case launch > 0:
		return fmt.Sprintf("%s; %s; launching %d now%s", waiting, p.raceText(o, n, workers+verb), launch, boots)
	case n.workers > 0:
		return fmt.Sprintf("%s; %s; %s more would do, and a later launch is still in time", waiting,
			p.raceText(o, n, workers+verb), render.Number(math.Ceil(n.workers*100)/100))
	}
	at, ok := p.finished(o.Backlog().Value)
	if !ok {
		return fmt.Sprintf("%s; %s", waiting, workers)
	}
	if p.oldestIsLate() {
		return fmt.Sprintf("%s; %s%sthem by %s, some of them too late whatever is done", waiting, workers, verb,
			rules.Clock(o, at))
	}
	return fmt.Sprintf("%s; %s%sthem by %s, in time", waiting, workers, verb, rules.Clock(o, at))
}

// race says when the workers finish the messages in question, and when they should.
func (p *plan) raceText(o muster.Observation, n need, workersFinish string) string {
	which := fmt.Sprintf("the first %s", render.Number(math.Ceil(n.messages)))
	if math.Ceil(n.messages) >= o.Backlog().Value {
		which = "them"
	}
	// What is planned with leaves a rest of the objective.
	due := n.latest + p.Tail + o.Objective.Latency.Seconds() - p.latency
	at, ok := p.finished(n.messages)
	switch {
	case !ok && n.cause == forLate:
		return "no worker is there, and they are late already"
	case !ok:
		return fmt.Sprintf("no worker is there, and the objective is %s", rules.Clock(o, due))
	case n.cause == forLate:
		return fmt.Sprintf("%s%s by %s, too late whatever is done", workersFinish, which, rules.Clock(o, at))
	case at < due && p.share < 1:
		return fmt.Sprintf("%s%s by %s, the objective is %s, and %.0f %% of it is planned with",
			workersFinish, which, rules.Clock(o, at), rules.Clock(o, due), 100*p.share)
	case at < due:
		return fmt.Sprintf("%s%s by %s, the objective is %s and some take longer than most", workersFinish, which,
			rules.Clock(o, at), rules.Clock(o, due))
	}
	return fmt.Sprintf("%s%s by %s, the objective is %s", workersFinish, which, rules.Clock(o, at), rules.Clock(o, due))
}
