package demo

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

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/replay"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server/session"
)

// The demo is the two tests of "Scaling an ASG using target tracking with a dynamic SQS target", twenty times as fast.
const (
	// Messages is the number of messages of a test, Max the most workers of a fleet, and Boot how long a worker boots.
	Messages = 50
	Max      = 25
	Boot     = 90 * time.Second / scale

	// scale divides every time of the published tests. latency is the objective, minute a period of the alarms, and
	// idle how long a worker waits for a message under exact before it stops.
	scale   = 20
	latency = 300 * time.Second / scale
	minute  = time.Minute / scale
	idle    = 30 * time.Second / scale
	// poll is how often deadline reads its queue. A launch at the last moment must not be late by a second of real
	// time.
	poll = 2 * time.Second / scale
	// limit is when the demo gives up. It normally takes about half as long.
	limit = 75 * time.Second
)

// batch is how many messages are sent at a time.
const batch = 10

// Test is one of the two tests, with the figures its authors published. Times are those of the demo, not of the
// publication.
type Test struct {
	Name string
	// Duration is how long the work on a message takes.
	Duration time.Duration
	// itsWorkers and itsSeconds are the published figures, at the scale of the demo. leastWorkers and leastCost are the
	// lower bounds, in workers and worker-seconds, for being in time without a launch before the first message.
	itsWorkers, leastWorkers int
	itsSeconds, leastCost    float64
}

// tests are the two tests. Times and costs of the publication are divided by scale.
func tests() []Test {
	return []Test{
		{"test-1", 25 * time.Second / scale, 4, 7, 9 * 60 / scale, 1880.0 / scale},
		{"test-2", 50 * time.Second / scale, 8, 13, 10 * 60 / scale, 3670.0 / scale},
	}
}

// policies are the policies that are compared, each with its polling interval.
func policies(test Test) []config.Fleet {
	exact := config.Fleet{Policy: policy.Spec{Name: "exact"}, Poll: time.Second}
	exact.Workers.Idle = idle
	// A real process start and a real disk are not twenty times as fast; 5 % of the objective are left for them.
	deadline := config.Fleet{Policy: policy.Spec{Name: "deadline", Processing: test.Duration, Scale: 0.95}, Poll: poll}
	dynamic := config.Fleet{Poll: minute, Policy: policy.Spec{
		// The processing time is known from the start, as it was for the published figures.
		Name: "dynamic-backlog", Acceptable: policy.AcceptableBacklog(latency, test.Duration, 1),
		// A rise needs three datapoints. They span two minutes, and the fourth poll sees them at the latest.
		Out: policy.Shape{Stabilization: 5 * minute / 2}, In: policy.Shape{Stabilization: 15 * minute},
	}}
	return []config.Fleet{exact, deadline, dynamic}
}

// Run is one test under one policy. Its fleet has the name TEST.POLICY and the queue TEST-POLICY.
type Run struct {
	Test  Test
	Fleet config.Fleet
}

// Queue returns the name of the queue that the fleet serves.
func (r Run) Queue() string { return r.Fleet.Queues[0].Name }

// Config returns a configuration with six fleets, each with a queue of its own, and their runs. The data directory is
// dir. self is the path of the program muster, which the workers run.
func Config(dir, self string) (*config.Config, []Run) {
	// Port 0 lets the demo run beside a muster up.
	c := &config.Config{Data: dir, Listen: config.Listen{Queue: "127.0.0.1:0", API: "127.0.0.1:0"}}
	var runs []Run
	for _, test := range tests() {
		for _, f := range policies(test) {
			f.Name = test.Name + "." + f.Policy.Name
			f.Queues = []config.QueueRef{{Name: test.Name + "-" + f.Policy.Name}}
			f.Objective = muster.Objective{Latency: latency, Quantile: 0.99}
			f.Limits = muster.Limits{Max: Max, LaunchesPerHour: 10 * Max}
			f.Workers.Command, f.Workers.Slots = []string{self, "sleep-body"}, 1
			f.Workers.Boot, f.Workers.WarmUp = Boot, Boot
			f.Workers.Visibility, f.Workers.Env = 30*time.Second, []string{DoneVariable}
			c.Fleets = append(c.Fleets, f)
			runs = append(runs, Run{test, f})
		}
	}
	return c, runs
}

