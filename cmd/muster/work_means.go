package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
	"github.com/muster-scale/muster/worker/ledger"
	"github.com/muster-scale/muster/worker/sqsqueue"
)

// means are the flags that say by what means muster work does its work, and what becomes of what fails.
type means struct {
	command               execution.Command
	lines, conformance    bool
	http, contentType     string
	startLimit            time.Duration
	data, deadLetter      string
	badSample, nodeSample string
	samples               []string
	trees                 treeWork
}

func (m *means) flags(f *pflag.FlagSet, o *worker.Options) {
	f.BoolVar(&m.lines, "json-lines", false, "run the command once for each slot and speak lines of JSON with it")
	f.StringVar(&m.http, "http", "", "POST each message to this http URL on this machine, in place of a command")
	f.StringVar(&m.contentType, "content-type", "application/json", "with --http, the type of the messages")
	f.DurationVar(&m.startLimit, "start-limit", time.Minute, "with --json-lines, how long the command may take to say that it is ready")
	f.IntVar(&o.Batch, "batch", 1, "with --json-lines or --http, how many messages one call gets at most, up to 10")
	f.DurationVar(&o.TimeLimit, "time-limit", 0, "how long one call may take before it is ended and counts as failed; 0 is no limit")
	f.IntVar(&o.MaxAttempts, "max-attempts", 0, "move a message to --dead-letter after so many failed attempts; 0 leaves that to the queue")
	f.StringVar(&m.deadLetter, "dead-letter", "", "the name or URL of the queue for messages whose attempts are used up")
	f.StringVar(&m.data, "data", defaultData(), "the directory in which --max-attempts are counted and in which the workers of an instance with a --lifecycle-hook meet; MUSTER_DATA is its default")
	f.StringVar(&m.trees.path, "trees", os.Getenv(app.TreesVariable), "the file of the trees whose nodes the command works on, or dynamodb:TABLE")
	f.StringVar(&m.trees.whenComplete, "when-complete", "", "a program to run when a tree is complete, the completion in JSON on its standard input")
	f.StringVar(&o.ClassAttribute, "class-attribute", "", "the attribute whose text is a message's class; durations are then reported for each class, too")
	f.StringSliceVar(&m.command.Env, "env", nil, "variables for the command: NAME passes one on, NAME=VALUE sets one")
	f.BoolVar(&m.conformance, "conformance", false, "check that the command keeps to the protocol, and end; no queue is needed")
	f.StringArrayVar(&m.samples, "sample", []string{"{}"}, "with --conformance, the body of a message that must succeed; may be repeated")
	f.StringVar(&m.nodeSample, "node-sample", "", "with --conformance, the body of a node of a tree that has children")
	f.StringVar(&m.badSample, "bad-sample", "", "with --conformance, the body of a message that must fail")
}

func defaultData() string {
	if dir := os.Getenv("MUSTER_DATA"); dir != "" {
		return dir
	}
	return ".muster"
}

// check tells whether the flags and the command line after them fit together.
func (m *means) check(o worker.Options, argv, queues []string) error {
	switch {
	case m.http != "" && (m.lines || len(argv) > 0):
		return errors.New("found --http and a command or --json-lines, one of them is allowed")
	case m.http == "" && len(argv) == 0:
		return errors.New("found neither a command after -- nor --http; say what does the work")
	case o.Batch > 1 && m.http == "" && !m.lines:
		return errors.New("found --batch and a command for each message; batches need --json-lines or --http")
	case o.Batch < 1 || o.Batch > worker.MaxBatch:
		return fmt.Errorf("--batch: found %d, 1 to %d are allowed", o.Batch, worker.MaxBatch)
	case m.conformance && len(m.samples) == 0:
		return errors.New("--sample: found none, at least one is required")
	case m.conformance:
		return nil
	case len(queues) == 0:
		return errors.New(`required flag(s) "queue" not set`)
	case (o.MaxAttempts > 0) != (m.deadLetter != ""):
		return errors.New("found one of --max-attempts and --dead-letter, both or neither are allowed")
	case slices.Contains(queues, m.deadLetter):
		return fmt.Errorf("--dead-letter: found %s, which is the queue itself; give another", m.deadLetter)
	}
	return nil
}

