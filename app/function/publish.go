package function

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-scale/muster/app/handover"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds/remote"
)

// Published is the answer of publish-metric and of set-target: the fields of muster publish -o json.
type Published struct {
	Fleets []handover.Fleet `json:"fleets"`
}

// openPublish opens the function publish-metric, and openTarget the function set-target. Neither reads its payload.
func openPublish(ctx context.Context, e environment) (invocation, error) {
	return openHandover(ctx, e, handover.Metrics)
}

func openTarget(ctx context.Context, e environment) (invocation, error) {
	return openHandover(ctx, e, handover.Target)
}

// openHandover opens a function that hands a part over. The fleets are polled anew at each invocation, and sized by
// AWS. A history is optional: with one, durations that a step has learned count.
func openHandover(ctx context.Context, e environment, part handover.Part) (invocation, error) {
	c, fleets, err := e.fleets()
	if err != nil {
		return nil, err
	}
	for _, f := range fleets {
		if part == handover.Target && kind.SizerOf(f) == nil {
			return nil, fmt.Errorf("the fleet %s has no scaling policy to set; configure delegate, or name the fleets "+
				"that have one in %s", f.Name, VariableFleets)
		}
	}
	host, table := e.host(c), remote.Table()
	past, err := e.history(ctx, host)
	if err != nil {
		return nil, err
	}
	if past == nil {
		past = forgetful{}
	}
	all, err := e.open(ctx, host, fleets, past)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, _ []byte) (any, error) {
		out := Published{Fleets: []handover.Fleet{}}
		var failures []error
		for _, f := range all {
			seen, err := f.loop.Preview(ctx)
			one := handover.Fleet{Name: f.config.Name}
			if err != nil {
				one.Failure = err.Error()
			} else {
				one = handover.Once(ctx, table, host, f.config, part, seen.Observation, seen.Decision, nil)
			}
			if one.Failure != "" {
				failures = append(failures, fmt.Errorf("fleet %s: %s", one.Name, one.Failure))
			}
			out.Fleets = append(out.Fleets, one)
			e.Logger.Info("handed over", "result", one)
		}
		return out, errors.Join(failures...)
	}, nil
}
