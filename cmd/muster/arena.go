package main

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
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/report"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// arena holds the conditions of simulated runs, from flags.
type arena struct {
	g        *global
	options  trace.Options
	format   string
	spread   string
	latency  time.Duration
	quantile float64
	late     time.Duration
	boot     time.Duration
	slots    int
	cores    int
	min, max int
	stated   stated
	poll     time.Duration
	world    []string
	// fleet is the simulated fleet of the configuration; nil to simulate a policy alone. missing lists what the
	// simulation leaves out.
	fleet   *config.Fleet
	missing []string
	// suite is true when several scenarios are played, each with its own settings.
	suite bool

	html, svg  string
	thresholds []string
	noLimit    bool
}

func (a *arena) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.DurationVar(&a.latency, "objective", 5*time.Minute, "the latency objective; a scenario has its own")
	f.Float64Var(&a.quantile, "quantile", 0.99, "the share of messages that must be in time")
	f.DurationVar(&a.late, "late", 0, "what a late message costs, as the time of one worker; 0s: its boot, at least "+
		"1m, at most 100 x the work of a message")
	f.DurationVar(&a.boot, "boot", time.Minute,
		"the true boot time of a worker; with -f by default workers.boot; a scenario has its own")
	f.IntVar(&a.slots, "slots", 1, "how many messages a worker handles at once")
	f.IntVar(&a.cores, "cores", 0, "how many cores all workers share, as processes of one machine do: with more "+
		"workers busy than cores, each takes longer in proportion; 0 means enough cores")
	f.IntVar(&a.min, "min", 0, "the least workers")
	f.IntVar(&a.max, "max", 500, "the most workers")
	a.stated.flags(cmd)
	f.DurationVar(&a.poll, "poll", time.Second, "the time between two polls of the queue")
	f.StringArrayVar(&a.world, "world", nil, "parameters of the world as KEY=VALUE,KEY=VALUE; see below")
	f.StringVar(&a.format, "format", "",
		"of the trace: csv, swf or counts; by default found from its name and content")
	f.DurationVar(&a.options.Service, "service", 0, "for counts: the mean service")
	f.Float64Var(&a.options.ServiceCV, "service-cv", 0, "for counts: the service's standard deviation over its mean")
	f.StringVar(&a.spread, "spread", "",
		"for counts: how messages are spread over their interval, even (the default) or poisson")
	f.StringVar(&a.html, "report", "", "write a page with the curves, every decision and the cost to this .html file")
	f.StringVar(&a.svg, "svg", "", "write the curves, or for several runs attainment against cost, to this .svg file")
	f.StringArrayVar(&a.thresholds, "threshold", nil,
		"fail with exit code 4 when missed, as 'in_time_ratio>=0.99'; may be repeated")
	f.BoolVar(&a.noLimit, "no-limit", false, "do not compute the lower bounds of the cost")
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
	b.WriteString("The world is kind unless --world says otherwise. Its parameters:\n\n")
	for _, p := range world.Parameters() {
		fmt.Fprintf(&b, "  %-30s %s\n", p.Name+"="+p.Value, p.What)
	}
	return strings.TrimRight(b.String(), "\n")
}

