package tournament

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/tables"
	"github.com/muster-scale/muster/sim/threshold"
	"github.com/muster-scale/muster/sim/worlds"
)

// World is a drawn world in JSON. Times are in seconds.
type World struct {
	// Number is the number from which the world was drawn, and World describes it in one line. Messages is about how
	// many arrive, Length how long they do, and Slack how much of the objective is left for a launch: see worlds.World.
	Number   uint64  `json:"number"`
	World    string  `json:"world"`
	Messages int     `json:"messages"`
	Length   float64 `json:"length_s"`
	Slack    float64 `json:"slack_s"`
	// Bound is the lower bound of the cost, and BoundCausal that for schedules with no launch before the first message;
	// 0 without Options.Limit.
	Bound       float64 `json:"clairvoyant_worker_seconds,omitzero"`
	BoundCausal float64 `json:"causal_worker_seconds,omitzero"`
	// Unreachable says that no schedule at all meets the objective. Bound is then the cost of the work alone.
	Unreachable bool `json:"unreachable,omitzero"`
}

// entry describes a world, without lower bounds.
func entry(w worlds.World) World {
	return World{Number: w.Number, World: w.String(), Messages: w.Messages, Length: w.Length, Slack: w.Slack()}
}

// Worlds describes the worlds of the numbers.
func Worlds(numbers []uint64) (all []World) {
	for _, n := range numbers {
		all = append(all, entry(worlds.Draw(n)))
	}
	return all
}

// PrintWorlds prints a line for each world.
func PrintWorlds(out io.Writer, all []World) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  NUMBER\tMESSAGES\tLENGTH\tSLACK\tWORLD")
	for _, e := range all {
		fmt.Fprintf(t, "  %d\t%d\t%s\t%s\t%s\n", e.Number, e.Messages, render.Seconds(e.Length),
			render.Seconds(e.Slack), e.World)
	}
	return t.Flush()
}

// NamedWorld is a named world in JSON. A limit of 0 judges nothing.
type NamedWorld struct {
	// Name and Found are those of worlds.Named; the others are its limits. Shares are from 0 to 1, ratios are to the
	// lower bound of the cost.
	Name         string  `json:"name"`
	Found        string  `json:"found"`
	Least        float64 `json:"least_in_time_ratio"`
	MostRatio    float64 `json:"most_ratio"`
	MostLaunches float64 `json:"most_launches_per_hour"`
	MostPeak     int     `json:"most_peak_workers"`
	// Results has the runs that were answered, and Missed the limits that the first policy misses.
	Results []scoring.Result `json:"results,omitempty"`
	Missed  []string         `json:"missed,omitempty"`
}

// namedWorld describes a named world, without results.
func namedWorld(n worlds.Named) NamedWorld {
	return NamedWorld{n.Name, n.Found, n.Least, n.MostRatio, n.MostLaunches, n.MostPeak, nil, nil}
}

// NamedWorlds describes all named worlds.
func NamedWorlds() (all []NamedWorld) {
	for _, n := range worlds.All() {
		all = append(all, namedWorld(n))
	}
	return all
}

// PrintNamedWorlds prints a line for each named world.
func PrintNamedWorlds(out io.Writer, all []NamedWorld) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  WORLD\tWHAT AN AUTOSCALER ONCE DID THERE")
	for _, e := range all {
		fmt.Fprintf(t, "  %s\t%s\n", e.Name, e.Found)
	}
	return t.Flush()
}

// Played describes the named worlds with the results of the policies.
func Played(found []Named) (all []NamedWorld) {
	for _, n := range found {
		e := namedWorld(n.world)
		for _, r := range n.results {
			if r != nil {
				e.Results = append(e.Results, *r)
			}
		}
		if r := n.results[0]; r != nil {
			e.Missed = n.world.Missed(*r)
		}
		all = append(all, e)
	}
	return all
}

// PrintNamed prints a table for each named world, and how many of them the first policy masters.
func PrintNamed(out io.Writer, found []Named) error {
	// kept counts the worlds whose limits the first policy keeps.
	kept := 0
	for _, n := range found {
		fmt.Fprintf(
			out,
			"%s: lower bound %.0f worker-seconds; found before: %s\n",
			n.world.Name,
			n.bound,
			n.world.Found,
		)
		t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "  POLICY\tIN TIME\tCOST / BOUND\tLAUNCHES/H\tPEAK\tWORKER-SECONDS\tLOSS")
		for k, r := range n.results {
			if r == nil {
				fmt.Fprintf(t, "  %s\t%s\n", n.contenders[k].Name, tooLong(n.timeout))
				continue
			}
			fmt.Fprintf(
				t,
				"  %s\t%s\t%.2f\t%.1f\t%d\t%.0f\t%.0f\n",
				r.Policy,
				tables.Percent(r.InTimeRatio),
				r.Ratio,
				r.LaunchesPerHour,
				r.PeakWorkers,
				r.WorkerSeconds,
				r.Loss,
			)
		}
		fmt.Fprintf(
			t,
			"  (limits)\t%s\t%s\t%s\t%s\n",
			bounded(n.world.Least > 0, ">= "+tables.Percent(n.world.Least)),
			bounded(n.world.MostRatio > 0, fmt.Sprintf("<= %.2f", n.world.MostRatio)),
			bounded(
				n.world.MostLaunches > 0,
				fmt.Sprintf("<= %.1f", n.world.MostLaunches),
			),
			bounded(n.world.MostPeak > 0, fmt.Sprintf("<= %d", n.world.MostPeak)),
		)
		t.Flush()
		fmt.Fprintln(out)
		if r := n.results[0]; r != nil && len(n.world.Missed(*r)) == 0 {
			kept++
		}
	}
	_, err := fmt.Fprintf(
		out,
		"%s keeps the limits of %d of %d named worlds\n",
		found[0].contenders[0].Name,
		kept,
		len(found),
	)
	return err
}

