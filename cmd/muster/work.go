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
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
)

// workCommand is muster work with its flags. There are two ways to its settings: a user gives flags, and a fleet that
// starts the worker gives all settings in its environment (see check).
type workCommand struct {
	work.Settings
	// workers holds the flags that are also keys of a configuration.
	workers config.Workers
	// conformance checks the command or endpoint with the samples, and ends. samples must succeed; badSample must fail
	// and nodeSample is a node of a tree, each only when given.
	conformance           bool
	samples               []string
	badSample, nodeSample string
}

// newWork makes muster work. Its steps: read the settings, check that they fit together, then [work.Run] until the
// worker ends. Exit code 0 means that the worker ended in order: after its idle time, on a stop request or on an
// interrupt. A failing message does not end it.
//
// Most flags are the keys of workers: in a configuration. The others say what only a worker on its own needs: its
// queue, its name, its controller, and the machine that it runs on.
func newWork(g *command.Global) *cobra.Command {
	// These are the defaults of a worker without a fleet. A fleet's worker gets those of its configuration instead.
	w := &workCommand{Settings: work.Settings{Placement: work.NewPlacement(), Place: g.Place}, workers: config.Workers{
		Slots: 1, Batch: 1, Visibility: 30 * time.Second, Retry: 30 * time.Second, StartLimit: time.Minute, Log: "info",
		ReportEvery: time.Minute,
	}}
	cmd := &cobra.Command{
		Use:   "work --queue NAME|URL -- COMMAND [ARGUMENT...]",
		Short: "Handle the messages of a queue with any command",
		Long: `Work receives messages and runs the command once for each. The command gets the body on standard input and the
other properties of the message in MUSTER_... variables. Exit status 0 deletes the message. Any other status returns it
to the queue, to be retried later. There is no shell: write -- sh -c '...' if you want one.

With --json-lines the command is started once for each slot. It receives messages as lines of JSON and answers each with
a line. With --http the messages are POSTed to a URL on this machine, as Elastic Beanstalk does, and status 200 deletes
the message. docs/worker-protocol.md specifies all three; --conformance checks a command or an endpoint against it.

Work runs with the embedded queue and with Amazon SQS, with a controller (--api) or without.`,
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
		"the queue's name, or its URL; may be repeated, to receive from several queues in turn")
	command.KeyFlags(f, w.workers.Keys(), map[string]string{
		"grace": "; in an ECS task 20s by default",
		"report": "; also http (the controller at --api, always with it) and emf[:NAMESPACE] (lines on " +
			"standard output)",
		"auto-scaling-group": "; with --protection instance, too",
	}, "boot", "log", "env")
	f.StringVar(&w.workers.Log, "log", w.workers.Log, "what to log: debug, info, warn or error")
	f.StringSliceVar(&w.workers.Env, "env", nil, "variables for the command: NAME passes one on, NAME=VALUE sets one")
	f.StringVar(&w.Placement.Notices, "notices", "auto", "where to watch for the notice that the instance or task "+
		"will be stopped: auto, ec2, ecs or none")
	f.StringVar(&w.Placement.Protection, "protection", "auto",
		"protection from scale-in while the worker is not idle: auto protects the task in an ECS service, instance "+
			"protects the instance in an Auto Scaling group that AWS sizes, none protects nothing")
	f.StringVar(&w.API, "api", os.Getenv("MUSTER_API_URL"), "the controller's URL; MUSTER_TOKEN holds its token")
	f.StringVar(&w.Options.Fleet, "fleet", os.Getenv("MUSTER_FLEET"), "the fleet this worker belongs to")
	f.StringVar(&w.Options.Member, "member", worker.DefaultMember(),
		"the member this worker runs on; auto reads it from the metadata of the task or the instance, unless "+
			"MUSTER_MEMBER names it")
	f.StringVar(&w.Options.Worker, "worker", os.Getenv("MUSTER_WORKER"),
		"the worker's name on its member (default: the member's name); several workers on one member need one each, "+
			"which stays the same after a restart")
	f.StringVar(&w.Logs, "logs", os.Getenv(app.LogsVariable),
		"the directory for logs: the output of jobs, and the worker's own log, which then leaves standard error; "+
			"muster logs shows them")
	w.executionFlags(f)
	return cmd
}

// executionFlags adds the flags for the command or endpoint, and for failed messages. They are apart from the others
// only because a function has at most 80 lines.
func (w *workCommand) executionFlags(f *pflag.FlagSet) {
	m := &w.Execution
	f.StringVar(&m.ContentType, "content-type", "application/json", "with --http, the content type of the messages")
	f.StringVar(&m.DeadLetter, "dead-letter", "",
		"the name or URL of the queue for messages without an attempt left")
	f.StringVar(&m.Data, "data", defaultData(),
		"the directory in which attempts are counted (--max-attempts) and in which the workers of an instance "+
			"coordinate (--lifecycle-hook); MUSTER_DATA sets the default")
	f.StringVar(&m.Trees.Path, "trees", os.Getenv(app.TreesVariable),
		"the file that holds the trees whose nodes are worked on, or dynamodb:TABLE")
	f.StringVar(&m.Trees.WhenComplete, "when-complete", "",
		"a program to run when a tree is complete; it gets the completion as JSON on its standard input")
	f.BoolVar(&w.conformance, "conformance", false,
		"check that the command follows the protocol, then end; needs no queue")
	f.StringArrayVar(&w.samples, "sample", []string{"{}"},
		"with --conformance, the body of a message that must succeed; may be repeated")
	f.StringVar(&w.nodeSample, "node-sample", "", "with --conformance, the body of a node of a tree that has children")
	f.StringVar(&w.badSample, "bad-sample", "", "with --conformance, the body of a message that must fail")
}