// Play runs all tests under all policies at the same time, shows them in view, and returns the measurements. It takes
// about 40 seconds and stops after 75 even if messages are left. Its workers run this program: `muster sleep-body`.
func Play(ctx context.Context, view *View) (*Tally, error) {
	dir, err := os.MkdirTemp("", "muster-demo-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to start workers with: %w", err)
	}
	c, runs := Config(dir, self)
	tally := NewTally(runs, filepath.Join(dir, "done"))
	a, err := app.Open(ctx, c, app.Options{
		Logger: slog.New(slog.NewTextHandler(view.errors, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Notify: func(o controller.Outcome) { tally.Outcome(o); view.outcome(o, tally.started()) },
		Env:    []string{DoneVariable + "=" + tally.path},
		Routes: replay.Routes,
	})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if a.HasDashboard() {
		view.link(a.DashboardLink(session.Operator))
	}
	running, stop := context.WithTimeout(ctx, limit)
	// Buffered: the App ends even if nothing waits for its result.
	ended := make(chan error, 1)
	go func() { ended <- a.Run(running) }()
	err = play(running, a, runs, tally, view)
	view.finish("all messages are finished; the workers stop")
	stop()
	if stopped := <-ended; err == nil {
		err = stopped
	}
	if ctx.Err() != nil {
		return nil, errors.New("the demo was interrupted")
	}
	// At the limit the results are shown as they are; Failure names the messages that are left.
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	return tally, nil
}

// play sends the messages once every fleet is ready, and shows the runs until all messages are finished.
func play(ctx context.Context, a *app.App, runs []Run, tally *Tally, view *View) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !a.Ready() {
		if err := host.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	// Every run gets its messages at nearly the same time, so their tables can be compared.
	tally.Start(time.Now())
	for _, r := range runs {
		if err := send(ctx, a.Queues(), r); err != nil {
			return err
		}
	}
	view.begin()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case now := <-tick.C:
			if err := tally.Read(); err != nil {
				return err
			}
			view.draw(now, a, runs, tally)
			if tally.complete() {
				return nil
			}
		}
	}
}

// send sends the messages of a run, each with its duration as the body.
func send(ctx context.Context, queues *queue.Service, r Run) error {
	messages := make([]queue.Outgoing, batch)
	for i := range messages {
		messages[i].Body = r.Test.Duration.String()
	}
	// A send takes at most ten messages, as in SQS.
	for range Messages / batch {
		sent, err := queues.Send(ctx, r.Queue(), messages)
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

// Failure returns an error when a result breaks the demo's promises.
func Failure(results []Result) error {
	var failures []error
	for _, r := range results {
		if r.Processed != r.Messages || r.Twice > 0 {
			failures = append(failures, fmt.Errorf("%s under %s: %d of %d messages were processed, %d more than once",
				r.Name, r.Policy, r.Processed, r.Messages, r.Twice))
		}
		// dynamic-backlog is there to compare with: its published run was late, too.
		if r.Policy != "dynamic-backlog" && r.InTime != r.Messages {
			failures = append(failures, fmt.Errorf("%s under %s: %d of %d messages were in time", r.Name, r.Policy,
				r.InTime, r.Messages))
		}
	}
	return errors.Join(failures...)
}

// Print prints the results of each test beside the published figures and the lower bound.
func Print(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "TEST\tPOLICY\tPROCESSED\tIN TIME\tSECONDS\tPEAK WORKERS\tWORKER-SECONDS\tDECISIONS\t")
	for _, test := range tests() {
		for _, r := range results {
			if r.Name == test.Name {
				fmt.Fprintf(t, "%s\t%s\t%d/%d\t%.0f%%\t%.1f\t%d\t%.0f\t%d\t\n", r.Name, r.Policy, r.Processed,
					r.Messages,
					100*r.InTimeRatio, r.Seconds, r.PeakWorkers, r.WorkerSeconds, r.Decisions)
			}
		}
		fmt.Fprintf(t, "%s\t(as published)\t%d/%d\t\t%.1f\t%d\t\t\t\n", test.Name, Messages, Messages, test.itsSeconds,
			test.itsWorkers)
		fmt.Fprintf(t, "%s\t(lower bound)\t%d/%d\t100%%\t%.1f\t%d\t%.0f\t\t\n", test.Name, Messages, Messages,
			latency.Seconds(), test.leastWorkers, test.leastCost)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, `
In time: finished within %s of being sent. Seconds: until the last message was finished.
As published: 9 minutes with 4 workers, 10 minutes with 8, for an objective of 5 minutes; here at 1:%d.
Lower bound: the least cost of being in time of any scheduler that knows every duration, but not the arrivals.
exact gives every message its own worker, up to %d: it is always in time and costs the most.
deadline launches as few workers as meet the objective: the certain ones at once, the others at the last moment.
`, render.Seconds(latency.Seconds()), scale, Max)
	return err
}
