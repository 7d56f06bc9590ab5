package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/internal/descendants"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
	"github.com/muster-scale/muster/worker/httpreport"
	"github.com/muster-scale/muster/worker/sqsqueue"
)

// working is muster work with its flags.
type working struct {
	o          worker.Options
	how        means
	around     surroundings
	reporting  reporting
	api, level string
	urls       []string
	// logs is the directory of logs; empty for standard error.
	logs string
}

func newWork(g *global) *cobra.Command {
	w := &working{around: newSurroundings(), reporting: reporting{configure: awsConfiguration}}
	cmd := &cobra.Command{
		Use:   "work --queue NAME|URL -- COMMAND [ARGUMENT...]",
		Short: "Handle the messages of a queue with any command",
		Long: `Work receives messages and runs the command once for each: the body on standard input, the rest in
MUSTER_... variables. Exit status 0 deletes the message; any other gives it back, to be tried again later.
There is no shell: write -- sh -c '...' if you want one.

With --json-lines the command is started once for each slot, gets messages as lines of JSON and answers
each with a line. With --http the messages are POSTed to a URL on this machine, as Elastic Beanstalk does;
200 deletes the message. docs/worker-protocol.md specifies all three, and --conformance checks a command or
an endpoint against it.

It works against the embedded queue and against Amazon SQS, with a controller (--api) or without.`,
		Example: `  muster work --queue default -- ./resize.sh
  muster work --queue http://127.0.0.1:9324/000000000000/default --slots 4 --idle 30s -- wc -c
  muster work --queue http://127.0.0.1:9324/000000000000/default --json-lines --batch 10 -- python3 worker.py
  muster work --queue http://127.0.0.1:9324/000000000000/default --http http://127.0.0.1:8080/work
  muster work --conformance --sample '{"n": 1}' --json-lines -- python3 worker.py`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return w.run(g, cmd, args) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&w.urls, "queue", nil, "the queue's name, or its URL; may be repeated, to take from several in turn")
	f.IntVar(&w.o.Slots, "slots", 1, "how many messages to handle at once")
	f.DurationVar(&w.o.IdleStop, "idle", 0, "leave after so long without a message; 0 stays")
	f.DurationVar(&w.o.Billing.Period, "billing-period", 0, "what the machine is paid by, as in 1h: when it is idle shortly before the end of a period, the worker offers to leave; 0 is by the second")
	f.DurationVar(&w.o.Billing.Margin, "billing-margin", 0, "how long before the end of a billing period; by default 2m, at most half a period")
	f.TimeVar(&w.o.Billing.Start, "billing-start", time.Time{}, []string{time.RFC3339}, "when the first billing period began, by default when the worker starts")
	f.DurationVar(&w.o.Visibility, "visibility", 30*time.Second, "how long a message is held before its hold is extended")
	f.DurationVar(&w.o.RetryBase, "retry", 30*time.Second, "how long a message waits after its first failure; doubled each time")
	f.DurationVar(&w.o.Grace, "grace", 0, "how long messages may take when told to stop; 0 lets them finish, the default in an ECS task is 20s")
	f.StringVar(&w.around.notices, "notices", "auto", "where to look for notices of an end: auto, ec2, ecs or none")
	f.StringVar(&w.around.protection, "protection", "auto", "auto protects the task from scale-in while it is not idle, in an ECS service; instance does so for the instance, in an Auto Scaling group that AWS sizes; none does not")
	f.DurationVar(&w.o.WarmUp, "warm-up", 0, "wait so long before the first message, to show slow boots")
	f.StringVar(&w.api, "api", os.Getenv("MUSTER_API_URL"), "the controller's URL; MUSTER_TOKEN holds its token")
	f.StringVar(&w.o.Fleet, "fleet", os.Getenv("MUSTER_FLEET"), "the fleet this worker belongs to")
	f.StringVar(&w.o.Member, "member", worker.DefaultMember(), "the member this worker runs on; auto asks the metadata of the task or the instance, unless MUSTER_MEMBER names it")
	f.StringVar(&w.o.Worker, "worker", os.Getenv("MUSTER_WORKER"), "the worker's name on its member, by default the member's: of several workers on one member each needs its own, and keeps it over restarts")
	f.StringVar(&w.around.hook, "lifecycle-hook", "", "the lifecycle hook of the Auto Scaling group that keeps the instance while the worker finishes: its name, or auto for the only one")
	f.StringVar(&w.around.group, "auto-scaling-group", "", "with --lifecycle-hook or --protection instance, the group's name; it is asked for by default")
	f.StringVar(&w.level, "log", "info", "what to log: debug, info, warn or error")
	f.StringVar(&w.logs, "logs", os.Getenv(app.LogsVariable), "the directory of the logs, in which what jobs print is kept, and what the worker logs in place of standard error; muster logs reads them")
	w.how.flags(f, &w.o)
	w.reporting.flags(f)
	return cmd
}