// defaultData is the default of --data. A container sets MUSTER_DATA to a volume that outlives the worker.
func defaultData() string {
	if dir := os.Getenv("MUSTER_DATA"); dir != "" {
		return dir
	}
	return ".muster"
}

// checkFlags returns an error when the flags and the command line do not fit together. argv is the command after --.
// The checks of single values are made by the keys ([keys.CheckOptions]).
func (w *workCommand) checkFlags(argv []string) error {
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
	// A message without an attempt left must have a place to go, or it would be lost.
	case (m.MaxAttempts > 0) != (w.Execution.DeadLetter != ""):
		return errors.New("found one of --max-attempts and --dead-letter, both or neither are allowed")
	// Otherwise the worker would receive its dead letters again, for ever.
	case slices.Contains(w.Queues, w.Execution.DeadLetter):
		return fmt.Errorf("--dead-letter: found %s, which is the queue itself; give another", w.Execution.DeadLetter)
	}
	return nil
}

// check reads the flags, the arguments and the environment, and checks that they fit together. A worker that a fleet
// started gets all its settings from the environment.
func (w *workCommand) check(g *command.Global, flags *pflag.FlagSet, args []string) error {
	started, err := false, error(nil)
	// A fleet starts "muster work" without any argument, because every user of the machine can read command lines.
	if flags.NFlag() == 0 && len(args) == 0 {
		started, err = w.TakeStarted(os.LookupEnv, os.Unsetenv)
	}
	if err == nil && !started {
		err = w.readFlags(g, flags, args)
	}
	if err != nil {
		return err
	}
	if err := w.Execution.SortVariables(); err != nil {
		return err
	}
	return w.Placement.Apply(&w.Options, started || flags.Changed("grace"))
}

// readFlags takes the settings from the flags and the arguments. Names of queues become URLs here, with the
// configuration of -f or muster.yaml; the worker itself knows URLs alone.
func (w *workCommand) readFlags(g *command.Global, flags *pflag.FlagSet, args []string) (err error) {
	if err := keys.CheckOptions(w.workers.Keys(), flags.Changed); err != nil {
		return command.Usage(err)
	}
	if w.Queues, err = client.QueueURLs(g.Place, w.Queues); err != nil {
		return err
	}
	if w.Execution.DeadLetter, err = client.QueueURL(g.Place, w.Execution.DeadLetter); err != nil {
		return err
	}
	if err := w.checkFlags(args); err != nil {
		return command.Usage(err)
	}
	w.workers.Command = args
	return w.Take(w.workers)
}

// run works until the worker ends, or checks conformance. MUSTER_TOKEN is a variable and no flag: other users of the
// machine can read command lines.
func (w *workCommand) run(g *command.Global, cmd *cobra.Command, args []string) error {
	flags := cmd.Flags()
	if err := w.check(g, flags, args); err != nil {
		return err
	}
	w.LogTo, w.Lines, w.Token = cmd.ErrOrStderr(), cmd.OutOrStdout(), os.Getenv("MUSTER_TOKEN")
	// A name that the user chose is not replaced by that of the ECS task.
	w.MemberNamed = flags.Changed("member") || os.Getenv("MUSTER_MEMBER") != ""
	if w.conformance {
		return w.conform(g, cmd)
	}
	return work.Run(cmd.Context(), w.Settings)
}

// conform checks the command or endpoint against the protocol, and prints a line for each rule while the checks run. A
// broken rule is exit code 1.
func (w *workCommand) conform(g *command.Global, cmd *cobra.Command) error {
	// An empty --bad-sample is a body too, so the flag itself decides and not its value.
	samples := work.Samples{Good: w.samples}
	if cmd.Flags().Changed("bad-sample") {
		samples.Bad = &w.badSample
	}
	if w.nodeSample != "" {
		samples.Node = &w.nodeSample
	}
	out := cmd.OutOrStdout()
	var tell func(execution.Finding)
	if !g.JSON() {
		tell = func(f execution.Finding) { printFinding(out, f) }
	}
	all, kept, err := work.Conform(cmd.Context(), w.Settings, samples, tell)
	if err == nil && g.JSON() {
		err = command.PrintJSON(out, all)
	}
	if err == nil && !kept {
		err = errors.New("the protocol is not kept; docs/worker-protocol.md says what each rule demands")
	}
	return err
}

// printFinding prints the result for one rule of the protocol.
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
