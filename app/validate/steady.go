package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/demo"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/queue"
)

// The steady run: short messages at an even rate, for workers that take seconds to start, without any duration in the
// configuration. An autoscaler that goes by the number of messages takes it for a storm.
const (
	steadyWork  = 20 * time.Millisecond
	steadyEvery = 4 * time.Millisecond // a load of five workers
	steadyStart = 3 * time.Second
	steadyLimit = 20 * time.Second
	steadyMax   = 60
	// steadyRest is how long after their objective the last messages may be finished.
	steadyRest = 30 * time.Second
)

// The largest differences between the simulator and the live program in the steady run, and how far the peak may exceed
// what the load needs. Idle workers are stopped by what a single poll sees. So chance decides when they stop and
// whether one must be launched again; that alone moves worker-seconds by some 15 %, and launches by a few.
const (
	steadyWorkers  = 4    // workers at the peak
	steadyLaunches = 8    // launches
	steadySeconds  = 0.25 // of the worker-seconds
	steadyShare    = 0.01 // of the messages in time
	steadySpare    = 5
)

// SteadyResult is the result of one steady run.
type SteadyResult struct {
	Messages      int     `json:"messages"`
	Processed     int     `json:"processed"`
	Twice         int     `json:"processed_twice"`
	InTimeRatio   float64 `json:"in_time_ratio"`
	P95           float64 `json:"p95_s"`
	PeakWorkers   int     `json:"peak_workers"`
	Launches      int     `json:"launches"`
	WorkerSeconds float64 `json:"worker_seconds"`
}

// Steady is a steady run, real and simulated, as [CompareSteady] returns it. Its JSON is the field steady of muster
// validate -o json.
type Steady struct {
	Real      SteadyResult `json:"real"`
	Simulated SteadyResult `json:"simulated"`
	// NeededWorkers is how many workers the load keeps busy, including the handover between messages.
	NeededWorkers float64 `json:"needed_workers"`
}

// steadyConfig is the configuration of the steady run. It states no duration. The workers speak JSON lines, because
// starting a program for each message of 20 ms would measure that start.
func steadyConfig(dir, self string) (*config.Config, demo.Run) {
	c := &config.Config{Data: dir, Listen: config.Listen{Queue: "127.0.0.1:0", API: "127.0.0.1:0"}}
	f := config.Fleet{
		Name: "steady", Queues: []config.QueueRef{{Name: "steady"}}, Poll: time.Second,
		Policy:    policy.Spec{Name: policy.Default, Prompt: true},
		Objective: muster.Objective{Latency: steadyLimit, Quantile: 0.99},
		Limits:    muster.Limits{Max: steadyMax, LaunchesPerHour: 10 * steadyMax},
	}
	f.Workers.Command = []string{self, "validate", "sleep-lines", "--start", steadyStart.String()}
	f.Workers.JSONLines, f.Workers.Slots, f.Workers.Visibility = true, 1, 30*time.Second
	f.Workers.Env = []string{demo.DoneVariable}
	c.Fleets = []config.Fleet{f}
	return c, demo.Run{Test: demo.Test{Name: "steady", Duration: steadyWork}, Fleet: f}
}

// CompareSteady makes a steady run of the given length and simulates it. Messages of 20 ms arrive every 4 ms, for
// workers that take seconds to start. They run this program: `muster validate sleep-lines`. It prints its measurements
// to progress.
func CompareSteady(ctx context.Context, length time.Duration, progress io.Writer) (*Steady, error) {
	fmt.Fprintf(progress, "%s with a message of %s each %s\n", length, steadyWork, steadyEvery)
	r, tally, err := runSteady(ctx, length, progress)
	if err != nil {
		return nil, err
	}
	messages := steadyMessages(length)
	c := steadyCircumstances(tally.Measured(r))
	x := &Steady{Real: steadyOf(tally.Measured(r), messages)}
	// A worker is busy with a message for its work and the handover to the next.
	x.NeededWorkers = (mean(c.work) + c.handover).Seconds() / steadyEvery.Seconds()
	// Such a run says nothing about the simulator: something is broken, or the machine was busy.
	if x.Real.Processed < messages {
		return nil, fmt.Errorf("the steady run: %d of %d messages were finished within %s of the last one sent",
			x.Real.Processed, messages, steadyLimit+steadyRest)
	}
	fmt.Fprintf(progress, "  boots %s to %s, work %s, handover %s\n", slices.Min(c.boots).Round(time.Millisecond),
		slices.Max(c.boots).Round(time.Millisecond), mean(c.work).Round(time.Microsecond),
		c.handover.Round(time.Microsecond))
	x.Simulated, err = simulateSteady(r, c, messages)
	return x, err
}

