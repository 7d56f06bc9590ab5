package work

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
	"github.com/muster-scale/muster/worker/ledger"
	"github.com/muster-scale/muster/worker/sqsqueue"
)

// Execution says what does the work, and where messages without an attempt left go. Exactly one of Command and HTTP is
// set.
type Execution struct {
	// Command runs for each message, or with Lines once for each slot, to speak JSON lines. It is empty when messages
	// are posted to the URL HTTP, with the content type ContentType.
	Command           execution.Command
	Lines             bool
	HTTP, ContentType string
	// StartLimit is how long a command of JSON lines may take until it is ready.
	StartLimit time.Duration
	// DeadLetter is the URL of the queue for messages without an attempt left, or empty. Data is the directory in which
	// attempts are counted.
	Data, DeadLetter string
	// Trees locates the trees whose nodes are worked on.
	Trees Trees

	// nodes works on tree nodes, and passes on all other messages; prepare makes it.
	nodes *nodeWork
}

// run works until the worker ends.
func (m *Execution) run(ctx context.Context, o worker.Options) (err error) {
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

// open sets the work in o. Call close after the run. Command, lines and HTTP differ in when a program starts: for each
// message, once for each slot, or not at all.
func (m *Execution) open(ctx context.Context, o *worker.Options) (close func(), err error) {
	switch {
	case m.HTTP != "":
		e, err := execution.NewEndpoint(ctx, execution.EndpointOptions{
			URL: m.HTTP, Slots: o.Slots, Batch: o.Batch, ContentType: m.ContentType, Logger: o.Logger,
		})
		if err != nil {
			return nil, misuse.Wrap(err)
		}
		m.nodes.batch, m.nodes.command, m.nodes.logger = e.DoBatch, m.Command, o.Logger
		o.DoBatch, o.Readiness = m.nodes.doBatch, e
		return func() { m.nodes.close(); e.Close() }, nil
	case m.Lines:
		l, err := execution.StartLines(ctx, execution.LinesOptions{Command: m.Command, Slots: o.Slots, Batch: o.Batch,
			StartLimit: m.StartLimit})
		if err != nil {
			return nil, err
		}
		m.nodes.batch, m.nodes.command, m.nodes.logger = l.DoBatch, m.Command, o.Logger
		o.DoBatch, o.Readiness = m.nodes.doBatch, l
		return func() { m.nodes.close(); l.Close() }, nil
	}
	m.nodes.command, m.nodes.logger = m.Command, o.Logger
	o.Do = m.nodes.do
	return m.nodes.close, nil
}

// openDeadLetters sets in o where attempts are counted and where messages go that have used them up. Without
// MaxAttempts the queue itself counts receives, and nothing is opened.
func (m *Execution) openDeadLetters(ctx context.Context, o *worker.Options) (io.Closer, error) {
	if o.MaxAttempts == 0 {
		return io.NopCloser(nil), nil
	}
	dead, err := sqsqueue.NewSQS(ctx, m.DeadLetter)
	if err != nil {
		return nil, misuse.Errorf("--dead-letter: %w", err)
	}
	ledger, err := ledger.OpenLedger(ctx, m.Data)
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	o.Attempts, o.DeadLetters = ledger, dead
	return ledger, nil
}

// deadLetters returns the URL of the dead-letter queue, if there is one.
func (m *Execution) deadLetters() []string {
	if m.DeadLetter == "" {
		return nil
	}
	return []string{m.DeadLetter}
}

// SortVariables divides the command's variables: those with a value are set, the others are inherited.
func (m *Execution) SortVariables() error {
	var names []string
	for _, v := range m.Command.Env {
		name, _, set := strings.Cut(v, "=")
		switch {
		case !set:
			names = append(names, v)
		// These describe the message, so a user cannot set them.
		case name == "" || strings.HasPrefix(name, "MUSTER_"):
			return misuse.Errorf("--env: found a value for %q, allowed is a name that does not begin with MUSTER_",
				name)
		default:
			m.Command.Set = append(m.Command.Set, v)
		}
	}
	m.Command.Env = names
	return nil
}
