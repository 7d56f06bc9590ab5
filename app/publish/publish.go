package publish

import (
	"context"
	"io"

	"github.com/muster-scale/muster/app/handover"
	"github.com/muster-scale/muster/app/plan"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds"
)

// Once publishes the metrics of the named fleets, or of all when names is empty, and maintains their scaling policies.
// If lines is not nil, it writes the metrics there in the embedded metric format and does not send them. A failure of a
// fleet is in its result.
func Once(ctx context.Context, c *config.Config, names []string, lines io.Writer) ([]handover.Fleet, error) {
	fleets := map[string]config.Fleet{}
	for _, f := range c.Fleets {
		fleets[f.Name] = f
	}
	// Publishing reads the same state as a plan, so it needs no code of its own.
	plans, others, err := plan.Make(ctx, c, nil)
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		var some []plan.Fleet
		for _, name := range names {
			one, err := plan.Of(plans, others, name)
			if err != nil {
				return nil, err
			}
			some = append(some, one...)
		}
		plans, others = some, nil
	}
	host := kind.NewHost(kind.HostOptions{AWS: c.AWS})
	all := []handover.Fleet{}
	for _, p := range plans {
		all = append(all, handover.Once(ctx, kinds.Table(), host, fleets[p.Name], handover.All, p.Observation,
			p.Decision, lines))
	}
	for name, text := range others {
		all = append(all, handover.Fleet{Name: name, Failure: text})
	}
	return all, nil
}
