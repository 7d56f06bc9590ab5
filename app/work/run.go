package work

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/internal/descendants"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
	"github.com/muster-scale/muster/worker/httpreport"
	"github.com/muster-scale/muster/worker/sqsqueue"
)

// Settings say what a worker does. Zero values are no defaults: the command line has those. The errors of [Run] about
// them name the flags of muster work.
type Settings struct {
	// Options are the plain values among the worker's options, as its slots and its name. [Run] adds what it opens.
	Options worker.Options
	// Queues are the URLs of the queues to serve. Place says where an embedded queue keeps its keys.
	Queues []string
	Place  client.Place
	// API is the URL of the controller, or empty. Token is the token for it.
	API, Token string
	// Log is the lowest level that is logged: to LogTo or, if Logs is not empty, below that directory.
	Log   slog.Level
	LogTo io.Writer
	Logs  string
	// MemberNamed is true when the user chose Options.Member; then the name of the task does not replace it.
	MemberNamed bool
	Execution   Execution
	Placement   Placement
	Reporting   Reporting
	// Lines is where metrics in the embedded metric format go.
	Lines io.Writer
}

// Run works until the worker ends: after its idle time, on a stop request, or when the context ends. It changes the
// environment of this process, which its programs inherit, so it may be called only once.
func Run(ctx context.Context, s Settings) (ended error) {
	o := s.Options
	task, err := s.Placement.task(ctx)
	if err != nil {
		return err
	}
	if task.ID != "" && !s.MemberNamed {
		o.Member = task.ID
	}
	// The lock shows the fleet that this member lives. A command that inherited it would hold it after the worker's
	// end.
	if err := execution.KeepMemberLock(); err != nil {
		return err
	}
	// From here on the order of the steps matters: see the package comment.
	if err := s.prepare(ctx, &o); err != nil {
		return err
	}
	s.useKeys()
	o.Logger = s.logger()
	s.Execution.Command.Logger = o.Logger
	closeLogs := s.keepLogs(&o)
	defer func() { ended = errors.Join(ended, closeLogs()) }()
	if err := s.Execution.check(); err != nil {
		return err
	}
	if err := openQueues(ctx, &o, s.Queues); err != nil {
		return misuse.Wrap(err)
	}
	// This may call the metadata of the machine, so it comes after everything that can fail without a call.
	member, err := s.Placement.member(ctx, o.Member)
	if err != nil {
		return err
	}
	o.Member, o.MachineShared = member, s.Placement.instance != "" && s.Placement.instance != member
	if s.API != "" {
		reporter, err := httpreport.NewReporter(s.API, s.Token)
		if err != nil {
			return misuse.Wrap(err)
		}
		o.Reporter = reporter
	}
	if err := descendants.Adopt(); err != nil {
		o.Logger.Warn("programs that leave the process group of the command will not be ended with it", "err", err)
	}
	// Programs that left the process group of a command must not outlive the worker.
	defer descendants.EndAll()
	if err := s.Execution.run(ctx, o); err != nil {
		return err
	}
	// Only a service replaces a task that exits, and only a controller lowers its count.
	if s.API != "" && task.Service != "" {
		s.Placement.stay(ctx, o.Logger)
	}
	return nil
}

// logger returns a logger to LogTo.
func (s *Settings) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(s.LogTo, &slog.HandlerOptions{Level: s.Log}))
}

// useKeys gives the AWS SDK the keys of an embedded queue: those of the environment, or those of the place.
func (s *Settings) useKeys() {
	if client.UseGivenKeys() {
		return
	}
	for _, url := range slices.Concat(s.Queues, s.Execution.deadLetters()) {
		client.UseLocalKeys(s.Place, url)
	}
}

// prepare sets up what uses the keys of AWS: reports, the instance's hook and protection, and a table of trees. It
// comes before useKeys, which may replace those keys by the embedded queue's.
func (s *Settings) prepare(ctx context.Context, o *worker.Options) error {
	s.Execution.nodes = &nodeWork{Trees: s.Execution.Trees}
	s.Reporting.out = s.Lines
	if err := s.Reporting.apply(ctx, o, s.API); err != nil {
		return misuse.Wrap(err)
	}
	if err := s.Placement.lifecycle(ctx, o, s.Reporting.configuration, s.Execution.Data); err != nil {
		return err
	}
	return s.Execution.nodes.openTable(ctx)
}

// keepLogs makes the worker log below the directory Logs, if there is one, instead of to LogTo.
func (s *Settings) keepLogs(o *worker.Options) (end func() error) {
	if s.Logs == "" {
		return func() error { return nil }
	}
	k := openJobLogs(s.Logs, o.Fleet, o.Member, o.Logger)
	o.Logger = slog.New(k.log.Handler(s.Log))
	s.Execution.Command.Logger, s.Execution.Command.Print = o.Logger, k.printed
	o.Failures = k
	return k.close
}

// openQueues sets in o the queues to serve. A FIFO queue gives one message at a time unless batches are wanted: the
// others of a group would only wait here.
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
