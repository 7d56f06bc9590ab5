package prior

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/limit/uninformed"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
	"github.com/muster-scale/muster/tools/score/arena"
	"github.com/muster-scale/muster/tools/score/report"
)

// Name is the name of this part.
const Name = "prior"

// mostUntold bounds the loss of the untold policy over the limit of all untold policies.
const mostUntold = 1.10

// DefaultStrata is how many equally likely durations are played.
const DefaultStrata = 40

// priorOfWork is what may be thought of the duration of a message while nothing is known of it. Below 10 ms a message
// costs less than its receipt, above 4 h its visibility timeout comes near the 12 h that SQS allows; in between no
// factor of two is likelier than another.
func priorOfWork() uninformed.Prior {
	return uninformed.Prior{Shortest: 10 * time.Millisecond, Longest: 4 * time.Hour}
}

// Start is a burst at a fleet without workers and without history.
type Start struct {
	name  string
	burst uninformed.Burst
	// shown are durations of which the page has a row in any case.
	shown []time.Duration
}

// Starts are the published tests, which differ in the duration alone, and first starts with an objective that leaves
// time to find out, little time, and none.
func Starts() []Start {
	const s, m = time.Second, time.Minute
	burst := func(messages int, latency, boot time.Duration) uninformed.Burst {
		objective := muster.Objective{Latency: latency, Quantile: report.ObjectiveShare}
		return uninformed.Burst{Messages: messages, Boot: boot, Objective: objective}
	}
	all := []Start{{"burst-25s, burst-50s", burst(50, 5*m, 90*s), []time.Duration{25 * s, 50 * s}}}
	for _, b := range []uninformed.Burst{
		burst(1, 5*m, m), burst(10, 5*m, m), burst(100, 5*m, m), burst(10, m, 20*s), burst(100, m, 20*s),
		burst(100, 30*s, m),
	} {
		name := fmt.Sprintf("%s, objective %s, boot %s", render.Plural(b.Messages, "message"),
			report.Span(b.Objective.Latency.Seconds()), report.Span(b.Boot.Seconds()))
		all = append(all, Start{name, b, nil})
	}
	return all
}

// event is the burst with messages of one duration. If hangs is above zero, one message of that duration comes first.
func (x Start) event(each, hangs time.Duration) contest.Event {
	var all []trace.Message
	name := fmt.Sprintf("%s, of %s", x.name, each)
	if hangs > 0 {
		all = append(all, trace.Message{Service: hangs})
		name += fmt.Sprintf(" after one of %s", hangs)
	}
	for range x.burst.Messages {
		all = append(all, trace.Message{Service: each})
	}
	return contest.Event{
		Name: name, Trace: func(uint64) (trace.Trace, error) { return trace.Of(name, all...), nil },
		Objective: x.burst.Objective, Limits: muster.Limits{Max: 500, LaunchesPerHour: contest.LaunchesPerHour},
		World: world.World{Boot: world.Draw{Mean: x.burst.Boot}, Slots: 1},
	}
}

// Part is what is played: each of the starts with so many strata of the prior, and one seed.
type Part struct {
	*arena.Arena
	// Starts are the bursts, Strata is how many equally likely durations each is played with.
	Starts []Start
	Strata int
	// Seed is that of every run.
	Seed uint64
}

// begun holds the results of a start over the durations of the prior.
type begun struct {
	Start
	// loss and multiple are the limits for the two measures.
	loss, multiple uninformed.Solution
	played         []playedStart
}

// playedStart is a start with messages of one duration: what policies lose, in worker-seconds.
type playedStart struct {
	each time.Duration
	// told is the least of one that is told the duration; least and leastMultiple are what the limits of the two
	// measures lose here.
	told, least, leastMultiple float64
	// ours is the policy that is told nothing, and hanging the same where a message that hangs comes before, without
	// the worker that holds it.
	ours, hanging float64
	run           arena.Outcome
	// more is how many workers more it launches where that message comes before.
	more float64
}