// bounded returns the text of a limit or bound; a dash where there is none.
func bounded(is bool, words string) string {
	if is {
		return words
	}
	return "-"
}

// tooLong stands in a table for the figures of a run that was not answered.
func tooLong(timeout time.Duration) string { return fmt.Sprintf("not answered within %s", timeout) }

// Summary judges the first policy against the others. Shares are shares of the worlds in which they can be told. A
// figure that no world tells is absent.
type Summary struct {
	// Policy is the first policy. Worlds counts the worlds that were played, and Unanswered the runs of all policies
	// that were not answered in time.
	Policy     string `json:"policy"`
	Worlds     int    `json:"worlds"`
	Unanswered int    `json:"unanswered"`
	// RegretFree is the share of worlds in which no other policy's loss is more than a tenth smaller. A world in which
	// the policy itself did not answer counts against it.
	RegretFree *float64 `json:"regret_free,omitempty"`
	// LossOverBest, LossOverReference and CostOverBound are geometric means over the worlds: of the loss over that of
	// the best other policy, of the loss over that of the policy formula, and of worker-seconds over the lower bound.
	LossOverBest      *float64 `json:"loss_over_best,omitempty"`
	LossOverReference *float64 `json:"loss_over_formula,omitempty"`
	CostOverBound     *float64 `json:"cost_over_bound,omitempty"`
	// Worst lists the worlds with the largest loss over that of the best other policy.
	Worst []Worst `json:"worst,omitempty"`
}

// Worst is a world with the policy's loss over that of the best other policy.
type Worst struct {
	// World is the number of the world, Ratio the loss of the policy over that of the policy Best, and Text describes
	// the world.
	World uint64  `json:"world"`
	Ratio float64 `json:"loss_over_best"`
	Best  string  `json:"best"`
	Text  string  `json:"text"`
}

// fullSummary returns a summary with every figure present, to list their names.
func fullSummary() Summary {
	var v float64
	return Summary{RegretFree: &v, LossOverBest: &v, LossOverReference: &v, CostOverBound: &v}
}

// SummaryFields returns the names of the numbers of a summary, and the numbers themselves, for thresholds.
func SummaryFields() (names []string, numbers map[string]float64) {
	numbers = threshold.Numbers(fullSummary())
	return slices.Sorted(maps.Keys(numbers)), numbers
}

// mostWorst is how many of the worst worlds a summary lists.
const mostWorst = 5

// summary judges the first policy against the others.
func (d Drawn) summary() Summary {
	policy := d.contenders[0].Name
	s := Summary{Policy: policy, Worlds: len(d.worlds), Unanswered: len(d.unanswered())}
	all := d.answered()
	duels := worlds.Duels(policy, all)
	// A world counts against a policy that did not answer there, unless it plays alone.
	judged, free := len(duels), 0
	for i := range d.worlds {
		if d.outcomes[i][0] == nil && len(d.contenders) > 1 {
			judged++
		}
	}
	var overBest, overBound []float64
	for _, x := range duels {
		overBest = append(overBest, x.Ratio())
		if !x.Regret() {
			free++
		}
	}
	if judged > 0 {
		share := float64(free) / float64(judged)
		s.RegretFree = &share
	}
	s.LossOverBest = meanOf(overBest)
	// The policy formula would only be compared with itself.
	if policy != worlds.Reference {
		s.LossOverReference = meanOf(d.overReference())
	}
	for i, b := range d.bounds {
		if o := d.outcomes[i][0]; o != nil && b.Prescient.WorkerSeconds > 0 {
			overBound = append(overBound, o.WorkerSeconds/b.Prescient.WorkerSeconds)
		}
	}
	s.CostOverBound = meanOf(overBound)
	// Each is described in words, so that a reader need not draw the world again.
	for _, x := range worlds.Worst(duels, mostWorst) {
		i := slices.IndexFunc(d.worlds, func(w worlds.World) bool { return w.Number == x.Mine.World })
		s.Worst = append(s.Worst, Worst{x.Mine.World, x.Ratio(), x.Best.Policy, d.worlds[i].String()})
	}
	return s
}

