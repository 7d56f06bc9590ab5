package validate

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/demo"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// circumstances are the measured conditions of a demo run. The simulator gets them as input, so that the comparison
// concerns the model alone.
type circumstances struct {
	// sent are the times of the messages since the controller's first step, ascending. work are the processing times,
	// in the order in which the work began.
	sent, work []time.Duration
	// boots are the times from a member's launch until it took messages, in the order of launch. handover is the mean
	// time from the end of the work on a message until its worker has the next.
	boots    []time.Duration
	handover time.Duration
}

// Figure is one figure of a demo run, real and simulated, over all repetitions.
type Figure struct {
	Name   string `json:"name"`
	Policy string `json:"policy"`
	Figure string `json:"figure"`
	// Real and Simulated hold a value in seconds for each repetition.
	Real      []float64 `json:"real"`
	Simulated []float64 `json:"simulated"`
	// Off is the median relative error of the simulator over the repetitions.
	Off float64 `json:"off"`
}

// Demo runs and simulates the demo several times, and compares both. It prints its measurements to progress.
func Demo(ctx context.Context, repetitions int, progress io.Writer) ([]Figure, error) {
	var all [][2][]demo.Result
	for i := range repetitions {
		fmt.Fprintf(progress, "repetition %d of %d\n", i+1, repetitions)
		tally, err := demo.Play(ctx, demo.NewView(io.Discard, false, progress))
		if err != nil {
			return nil, err
		}
		// A run in which the demo failed cannot be compared, so it is an error.
		real := tally.Results()
		if err := demo.Failure(real); err != nil {
			return nil, err
		}
		var simulated []demo.Result
		for k, r := range tally.Runs() {
			c := circumstancesOf(tally.Measured(r))
			s, err := simulateDemo(r, c)
			if err != nil {
				return nil, err
			}
			simulated = append(simulated, s)
			fmt.Fprintf(progress, "  %s: boots %s to %s, work %s, handover %s; worker-seconds %.1f and %.1f "+
				"simulated, p95 %.2f s and %.2f s\n", r.Fleet.Name,
				slices.Min(c.boots).Round(time.Millisecond), slices.Max(c.boots).Round(time.Millisecond),
				mean(c.work).Round(time.Millisecond),
				c.handover.Round(time.Millisecond), real[k].WorkerSeconds, s.WorkerSeconds, real[k].P95, s.P95)
		}
		all = append(all, [2][]demo.Result{real, simulated})
	}
	return compareDemos(all), nil
}

// compareDemos compares the real and the simulated run of each repetition. Each simulation has the measured conditions
// of its real run, so they are compared pair by pair. The median forgives single repetitions, because a policy that
// waits for the last moment sometimes decides by a millisecond.
func compareDemos(all [][2][]demo.Result) []Figure {
	figures := []struct {
		name string
		of   func(demo.Result) float64
	}{
		{"worker-seconds", func(r demo.Result) float64 { return r.WorkerSeconds }},
		{"p95", func(r demo.Result) float64 { return r.P95 }},
	}
	var rows []Figure
	for k, r := range all[0][0] {
		for _, f := range figures {
			// The figures are those of one test under one policy, over all repetitions.
			v := Figure{Name: r.Name, Policy: r.Policy, Figure: f.name}
			var off []float64
			for _, pair := range all {
				real, simulated := f.of(pair[0][k]), f.of(pair[1][k])
				v.Real, v.Simulated, off = append(v.Real, real), append(v.Simulated, simulated),
					append(off, simulated/real-1)
			}
			v.Off = median(off)
			rows = append(rows, v)
		}
	}
	return rows
}

// simulateDemo simulates a run of the demo and returns its result, computed as that of the real one.
func simulateDemo(r demo.Run, c circumstances) (demo.Result, error) {
	tally, err := simulateRun(r, c)
	if err != nil {
		return demo.Result{}, err
	}
	return tally.Result(r), nil
}

