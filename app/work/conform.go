package work

import (
	"context"

	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/worker/execution"
)

// Samples are the bodies of messages that show whether a command or an endpoint keeps to the protocol of workers.
type Samples struct {
	// Good must succeed. There is at least one.
	Good []string
	// Node is that of a node of a tree which has children, Bad must fail. Either is nil where there is none.
	Node, Bad *string
}

// Conform checks what does the work against the protocol of workers, without a queue, tells each finding as it comes,
// and returns all of them and whether the protocol is kept.
func Conform(ctx context.Context, s Settings, samples Samples, tell func(execution.Finding)) (
	all []execution.Finding, kept bool, err error,
) {
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

// check returns an error when there is no such command.
func (m *Execution) check() error {
	if m.HTTP != "" {
		return nil
	}
	return misuse.Wrap(m.Command.Check())
}
