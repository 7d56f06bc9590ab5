package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/trace"
)

// circumstances are what a demo run met on this machine: what the simulator is told, so that only the model is compared.
type circumstances struct {
	// sent are the instants of the messages since the controller's first look, ascending.
	sent []time.Duration
	// boots are the times from the launch of each member until it took messages, processing the mean work on a message and
	// handover the mean time from the end of the work on a message until its worker has the next.
	boots      []time.Duration
	processing time.Duration
	handover   time.Duration
}

// validated is one figure of one run: for real, and in the simulator, over the repetitions.
type validated struct {
	Name   string `json:"name"`
	Policy string `json:"policy"`
	Figure string `json:"figure"`
	// Real and Simulated are means, in seconds; Spread is the largest deviation of a real repetition from their mean.
	Real      float64 `json:"real"`
	Simulated float64 `json:"simulated"`
	Spread    float64 `json:"spread"`
}

// off is how far the simulator is off, as a share of what was real.
func (v validated) off() float64 { return v.Simulated/v.Real - 1 }

func newValidate(g *global) *cobra.Command {
	var repetitions int
	var within float64
	cmd := &cobra.Command{
		Use: "validate", Hidden: true,
		Short: "Compare the simulator with reality: the demo, for real and simulated",
		Long: `Validate runs the demo several times with real queues and worker processes, then simulates each run with the boot
and processing times that were measured in it, and compares worker-seconds and the 95th percentile of the time from
sent to finished. It fails when the means differ by more than the share given.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if repetitions < 1 || repetitions > 100 || !(within > 0 && within < 1) {
				return usage(fmt.Errorf("--repetitions and --within: found %d and %v, allowed are 1 to 100, and above 0 and below 1", repetitions, within))
			}
			rows, err := validate(cmd.Context(), repetitions, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if g.json() {
				err = printJSON(cmd.OutOrStdout(), rows)
			} else {
				err = printValidated(cmd.OutOrStdout(), rows, repetitions)
			}
			return errors.Join(err, disagreement(rows, within))
		},
	}
	cmd.Flags().IntVar(&repetitions, "repetitions", 3, "how often the demo is run")
	cmd.Flags().Float64Var(&within, "within", 0.05, "the largest difference of the means, as a share")
	return cmd
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
		for _, r := range tally.runs {
			s, err := simulateDemo(r, tally.circumstances(r), uint64(i+1))
			if err != nil {
				return nil, err
			}
			simulated = append(simulated, s)
		}
		all = append(all, [2][]demoResult{real, simulated})
	}
	return compareDemos(all), nil
}

// compareDemos takes the means over the repetitions, each of which is real and simulated.
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
			for _, pair := range all {
				v.Real += f.of(pair[0][k]) / float64(len(all))
				v.Simulated += f.of(pair[1][k]) / float64(len(all))
			}
			for _, pair := range all {
				v.Spread = max(v.Spread, math.Abs(f.of(pair[0][k])-v.Real))
			}
			rows = append(rows, v)
		}
	}
	return rows
}

// simulateDemo makes a run of the demo in the simulator, and adds it up as the real one is.
func simulateDemo(r demoRun, c circumstances, seed uint64) (demoResult, error) {
	settings, err := settingsOf(r.fleet)
	if err != nil {
		return demoResult{}, err
	}
	if len(c.sent) == 0 || len(c.boots) == 0 {
		return demoResult{}, fmt.Errorf("%s: found %d messages and %d boots, nothing to simulate", r.fleet.Name, len(c.sent), len(c.boots))
	}
	tally := newDemoTally([]demoRun{r}, "")
	world := sim.World{
		Boot: sim.Draw{Samples: c.boots}, Wakes: true, IdleStop: r.fleet.Workers.Idle, Visibility: r.fleet.Workers.Visibility,
		Start: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), Handover: c.handover,
	}
	finished := 0
	result, err := sim.Run(sim.Options{
		Settings: settings, World: world, Seed: seed, Stepped: func(v sim.View) { tally.outcome(v.Outcome) },
		Trace: trace.Trace{Name: r.fleet.Name, Open: func() (trace.Reader, error) {
			return &sentReader{left: c.sent, service: c.processing}, nil
		}},
		Finished: func(sent, done time.Duration) {
			finished++
			tally.finish(r.queue(), fmt.Sprint(finished), finish{world.Start.Add(sent), world.Start.Add(done)})
		},
	})
	if err != nil {
		return demoResult{}, err
	}
	tally.start(world.Start.Add(c.sent[0]))
	return tally.result(r), brokenPromises([]sim.Result{result})
}

// sentReader reads messages that were sent at given instants and take the same work.
type sentReader struct {
	left    []time.Duration
	service time.Duration
}

// Next implements [trace.Reader].
func (s *sentReader) Next() (trace.Message, error) {
	if len(s.left) == 0 {
		return trace.Message{}, io.EOF
	}
	m := trace.Message{Arrival: s.left[0], Service: s.service}
	s.left = s.left[1:]
	return m, nil
}

// circumstances returns what a run met. The demo must be over.
func (t *demoTally) circumstances(r demoRun) circumstances {
	t.mu.Lock()
	defer t.mu.Unlock()
	var c circumstances
	for _, all := range t.finished[r.queue()] {
		c.sent = append(c.sent, max(0, all[0].sent.Sub(t.first[r.fleet.Name])))
	}
	slices.Sort(c.sent)
	joined := t.joined[r.fleet.Name]
	for id, at := range joined {
		c.boots = append(c.boots, at.Sub(t.launched[r.fleet.Name][id]))
	}
	slices.Sort(c.boots) // and not in the order of a map
	c.processing = time.Duration(t.processing[r.fleet.Name].MeanSeconds * float64(time.Second))
	return c
}

func printValidated(w io.Writer, rows []validated, repetitions int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "TEST\tPOLICY\tFIGURE\tREAL\tSPREAD\tSIMULATED\tDIFFERENCE\t")
	for _, v := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.2f s\t%.2f s\t%.2f s\t%+.1f %%\t\n", v.Name, v.Policy, v.Figure, v.Real, v.Spread, v.Simulated, 100*v.off())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nMeans of %s. Spread: how far one of them was from the mean.\n", muster.Plural(repetitions, "repetition"))
	return err
}

// disagreement is an error when the simulator is off by more than the share within.
func disagreement(rows []validated, within float64) error {
	worst := slices.MaxFunc(rows, func(a, b validated) int { return cmp.Compare(math.Abs(a.off()), math.Abs(b.off())) })
	if math.Abs(worst.off()) <= within {
		return nil
	}
	return fmt.Errorf("%s under %s: the simulator finds %.2f s of %s, %.2f s were real: %+.1f %%, allowed is %g %%", worst.Name, worst.Policy,
		worst.Simulated, worst.Figure, worst.Real, 100*worst.off(), 100*within)
}