// check reads what the flags and the environment say, and whether it fits together. It returns from which level on is logged.
func (w *working) check(g *global, flags *pflag.FlagSet, args []string) (l slog.Level, err error) {
	if err := l.UnmarshalText([]byte(w.level)); err != nil {
		return l, usage(fmt.Errorf("--log: found %q, allowed is debug, info, warn or error", w.level))
	}
	if w.urls, err = g.queueURLs(w.urls); err != nil {
		return l, err
	}
	if w.how.deadLetter, err = g.queueURL(w.how.deadLetter); err != nil {
		return l, err
	}
	if err := w.how.check(w.o, args, w.urls); err != nil {
		return l, usage(err)
	}
	if err := w.how.takeVariables(); err != nil {
		return l, usage(err)
	}
	return l, usage(w.around.apply(&w.o, flags.Changed("grace")))
}

// run works until the worker has left, or checks the work and ends.
func (w *working) run(g *global, cmd *cobra.Command, args []string) (ended error) {
	flags := cmd.Flags()
	l, err := w.check(g, flags, args)
	if err != nil {
		return err
	}
	task, err := w.around.task(cmd.Context())
	if err != nil {
		return err
	}
	if task.ID != "" && !flags.Changed("member") && os.Getenv("MUSTER_MEMBER") == "" {
		w.o.Member = task.ID
	}
	if err := execution.KeepMemberLock(); err != nil {
		return err
	}
	if err := w.prepare(cmd); err != nil {
		return err
	}
	if !useGivenKeys() {
		for _, url := range slices.Concat(w.urls, w.how.deadLetters()) {
			g.useLocalKeys(url)
		}
	}
	w.how.command.Argv, w.o.Logger = args, newLogger(cmd.ErrOrStderr(), l)
	w.how.command.Logger = w.o.Logger
	closeLogs := w.keepLogs(w.o.Logger, l)
	defer func() { ended = errors.Join(ended, closeLogs()) }()
	if w.how.http == "" {
		if err := w.how.command.Check(); err != nil {
			return usage(err)
		}
	}
	if w.how.conformance {
		return w.how.conform(cmd.Context(), w.o, flags.Changed("bad-sample"), g.json(), cmd.OutOrStdout())
	}
	if err := openQueues(cmd.Context(), &w.o, w.urls); err != nil {
		return usage(err)
	}
	member, err := w.around.member(cmd.Context(), w.o.Member)
	if err != nil {
		return err
	}
	w.o.Member, w.o.MachineShared = member, w.around.instance != "" && w.around.instance != member
	if w.api != "" {
		reporter, err := httpreport.NewReporter(w.api, os.Getenv("MUSTER_TOKEN"))
		if err != nil {
			return usage(err)
		}
		w.o.Reporter = reporter
	}
	if err := descendants.Adopt(); err != nil {
		w.o.Logger.Warn("programs that leave the group of the command will not be ended with it", "err", err)
	}
	defer descendants.EndAll()
	if err := w.how.run(cmd.Context(), w.o); err != nil {
		return err
	}
	if w.api != "" && task.Service != "" {
		w.around.stay(cmd.Context(), w.o.Logger)
	}
	return nil
}

// prepare makes ready what is reached with keys for AWS: the reports, the instance's hook and protection, and the table of trees. It comes before
// the keys of an embedded queue are taken from its directory, which are not for AWS.
func (w *working) prepare(cmd *cobra.Command) error {
	if w.how.conformance {
		return nil
	}
	w.reporting.out = cmd.OutOrStdout()
	if err := w.reporting.apply(cmd.Context(), &w.o, w.api); err != nil {
		return usage(err)
	}
	if err := w.around.lifecycle(cmd.Context(), &w.o, w.reporting.configure, w.how.data); err != nil {
		return err
	}
	if err := w.how.trees.openTable(cmd.Context()); err != nil {
		return err
	}
	return nil
}

// openQueues puts into o the queue, or the queues, to work for.
func openQueues(ctx context.Context, o *worker.Options, urls []string) error {
	var queues []worker.Queue
	for _, url := range urls {
		queue, err := sqsqueue.NewSQS(ctx, url)
		if err != nil {
			return err
		}
		queue.TakeTogether(o.Batch)
		queues = append(queues, queue)
	}
	o.Queue = worker.Several(queues...)
	return nil
}

// newSleepBody is the work of the demo and of test load: it sleeps as long as the message says.
func newSleepBody(*global) *cobra.Command {
	return &cobra.Command{
		Use: "sleep-body", Hidden: true,
		Short: "Sleep for the duration that standard input holds",
		Long: `Sleep-body is the command behind the demo and behind muster send --duration: it sleeps for the duration in
the message body. With MUSTER_DONE_LOG set it then adds a line to that file: queue, message id, when it was sent, now,
the process that started it, and when it began.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			began := time.Now()
			body, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), 64))
			if err != nil {
				return err
			}
			d, err := time.ParseDuration(strings.TrimSpace(string(body)))
			if err != nil || d < 0 || d > 12*time.Hour {
				return usage(fmt.Errorf("the message body: found %.20q, allowed is a duration of at most 12h, such as 1.25s", body))
			}
			time.Sleep(d)
			return logDone(os.Getenv("MUSTER_DONE_LOG"), began)
		},
	}
}

// logDone appends one line, in one write, so that lines of many workers do not mix.
func logDone(path string, began time.Time) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%s %s %s %s %d %s\n", os.Getenv("MUSTER_QUEUE"), os.Getenv("MUSTER_MESSAGE_ID"), os.Getenv("MUSTER_SENT_AT"),
		time.Now().UTC().Format(time.RFC3339Nano), os.Getppid(), began.UTC().Format(time.RFC3339Nano))
	return err
}
