package simulations

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/sim/comparison"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/report"
	"github.com/muster-scale/muster/sim/tables"
	"github.com/muster-scale/muster/sim/threshold"
	"github.com/muster-scale/muster/sim/trace"
)

// compareCommand is muster compare with its flags. It shares the run flags with simulate.
type compareCommand struct {
	*runFlags
	// policies are the names of --policies, scenarios those of --scenarios; empty for all. seeds is parsed late,
	// because its default depends on the trace.
	policies  []string
	scenarios []string
	seeds     string
	// sweep tunes the other autoscalers, page prints Markdown, parallel bounds the runs at a time.
	sweep    bool
	page     bool
	parallel int
	// only names the compared fleet of the configuration; empty if there is only one.
	only string
	// command is the command line, as a page shows it.
	command []string
}

// NewCompare makes muster compare. The lower bounds and the seeds are the same for all policies, so that their costs
// can be divided by each other. Exit codes are those of simulate; a threshold holds for every result.
func NewCompare(g *command.Global) *cobra.Command {
	c := &compareCommand{runFlags: &runFlags{g: g}}
	cmd := &cobra.Command{
		Use:   "compare [TRACE] [--policies A,B,...]",
		Short: "Replay a trace under several policies, and compare them with lower bounds of the cost",
		Long: `Compare replays one trace, or with --suite every built-in scenario, under several policies with the same random
draws, limits and prices. It shows for each policy the share of messages in time and the cost.

The cost is a multiple of a lower bound: no schedule costs less, not even one that knows the future. A second bound is
for schedules that may not launch before the first message. Other autoscalers run at their published defaults. With
--sweep they also run at the setting that was best in hindsight: the cheapest that meets the objective on seeds 1 to 5.

` + knowledgeHelp + `

Each of Muster's policies runs twice: as above, and as NAME (told), whose configuration states the true mean processing
duration and the true boot time. A policy that cannot run without the mean has only the second run. With --processing
each policy runs once.

` + worldHelp(),
		Example: `  muster compare requests.csv.gz --policies exact,keda,aws-dynamic --objective 60s --boot 60s
  muster compare --suite
  muster compare --suite --scenarios spikes-300,steady-R20 --seeds 6-10 --sweep -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.flags(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&c.policies, "policies", nil, "the policies (default: all): "+strings.Join(contest.Names(), ", "))
	f.StringVar(&c.only, "fleet", "", "the fleet of the configuration (-f) whose policy is compared with the others")
	f.BoolVar(&c.suite, "suite", false, "run the built-in scenarios")
	f.StringSliceVar(&c.scenarios, "scenarios", nil, "with --suite: only these")
	f.StringVar(&c.seeds, "seeds", "", "the seeds, as in 1-10 or 6,7,8 (default: 1-10 for a generated trace, 1 for a "+
		"file)")
	f.BoolVar(&c.sweep, "sweep", false, "add each other autoscaler with its main setting tuned in hindsight, as NAME*")
	f.BoolVar(&c.page, "markdown", false, "print the tables as a page of Markdown")
	f.IntVar(&c.parallel, "parallel", runtime.NumCPU(), "how many runs at a time; the results do not depend on it")
	cmd.RegisterFlagCompletionFunc("policies", completePolicy)
	return cmd
}

// run plays every policy on every event with every seed, and prints the results. A page of Markdown begins with the
// command that repeats it, so the command line is rebuilt from the flags first.
func (c *compareCommand) run(cmd *cobra.Command, args []string) error {
	// Only flags that the user gave are part of it.
	c.command = append([]string{"compare"}, args...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		c.command = append(c.command, "--"+f.Name+flagValue(f))
	})
	// Everything that is quick to check comes before the runs, which may take hours.
	limits, err := threshold.OfResults(c.thresholds)
	if err != nil {
		return err
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
	// Each of Muster's policies is entered a second time, with the true durations stated, unless the user states some.
	entrants, told, err := comparison.Informed(contenders, events[0], cmd.Flags().Changed("processing"),
		len(c.policies) > 0 || c.g.Config != "")
	if err != nil {
		return err
	}
	seeds, err := c.seedList(args)
	if err != nil {
		return command.Usage(err)
	}
	if c.parallel < 1 || c.parallel > 256 {
		return command.Usage(fmt.Errorf("--parallel: found %d, allowed is 1 to 256", c.parallel))
	}
	defer collectLess()()
	results, runs, err := comparison.Comparison{
		Events: events, Contenders: entrants, Seeds: seeds, Told: told, Sweep: c.sweep, Limits: !c.noLimit,
		Record: c.html != "" || c.svg != "", Parallel: c.parallel, Progress: cmd.ErrOrStderr(),
	}.Play(cmd.Context())
	if err != nil {
		return traceError(err)
	}
	if err := c.write(runs, func(w io.Writer) error { return report.Attainment(w, runs) }); err != nil {
		return err
	}
	switch {
	case c.g.JSON():
		err = command.PrintJSON(cmd.OutOrStdout(), results)
	case c.page:
		tables.Page(cmd.OutOrStdout(), "muster "+strings.Join(c.command, " "), events, contest.Rows(results))
	default:
		tables.Rows(cmd.OutOrStdout(), contest.Rows(results), !c.noLimit)
	}
	c.printMissing(cmd.ErrOrStderr())
	return errors.Join(err, contest.Broken(results), threshold.Missed(results, limits))
}

// contenders returns the compared policies: that of the fleet of -f first, then those of --policies. Without either,
// all.
func (c *compareCommand) contenders(cmd *cobra.Command) ([]contest.Contender, error) {
	if len(c.policies) == 0 && c.g.Config == "" {
		return contest.All(), nil
	}
	var all []contest.Contender
	if c.g.Config != "" {
		x, err := c.configuredPolicy(cmd, c.only)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	for _, name := range c.policies {
		x, err := contest.Find(name)
		if err != nil {
			return nil, command.Usage(fmt.Errorf("--policies: %w", err))
		}
		all = append(all, x)
	}
	return all, nil
}

// events returns one event for the trace, or with --suite one for each scenario.
func (c *compareCommand) events(cmd *cobra.Command, args []string) ([]contest.Event, error) {
	switch {
	// A trace beside --suite is more likely a mistake than a wish for both.
	case c.suite && len(args) > 0:
		return nil, command.Usage(fmt.Errorf("give a trace or --suite, not both; found %s", args[0]))
	case !c.suite && len(args) == 0:
		return nil, command.Usage(errors.New("give a trace, or --suite for the built-in scenarios"))
	case !c.suite:
		e, err := c.event(cmd, args[0])
		return []contest.Event{e}, err
	}
	var events []contest.Event
	names := c.scenarios
	if len(names) == 0 {
		names = trace.ScenarioNames()
	}
	for _, name := range names {
		if _, ok := trace.FindScenario(name); !ok {
			return nil, command.Usage(fmt.Errorf("--scenarios: there is no scenario %q; %s", name,
				cmp.Or(config.Suggest(name, trace.ScenarioNames()), "muster trace --help lists them")))
		}
		e, err := c.event(cmd, name)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// seedList returns the seeds: those of --seeds, or 1 to 10 for a generated trace, or 1 for a file.
func (c *compareCommand) seedList(args []string) ([]uint64, error) {
	if c.seeds == "" {
		if len(args) > 0 && !trace.Generated(args[0]) {
			return []uint64{1}, nil
		}
		return trace.Seeds(), nil
	}
	return numberRanges("--seeds", c.seeds, 1000)
}

// numberRanges parses the value of a flag: numbers and ranges, separated by commas, of at most most numbers each.
func numberRanges(flag, text string, most uint64) ([]uint64, error) {
	var all []uint64
	for _, part := range strings.Split(text, ",") {
		// A single number is a range of one.
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		from, wrong := strconv.ParseUint(first, 10, 64)
		to, wrongToo := strconv.ParseUint(last, 10, 64)
		if wrong != nil || wrongToo != nil || from > to || to-from >= most {
			return nil, fmt.Errorf("%s: found %q, write numbers and ranges of at most %d, as 1-5,9", flag, text, most)
		}
		// The difference is compared, because n <= to never ends for the largest number.
		for n := from; n-from <= to-from; n++ {
			all = append(all, n)
		}
	}
	return all, nil
}

// flagValue renders the value of a flag for a command line. A list prints as [A,B] and is read as A,B.
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
