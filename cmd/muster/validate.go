package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/trace"
)

// circumstances are what a demo run met on this machine: what the simulator is told, so that only the model is compared.
type circumstances struct {
	// sent are the instants of the messages since the controller's first look, ascending, work how long those took that
	// were begun first, second and so on.
	sent, work []time.Duration
	// boots are the times from the launch of each member until it took messages, in the order of launch; handover is the mean
	// time from the end of the work on a message until its worker has the next.
	boots    []time.Duration
	handover time.Duration
}

// validated is one figure of one run: for real, and in the simulator, over the repetitions.
type validated struct {
	Name   string `json:"name"`
	Policy string `json:"policy"`
	Figure string `json:"figure"`
	// Real and Simulated are the repetitions, in seconds.
	Real      []float64 `json:"real"`
	Simulated []float64 `json:"simulated"`
	// Off is the median of how far the simulator was off in a repetition, as a share of what was real.
	Off float64 `json:"off"`
}

func newValidate(g *global) *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use: "validate", Hidden: true, Args: cobra.NoArgs,
		Short: "Compare the simulator with reality: the demo and a steady run, for real and simulated",
		Long: `Validate runs the demo several times with real queues and worker processes, then simulates each run with the boot
and processing times that were measured in it, and compares worker-seconds and the 95th percentile of the time from
sent to finished. It fails when the median difference is more than the share given.

Then it sends messages of 20 ms at an even rate to workers that take seconds to start, and compares the most workers,
the launches, the worker-seconds and the share in time with those of the simulator. It fails when they differ by more
than the table says, or when more workers are launched than a few above what the load needs.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return usage(err)
			}
			return runValidate(cmd, g, o)
		},
	}
	cmd.Flags().IntVar(&o.repetitions, "repetitions", 5, "how often the demo is run; 0 leaves it out")
	cmd.Flags().Float64Var(&o.within, "within", 0.05, "the largest difference in the demo, as a share")
	cmd.Flags().DurationVar(&o.steady, "steady", 2*time.Minute,
		"how long messages are sent in the steady run; 0 leaves it out")
	cmd.AddCommand(newSleepLines())
	return cmd
}

// validateOptions are the command line of validate.
type validateOptions struct {
	repetitions int
	within      float64
	steady      time.Duration
}

func (o validateOptions) check() error {
	switch {
	case o.repetitions < 0 || o.repetitions > 100:
		return fmt.Errorf("--repetitions: found %d, allowed is 0 to 100", o.repetitions)
	case !(o.within > 0 && o.within < 1):
		return fmt.Errorf("--within: found %v, allowed is a share above 0 and below 1, such as 0.05", o.within)
	case o.steady != 0 && (o.steady < 10*time.Second || o.steady > 10*time.Minute):
		return fmt.Errorf("--steady: found %s, allowed is 0 for none, or 10s to 10m", o.steady)
	case o.steady == 0 && o.repetitions == 0:
		return errors.New("--repetitions and --steady: found 0 for both, which leaves nothing to compare; give one of them")
	}
	return nil
}

// runValidate makes the runs that are asked for, prints them and returns what disagrees.
func runValidate(cmd *cobra.Command, g *global, o validateOptions) error {
	out := cmd.OutOrStdout()
	var rows []validated
	var steady *steadyComparison
	var err error
	if o.repetitions > 0 {
		if rows, err = validate(cmd.Context(), o.repetitions, cmd.ErrOrStderr()); err != nil {
			return err
		}
		if !g.json() {
			err = printValidated(out, rows, o.repetitions)
		}
		err = errors.Join(err, disagreement(rows, o.within))
	}
	if o.steady > 0 {
		var failed error
		if steady, failed = validateSteady(cmd.Context(), o.steady, cmd.ErrOrStderr()); failed != nil {
			return errors.Join(err, failed)
		}
		if !g.json() {
			err = errors.Join(err, steady.print(out))
		}
		err = errors.Join(err, steady.disagreement())
	}
	if g.json() {
		err = errors.Join(printJSON(out, map[string]any{"demo": rows, "steady": steady}), err)
	}
	return err
}

// validate runs the demo and its simulation so often.
func validate(ctx context.Context, repetitions int, progress io.Writer) ([]validated, error) {
	var all [][2][]demoResult
	for i := range repetitions {
		fmt.Fprintf(progress, "repetition %d of %d\n", i+1, repetitions)
		tally, err := runDemo(ctx, newDemoView(io.Discard, false, progress))
		if err != nil {
			return nil, err
		}
		real := tally.results()
		if err := demoFailure(real); err != nil {
			return nil, err
		}
		var simulated []demoResult
		for k, r := range tally.runs {
			c := tally.circumstances(r)
			s, err := simulateDemo(r, c)
			if err != nil {
				return nil, err
			}
			simulated = append(simulated, s)
			fmt.Fprintf(progress, "  %s: boots %s to %s, work %s, handover %s; worker-seconds %.1f and %.1f simulated, p95 %.2f s and %.2f s\n", r.fleet.Name,
				slices.Min(c.boots).Round(time.Millisecond), slices.Max(c.boots).Round(time.Millisecond), mean(c.work).Round(time.Millisecond),
				c.handover.Round(time.Millisecond), real[k].WorkerSeconds, s.WorkerSeconds, real[k].P95, s.P95)
		}
		all = append(all, [2][]demoResult{real, simulated})
	}
	return compareDemos(all), nil
}

// compareDemos compares the repetitions, each of which is real and simulated. What a repetition met is what its simulation
// is told, so they are compared pair by pair; the median forgives single repetitions, because a policy that waits for the
// last moment sometimes decides by a millisecond.
func compareDemos(all [][2][]demoResult) []validated {
	figures := []struct {
		name string
		of   func(demoResult) float64
	}{
		{"worker-seconds", func(r demoResult) float64 { return r.WorkerSeconds }},
		{"p95", func(r demoResult) float64 { return r.P95 }},
	}
	var rows []validated
	for k, r := range all[0][0] {
		for _, f := range figures {
			v := validated{Name: r.Name, Policy: r.Policy, Figure: f.name}
			var off []float64
			for _, pair := range all {
				real, simulated := f.of(pair[0][k]), f.of(pair[1][k])
				v.Real, v.Simulated, off = append(v.Real, real), append(v.Simulated, simulated), append(off, simulated/real-1)
			}
			v.Off = median(off)
			rows = append(rows, v)
		}
	}
	return rows
}

// simulateDemo makes a run of the demo in the simulator, and adds it up as the real one is.
func simulateDemo(r demoRun, c circumstances) (demoResult, error) {
	tally, err := simulateRun(r, c)
	if err != nil {
		return demoResult{}, err
	}
	return tally.result(r), nil
}

// simulateRun makes a run in the simulator.
func simulateRun(r demoRun, c circumstances) (*demoTally, error) {
	settings, err := app.Settings(r.fleet)
	if err != nil {
		return nil, err
	}
	if len(c.sent) == 0 || len(c.boots) == 0 {
		return nil, fmt.Errorf("%s: found %d messages and %d boots, nothing to simulate", r.fleet.Name, len(c.sent), len(c.boots))
	}
	tally := newDemoTally([]demoRun{r}, "")
	world := sim.World{
		Boot: sim.Draw{Samples: c.boots, InTurn: true}, Wakes: true, IdleStop: r.fleet.Workers.Idle, Visibility: r.fleet.Workers.Visibility,
		Start: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), Handover: c.handover,
	}
	finished := 0
	result, err := sim.Run(sim.Options{
		Settings: settings, World: world, Seed: 1, Stepped: func(v sim.View) { tally.outcome(v.Outcome) },
		Trace: trace.Trace{Name: r.fleet.Name, Open: func() (trace.Reader, error) {
			return &sentReader{sent: c.sent, work: c.work}, nil
		}},
		Finished: func(sent, done time.Duration) {
			finished++
			tally.finish(r.queue(), fmt.Sprint(finished), finish{sent: world.Start.Add(sent), done: world.Start.Add(done)})
		},
	})
	if err != nil {
		return nil, err
	}
	tally.start(world.Start.Add(c.sent[0]))
	return tally, brokenPromises([]sim.Result{result})
}

// sentReader reads messages by when they were sent and how long their work takes.
type sentReader struct{ sent, work []time.Duration }

// Next implements [trace.Reader].
func (s *sentReader) Next() (trace.Message, error) {
	if len(s.sent) == 0 {
		return trace.Message{}, io.EOF
	}
	m := trace.Message{Arrival: s.sent[0], Service: s.work[0]}
	s.sent, s.work = s.sent[1:], s.work[1:]
	return m, nil
}

// circumstances returns what a run met. The demo must be over.
func (t *demoTally) circumstances(r demoRun) circumstances {
	t.mu.Lock()
	defer t.mu.Unlock()
	var c circumstances
	var finishes []finish
	workers := map[string][]time.Time{}
	for _, all := range t.finished[r.queue()] {
		finishes = append(finishes, all[0])
		workers[all[0].worker] = append(workers[all[0].worker], all[0].done)
	}
	slices.SortFunc(finishes, func(a, b finish) int { return a.began.Compare(b.began) })
	for _, f := range finishes {
		c.sent = append(c.sent, max(0, f.sent.Sub(t.first[r.fleet.Name])))
		c.work = append(c.work, f.done.Sub(f.began))
	}
	slices.Sort(c.sent)
	// What a worker measures includes the start and the end of the process, which the process itself cannot see.
	measured := time.Duration(t.processing[r.fleet.Name].MeanSeconds * float64(time.Second))
	around := max(0, measured-mean(c.work))
	for i := range c.work {
		c.work[i] += around
	}
	launched, joined := t.launched[r.fleet.Name], t.joined[r.fleet.Name]
	ids := slices.SortedFunc(maps.Keys(joined), func(a, b string) int {
		return cmp.Or(launched[a].Compare(launched[b]), cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) // they end in numbers
	})
	for _, id := range ids {
		c.boots = append(c.boots, joined[id].Sub(launched[id]))
	}
	c.handover = max(0, pace(workers)-mean(c.work))
	return c
}

func mean(all []time.Duration) (mean time.Duration) {
	for _, d := range all {
		mean += d / time.Duration(len(all))
	}
	return mean
}

// pace returns the mean time from one end of work to the next of the same worker. There are always messages to be had, so
// what is beyond the work itself is the way to the next one.
func pace(workers map[string][]time.Time) time.Duration {
	sum, n := time.Duration(0), 0
	for _, ends := range workers {
		first, last := slices.MinFunc(ends, time.Time.Compare), slices.MaxFunc(ends, time.Time.Compare)
		sum, n = sum+last.Sub(first), n+len(ends)-1
	}
	if n == 0 {
		return 0
	}
	return sum / time.Duration(n)
}

// median returns the middle one; of an even number, the mean of the middle two.
func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

func printValidated(w io.Writer, rows []validated, repetitions int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "TEST\tPOLICY\tFIGURE\tREAL\tFROM\tTO\tSIMULATED\tDIFFERENCE\t")
	for _, v := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.2f s\t%.2f s\t%.2f s\t%.2f s\t%+.1f %%\t\n", v.Name, v.Policy, v.Figure, median(v.Real),
			slices.Min(v.Real), slices.Max(v.Real), median(v.Simulated), 100*v.Off)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nMedians of %s; the difference is the median of the differences.\n", muster.Plural(repetitions, "repetition"))
	return err
}

// disagreement is an error when the simulator is off by more than the share within.
func disagreement(rows []validated, within float64) error {
	worst := slices.MaxFunc(rows, func(a, b validated) int { return cmp.Compare(math.Abs(a.Off), math.Abs(b.Off)) })
	if math.Abs(worst.Off) <= within {
		return nil
	}
	return fmt.Errorf("%s under %s: the simulator is off by %+.1f %% in %s (real %.2f s, simulated %.2f s), allowed is %g %%", worst.Name, worst.Policy,
		100*worst.Off, worst.Figure, median(worst.Real), median(worst.Simulated), 100*within)
}