// Play plays the starts and judges what came of them.
func (s Part) Play() (report.Section, error) {
	prior := priorOfWork()
	found := report.Section{About: fmt.Sprintf("A burst of equal messages meets a fleet without workers "+
		"and without history. Their duration is unknown: from %s to %s, each factor of two as likely as any "+
		"other. The limit is the least mean loss of any policy that knows no duration until a message has "+
		"finished ([limit.md](limit.md#told-nothing)). It knows the boot time, and that nothing more comes. The "+
		"configuration of `deadline` states nothing; it plays %d equally likely durations.",
		report.Span(prior.Shortest.Seconds()), report.Span(prior.Longest.Seconds()), s.Strata)}
	all := make([]begun, len(s.Starts))
	if err := arena.Each(len(all), func(i int) (err error) {
		all[i], err = s.begin(s.Starts[i], prior)
		return err
	}); err != nil {
		return found, err
	}
	found.Goals = judgeStarts(all)
	for _, b := range all {
		for _, p := range b.played {
			found.Goals = append(found.Goals,
				arena.BrokenPromises([]arena.Figure{arena.Sum([]arena.Outcome{p.run})})...)
		}
	}
	found.Tables = []report.Table{startsTable(all), lostTable(all)}
	found.Notes = []string{priorNote}
	return found, nil
}

// priorNote says what the figures mean.
const priorNote = "The loss is worker-seconds and the price of each message that is late beyond the " +
	"permitted share. Messages of an hour and more dominate its mean, and their work has to be paid anyway. " +
	"So the multiples count too: the loss over that of a policy that knows the duration, with equal weight " +
	"for each duration. Each measure has a limit of its own. It does not matter how late a late message is, " +
	"and every boot that has begun is paid. The second table has the durations with the largest multiples " +
	"over that of the limit, and those of the published tests."

// begin computes the limits of a start and plays it.
func (s Part) begin(x Start, prior uninformed.Prior) (b begun, err error) {
	b.Start = x
	if err := s.limitOf(&b, prior); err != nil {
		return b, err
	}
	b.played = make([]playedStart, s.Strata+len(x.shown))
	return b, arena.Each(len(b.played), func(i int) error {
		d := append(prior.Strata(s.Strata), x.shown...)[i]
		p := playedStart{each: d, told: x.burst.Told(d)}
		p.least, p.leastMultiple = x.burst.Loss(b.loss.Launches, d), x.burst.Loss(b.multiple.Launches, d)
		alone, err := s.Run(x.event(d, 0), arena.Ours(), s.Seed)
		if err != nil {
			return err
		}
		hanging, err := s.Run(x.event(d, prior.Longest), arena.Ours(), s.Seed)
		p.run, p.ours, p.more = alone, alone.Loss, float64(hanging.Launches-alone.Launches)
		p.hanging = hanging.Loss - prior.Longest.Seconds() - x.burst.Boot.Seconds() -
			hanging.LatePrice*x.burst.Objective.Quantile // the one that hangs is late itself
		b.played[i] = p
		return err
	})
}

// limitOf computes the limits of a start when it is its turn.
func (s Part) limitOf(b *begun, prior uninformed.Prior) (err error) {
	done, err := s.Turn()
	defer done()
	if err != nil {
		return err
	}
	if b.loss, err = b.burst.Solve(prior, uninformed.MeanLoss); err != nil {
		return err
	}
	b.multiple, err = b.burst.Solve(prior, uninformed.MeanMultiple)
	return err
}

// mean is the mean of a figure over the equally likely durations.
func (b begun) mean(of func(playedStart) float64) (sum float64) {
	n := len(b.played) - len(b.shown)
	for _, p := range b.played[:n] {
		sum += of(p) / float64(n)
	}
	return sum
}

// What a mean is taken of.
func (p playedStart) lossTold() float64       { return p.told }
func (p playedStart) lossLeast() float64      { return p.least }
func (p playedStart) lossOurs() float64       { return p.ours }
func (p playedStart) lossHanging() float64    { return p.hanging }
func (p playedStart) launchesMore() float64   { return p.more }
func (p playedStart) timesToldLeast() float64 { return p.leastMultiple / p.told }
func (p playedStart) timesToldOurs() float64  { return p.ours / p.told }

// overLoss and overMultiple are what the policy comes to over the limits, and hangs is the first of them with a message
// that hangs.
func (b begun) overLoss() float64 {
	return b.mean(playedStart.lossOurs) / b.mean(playedStart.lossLeast)
}