// simulateSteady simulates the steady run five times, with a handover that differs by up to a tenth, and returns the
// run with the median number of launches. The conditions are fixed otherwise, but a poll that is a millisecond off sees
// other workers idle, and stops and launches others: a single simulation has 8 to 19 launches.
func simulateSteady(r demo.Run, c circumstances, messages int) (SteadyResult, error) {
	var all []SteadyResult
	measured := c.handover
	for _, share := range []float64{0.9, 0.95, 1, 1.05, 1.1} {
		c.handover = time.Duration(share * float64(measured))
		tally, err := simulateRun(r, c)
		if err != nil {
			return SteadyResult{}, err
		}
		all = append(all, steadyOf(tally.Measured(r), messages))
	}
	slices.SortStableFunc(all, func(a, b SteadyResult) int { return cmp.Compare(a.Launches, b.Launches) })
	return all[len(all)/2], nil
}

// steadyMessages is the number of messages of a run of that length.
func steadyMessages(length time.Duration) int { return int(length / steadyEvery) }

// runSteady makes a real steady run.
func runSteady(ctx context.Context, length time.Duration, progress io.Writer) (r demo.Run, tally *demo.Tally,
	err error) {
	dir, err := os.MkdirTemp("", "muster-steady-")
	if err != nil {
		return r, nil, err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return r, nil, fmt.Errorf("find this program to start workers with: %w", err)
	}
	c, r := steadyConfig(dir, self)
	done := filepath.Join(dir, "done")
	tally = demo.NewTally([]demo.Run{r}, done)
	a, err := app.Open(ctx, c, app.Options{
		Logger: slog.New(slog.NewTextHandler(progress, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Notify: tally.Outcome, Env: []string{demo.DoneVariable + "=" + done},
	})
	if err != nil {
		return r, nil, err
	}
	defer a.Close()
	// The run has no limit of its own; steadyMain ends it.
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(running) }()
	err = steadyMain(running, a, r, tally, length)
	stop()
	if stopped := <-ended; err == nil {
		err = stopped
	}
	if ctx.Err() != nil {
		return r, nil, errors.New("the steady run was interrupted")
	}
	return r, tally, err
}

// steadyMain sends the messages, and waits until all are finished or steadyRest is over.
func steadyMain(ctx context.Context, a *app.App, r demo.Run, tally *demo.Tally, length time.Duration) error {
	for !a.Ready() {
		if err := host.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	began := time.Now()
	tally.Start(began)
	message := []queue.Outgoing{{Body: steadyWork.String()}}
	// Each message has its own due time, so that a slow send delays only itself.
	for i := range steadyMessages(length) {
		if err := host.Sleep(ctx, time.Until(began.Add(time.Duration(i)*steadyEvery))); err != nil {
			return err
		}
		sent, err := a.Queues().Send(ctx, r.Queue(), message)
		if err == nil {
			err = sent[0].Err
		}
		if err != nil {
			return err
		}
	}
	for over := time.Now().Add(steadyLimit + steadyRest); time.Now().Before(over); {
		if err := tally.Read(); err != nil {
			return err
		}
		if tally.Processed(r) == steadyMessages(length) {
			return nil
		}
		if err := host.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// steadyOf returns the result of a steady run of so many messages.
func steadyOf(m demo.Measured, messages int) SteadyResult {
	// A message counts once, at its first finish.
	x := SteadyResult{Messages: messages, PeakWorkers: m.Peak, Launches: len(m.Launched)}
	last, inTime := m.Started, 0
	var times []float64
	for _, all := range m.Finished {
		took := all[0].Done.Sub(all[0].Sent)
		times = append(times, took.Seconds())
		if len(all) > 1 {
			x.Twice++
		}
		if took <= steadyLimit {
			inTime++
		}
		if all[0].Done.After(last) {
			last = all[0].Done
		}
	}
	x.Processed = len(times)
	x.InTimeRatio = float64(inTime) / float64(messages)
	x.P95 = demo.P95(times)
	x.WorkerSeconds = m.WorkerSeconds(last)
	return x
}

// steadyCircumstances returns the measured conditions of a steady run. Its workers wait for messages now and then, so
// only handovers to a message that was already waiting count.
func steadyCircumstances(m demo.Measured) circumstances {
	c := circumstancesOf(m)
	var slept time.Duration
	all := map[string][]demo.Finish{}
	for _, f := range m.Finished {
		all[f[0].Worker] = append(all[f[0].Worker], f[0])
		slept += f[0].Done.Sub(f[0].Began) / time.Duration(len(m.Finished))
	}
	c.handover = max(0, wayToTheNext(all)-(mean(c.work)-slept))
	return c
}

// wayToTheNext is the median handover of all messages that had been waiting for a while when their worker finished the
// previous one; 0 if there are none. The messages of a worker may be in any order.
func wayToTheNext(workers map[string][]demo.Finish) time.Duration {
	const while = 50 * time.Millisecond
	var gaps []time.Duration
	for _, name := range slices.Sorted(maps.Keys(workers)) {
		all := slices.SortedFunc(slices.Values(workers[name]), func(a,
			b demo.Finish) int {
			return a.Began.Compare(b.Began)
		})
		for i := range len(all) - 1 {
			// A message that was sent later would count the wait for its arrival.
			if done, next := all[i].Done, all[i+1]; next.Sent.Add(while).Before(done) {
				gaps = append(gaps, next.Began.Sub(done))
			}
		}
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// steadyRow is one figure of a steady run, and the allowed difference, in the unit of the figure.
type steadyRow struct {
	figure, real, simulated, difference, allowed string
	met                                          bool
}

// rows are the figures that are compared.
func (x Steady) rows() []steadyRow {
	a, b := x.Real, x.Simulated
	whole := func(figure string, real, simulated, allowed int) steadyRow {
		// Whole numbers differ by some workers or launches, whatever their size.
		off := simulated - real
		return steadyRow{figure, fmt.Sprint(real), fmt.Sprint(simulated), fmt.Sprintf("%+d", off), fmt.Sprint(allowed),
			max(off, -off) <= allowed}
	}
	// Shares of the real figure, and the difference of two shares.
	seconds, share := b.WorkerSeconds/a.WorkerSeconds-1, b.InTimeRatio-a.InTimeRatio
	// Of the peak, both the real and the simulated one are bounded: agreeing on far too many workers is no success.
	most := int(math.Ceil(x.NeededWorkers-1e-9)) + steadySpare
	peak := max(a.PeakWorkers, b.PeakWorkers)
	return []steadyRow{
		whole("peak workers", a.PeakWorkers, b.PeakWorkers, steadyWorkers),
		whole("launches", a.Launches, b.Launches, steadyLaunches),
		{"worker-seconds", fmt.Sprintf("%.1f s", a.WorkerSeconds), fmt.Sprintf("%.1f s", b.WorkerSeconds),
			fmt.Sprintf("%+.1f %%", 100*seconds), fmt.Sprintf("%g %%", 100*steadySeconds),
			math.Abs(seconds) <= steadySeconds},
		{"in time", fmt.Sprintf("%.2f %%", 100*a.InTimeRatio), fmt.Sprintf("%.2f %%", 100*b.InTimeRatio),
			fmt.Sprintf("%+.2f points", 100*share), fmt.Sprintf("%g points", 100*steadyShare),
			math.Abs(share) <= steadyShare},
		{"peak beside the load", fmt.Sprint(a.PeakWorkers), fmt.Sprint(b.PeakWorkers),
			fmt.Sprintf("%.1f needed", x.NeededWorkers), fmt.Sprintf("%d at most", most), peak <= most},
	}
}

// Disagreement returns an error when real and simulated differ by too much, or when either launches far too many.
func (x Steady) Disagreement() error {
	var all []error
	if x.Real.Twice > 0 {
		all = append(all, fmt.Errorf("the steady run: %s processed more than once",
			render.Plural(x.Real.Twice, "message")))
	}
	for _, r := range x.rows() {
		if !r.met {
			all = append(all, fmt.Errorf("the steady run: %s, real %s, simulated %s: found %s, allowed is %s",
				r.figure, r.real, r.simulated, r.difference, r.allowed))
		}
	}
	return errors.Join(all...)
}

// Print prints the figures as a table, below a line that describes the run.
func (x Steady) Print(w io.Writer) error {
	fmt.Fprintf(w, "\nSteady: %d messages of %s, one each %s, within %s; workers start in %s, nothing is stated of "+
		"either.\n",
		x.Real.Messages, steadyWork, steadyEvery, steadyLimit, steadyStart)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "FIGURE\tREAL\tSIMULATED\tDIFFERENCE\tALLOWED\t")
	for _, r := range x.rows() {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", r.figure, r.real, r.simulated, r.difference, r.allowed)
	}
	return t.Flush()
}
