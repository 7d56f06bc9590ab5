package simulation

import (
	"fmt"
	"time"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/variants"
)

// Circumstances are what a configuration does not say about a replay. The zero value is usable.
type Circumstances struct {
	// Start is the instant at which the trace starts, for policies that go by the calendar.
	Start time.Time
	// Boot is the true boot time of members; zero takes the stated one.
	Boot time.Duration
}

// FleetOf returns the index of the named fleet in a configuration; an empty name stands for the only one. Its error is
// about the request, and lists the fleets.
func FleetOf(c *config.Config, name string) (int, error) {
	var names []string
	for i, f := range c.Fleets {
		if f.Name == name || name == "" && len(c.Fleets) == 1 {
			return i, nil
		}
		names = append(names, f.Name)
	}
	verb := "is"
	if len(names) > 1 {
		verb = "are"
	}
	there := fmt.Sprintf("; there %s %s", verb, misuse.Names(names, len(names)))
	if name == "" {
		return 0, misuse.Errorf("name a fleet%s", there)
	}
	if hint := config.Suggest(name, names); hint != "" {
		there += "; " + hint
	}
	return 0, misuse.Errorf("there is no fleet %q in the configuration%s", name, there)
}

// OfFleet returns what replays a trace under a configured fleet: its policy, objective, limits, slots and price, and
// the delays of its kind and queue. missing says in words what of the fleet is not simulated. The fleet may be changed
// before, to see what a change would come to: f is a copy, and nothing else is read.
//
// Shadow mode is switched off, because in the simulation no other system sizes the fleet.
func OfFleet(f config.Fleet, t trace.Trace, c Circumstances) (e contest.Event, who contest.Contender, missing []string,
	err error) {
	e = variants.OfFleet(f, t, c.Start)
	if c.Boot > 0 {
		e.World.Boot.Mean = c.Boot
	}
	if missing, err = World(f, &e.World); err != nil {
		return e, who, missing, err
	}
	who, err = variants.Contender(f, app.Settings)
	return e, who, missing, err
}
