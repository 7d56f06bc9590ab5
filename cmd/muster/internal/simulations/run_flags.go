package simulations

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/simulation"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/report"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// The flags of this file describe a simulated run for simulate, compare and import --compare. Several sources set the
// same values. A flag always wins. Then comes the fleet of a configuration, then the scenario, then the default of the
// flag. There are two exceptions: the boot time of a scenario wins over that of the fleet, and with --suite all
// settings of a scenario do. configuredPolicy comes first, then event, which calls useScenario.

// runFlags holds the conditions of simulated runs, from flags: the trace options, the objective, the fleet, the world,
// and what to write. Durations of 0 and empty texts mean that a flag was not given, except where the flag has a
// default.
type runFlags struct {
	g *command.Global
	// options, format and spread say how to read or generate the trace. format and spread are texts until the flags are
	// parsed.
	options trace.Options
	format  string
	spread  string
	// latency, quantile and late are the objective.
	latency  time.Duration
	quantile float64
	late     time.Duration
	// The true properties of a worker and its machine: boot time, slots, and the cores that all workers share.
	boot  time.Duration
	slots int
	cores int
	// The limits of the fleet, in workers.
	min, max int
	// stated is what the configuration says about durations, true or not.
	stated simulation.Durations
	// poll is the interval of the controller. world holds the values of --world, in order; a later one wins.
	poll  time.Duration
	world []string
	// fleet is the simulated fleet of the configuration; nil to simulate a policy alone. missing lists what the
	// simulation leaves out.
	fleet   *config.Fleet
	missing []string
	// suite is true when several scenarios are played, each with its own settings.
	suite bool

	// html and svg are the paths of --report and --svg, empty for none. thresholds are the limits of --threshold.
	// noLimit skips the lower bounds of the cost, which may take longer than the run.
	html, svg  string
	thresholds []string
	noLimit    bool
}

