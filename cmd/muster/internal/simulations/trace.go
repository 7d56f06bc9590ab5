package simulations

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/sim/tables"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/trace/statistics"
)

// traceCommand is muster trace with its flags. format, spread and quantile are kept as given and go into options and
// goal after the checks.
type traceCommand struct {
	// options say how to read or generate the trace; format and spread are texts until the flags are parsed.
	options trace.Options
	format  string
	spread  string
	// goal is the objective and the worker that the trace is measured for; without an objective that part is left out.
	goal     statistics.Goal
	quantile float64
	// out is the file of --out, empty for none.
	out string
}

// NewTrace makes muster trace. It reads the trace once to measure it, and with --out once more to write it. A fault in
// the file is exit code 2, with its line.
func NewTrace(g *command.Global) *cobra.Command {
	var m traceCommand
	cmd := &cobra.Command{
		Use:   "trace FILE|GENERATOR|SCENARIO",
		Short: "Measure a trace, from a file or generated, and convert it",
		Long:  traceHelp(),
		Example: `  muster trace requests.csv.gz --objective 300s --boot 90s
  muster trace jobs.swf --out jobs.csv.gz
  muster trace per-minute.csv --service 10s --service-cv 1 --spread poisson
  muster trace step:rate=1,to=10,at=600s,duration=1800s --seed 3
  muster trace spikes-300 --out spikes.csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return m.run(cmd, g, args[0]) },
	}
	f := cmd.Flags()
	f.DurationVar(&m.goal.Objective.Latency, "objective", 0,
		"the latency objective for the trace; a scenario has its own")
	f.Float64Var(&m.quantile, "quantile", 0.99, "the share of messages that must be in time")
	f.DurationVar(&m.goal.Boot, "boot", 0, "the boot time of a worker")
	f.IntVar(&m.goal.Slots, "slots", 1, "how many messages a worker handles at once")
	f.Uint64Var(&m.options.Seed, "seed", 1, "the seed of generated and drawn values")
	f.StringVar(&m.format, "format", "", "csv, swf or counts (default: from the name and the content)")
	f.DurationVar(&m.options.Service, "service", 0, "for counts: the mean processing duration")
	f.Float64Var(&m.options.ServiceCV, "service-cv", 0,
		"for counts: the standard deviation of processing durations, divided by their mean; lognormal above 0")
	f.StringVar(&m.spread, "spread", "",
		"for counts: how messages are spread over their interval, even (the default) or poisson")
	f.StringVar(&m.out, "out", "", "write the trace to this file, .csv or .csv.gz")
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"csv", "swf", "counts"},
		cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("spread", cobra.FixedCompletions([]string{"even", "poisson"},
		cobra.ShellCompDirectiveNoFileComp))
	cmd.MarkFlagFilename("out", "csv", "gz")
	cmd.ValidArgsFunction = completeTrace
	return cmd
}

// traceHelp explains the inputs, and lists the generators and scenarios.
func traceHelp() string {
	var b strings.Builder
	b.WriteString(`Trace reads the messages of a trace and describes them: how many, how fast, how bursty, how long their work takes,
and how much time an objective leaves for launching workers. With --out it writes them as CSV.

A FILE is CSV with a header and the columns arrival_s and service_s, and perhaps class, group and depth; or a job
log in the Standard Workload Format (swf); or counts: the columns interval_s or start_s, and count. Each may be
packed with gzip. A GENERATOR makes messages from settings, as NAME or NAME:KEY=VALUE,KEY=VALUE; the same settings
and seed give the same messages everywhere. Write ./NAME for a file with the name of a generator or scenario.

Generators, with their settings and defaults:
`)
	for _, g := range trace.Generators() {
		fmt.Fprintf(&b, "\n  %-10s %s\n  %-10s ", g.Name, g.What, "")
		// Parameters wrap at about 100 columns, below the name of their generator.
		column := 0
		for i, p := range g.Parameters {
			text := p.Name + "=" + p.Default
			if i > 0 {
				b.WriteByte(' ')
				if column += len(text) + 1; column > 100 {
					fmt.Fprintf(&b, "\n  %-10s ", "")
					column = 0
				}
			}
			b.WriteString(text)
		}
		b.WriteByte('\n')
	}
	b.WriteString("\nA SCENARIO is a trace with its objective; these make up the built-in suite:\n\n")
	for _, s := range trace.Scenarios() {
		fmt.Fprintf(&b, "  %-16s %s\n", s.Name, s.What)
	}
	return strings.TrimRight(b.String(), "\n")
}

// run measures the trace and writes it if --out asks for it. Writing comes second, so that a faulty trace leaves no
// file.
func (m *traceCommand) run(cmd *cobra.Command, g *command.Global, name string) error {
	if err := m.check(); err != nil {
		return command.Usage(err)
	}
	// The objective must be known before the measurement; the messages of a scenario come from Load.
	if s, ok := trace.FindScenario(name); ok {
		m.useScenario(cmd, s)
	}
	m.goal.Objective.Quantile = m.quantile
	t, err := trace.Load(name, m.options)
	if err != nil {
		return command.Usage(err)
	}
	// From here on an error may be a fault in a line of the file.
	stats, err := statistics.Measure(t, m.goal)
	if err != nil {
		return traceError(err)
	}
	if m.out != "" {
		p := terminal.NewProgress(cmd.ErrOrStderr(), "wrote", int(stats.Messages))
		_, err := trace.Write(t, m.out, func(n int64) { p.At(int(n)) })
		p.Done()
		if err != nil {
			return traceError(err)
		}
	}
	if g.JSON() {
		return command.PrintJSON(cmd.OutOrStdout(), struct {
			statistics.Statistics
			// Written is the file that the trace was written to.
			Written string `json:"written,omitzero"`
		}{stats, m.out})
	}
	tables.Statistics(cmd.OutOrStdout(), stats, m.goal)
	if m.out != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "\nwrote %s to %s\n", render.Plural(int(stats.Messages), "message"), m.out)
	}
	return nil
}

// check checks the values of the flags and puts them into options.
func (m *traceCommand) check() error {
	m.options.Format, m.options.Spread = trace.Format(m.format), trace.Spread(m.spread)
	switch {
	case m.goal.Objective.Latency < 0 || m.goal.Boot < 0:
		return errors.New("--objective and --boot are above 0")
	case m.goal.Slots < 1 || m.goal.Slots > 10_000:
		return fmt.Errorf("--slots: found %d, allowed is 1 to 10000", m.goal.Slots)
	case !(m.quantile > 0 && m.quantile <= 1):
		return fmt.Errorf("--quantile: found %v, allowed is above 0 and at most 1", m.quantile)
	case m.goal.Boot > 0 && m.goal.Boot < time.Millisecond:
		return fmt.Errorf("--boot: found %s, allowed is 1ms and more", m.goal.Boot)
	}
	return nil
}

// useScenario fills in the scenario's settings, except those given by flags.
func (m *traceCommand) useScenario(cmd *cobra.Command, s trace.Scenario) {
	for flag, set := range map[string]func(){
		"objective": func() { m.goal.Objective.Latency = s.Objective.Latency },
		"quantile":  func() { m.quantile = s.Objective.Quantile },
		"boot":      func() { m.goal.Boot = s.Boot },
		"slots":     func() { m.goal.Slots = s.Slots },
	} {
		if !cmd.Flags().Changed(flag) {
			set()
		}
	}
}

// traceError marks a fault in a trace file as a usage error. Reading is lazy, so such a fault may come late: after
// Load, from any step that reads messages.
func traceError(err error) error {
	if _, fault := errors.AsType[*trace.Fault](err); fault {
		return command.Usage(err)
	}
	return err
}

// completeTrace completes a generator, its settings or a scenario, and else files.
func completeTrace(_ *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all []cobra.Completion
	// NAME:KEY=VALUE,KEY= completes the keys that are not given yet.
	name, rest, settings := strings.Cut(text, ":")
	for _, g := range trace.Generators() {
		if !settings {
			all = append(all, cobra.CompletionWithDesc(g.Name, g.What))
			continue
		}
		if g.Name != name {
			continue
		}
		given := rest[:strings.LastIndexByte(rest, ',')+1]
		pairs := strings.Split(given, ",")
		for _, p := range g.Parameters {
			if !slices.ContainsFunc(pairs, func(pair string) bool { return strings.HasPrefix(pair, p.Name+"=") }) {
				all = append(all, cobra.CompletionWithDesc(name+":"+given+p.Name+"=", p.What+"; by default "+p.Default))
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	for _, s := range trace.Scenarios() {
		all = append(all, cobra.CompletionWithDesc(s.Name, s.What))
	}
	return all, cobra.ShellCompDirectiveDefault
}
