package contest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/policy/peer"
	"github.com/muster-scale/muster/sim/world"
)

// idleStop is how long workers of the policy exact wait for a message before they offer to leave; its fleets fall no
// other way.
const idleStop = 30 * time.Second

// longestPoll bounds the time between two looks for peers that act less often: as often as the controller learns what
// was measured since.
const longestPoll = 5 * time.Second

// Contender is a policy that can be run on a trace without further words: one of ours at its defaults, or a peer.
type Contender struct {
	// Name is what tables call it: the policy's name, with the setting in brackets when it is not the default.
	Name string
	// What says in one line what it does.
	What string
	// Peer is true for a rule that somebody else published.
	Peer bool
	// Setting is the name of the main setting, Value the present one; empty when there is none.
	Setting string
	Value   float64
	// Sweep are the values of the setting to try in hindsight.
	Sweep []float64

	base  string
	spec  policy.Spec
	peer  peer.Peer
	idle  time.Duration
	poll  time.Duration
	least int
	// configured are the settings of a fleet as its configuration has it; nil for a policy alone.
	configured *controller.Settings
}

// Ours returns the contender of a policy as it is configured. idle is the idle stop of its workers; poll the time
// between looks at the queue, zero for the default of a second.
func Ours(spec policy.Spec, idle, poll time.Duration) Contender {
	return Contender{Name: spec.Name, base: spec.Name, What: policy.Describe(spec.Name), spec: spec, idle: idle,
		poll: poll}
}

// Configured returns the contender of a fleet as its configuration has it. Objective, limits, slots, boot and poll are
// those of the event that it plays; idle is the idle stop of its workers.
func Configured(s controller.Settings, idle time.Duration) Contender {
	c := Ours(s.Spec, idle, s.Poll)
	c.configured = &s
	return c
}

// All returns every contender that has a name: our policies that need no parameters, then the peers.
func All() []Contender {
	var all []Contender
	for _, name := range policy.Names() {
		spec := policy.Spec{Name: name}
		switch name {
		case "metric-math", "step", "schedule", "largest":
			continue // they say nothing without parameters
		case "exact":
			all = append(all, Ours(spec, idleStop, 0))
		default:
			all = append(all, Ours(spec, 0, 0))
		}
	}
	for _, p := range peer.All() {
		all = append(all, Contender{
			Name: p.Name, base: p.Name, What: p.What, Peer: true, Setting: p.Setting, Value: p.Default, Sweep: p.Sweep,
			peer: p,
			idle: p.Idle(p.Default), least: p.MinWorkers,
		})
	}
	return all
}

// Names returns the names of [All].
func Names() []string {
	var names []string
	for _, c := range All() {
		names = append(names, c.Name)
	}
	return names
}

// Find returns the contender of the given name. NAME[VALUE] is one with another value of its main setting,
// deadline[seasonal] is deadline with a forecast.
func Find(name string) (Contender, error) {
	base, rest, set := strings.Cut(name, "[")
	all := All()
	i := slices.IndexFunc(all, func(c Contender) bool { return c.Name == base })
	switch {
	case i < 0 && slices.Contains(policy.Names(), base):
		return Contender{}, fmt.Errorf("the policy %s needs parameters: write them into a configuration and name it "+
			"with -f", base)
	case i < 0:
		hint := config.Suggest(base, Names())
		if hint != "" {
			hint = "; " + hint
		}
		return Contender{}, fmt.Errorf("there is no policy %q%s\nthere are %s", base, hint, strings.Join(Names(), ", "))
	case !set:
		return all[i], nil
	case base == policy.Default && rest == policy.ForecastSeasonal+"]":
		c := Ours(policy.Spec{Name: base, Forecast: policy.ForecastSeasonal}, 0, 0)
		c.Name, c.What = name, c.What+"; with a forecast by days and weeks"
		return c, nil
	}
	rest, closed := strings.CutSuffix(rest, "]")
	value, err := strconv.ParseFloat(rest, 64)
	if err != nil || !closed || !(value > 0) || math.IsInf(value, 0) {
		return Contender{}, fmt.Errorf("policy %q: found a setting of %q, write NAME[VALUE] with a number above 0",
			name, rest)
	}
	if all[i].Setting == "" {
		return Contender{}, fmt.Errorf("policy %q: %s has no main setting", name, base)
	}
	return all[i].With(value), nil
}

// With returns c with another value of its main setting.
func (c Contender) With(value float64) Contender {
	c.Value = value
	c.idle = c.peer.Idle(value)
	c.Name = c.base
	if value != c.peer.Default {
		c.Name = fmt.Sprintf("%s[%g]", c.base, value)
	}
	return c
}

// settings returns the controller's settings, and the world, for c in the given circumstances, where mean is the true
// mean of the trace's services.
func (c Contender) settings(e Event, mean time.Duration) (controller.Settings, world.World, error) {
	limits := e.Limits
	limits.Min = max(limits.Min, c.least)
	limits.Max = max(limits.Max, limits.Min)
	w := e.World
	if w.IdleStop == 0 {
		w.IdleStop = c.idle
	}
	var s controller.Settings
	if c.configured != nil {
		s = *c.configured
	}
	s.Fleet, s.Queues, s.Spec = "fleet", []string{queueOf(c.spec)}, c.spec
	s.Objective, s.Limits, s.Slots = e.Objective, limits, e.World.Slots
	s.BootPrior, s.Poll = e.BootPrior, c.pace(e)
	s.Unreported, s.Protect = w.Silent, false // nobody else ends simulated workers while they work
	if c.Peer {
		s.Spec = policy.Spec{Name: "exact"} // it only stands in: the peer decides
	} else if s.Spec.Processing == 0 {
		s.Spec.Processing = e.Prior
	}
	if s.Spec.Delegate == nil {
		w.Tracking = nil // what is compared with a delegated fleet is sized by Muster
	}
	s, err := controller.NewSettings(s)
	if err != nil || !c.Peer {
		return s, w, err
	}
	p := c.peer.Build(c.Value, orElse(e.Prior, mean))
	return s.Deciding(policy.Bounds{Of: policy.LaunchLimits{Of: policy.Cautious{Of: p}}}, c.peer.Memory), w, nil
}

// queueOf is the name of the simulated queue: the one whose metrics the policy reads, if it reads any.
func queueOf(spec policy.Spec) string {
	for _, q := range spec.Queries {
		if m := q.MetricStat; m != nil && m.Metric.Namespace == "AWS/SQS" {
			for _, d := range m.Metric.Dimensions {
				if d.Name == "QueueName" {
					return d.Value
				}
			}
		}
	}
	for _, of := range spec.Largest {
		if name := queueOf(of); name != anyQueue {
			return name
		}
	}
	return anyQueue
}

// anyQueue is the name of the simulated queue where it does not matter.
const anyQueue = "queue"

// pace is the time between two looks: a peer that acts at its own period alone needs no more.
func (c Contender) pace(e Event) time.Duration {
	poll := orElse(orElse(c.poll, e.Poll), time.Second)
	if !c.Peer {
		return poll
	}
	return max(poll, min(c.peer.Period, longestPoll))
}

func orElse[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

// Default is the name of the policy that is run when none is named.
const Default = policy.Default
