package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/report"
	"github.com/muster-scale/muster/sim/trace"
)

// comparison is what muster compare was asked for.
type comparison struct {
	*arena
	policies  []string
	suite     bool
	scenarios []string
	seeds     string
	sweep     bool
	page      bool
	parallel  int
	// only is the fleet of the configuration that is compared; empty where there is one.
	only string
	// command is the command line as it was given.
	command []string
	// told are the names of the contenders to which the true durations are stated.
	told []string
}

func newCompare(g *global) *cobra.Command {
	c := &comparison{arena: &arena{g: g}}
	cmd := &cobra.Command{
		Use:   "compare [TRACE] [--policies A,B,...]",
		Short: "Replay a trace under several policies, beside lower bounds of the cost",
		Long: `Compare replays one trace, or with --suite every built-in scenario, under several policies with the same random
draws, limits and bill, and shows for each what was in time and what it cost: as a multiple of a lower bound that no
schedule can beat, not even one that knows the future. The second bound is for schedules that may not launch before the
first message. Other autoscalers run at their published defaults; with --sweep also at the setting that would have been
best in hindsight: the cheapest that keeps the objective on seeds 1 to 5.

` + toldHelp + `

Each policy of ours runs twice: as above, and as NAME (told), to which the true mean processing duration and the true
boot time are stated. A policy that cannot run without the mean has the second run only. With --processing each policy
runs once.

` + worldHelp(),
		Example: `  muster compare requests.csv.gz --policies exact,keda,aws-dynamic --objective 60s --boot 60s
  muster compare --suite
  muster compare --suite --scenarios spikes-300,steady-R20 --seeds 6-10 --sweep -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.flags(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&c.policies, "policies", nil, "the policies, by default all: "+strings.Join(contest.Names(), ", "))
	f.BoolVar(&c.suite, "suite", false, "run the built-in scenarios")
	f.StringSliceVar(&c.scenarios, "scenarios", nil, "with --suite: only these")
	f.StringVar(&c.seeds, "seeds", "", "the seeds, as 1-10 or 6,7,8; by default 1 to 10 for what is generated and 1 for a file")
	f.BoolVar(&c.sweep, "sweep", false, "add each other autoscaler with its main setting tuned in hindsight, called NAME*")
	f.BoolVar(&c.page, "markdown", false, "print the tables as a page of Markdown")
	f.IntVar(&c.parallel, "parallel", runtime.NumCPU(), "how many runs at a time; the results do not depend on it")
	cmd.RegisterFlagCompletionFunc("policies", completePolicy)
	return cmd
}

func (c *comparison) run(cmd *cobra.Command, args []string) error {
	c.command = append([]string{"compare"}, args...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		c.command = append(c.command, "--"+f.Name+flagValue(f))
	})
	limits, err := parseThresholds(c.thresholds)
	if err != nil {
		return usage(err)
	}
	if err := c.checkFiles(); err != nil {
		return err
	}
	contenders, err := c.contenders(cmd)
	if err != nil {
		return err
	}
	events, err := c.events(cmd, args)
	if err != nil {
		return err
	}
	entrants, err := c.informed(cmd, contenders, events[0])
	if err != nil {
		return err
	}
	seeds, err := c.seedList(args)
	if err != nil {
		return usage(err)
	}
	if c.parallel < 1 || c.parallel > 256 {
		return usage(fmt.Errorf("--parallel: found %d, allowed is 1 to 256", c.parallel))
	}
	defer lessCollecting()()
	results, runs, err := c.play(cmd, events, entrants, seeds)
	if err != nil {
		return traceError(err)
	}
	if err := c.write(runs, func(w io.Writer) error { return report.Front(w, runs) }); err != nil {
		return err
	}
	switch {
	case c.g.json():
		err = printJSON(cmd.OutOrStdout(), results)
	case c.page:
		printPage(cmd.OutOrStdout(), "muster "+strings.Join(c.command, " "), events, contest.Rows(results))
	default:
		printRows(cmd.OutOrStdout(), contest.Rows(results), !c.noLimit)
	}
	return errors.Join(err, brokenPromises(results), missed(results, limits))
}

// play makes the runs, event by event when peers are tuned for each.
func (c *comparison) play(cmd *cobra.Command, events []contest.Event, contenders []contest.Contender, seeds []uint64) ([]sim.Result, []report.Run, error) {
	var results []sim.Result
	var runs []report.Run
	left, err := newRemaining(events, seeds)
	if err != nil {
		return nil, nil, err
	}
	for i, e := range events {
		field := contenders
		if c.sweep {
			tuned, err := c.tune(cmd, e, contenders)
			if err != nil {
				return nil, nil, err
			}
			field = append(append([]contest.Contender{}, contenders...), tuned...)
		}
		bar := newProgress(cmd.ErrOrStderr(), fmt.Sprintf("runs on %s (%d of %d):", e.Name, i+1, len(events)), len(field)*len(seeds))
		bar.left = left.after(i, bar.total)
		watch, recorded := c.watch(e, seeds)
		found, err := contest.Play(cmd.Context(), contest.Plan{
			Events: []contest.Event{e}, Contenders: field, Seeds: seeds, Told: c.told, Limits: !c.noLimit, Parallel: c.parallel,
			Done: func(done, _ int) { bar.at(done) }, Stepped: watch,
		})
		bar.done()
		if err != nil {
			return nil, nil, err
		}
		results = append(results, found...)
		runs = append(runs, recorded(found)...)
	}
	return results, runs, nil
}

// remaining estimates how long a comparison goes on, by the effort of each event.
type remaining struct {
	began   time.Time
	efforts []float64
}

func newRemaining(events []contest.Event, seeds []uint64) (remaining, error) {
	r := remaining{began: time.Now(), efforts: make([]float64, len(events))}
	for i, e := range events {
		if len(events) == 1 {
			r.efforts[i] = 1 // there is nothing to compare it with
			break
		}
		var err error
		if r.efforts[i], err = contest.Effort(e, seeds[0]); err != nil {
			return r, err
		}
	}
	return r, nil
}

// after returns the estimate when so many of the runs on the event i are done.
func (r remaining) after(i, runs int) func(done int) time.Duration {
	before, rest := 0.0, 0.0
	for k, e := range r.efforts {
		if k < i {
			before += e
		}
		rest += e
	}
	return func(done int) time.Duration {
		made := before + r.efforts[i]*float64(done)/float64(runs)
		return time.Duration(float64(time.Since(r.began)) * (rest - made) / made)
	}
}

// watch records the curves of the first seed of each policy, when pictures are wanted.
func (c *comparison) watch(e contest.Event, seeds []uint64) (func(contest.Event, contest.Contender, uint64) func(sim.View), func([]sim.Result) []report.Run) {
	if c.html == "" && c.svg == "" {
		return nil, func([]sim.Result) []report.Run { return nil }
	}
	var lock sync.Mutex
	recorders := map[string]*report.Recorder{}
	watch := func(_ contest.Event, who contest.Contender, seed uint64) func(sim.View) {
		if seed != seeds[0] {
			return nil
		}
		r := report.NewRecorder(e.Objective)
		lock.Lock()
		defer lock.Unlock()
		recorders[who.Name] = r
		return r.Stepped
	}
	return watch, func(results []sim.Result) (runs []report.Run) {
		for _, r := range results {
			if recorder := recorders[r.Policy]; recorder != nil && r.Seed == seeds[0] {
				runs = append(runs, recorder.Run(r))
			}
		}
		return runs
	}
}

// designSeeds are those that settings are tuned on.
func designSeeds() []uint64 { return []uint64{1, 2, 3, 4, 5} }

func (c *comparison) tune(cmd *cobra.Command, e contest.Event, contenders []contest.Contender) ([]contest.Contender, error) {
	total := 0
	for _, x := range contenders {
		total += len(x.Sweep) * len(designSeeds())
	}
	bar := newProgress(cmd.ErrOrStderr(), "settings tried on "+e.Name+":", total)
	defer bar.done()
	return contest.Hindsight(cmd.Context(), e, contenders, designSeeds(), c.parallel, func(done, _ int) { bar.at(done) })
}

func (c *comparison) contenders(cmd *cobra.Command) ([]contest.Contender, error) {
	if len(c.policies) == 0 && c.g.config == "" {
		return contest.All(), nil
	}
	var all []contest.Contender
	if c.g.config != "" {
		x, err := c.configured(cmd, c.only)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	for _, name := range c.policies {
		x, err := contest.Find(name)
		if err != nil {
			return nil, usage(fmt.Errorf("--policies: %w", err))
		}
		all = append(all, x)
	}
	return all, nil
}

// informed returns the contenders, each policy of ours with a second run to which the true durations are stated, unless
// --processing decides what is stated.
func (c *comparison) informed(
	cmd *cobra.Command, contenders []contest.Contender, e contest.Event,
) ([]contest.Contender, error) {
	once, everyone := cmd.Flags().Changed("processing"), len(c.policies) == 0 && c.g.config == ""
	var all []contest.Contender
	for _, x := range contenders {
		err := runnable(x, e)
		if err == nil {
			all = append(all, x)
		} else if once && !everyone {
			return nil, err
		}
		if x.Peer || once {
			continue
		}
		x.Name += " (told)"
		c.told, all = append(c.told, x.Name), append(all, x)
	}
	return all, nil
}

func (c *comparison) events(cmd *cobra.Command, args []string) ([]contest.Event, error) {
	switch {
	case c.suite && len(args) > 0:
		return nil, usage(fmt.Errorf("give a trace or --suite, not both; found %s", args[0]))
	case !c.suite && len(args) == 0:
		return nil, usage(errors.New("give a trace, or --suite for the built-in scenarios"))
	case !c.suite:
		e, err := c.event(cmd, args[0])
		return []contest.Event{e}, err
	}
	var events []contest.Event
	names := c.scenarios
	if len(names) == 0 {
		names = scenarioNames()
	}
	for _, name := range names {
		if _, ok := trace.FindScenario(name); !ok {
			return nil, usage(fmt.Errorf("--scenarios: there is no scenario %q; %s", name, cmp.Or(config.Suggest(name, scenarioNames()), "muster trace --help lists them")))
		}
		e, err := c.event(cmd, name)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

func scenarioNames() (names []string) {
	for _, s := range trace.Scenarios() {
		names = append(names, s.Name)
	}
	return names
}

// seedList reads --seeds: numbers and ranges.
func (c *comparison) seedList(args []string) ([]uint64, error) {
	if c.seeds == "" {
		if len(args) > 0 && !generated(args[0]) {
			return []uint64{1}, nil
		}
		return trace.Seeds(), nil
	}
	return numberRanges("--seeds", c.seeds, 1000)
}

// numberRanges reads the value of a flag: numbers and ranges, separated by commas, of at most most numbers each.
func numberRanges(flag, text string, most uint64) ([]uint64, error) {
	var all []uint64
	for _, part := range strings.Split(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		from, wrong := strconv.ParseUint(first, 10, 64)
		to, wrongToo := strconv.ParseUint(last, 10, 64)
		if wrong != nil || wrongToo != nil || from > to || to-from >= most {
			return nil, fmt.Errorf("%s: found %q, write numbers and ranges of at most %d, as 1-5,9", flag, text, most)
		}
		for n := from; n-from <= to-from; n++ {
			all = append(all, n)
		}
	}
	return all, nil
}

// generated tells whether a trace of that name depends on a seed.
func generated(name string) bool {
	base, _, _ := strings.Cut(name, ":")
	if _, ok := trace.FindScenario(name); ok {
		return true
	}
	for _, g := range trace.Generators() {
		if g.Name == base {
			return true
		}
	}
	return false
}

// flagValue is the value of a flag as it is written behind its name.
func flagValue(f *pflag.Flag) string {
	if f.Value.Type() == "bool" {
		return ""
	}
	text := f.Value.String()
	if list, ok := strings.CutPrefix(text, "["); ok {
		text = strings.TrimSuffix(list, "]")
	}
	return " " + text
}