// flags adds the flags to a command, and completes the trace as its argument.
func (r *runFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.DurationVar(&r.latency, "objective", 5*time.Minute, "the latency objective; a scenario has its own")
	f.Float64Var(&r.quantile, "quantile", 0.99, "the share of messages that must be in time")
	f.DurationVar(&r.late, "late", 0, "the cost of a late message, in worker time; 0s: the boot time, at least 1m, "+
		"at most 100 x the work of a message")
	f.DurationVar(&r.boot, "boot", time.Minute,
		"the true boot time of a worker (with -f, default: workers.boot); a scenario has its own")
	f.IntVar(&r.slots, "slots", 1, "how many messages a worker handles at once")
	f.IntVar(&r.cores, "cores", 0, "how many cores all workers share, as processes of one machine do: if more workers "+
		"than cores are busy, each takes longer in proportion; 0 means enough cores")
	f.IntVar(&r.min, "min", 0, "the fewest workers")
	f.IntVar(&r.max, "max", 500, "the most workers")
	addDurationFlags(cmd, &r.stated)
	f.DurationVar(&r.poll, "poll", time.Second, "the time between two polls of the queue")
	f.StringArrayVar(&r.world, "world", nil, "parameters of the world as KEY=VALUE,KEY=VALUE; muster simulate --help "+
		"lists them")
	f.StringVar(&r.format, "format", "",
		"the format of the trace: csv, swf or counts (default: from its name and content)")
	f.DurationVar(&r.options.Service, "service", 0, "for counts: the mean processing duration")
	f.Float64Var(&r.options.ServiceCV, "service-cv", 0, "for counts: the standard deviation of processing durations, "+
		"divided by their mean")
	f.StringVar(&r.spread, "spread", "",
		"for counts: how messages are spread over their interval, even (the default) or poisson")
	f.StringVar(&r.html, "report", "", "write a page with the curves, every decision and the cost to this .html file")
	f.StringVar(&r.svg, "svg", "", "write the curves, or for several runs attainment against cost, to this .svg file")
	f.StringArrayVar(&r.thresholds, "threshold", nil,
		"end with exit code 4 if a result misses this limit, as in 'in_time_ratio>=0.99'; may be repeated")
	f.BoolVar(&r.noLimit, "no-limit", false, "do not compute the lower bounds of the cost")
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"csv", "swf", "counts"},
		cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("spread", cobra.FixedCompletions([]string{"even", "poisson"},
		cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("world", completeWorld)
	cmd.MarkFlagFilename("report", "html")
	cmd.MarkFlagFilename("svg", "svg")
	cmd.ValidArgsFunction = completeTrace
}

// worldHelp lists the parameters of the world.
func worldHelp() string {
	var b strings.Builder
	b.WriteString("The simulated world is free of faults and delays unless --world adds some. Its parameters:\n\n")
	for _, p := range world.Parameters() {
		fmt.Fprintf(&b, "  %-30s %s\n", p.Name+"="+p.Value, p.What)
	}
	return strings.TrimRight(b.String(), "\n")
}

// completeWorld completes the last parameter of a list of parameters of the world.
func completeWorld(_ *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	given := text[:strings.LastIndexByte(text, ',')+1]
	var all []cobra.Completion
	for _, p := range world.Parameters() {
		all = append(all, cobra.CompletionWithDesc(given+p.Name+"=", p.What))
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// event returns the event that the flags and the trace's name describe: a trace, an objective, limits and a world. It
// checks every value and opens the trace once with seed 1, so that a wrong flag or a missing file is exit code 2 before
// any run. The world is set in steps: the boot time, then the facts of the fleet's kind, then --world, which wins.
func (r *runFlags) event(cmd *cobra.Command, name string) (contest.Event, error) {
	r.options.Format, r.options.Spread = trace.Format(r.format), trace.Spread(r.spread)
	if s, ok := trace.FindScenario(name); ok {
		r.useScenario(cmd, s)
	}
	// The trace is opened anew for each seed, because a reader can be read once.
	e := contest.Event{
		Name: name, Objective: muster.Objective{Latency: r.latency, Quantile: r.quantile, Late: r.late},
		Limits: muster.Limits{Min: r.min, Max: r.max, LaunchesPerHour: contest.LaunchesPerHour},
		World:  world.World{Boot: world.Draw{Mean: r.boot}, Slots: r.slots, Cores: r.cores}, Poll: r.poll,
		Trace: func(seed uint64) (trace.Trace, error) {
			o := r.options
			o.Seed = seed
			return trace.Load(name, o)
		},
	}
	if err := simulation.Check(e); err != nil {
		return e, err
	}
	if err := r.stated.AddTo(&e); err != nil {
		return e, err
	}
	if r.fleet != nil {
		missing, err := simulation.World(*r.fleet, &e.World)
		if err != nil {
			return e, err
		}
		r.missing = missing
	}
	// These come after the facts of the fleet, so that a user can overrule them.
	if err := simulation.SetWorld(&e.World, r.world); err != nil {
		return e, err
	}
	// A file is opened here and read later; opening finds a wrong name or a wrong setting.
	_, err := e.Trace(1)
	return e, traceUsage(err)
}

// traceUsage makes an error of opening a trace a usage error.
func traceUsage(err error) error {
	if err == nil {
		return nil
	}
	return command.Usage(err)
}

// useScenario fills in the scenario's settings, except those given by flags. A fleet of the configuration keeps its
// own, but for the boot time, which the scenario is about.
func (r *runFlags) useScenario(cmd *cobra.Command, s trace.Scenario) {
	for flag, set := range map[string]func(){
		"objective": func() { r.latency = s.Objective.Latency },
		"quantile":  func() { r.quantile = s.Objective.Quantile },
		"boot":      func() { r.boot = s.Boot },
		"slots":     func() { r.slots = s.Slots },
		"max":       func() { r.max = s.Max },
	} {
		if !cmd.Flags().Changed(flag) && (r.fleet == nil || r.suite || flag == "boot") {
			set()
		}
	}
}

// configuredPolicy takes the event's settings from a fleet of the configuration, except those given by flags, and
// returns the fleet's policy as it would run in production. What the simulation lacks is switched off in a copy: shadow
// mode and a system of AWS that sizes the fleet.
func (r *runFlags) configuredPolicy(cmd *cobra.Command, fleet string) (contest.Contender, error) {
	c, err := r.g.Load()
	if err != nil {
		return contest.Contender{}, err
	}
	at, err := simulation.FleetOf(c, fleet)
	if err != nil {
		return contest.Contender{}, command.Usage(fmt.Errorf("--fleet: %w", err))
	}
	f := c.Fleets[at]
	for flag, set := range map[string]func(){
		"objective": func() { r.latency = f.Objective.Latency },
		"quantile":  func() { r.quantile = f.Objective.Quantile },
		"late":      func() { r.late = f.Objective.Late },
		"boot":      func() { r.boot = f.Workers.Boot },
		"slots":     func() { r.slots = f.Workers.AtOnce() },
		"min":       func() { r.min = f.Limits.Min },
		"max":       func() { r.max = f.Limits.Max },
		"poll":      func() { r.poll = f.Poll },
		"processing": func() {
			if f.Policy.Processing > 0 {
				r.stated.Processing = f.Policy.Processing.String()
			}
		},
	} {
		if !cmd.Flags().Changed(flag) {
			set()
		}
	}
	// The policy knows what the file states, even when --boot makes the true boot time another.
	r.stated.Boot = f.Workers.Boot
	r.fleet = &f
	played := f
	played.Policy.Processing = 0 // the event states it
	played.Policy.Shadow = false // in the simulation no other system sizes the fleet
	settings, err := app.Settings(played)
	if err != nil {
		return contest.Contender{}, err
	}
	return contest.Configured(settings, f.Workers.Idle), nil
}

// printMissing prints what of a fleet is not simulated. It goes to standard error, because programs may read the
// result.
func (r *runFlags) printMissing(w io.Writer) {
	for _, what := range r.missing {
		fmt.Fprintf(w, "not simulated: %s\n", what)
	}
}

// write writes the requested pictures. A file appears when it is complete; an existing one stays until then.
func (r *runFlags) write(runs []report.Run, svg func(io.Writer) error) error {
	title := "Muster: simulated runs"
	if len(runs) > 0 {
		title = "Muster: " + runs[0].Result.Trace
	}
	err := durable.Replace(r.html, func(w io.Writer) error { return report.HTML(w, title, runs) })
	return errors.Join(err, durable.Replace(r.svg, svg))
}

// checkFiles checks that the pictures can be written, before minutes of work.
func (r *runFlags) checkFiles() error {
	for _, file := range []struct{ flag, path string }{{"--report", r.html}, {"--svg", r.svg}} {
		if file.path == "" {
			continue
		}
		dir := filepath.Dir(file.path)
		if stat, err := os.Stat(dir); err != nil || !stat.IsDir() {
			return command.Usage(fmt.Errorf(
				"%s: found %s, and there is no directory %s; make it first", file.flag, file.path,
				dir))
		}
	}
	return nil
}

// collectLess makes the garbage collector run less often, for work with much garbage and little live memory. The
// returned function undoes that.
func collectLess() func() {
	before := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(before) }
}