func (b begun) overMultiple() float64 {
	return b.mean(playedStart.timesToldOurs) / b.mean(playedStart.timesToldLeast)
}

func (b begun) hangs() float64 {
	return b.mean(playedStart.lossHanging) / b.mean(playedStart.lossLeast)
}

// judgeStarts judges all starts against their limits; the worst start counts.
func judgeStarts(all []begun) []report.Goal {
	worst := func(what string, of func(begun) float64) report.Goal {
		most := 0.0
		var missed []string
		for _, b := range all {
			v := of(b)
			most = max(most, v)
			if !(v <= mostUntold) {
				missed = append(missed, fmt.Sprintf("%s: %s", b.name, report.Multiple3(v)))
			}
		}
		return report.Judged(what, "<= "+report.Multiple(mostUntold), report.Multiple3(most)+" at most", missed)
	}
	return []report.Goal{
		worst("mean loss over the limit, on each start", begun.overLoss),
		worst("the same of the loss as a multiple of that of a policy which is told the duration", begun.overMultiple),
		worst(fmt.Sprintf("mean loss where a message that hangs for %s comes first, without the worker that holds it, "+
			"over the limit", report.Span(priorOfWork().Longest.Seconds())), begun.hangs),
	}
}

// startsTable shows each start with both measures.
func startsTable(all []begun) report.Table {
	t := report.Table{Head: []string{"start", "told: mean loss", "limit: mean loss", "proven bound",
		"deadline told nothing",
		"over the limit", "with one that hangs", "launches more then, mean", "limit: mean multiple", "proven bound",
		"deadline", "over the limit", "limit's launches until a message has finished"}}
	for _, b := range all {
		t.Add(b.name, report.Number(b.mean(playedStart.lossTold)), report.Number(b.mean(playedStart.lossLeast)),
			report.Multiple3(b.loss.Bound/b.loss.Mean), report.Number(b.mean(playedStart.lossOurs)),
			report.Multiple3(b.overLoss()),
			report.Multiple3(b.hangs()), report.Number(b.mean(playedStart.launchesMore)),
			report.Multiple3(b.mean(playedStart.timesToldLeast)), report.Multiple3(b.multiple.Bound/b.multiple.Mean),
			report.Multiple3(b.mean(playedStart.timesToldOurs)), report.Multiple3(b.overMultiple()),
			launchWords(b.loss.Launches)+"; "+launchWords(b.multiple.Launches))
	}
	return t
}

// launchWords says what is launched when, as in "1, and 5 from 4.3 s on".
func launchWords(all []uninformed.Launch) string {
	later := 0
	for _, l := range all[1:] {
		later += l.Workers
	}
	if later == 0 {
		return fmt.Sprint(all[0].Workers)
	}
	return fmt.Sprintf("%d, and %d from %s on", all[0].Workers, later, report.Span(all[1].Longer.Seconds()))
}

// lostTable shows the durations at which the policy loses most, and those of the published tests.
func lostTable(all []begun) report.Table {
	const shown = 3
	t := report.Table{Head: []string{"start", "duration", "told", "limit of the mean loss",
		"limit of the mean multiple",
		"deadline told nothing", "over the lower of them", "launches", "in time"}}
	for _, b := range all {
		n := len(b.played) - len(b.shown)
		worst := slices.Clone(b.played[:n])
		slices.SortStableFunc(worst, func(p, q playedStart) int { return cmp.Compare(q.excess(), p.excess()) })
		worst = worst[:min(shown, n)]
		slices.SortFunc(worst, func(p, q playedStart) int { return cmp.Compare(p.each, q.each) })
		for _, p := range append(worst, b.played[n:]...) {
			t.Add(b.name, report.Span(p.each.Seconds()), report.Number(p.told), report.Number(p.least),
				report.Number(p.leastMultiple), report.Number(p.ours),
				report.Multiple3(p.ours/min(p.least, p.leastMultiple)), fmt.Sprint(p.run.Launches),
				report.Percent(p.run.InTimeRatio))
		}
	}
	return t
}

// excess is how far the policy's multiple lies above that of the limit.
func (p playedStart) excess() float64 { return (p.ours - p.leastMultiple) / p.told }