// simulateRun simulates a run.
func simulateRun(r demo.Run, c circumstances) (*demo.Tally, error) {
	settings, err := app.Settings(r.Fleet)
	if err != nil {
		return nil, err
	}
	if len(c.sent) == 0 || len(c.boots) == 0 {
		return nil, fmt.Errorf("%s: found %d messages and %d boots, nothing to simulate", r.Fleet.Name, len(c.sent),
			len(c.boots))
	}
	// The same tally computes the results of the real and of the simulated run. It has no log to read here.
	tally := demo.NewTally([]demo.Run{r}, "")
	world := world.World{
		Boot: world.Draw{Samples: c.boots, InTurn: true}, Wakes: true, IdleStop: r.Fleet.Workers.Idle,
		Visibility: r.Fleet.Workers.Visibility,
		Start:      time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), Handover: c.handover,
	}
	// The simulator has no message ids; any distinct ones will do.
	finished := 0
	result, err := sim.Run(sim.Options{
		Settings: settings, World: world, Seed: 1, Stepped: func(v sim.View) { tally.Outcome(v.Outcome) },
		Trace: trace.Trace{Name: r.Fleet.Name, Open: func() (trace.Reader, error) {
			return &sentReader{sent: c.sent, work: c.work}, nil
		}},
		Finished: func(sent, done time.Duration) {
			finished++
			tally.Finish(r.Queue(), fmt.Sprint(finished), demo.Finish{Sent: world.Start.Add(sent),
				Done: world.Start.Add(done)})
		},
	})
	if err != nil {
		return nil, err
	}
	tally.Start(world.Start.Add(c.sent[0]))
	return tally, contest.Broken([]scoring.Result{result})
}

// sentReader is a trace of messages with the given send times and processing times.
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

// circumstancesOf returns the measured conditions of a run that is over.
func circumstancesOf(m demo.Measured) circumstances {
	var c circumstances
	var finishes []demo.Finish
	workers := map[string][]time.Time{}
	for _, all := range m.Finished {
		// Only first finishes count: the simulator gets each message once.
		finishes = append(finishes, all[0])
		workers[all[0].Worker] = append(workers[all[0].Worker], all[0].Done)
	}
	slices.SortFunc(finishes, func(a, b demo.Finish) int { return a.Began.Compare(b.Began) })
	for _, f := range finishes {
		c.sent = append(c.sent, max(0, f.Sent.Sub(m.First)))
		c.work = append(c.work, f.Done.Sub(f.Began))
	}
	// Times and durations are sorted apart: work is drawn in the order in which it begins, whatever the message.
	slices.Sort(c.sent)
	// A worker's measurement includes the start and the end of the process, which the process itself cannot measure.
	measured := time.Duration(m.Processing.MeanSeconds * float64(time.Second))
	// Both parts are estimates, so their difference may be slightly negative.
	around := max(0, measured-mean(c.work))
	for i := range c.work {
		c.work[i] += around
	}
	ids := slices.SortedFunc(maps.Keys(m.Joined), func(a, b string) int {
		// The ids end in numbers.
		return cmp.Or(m.Launched[a].Compare(m.Launched[b]), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	for _, id := range ids {
		c.boots = append(c.boots, m.Joined[id].Sub(m.Launched[id]))
	}
	c.handover = max(0, pace(workers)-mean(c.work))
	return c
}

// mean returns the mean duration; 0 of none. It divides first, so that many long durations do not overflow.
func mean(all []time.Duration) (mean time.Duration) {
	for _, d := range all {
		mean += d / time.Duration(len(all))
	}
	return mean
}

// pace returns the mean time from one completion to the next of the same worker. Messages always wait in the demo, so
// the time beyond the work itself is the handover.
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

// median returns the middle value, or the mean of the two middle ones.
func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

// PrintDemo prints the figures as a table.
func PrintDemo(w io.Writer, rows []Figure, repetitions int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "TEST\tPOLICY\tFIGURE\tREAL\tFROM\tTO\tSIMULATED\tDIFFERENCE\t")
	for _, v := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.2f s\t%.2f s\t%.2f s\t%.2f s\t%+.1f %%\t\n", v.Name, v.Policy, v.Figure,
			median(v.Real),
			slices.Min(v.Real), slices.Max(v.Real), median(v.Simulated), 100*v.Off)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nMedians of %s; the difference is the median of the differences.\n",
		render.Plural(repetitions, "repetition"))
	return err
}

// Disagreement returns an error when the simulator is off by more than within, as in 0.05.
func Disagreement(rows []Figure, within float64) error {
	// One figure beyond the bound is enough; the table has the others.
	worst := slices.MaxFunc(rows, func(a, b Figure) int { return cmp.Compare(math.Abs(a.Off), math.Abs(b.Off)) })
	if math.Abs(worst.Off) <= within {
		return nil
	}
	return fmt.Errorf("%s under %s: the simulator is off by %+.1f %% in %s (real %.2f s, simulated %.2f s), allowed "+
		"is %g %%", worst.Name, worst.Policy,
		100*worst.Off, worst.Figure, median(worst.Real), median(worst.Simulated), 100*within)
}