func completeWorld(_ *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	given := text[:strings.LastIndexByte(text, ',')+1]
	var all []cobra.Completion
	for _, p := range world.Parameters() {
		all = append(all, cobra.CompletionWithDesc(given+p.Name+"=", p.What))
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// event returns the event that the flags and the trace's name describe.
func (a *arena) event(cmd *cobra.Command, name string) (contest.Event, error) {
	a.options.Format, a.options.Spread = trace.Format(a.format), trace.Spread(a.spread)
	if s, ok := trace.FindScenario(name); ok {
		a.takeOver(cmd, s)
	}
	e := contest.Event{
		Name: name, Objective: muster.Objective{Latency: a.latency, Quantile: a.quantile, Late: a.late},
		Limits: muster.Limits{Min: a.min, Max: a.max, LaunchesPerHour: contest.LaunchesPerHour},
		World:  world.World{Boot: world.Draw{Mean: a.boot}, Slots: a.slots, Cores: a.cores}, Poll: a.poll,
		Trace: func(seed uint64) (trace.Trace, error) {
			o := a.options
			o.Seed = seed
			return trace.Load(name, o)
		},
	}
	switch {
	case a.latency < time.Millisecond || a.latency > 14*24*time.Hour:
		return e, usage(fmt.Errorf("--objective: found %s, allowed is 1ms to 336h", a.latency))
	case !(a.quantile > 0 && a.quantile <= 1):
		return e, usage(fmt.Errorf("--quantile: found %v, allowed is above 0 and at most 1", a.quantile))
	case a.min < 0 || a.max < a.min || a.max < 1 || a.max > 100_000:
		return e, usage(fmt.Errorf("--min and --max: found %d and %d, allowed is 0 <= min <= max, and max from 1 to "+
			"100000", a.min, a.max))
	case a.poll < 50*time.Millisecond || a.poll > time.Hour:
		return e, usage(fmt.Errorf("--poll: found %s, allowed is 50ms to 1h", a.poll))
	case a.late < 0 || a.late > 14*24*time.Hour:
		return e, usage(fmt.Errorf("--late: found %s, allowed is 0s to 336h", a.late))
	}
	if err := a.stated.tell(&e); err != nil {
		return e, err
	}
	if a.fleet != nil {
		missing, err := app.World(*a.fleet, &e.World)
		if err != nil {
			return e, err
		}
		a.missing = missing
	}
	for _, text := range a.world {
		for _, pair := range strings.Split(text, ",") {
			key, value, ok := strings.Cut(pair, "=")
			if !ok {
				return e, usage(fmt.Errorf("--world: found %q, write KEY=VALUE", pair))
			}
			if err := e.World.Set(key, value); err != nil {
				return e, usage(fmt.Errorf("--world: %w", worldHint(key, err)))
			}
		}
	}
	if _, err := e.World.Check(); err != nil {
		return e, usage(err)
	}
	_, err := e.Trace(1)
	return e, traceUsage(err)
}

// worldHint suggests the parameter that was probably meant, for an unknown one.
func worldHint(key string, err error) error {
	var names []string
	for _, p := range world.Parameters() {
		if p.Name == key {
			return err
		}
		names = append(names, p.Name)
	}
	if hint := config.Suggest(key, names); hint != "" {
		return fmt.Errorf("there is no world parameter %q; %s", key, hint)
	}
	return err
}

func traceUsage(err error) error {
	if err == nil {
		return nil
	}
	return usage(err)
}

// takeOver fills in the scenario's settings, except those given by flags. A fleet of the configuration keeps its own,
// but for the boot time, which the scenario is about.
func (a *arena) takeOver(cmd *cobra.Command, s trace.Scenario) {
	for flag, set := range map[string]func(){
		"objective": func() { a.latency = s.Objective.Latency },
		"quantile":  func() { a.quantile = s.Objective.Quantile },
		"boot":      func() { a.boot = s.Boot },
		"slots":     func() { a.slots = s.Slots },
		"max":       func() { a.max = s.Max },
	} {
		if !cmd.Flags().Changed(flag) && (a.fleet == nil || a.suite || flag == "boot") {
			set()
		}
	}
}

// configured takes the event's settings from a fleet of the configuration, except those given by flags.
func (a *arena) configured(cmd *cobra.Command, fleet string) (contest.Contender, error) {
	c, err := a.g.load()
	if err != nil {
		return contest.Contender{}, err
	}
	f, err := fleetOf(c, fleet)
	if err != nil {
		return contest.Contender{}, usage(err)
	}
	for flag, set := range map[string]func(){
		"objective": func() { a.latency = f.Objective.Latency },
		"quantile":  func() { a.quantile = f.Objective.Quantile },
		"late":      func() { a.late = f.Objective.Late },
		"boot":      func() { a.boot = f.Workers.Boot },
		"slots":     func() { a.slots = f.Workers.AtOnce() },
		"min":       func() { a.min = f.Limits.Min },
		"max":       func() { a.max = f.Limits.Max },
		"poll":      func() { a.poll = f.Poll },
		"processing": func() {
			if f.Policy.Processing > 0 {
				a.stated.processing = f.Policy.Processing.String()
			}
		},
	} {
		if !cmd.Flags().Changed(flag) {
			set()
		}
	}
	a.stated.boot = f.Workers.Boot
	a.fleet = &f
	played := f
	played.Policy.Processing = 0 // the event states it
	played.Policy.Shadow = false // in the simulation no other system sizes the fleet
	settings, err := app.Settings(played)
	if err != nil {
		return contest.Contender{}, err
	}
	return contest.Configured(settings, f.Workers.Idle), nil
}

// leftOut prints what of a fleet is not simulated. It goes to standard error, because programs may read the result.
func (a *arena) leftOut(w io.Writer) {
	for _, what := range a.missing {
		fmt.Fprintf(w, "not simulated: %s\n", what)
	}
}

// fleetOf returns the named fleet, or the only one.
func fleetOf(c *config.Config, name string) (config.Fleet, error) {
	var names []string
	for _, f := range c.Fleets {
		if f.Name == name || name == "" && len(c.Fleets) == 1 {
			return f, nil
		}
		names = append(names, f.Name)
	}
	if name == "" {
		return config.Fleet{}, fmt.Errorf("the configuration has several fleets, name one with --fleet: %s",
			strings.Join(names, ", "))
	}
	return config.Fleet{}, fmt.Errorf("there is no fleet %q; there are %s", name, strings.Join(names, ", "))
}

// write writes the requested pictures.
func (a *arena) write(runs []report.Run, svg func(io.Writer) error) error {
	title := "Muster: simulated runs"
	if len(runs) > 0 {
		title = "Muster: " + runs[0].Result.Trace
	}
	err := durable.Replace(a.html, func(w io.Writer) error { return report.HTML(w, title, runs) })
	return errors.Join(err, durable.Replace(a.svg, svg))
}

// checkFiles checks that the pictures can be written, before minutes of work.
func (a *arena) checkFiles() error {
	for _, file := range []struct{ flag, path string }{{"--report", a.html}, {"--svg", a.svg}} {
		if file.path == "" {
			continue
		}
		dir := filepath.Dir(file.path)
		if stat, err := os.Stat(dir); err != nil || !stat.IsDir() {
			return usage(fmt.Errorf("%s: found %s, and there is no directory %s; make it first", file.flag, file.path,
				dir))
		}
	}
	return nil
}

// lessCollecting makes the garbage collector run less often, for work with much garbage and little live memory. The
// returned function undoes that.
func lessCollecting() func() {
	before := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(before) }
}

func completePolicy(_ *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	given := text[:strings.LastIndexByte(text, ',')+1]
	var all []cobra.Completion
	for _, c := range contest.All() {
		all = append(all, cobra.CompletionWithDesc(given+c.Name, c.What))
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}
