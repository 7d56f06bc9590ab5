package work

import (
	"context"

	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/worker/execution"
)

// Samples are message bodies for a check of a command or an endpoint against the worker protocol. The protocol has
// rules that only show with real bodies, so the user gives some.
type Samples struct {
	// Good must succeed. There is at least one.
	Good []string
	// Node is the body of a tree node that has children. Bad is a body that must fail. Either may be nil.
	Node, Bad *string
}

// Conform checks a command or an endpoint against the worker protocol, without a queue. It calls tell with each
// finding, and returns all findings and whether the check passed. Broken rules are findings and no error; an error
// means that the check itself could not be made.
func Conform(ctx context.Context, s Settings, samples Samples, tell func(execution.Finding)) (
	all []execution.Finding, kept bool, err error,
) {
	// The environment of the command is that of a real run, so its set-up is checked as well.
	if _, err := s.Placement.task(ctx); err != nil {
		return nil, false, err
	}
	if err := execution.KeepMemberLock(); err != nil {
		return nil, false, err
	}
	s.useKeys()
	o, m := s.Options, s.Execution
	o.Logger = s.logger()
	m.Command.Logger = o.Logger
	if err := m.check(); err != nil {
		return nil, false, err
	}
	c := &execution.Conformance{Samples: samples.Good, Node: samples.Node, Bad: samples.Bad, TimeLimit: o.TimeLimit,
		Tell: tell}
	switch {
	case m.HTTP != "":
		e, err := execution.NewEndpoint(ctx, execution.EndpointOptions{
			URL: m.HTTP, Batch: o.Batch, ContentType: m.ContentType, Logger: o.Logger,
		})
		if err != nil {
			return nil, false, misuse.Wrap(err)
		}
		defer e.Close()
		c.OfEndpoint(ctx, e)
	case m.Lines:
		c.OfLines(ctx, execution.LinesOptions{Command: m.Command, Batch: o.Batch, StartLimit: m.StartLimit})
	default:
		c.OfCommand(ctx, m.Command)
	}
	return c.Findings(), c.Passed(), nil
}

// check returns an error when the command does not exist.
func (m *Execution) check() error {
	if m.HTTP != "" {
		return nil
	}
	return misuse.Wrap(m.Command.Check())
}