// overReference returns the losses of the first policy over those of the policy formula, in the worlds with both.
func (d Drawn) overReference() (all []float64) {
	k := slices.IndexFunc(d.contenders, func(c contest.Contender) bool { return c.Name == worlds.Reference })
	if k < 0 {
		return nil
	}
	for _, row := range d.outcomes {
		if row[0] != nil && row[k] != nil {
			all = append(all, row[0].Loss/row[k].Loss)
		}
	}
	return all
}

// meanOf returns the geometric mean of ratios; nil when there are none.
func meanOf(ratios []float64) *float64 {
	if len(ratios) == 0 {
		return nil
	}
	mean := worlds.GeometricMean(ratios)
	return &mean
}

// Report is what muster worlds -o json prints about drawn worlds.
type Report struct {
	// Worlds are in the order in which their numbers were given. Outcomes are in the order of the worlds and then of
	// the policies; the runs that they lack are in Unanswered.
	Worlds     []World          `json:"worlds"`
	Outcomes   []worlds.Outcome `json:"outcomes"`
	Unanswered []Missing        `json:"unanswered,omitempty"`
	Summary    Summary          `json:"summary"`
}

// Report returns everything that is known about the runs.
func (d Drawn) Report() Report {
	var all []World
	for i, w := range d.worlds {
		e := entry(w)
		if len(d.bounds) > 0 {
			e.Bound, e.BoundCausal = d.bounds[i].Prescient.WorkerSeconds, d.bounds[i].Causal.WorkerSeconds
			e.Unreachable = d.bounds[i].Prescient.Unreachable
		}
		all = append(all, e)
	}
	return Report{all, d.answered(), d.unanswered(), d.summary()}
}

// Print prints a table for each world and the summary.
func (d Drawn) Print(out io.Writer) error {
	for i, w := range d.worlds {
		fmt.Fprintf(out, "world %d: %s; %s", w.Number, w, render.Plural(w.Messages, "message"))
		if len(d.bounds) > 0 {
			fmt.Fprintf(out, ", lower bound %.0f worker-seconds", d.bounds[i].Prescient.WorkerSeconds)
			if d.bounds[i].Prescient.Unreachable {
				fmt.Fprint(out, " for the work alone: no schedule keeps the objective")
			}
		}
		fmt.Fprintln(out)
		d.printWorld(out, i)
		fmt.Fprintln(out)
	}
	return d.summary().print(out)
}

// printWorld prints what each policy did in a world.
func (d Drawn) printWorld(out io.Writer, i int) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer t.Flush()
	head := "  POLICY\tLOSS\tIN TIME\tWORKER-SECONDS\tLAUNCHES\tPEAK"
	if len(d.bounds) > 0 {
		head += "\tCOST / BOUND"
	}
	fmt.Fprintln(t, head)
	for k, c := range d.contenders {
		o := d.outcomes[i][k]
		if o == nil {
			fmt.Fprintf(t, "  %s\t%s\n", c.Name, tooLong(d.timeout))
			continue
		}
		fmt.Fprintf(
			t,
			"  %s\t%.0f\t%s\t%.0f\t%d\t%d",
			c.Name,
			o.Loss,
			tables.Percent(o.InTime),
			o.WorkerSeconds,
			o.Launches,
			o.Peak,
		)
		if len(d.bounds) > 0 {
			b := d.bounds[i].Prescient.WorkerSeconds
			fmt.Fprintf(t, "\t%s", bounded(b > 0, fmt.Sprintf("%.2f", o.WorkerSeconds/b)))
		}
		fmt.Fprintln(t)
	}
}

// print prints the summary.
func (s Summary) print(out io.Writer) error {
	fmt.Fprintf(out, "%s in %s\n", s.Policy, render.Plural(s.Worlds, "world"))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(t, "  %s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	// Lines without a value are left out.
	if s.Unanswered > 0 {
		line("not answered", "%s", render.Plural(s.Unanswered, "run"))
	}
	if s.RegretFree != nil {
		line("no regret", "in %s of the worlds: no other policy's loss is a tenth smaller",
			tables.Percent(*s.RegretFree))
	}
	for _, x := range []struct {
		name string
		v    *float64
	}{
		{"loss over the best other policy's", s.LossOverBest},
		{"loss over that of " + worlds.Reference, s.LossOverReference},
		{"cost over the lower bound", s.CostOverBound},
	} {
		if x.v != nil {
			line(x.name, "%.3f, geometric mean", *x.v)
		}
	}
	t.Flush()
	if len(s.Worst) == 0 {
		return nil
	}
	fmt.Fprintln(out, "\nits worst worlds")
	t = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  WORLD\tLOSS / BEST\tBEST\tWHAT IT IS")
	for _, w := range s.Worst {
		fmt.Fprintf(t, "  %d\t%.2f\t%s\t%s\n", w.World, w.Ratio, w.Best, w.Text)
	}
	return t.Flush()
}
