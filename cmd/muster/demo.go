package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/queue"
)

// The demo is the two tests of "Scaling an ASG using target tracking with a dynamic SQS target", twenty times as fast.
const (
	demoScale    = 20
	demoMessages = 50
	demoLatency  = 300 * time.Second / demoScale
	demoBoot     = 90 * time.Second / demoScale
	demoMinute   = time.Minute / demoScale
	demoIdle     = 30 * time.Second / demoScale
	demoMax      = 25
	// demoPoll is how often deadline looks: a launch that waits for the last moment must not miss it by a second of the real
	// scale.
	demoPoll = 2 * time.Second / demoScale
	// demoLimit is when the demo gives up; it is done in about half of that.
	demoLimit = 75 * time.Second
)

// demoTest is one of the two tests, with the figures its authors published.
type demoTest struct {
	name     string
	duration time.Duration
	// itsWorkers and itsSeconds are the published figures, at our scale; leastWorkers and leastCost the fewest workers,
	// and worker-seconds, with which anybody who may not launch before the first message can be in time.
	itsWorkers, leastWorkers int
	itsSeconds, leastCost    float64
}

func demoTests() []demoTest {
	return []demoTest{
		{"test-1", 25 * time.Second / demoScale, 4, 7, 9 * 60 / demoScale, 1880.0 / demoScale},
		{"test-2", 50 * time.Second / demoScale, 8, 13, 10 * 60 / demoScale, 3670.0 / demoScale},
	}
}

// demoPolicies are the policies that are compared on a test, and the cadence each is run at.
func demoPolicies(test demoTest) []config.Fleet {
	exact := config.Fleet{Policy: policy.Spec{Name: "exact"}, Poll: time.Second}
	exact.Workers.Idle = demoIdle
	// Starting processes and syncing files is not twenty times as fast: a twentieth of the objective is left for that.
	deadline := config.Fleet{Policy: policy.Spec{Name: "deadline", Processing: test.duration, Scale: 0.95}, Poll: demoPoll}
	dynamic := config.Fleet{Poll: demoMinute, Policy: policy.Spec{
		// Its target is right from the start, as it was when the figures were published: the duration is known.
		Name: "dynamic-backlog", Acceptable: policy.AcceptableBacklog(demoLatency, test.duration, 1),
		// A rise needs three points, which span two minutes and are seen at the fourth look at the latest.
		Out: policy.Shape{Stabilization: 5 * demoMinute / 2}, In: policy.Shape{Stabilization: 15 * demoMinute},
	}}
	return []config.Fleet{exact, deadline, dynamic}
}

// demoRun is one test under one policy.
type demoRun struct {
	test  demoTest
	fleet config.Fleet
}

func (r demoRun) queue() string { return r.fleet.Queues[0].Name }