// deadLetters returns the URL of the queue for dead letters, if there is one.
func (m *means) deadLetters() []string {
	if m.deadLetter == "" {
		return nil
	}
	return []string{m.deadLetter}
}

// run works until the worker has left.
func (m *means) run(ctx context.Context, o worker.Options) (err error) {
	ledger, err := m.openDeadLetters(ctx, &o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	end, err := m.open(ctx, &o)
	if err != nil {
		return err
	}
	defer end()
	return worker.Run(ctx, o)
}

// conform checks what does the work against the protocol, and prints a line for each rule.
func (m *means) conform(ctx context.Context, o worker.Options, badGiven, asJSON bool, out io.Writer) error {
	c := &execution.Conformance{Samples: m.samples, TimeLimit: o.TimeLimit}
	if badGiven {
		c.Bad = &m.badSample
	}
	if m.nodeSample != "" {
		c.Node = &m.nodeSample
	}
	if !asJSON {
		c.Tell = func(f execution.Finding) { printFinding(out, f) }
	}
	switch {
	case m.http != "":
		e, err := execution.NewEndpoint(ctx, execution.EndpointOptions{URL: m.http, Batch: o.Batch, ContentType: m.contentType, Logger: o.Logger})
		if err != nil {
			return usage(err)
		}
		defer e.Close()
		c.OfEndpoint(ctx, e)
	case m.lines:
		c.OfLines(ctx, execution.LinesOptions{Command: m.command, Batch: o.Batch, StartLimit: m.startLimit})
	default:
		c.OfCommand(ctx, m.command)
	}
	if asJSON {
		if err := printJSON(out, c.Findings()); err != nil {
			return err
		}
	}
	if !c.Passed() {
		return errors.New("the protocol is not kept; docs/worker-protocol.md says what each rule demands")
	}
	return nil
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

// open puts into o what does the work. What close does comes after the run.
func (m *means) open(ctx context.Context, o *worker.Options) (close func(), err error) {
	switch {
	case m.http != "":
		e, err := execution.NewEndpoint(ctx, execution.EndpointOptions{
			URL: m.http, Slots: o.Slots, Batch: o.Batch, ContentType: m.contentType, Logger: o.Logger,
		})
		if err != nil {
			return nil, usage(err)
		}
		m.trees.batch, m.trees.command, m.trees.logger = e.DoBatch, m.command, o.Logger
		o.DoBatch, o.Readiness = m.trees.doBatch, e
		return func() { m.trees.close(); e.Close() }, nil
	case m.lines:
		l, err := execution.StartLines(ctx, execution.LinesOptions{Command: m.command, Slots: o.Slots, Batch: o.Batch, StartLimit: m.startLimit})
		if err != nil {
			return nil, err
		}
		m.trees.batch, m.trees.command, m.trees.logger = l.DoBatch, m.command, o.Logger
		o.DoBatch, o.Readiness = m.trees.doBatch, l
		return func() { m.trees.close(); l.Close() }, nil
	}
	m.trees.command, m.trees.logger = m.command, o.Logger
	o.Do = m.trees.do
	return m.trees.close, nil
}

// openDeadLetters puts into o where attempts are counted and where messages go that have used them up.
func (m *means) openDeadLetters(ctx context.Context, o *worker.Options) (io.Closer, error) {
	if o.MaxAttempts == 0 {
		return io.NopCloser(nil), nil
	}
	dead, err := sqsqueue.NewSQS(ctx, m.deadLetter)
	if err != nil {
		return nil, usage(fmt.Errorf("--dead-letter: %w", err))
	}
	ledger, err := ledger.OpenLedger(ctx, m.data)
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	o.Attempts, o.DeadLetters = ledger, dead
	return ledger, nil
}
