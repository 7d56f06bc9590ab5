package replay

import (
	"context"

	"github.com/muster-scale/muster/app/simulation"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/trace/recorded"
	"github.com/muster-scale/muster/sim/variants"
)

// Export writes the messages that a replay of the request would have to a trace file at path, compressed if it ends in
// .gz. Only the fleet and the times of the request count. It returns the number of messages, and how they were
// reconstructed.
func Export(ctx context.Context, h History, c *config.Config, r Request, path string) (int64, []string, error) {
	at, err := simulation.FleetOf(c, r.Fleet)
	if err != nil {
		return 0, nil, err
	}
	f := c.Fleets[at]
	w, _, err := window(ctx, h, f.Name, r)
	if err != nil {
		return 0, nil, err
	}
	t, err := w.Trace(recorded.Options{Seed: variants.Seed, Mean: f.Policy.Processing})
	if err != nil {
		return 0, nil, err
	}
	n, err := trace.Write(t, path, nil)
	return n, w.Notes(), err
}
