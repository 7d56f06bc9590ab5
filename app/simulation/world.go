package simulation

import (
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/sim/variants"
	"github.com/muster-scale/muster/sim/world"
)

// World adds what is known of a fleet's kind and queues to a simulated world: delayed counts, the time that an order
// takes, the warm pool. Values that the world already has stay. It returns, as text, what the simulation leaves out.
func World(f config.Fleet, w *world.World) (missing []string, err error) {
	table := kinds.Table()
	members, err := table.MembersOf(f)
	if err != nil {
		return nil, err
	}
	of := members.World()
	w.Silent = w.Silent || of.Silent
	w.API.Mean = max(w.API.Mean, of.Order)
	if w.Warm.Size == 0 {
		w.Warm = world.WarmPool{Size: of.Warm, Boot: world.Draw{Mean: of.WarmBoot}, Refill: w.Boot.Mean}
	}
	// Whether work computes or waits is not known from a configuration, so the cores are not assumed.
	if of.Local && w.Cores == 0 && f.Limits.Max > 1 {
		missing = append(missing, "its workers share the cores of one machine; --cores simulates that, for work that "+
			"computes")
	}
	// Of several queues the largest lag counts.
	for _, q := range f.Queues {
		row, err := table.Queue(q)
		if err != nil {
			return nil, err
		}
		w.Stale = max(w.Stale, row.World.Lag)
		w.CountsOnly, w.Random = w.CountsOnly || row.World.CountsOnly, w.Random || row.World.Random
		w.Wakes = w.Wakes || row.World.Wakes
	}
	if len(f.Signals) > 0 {
		w.CountsOnly = true
		missing = append(missing, "it is measured by "+kind.SignalsOf(f)[0].Place()+
			", whose own delay is not simulated")
	}
	if sizer := kind.SizerOf(f); sizer != nil {
		p := sizer.World(f)
		w.Tracking = &p
		if !p.Service {
			missing = append(missing, "AWS tunes the alarms of a group's target tracking and does not publish how; "+
				"here they are the published pair, 3 datapoints above the target and 15 below 0.9 of it")
		}
	}
	return append(missing, variants.Missing(f)...), nil
}
