// Package simulation turns what a user states about a simulated run into an event of package sim/contest: the durations
// that a policy is told, the settings of the world, the objective and the limits.
//
// Stated durations are separate from the true ones of the world. A policy may know less, or be told something wrong:
// both are what simulations are about.
//
//	e := contest.Event{...}
//	err := simulation.Durations{Processing: "mean"}.AddTo(&e)
//	err = simulation.SetWorld(&e.World, []string{"boot-cv=0.3,spot=0.2"})
//	err = simulation.Check(e)
//
// [OfFleet] makes an event and a contender of a configured fleet and a trace, such as one of package
// sim/trace/recorded, to replay what was recorded under the fleet's configuration or a changed one.
//
// Errors are about the request and name the setting, as package internal/misuse marks them. A world that resembles a
// configured fleet comes from app.World; package sim/contest plays events.
package simulation

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/world"
)

// The words that [Durations].Processing accepts in place of a duration.
const (
	// None states nothing: the policy measures.
	None = "none"
	// Mean states the true mean of the trace.
	Mean = "mean"
)

// Durations is what the configuration of a simulated fleet says about durations.
type Durations struct {
	// Processing is [None], [Mean] or a duration above 0.
	Processing string
	// BootKnown states the true boot time. Boot, if above 0, is a stated boot time that may differ from it.
	BootKnown bool
	Boot      time.Duration
}

// AddTo adds the stated durations to the event.
func (d Durations) AddTo(e *contest.Event) error {
	e.BootPrior, e.TellBoot = d.Boot, d.BootKnown
	switch d.Processing {
	case None:
		return nil
	case Mean:
		e.TellMean = true
		return nil
	}
	mean, err := time.ParseDuration(d.Processing)
	if err != nil || mean <= 0 {
		return misuse.Setting("processing", "found %q, allowed is none, mean or a duration above 0s such as 10s%s",
			d.Processing, d.hint(err))
	}
	e.Prior = mean
	return nil
}

// hint suggests what was probably meant by an invalid Processing; err is why it is no duration, and nil for one that is
// not above 0.
func (d Durations) hint(err error) string {
	if _, number := strconv.ParseFloat(d.Processing, 64); err != nil && number == nil {
		return fmt.Sprintf("; say %q for seconds", d.Processing+"s")
	}
	if err == nil {
		return fmt.Sprintf("; say %q to state nothing", None)
	}
	if hint := config.Suggest(strings.ToLower(d.Processing), []string{None, Mean}); hint != "" {
		return "; " + hint
	}
	return ""
}

// SetWorld sets parameters of a world. Each text is a list of KEY=VALUE, separated by commas; later ones win.
func SetWorld(w *world.World, texts []string) error {
	for _, text := range texts {
		for _, pair := range strings.Split(text, ",") {
			key, value, ok := strings.Cut(pair, "=")
			if !ok {
				return misuse.Setting("world", "found %q, write KEY=VALUE", pair)
			}
			if err := w.Set(key, value); err != nil {
				return misuse.Setting("world", "%w", explain(key, err))
			}
		}
	}
	_, err := w.Check()
	return misuse.Wrap(err)
}

// explain suggests the parameter that was probably meant, for an unknown one.
func explain(key string, err error) error {
	var names []string
	for _, p := range world.Parameters() {
		if p.Name == key {
			return err
		}
		names = append(names, p.Name)
	}
	if hint := config.Suggest(key, names); hint != "" {
		return fmt.Errorf("there is no world parameter %q; %s", key, hint)
	}
	return err
}

// longest bounds an objective and the price of a late message: SQS keeps a message for 14 days at most.
const longest = 14 * 24 * time.Hour

// Check finds an objective, limits or a poll interval outside their ranges.
func Check(e contest.Event) error {
	o, l := e.Objective, e.Limits
	switch {
	case o.Latency < time.Millisecond || o.Latency > longest:
		return misuse.Setting("objective", "found %s, allowed is 1ms to 336h", o.Latency)
	case !(o.Quantile > 0 && o.Quantile <= 1):
		return misuse.Setting("quantile", "found %v, allowed is above 0 and at most 1", o.Quantile)
	case l.Min < 0 || l.Max < l.Min || l.Max < 1 || l.Max > 100_000:
		return misuse.Errorf("--min and --max: found %d and %d, allowed is 0 <= min <= max, and max from 1 to 100000",
			l.Min, l.Max)
	case e.Poll < 50*time.Millisecond || e.Poll > time.Hour:
		return misuse.Setting("poll", "found %s, allowed is 50ms to 1h", e.Poll)
	case o.Late < 0 || o.Late > longest:
		return misuse.Setting("late", "found %s, allowed is 0s to 336h", o.Late)
	}
	return nil
}
