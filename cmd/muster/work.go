package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/work"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
)

// working is muster work with its flags.
type working struct {
	work.Settings
	// workers holds the flags that are also keys of a configuration.
	workers config.Workers
	// conformance checks the command or endpoint with the samples, and ends.
	conformance           bool
	samples               []string
	badSample, nodeSample string
}

func newWork(g *global) *cobra.Command {
	w := &working{Settings: work.Settings{Placement: work.NewPlacement(), Place: g.place}, workers: config.Workers{
		Slots: 1, Batch: 1, Visibility: 30 * time.Second, Retry: 30 * time.Second, StartLimit: time.Minute, Log: "info",
		ReportEvery: time.Minute,
	}}
	cmd := &cobra.Command{
		Use:   "work --queue NAME|URL -- COMMAND [ARGUMENT...]",
		Short: "Handle the messages of a queue with any command",
		Long: `Work receives messages and runs the command once for each: the body on standard input, the rest in
MUSTER_... variables. Exit status 0 deletes the message; any other returns it to the queue, to be retried later.
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
	f.StringArrayVar(&w.Queues, "queue", nil,
		"the queue's name, or its URL; may be repeated, to take from several in turn")
	keyFlags(f, w.workers.Keys(), map[string]string{
		"grace": "; in an ECS task 20s by default",
		"report": "; also http (the controller at --api, always with it) and emf[:NAMESPACE] (lines on " +
			"standard output)",
		"auto-scaling-group": "; with --protection instance, too",
	}, "boot", "log", "env")
	f.StringVar(&w.workers.Log, "log", w.workers.Log, "what to log: debug, info, warn or error")
	f.StringSliceVar(&w.workers.Env, "env", nil, "variables for the command: NAME passes one on, NAME=VALUE sets one")
	f.StringVar(&w.Placement.Notices, "notices", "auto", "where to look for notices of an end: auto, ec2, ecs or none")
	f.StringVar(&w.Placement.Protection, "protection", "auto",
		"auto protects the task from scale-in while it is not idle, in an ECS service; instance does so for the "+
			"instance, in an Auto Scaling group that AWS sizes; none does not")
	f.StringVar(&w.API, "api", os.Getenv("MUSTER_API_URL"), "the controller's URL; MUSTER_TOKEN holds its token")
	f.StringVar(&w.Options.Fleet, "fleet", os.Getenv("MUSTER_FLEET"), "the fleet this worker belongs to")
	f.StringVar(&w.Options.Member, "member", worker.DefaultMember(),
		"the member this worker runs on; auto asks the metadata of the task or the instance, unless MUSTER_MEMBER "+
			"names it")
	f.StringVar(&w.Options.Worker, "worker", os.Getenv("MUSTER_WORKER"),
		"the worker's name on its member, by default the member's: of several workers on one member each needs its "+
			"own, and keeps it over restarts")
	f.StringVar(&w.Logs, "logs", os.Getenv(app.LogsVariable),
		"the directory for logs: the output of jobs, and the worker's own log instead of standard error; muster logs "+
			"reads them")
	w.executionFlags(f)
	return cmd
}

// executionFlags adds the flags for the command or endpoint, and for failed messages.
func (w *working) executionFlags(f *pflag.FlagSet) {
	m := &w.Execution
	f.StringVar(&m.ContentType, "content-type", "application/json", "with --http, the type of the messages")
	f.StringVar(&m.DeadLetter, "dead-letter", "",
		"the name or URL of the queue for messages whose attempts are used up")
	f.StringVar(&m.Data, "data", defaultData(),
		"the directory in which --max-attempts are counted and in which the workers of an instance with a "+
			"--lifecycle-hook meet; MUSTER_DATA is its default")
	f.StringVar(&m.Trees.Path, "trees", os.Getenv(app.TreesVariable),
		"the file of the trees whose nodes the command works on, or dynamodb:TABLE")
	f.StringVar(&m.Trees.WhenComplete, "when-complete", "",
		"a program to run when a tree is complete, the completion in JSON on its standard input")
	f.BoolVar(&w.conformance, "conformance", false,
		"check that the command keeps to the protocol, and end; no queue is needed")
	f.StringArrayVar(&w.samples, "sample", []string{"{}"},
		"with --conformance, the body of a message that must succeed; may be repeated")
	f.StringVar(&w.nodeSample, "node-sample", "", "with --conformance, the body of a node of a tree that has children")
	f.StringVar(&w.badSample, "bad-sample", "", "with --conformance, the body of a message that must fail")
}

func defaultData() string {
	if dir := os.Getenv("MUSTER_DATA"); dir != "" {
		return dir
	}
	return ".muster"
}

// fits returns an error when the flags and the command line do not fit together.
func (w *working) fits(argv []string) error {
	m := w.workers
	switch {
	case m.HTTP != "" && (m.JSONLines || len(argv) > 0):
		return errors.New("found --http and a command or --json-lines, one of them is allowed")
	case m.HTTP == "" && len(argv) == 0:
		return errors.New("found neither a command after -- nor --http; say what does the work")
	case m.Batch > 1 && m.HTTP == "" && !m.JSONLines:
		return errors.New("found --batch and a command for each message; batches need --json-lines or --http")
	case w.conformance && len(w.samples) == 0:
		return errors.New("--sample: found none, at least one is required")
	case w.conformance:
		return nil
	case len(w.Queues) == 0:
		return errors.New(`required flag(s) "queue" not set`)
	case (m.MaxAttempts > 0) != (w.Execution.DeadLetter != ""):
		return errors.New("found one of --max-attempts and --dead-letter, both or neither are allowed")
	case slices.Contains(w.Queues, w.Execution.DeadLetter):
		return fmt.Errorf("--dead-letter: found %s, which is the queue itself; give another", w.Execution.DeadLetter)
	}
	return nil
}

// check reads the flags, the arguments and the environment, and checks that they fit together. A worker that a fleet
// started gets all its settings from the environment.
func (w *working) check(g *global, flags *pflag.FlagSet, args []string) error {
	started, err := false, error(nil)
	if flags.NFlag() == 0 && len(args) == 0 {
		started, err = w.TakeStarted(os.LookupEnv, os.Unsetenv)
	}
	if err == nil && !started {
		err = w.stated(g, flags, args)
	}
	if err != nil {
		return err
	}
	if err := w.Execution.SortVariables(); err != nil {
		return err
	}
	return w.Placement.Apply(&w.Options, started || flags.Changed("grace"))
}

// stated reads the flags and the arguments.
func (w *working) stated(g *global, flags *pflag.FlagSet, args []string) (err error) {
	if err := keys.CheckOptions(w.workers.Keys(), flags.Changed); err != nil {
		return usage(err)
	}
	if w.Queues, err = client.QueueURLs(g.place, w.Queues); err != nil {
		return err
	}
	if w.Execution.DeadLetter, err = client.QueueURL(g.place, w.Execution.DeadLetter); err != nil {
		return err
	}
	if err := w.fits(args); err != nil {
		return usage(err)
	}
	w.workers.Command = args
	return w.Take(w.workers)
}

// run works until the worker ends, or checks conformance.
func (w *working) run(g *global, cmd *cobra.Command, args []string) error {
	flags := cmd.Flags()
	if err := w.check(g, flags, args); err != nil {
		return err
	}
	w.LogTo, w.Lines, w.Token = cmd.ErrOrStderr(), cmd.OutOrStdout(), os.Getenv("MUSTER_TOKEN")
	w.MemberNamed = flags.Changed("member") || os.Getenv("MUSTER_MEMBER") != ""
	if w.conformance {
		return w.conform(g, cmd)
	}
	return work.Run(cmd.Context(), w.Settings)
}

// conform checks the command or endpoint against the protocol, and prints a line for each rule.
func (w *working) conform(g *global, cmd *cobra.Command) error {
	samples := work.Samples{Good: w.samples}
	if cmd.Flags().Changed("bad-sample") {
		samples.Bad = &w.badSample
	}
	if w.nodeSample != "" {
		samples.Node = &w.nodeSample
	}
	out := cmd.OutOrStdout()
	var tell func(execution.Finding)
	if !g.json() {
		tell = func(f execution.Finding) { printFinding(out, f) }
	}
	all, kept, err := work.Conform(cmd.Context(), w.Settings, samples, tell)
	if err == nil && g.json() {
		err = printJSON(out, all)
	}
	if err == nil && !kept {
		err = errors.New("the protocol is not kept; docs/worker-protocol.md says what each rule demands")
	}
	return err
}

func printFinding(out io.Writer, f execution.Finding) {
	switch {
	case f.Err != nil:
		fmt.Fprintf(out, "broken   %s: %v\n", f.Rule, f.Err)
	case f.Skipped != "":
		fmt.Fprintf(out, "skipped  %s: %s\n", f.Rule, f.Skipped)
	default:
		fmt.Fprintf(out, "kept     %s\n", f.Rule)
	}
}