func newDemo(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "See the main job done: queues, decisions, worker processes, in under a minute",
		Long: `Demo runs two published tests of queue scaling, twenty times as fast: 50 messages of 1.25 s, then of 2.5 s,
are to finish within 15 s, and a worker takes 4.5 s to boot. Each test runs under the policies exact, deadline (with a
scale of 0.95, because starting a process is not twenty times as fast) and dynamic-backlog. The last was written for
these tests and here waits as its alarms do: three points a minute (3 s) apart before a rise, fifteen before a fall. Queues, worker processes and times are real; all is on this machine, in
a temporary directory, and ends by itself.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			view := newDemoView(cmd.OutOrStdout(), g.json(), cmd.ErrOrStderr())
			results, err := demo(cmd.Context(), view)
			if err != nil {
				return err
			}
			if g.json() {
				err = printJSON(cmd.OutOrStdout(), map[string]any{"tests": results})
			} else {
				err = printDemo(cmd.OutOrStdout(), results)
			}
			return errors.Join(err, demoFailure(results))
		},
	}
}

// demoConfig is the configuration of the six fleets, each with a queue of its own.
func demoConfig(dir, self string) (*config.Config, []demoRun) {
	c := &config.Config{Data: dir, Listen: config.Listen{Queue: "127.0.0.1:0", API: "127.0.0.1:0"}}
	var runs []demoRun
	for _, test := range demoTests() {
		for _, f := range demoPolicies(test) {
			f.Name = test.name + "." + f.Policy.Name
			f.Queues = []config.QueueRef{{Name: test.name + "-" + f.Policy.Name}}
			f.Objective = muster.Objective{Latency: demoLatency, Quantile: 0.99}
			f.Limits = muster.Limits{Max: demoMax, LaunchesPerHour: 10 * demoMax}
			f.Workers.Command, f.Workers.Slots = []string{self, "sleep-body"}, 1
			f.Workers.Boot, f.Workers.WarmUp = demoBoot, demoBoot
			f.Workers.Visibility, f.Workers.Env = 30*time.Second, []string{"MUSTER_DONE_LOG"}
			c.Fleets = append(c.Fleets, f)
			runs = append(runs, demoRun{test, f})
		}
	}
	return c, runs
}

func demo(ctx context.Context, view *demoView) ([]demoResult, error) {
	tally, err := runDemo(ctx, view)
	if err != nil {
		return nil, err
	}
	return tally.results(), nil
}

// runDemo runs the demo to its end.
func runDemo(ctx context.Context, view *demoView) (*demoTally, error) {
	dir, err := os.MkdirTemp("", "muster-demo-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to start workers with: %w", err)
	}
	c, runs := demoConfig(dir, self)
	tally := newDemoTally(runs, filepath.Join(dir, "done"))
	a, err := app.Open(ctx, c, app.Options{
		Logger: slog.New(slog.NewTextHandler(view.errors, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Notify: func(o outcome) { tally.outcome(o); view.outcome(o, tally.started()) },
		Env:    []string{"MUSTER_DONE_LOG=" + tally.path},
	})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	running, stop := context.WithTimeout(ctx, demoLimit)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(running) }()
	err = demoMain(running, a, runs, tally, view)
	view.finish("all messages are finished; the workers end")
	stop()
	if stopped := <-ended; err == nil {
		err = stopped
	}
	if ctx.Err() != nil {
		return nil, errors.New("the demo was interrupted")
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	return tally, nil
}

// demoMain sends the messages once everything is up, and shows what happens until all of them are finished.
func demoMain(ctx context.Context, a *app.App, runs []demoRun, tally *demoTally, view *demoView) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !a.Ready() {
		if err := host.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	tally.start(time.Now())
	for _, r := range runs {
		if err := demoSend(ctx, a.Queues(), r); err != nil {
			return err
		}
	}
	view.begin()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case now := <-tick.C:
			if err := tally.read(); err != nil {
				return err
			}
			view.draw(now, a, runs, tally)
			if tally.complete() {
				return nil
			}
		}
	}
}

func demoSend(ctx context.Context, queues *queue.Service, r demoRun) error {
	batch := make([]queue.Outgoing, batchSize)
	for i := range batch {
		batch[i].Body = r.test.duration.String()
	}
	for range demoMessages / batchSize {
		sent, err := queues.Send(ctx, r.queue(), batch)
		if err != nil {
			return err
		}
		for _, s := range sent {
			if s.Err != nil {
				return s.Err
			}
		}
	}
	return nil
}

// demoFailure is an error when the demo did not do what it promises.
func demoFailure(results []demoResult) error {
	var failures []error
	for _, r := range results {
		if r.Processed != r.Messages || r.Twice > 0 {
			failures = append(failures, fmt.Errorf("%s under %s: %d of %d messages were processed, %d more than once", r.Name, r.Policy, r.Processed, r.Messages, r.Twice))
		}
		if r.Policy != "dynamic-backlog" && r.InTime != r.Messages {
			failures = append(failures, fmt.Errorf("%s under %s: %d of %d messages were in time", r.Name, r.Policy, r.InTime, r.Messages))
		}
	}
	return errors.Join(failures...)
}

// printDemo prints the results, for each test beside the published figures and the least that is possible.
func printDemo(w io.Writer, results []demoResult) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "TEST\tPOLICY\tPROCESSED\tIN TIME\tSECONDS\tPEAK WORKERS\tWORKER-SECONDS\tDECISIONS\t")
	for _, test := range demoTests() {
		for _, r := range results {
			if r.Name == test.name {
				fmt.Fprintf(t, "%s\t%s\t%d/%d\t%.0f%%\t%.1f\t%d\t%.0f\t%d\t\n", r.Name, r.Policy, r.Processed, r.Messages,
					100*r.InTimeRatio, r.Seconds, r.PeakWorkers, r.WorkerSeconds, r.Decisions)
			}
		}
		fmt.Fprintf(t, "%s\t(as published)\t%d/%d\t\t%.1f\t%d\t\t\t\n", test.name, demoMessages, demoMessages, test.itsSeconds, test.itsWorkers)
		fmt.Fprintf(t, "%s\t(least possible)\t%d/%d\t100%%\t%.1f\t%d\t%.0f\t\t\n", test.name, demoMessages, demoMessages,
			demoLatency.Seconds(), test.leastWorkers, test.leastCost)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, `
In time: finished within %s of being sent. Seconds: until the last message was finished.
As published: 9 minutes with 4 workers, 10 minutes with 8, for an objective of 5 minutes; here at 1:%d.
Least possible: the cheapest way to be in time for somebody who knows all but when the messages come.
exact gives every message a worker of its own, up to %d: fast, and not cheap.
deadline launches as few workers as are still in time: at once what is sure to be needed, the rest when it must.
`, muster.Seconds(demoLatency.Seconds()), demoScale, demoMax)
	return err
}
