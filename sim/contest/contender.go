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

// idleStop is how long workers of the policy exact wait for a message until they are ready to stop. It is the only way
// in which fleets of this policy shrink.
const idleStop = 30 * time.Second

// longestPoll bounds the time between two polls for other autoscalers that act less often. The controller adds what it
// measured to its windows as often.
const longestPoll = 5 * time.Second

// Contender is a policy that is ready to run on any trace: one of ours with its defaults, or another autoscaler's rule.
type Contender struct {
	// Name is its name in tables: the policy's name, with the setting in brackets when it is not the default.
	Name string
	// What describes it in one line.
	What string
	// Peer is true for the published rule of another autoscaler.
	Peer bool
	// Setting is the name of the main setting and Value its value; empty when the rule has none.
	Setting string
	Value   float64
	// Sweep has the values of the setting to try when it is tuned in hindsight.
	Sweep []float64

	base  string // the name without a setting
	spec  policy.Spec
	peer  peer.Peer
	idle  time.Duration // the idle stop of its workers
	poll  time.Duration // 0 for that of the event
	least int           // the least minimum that the rule works with
	// configured are the settings of a configured fleet; nil for a policy alone.
	configured *controller.Settings
}

// Ours returns the contender of a policy as it is configured. idle is the idle stop of its workers. poll is the time
// between polls of the queue; 0 is the default of one second.
func Ours(spec policy.Spec, idle, poll time.Duration) Contender {
	return Contender{Name: spec.Name, base: spec.Name, What: policy.Describe(spec.Name), spec: spec, idle: idle,
		poll: poll}
}

// Configured returns the contender of a configured fleet. Objective, limits, slots, boot and poll are those of the
// event that it plays. idle is the idle stop of its workers.
func Configured(s controller.Settings, idle time.Duration) Contender {
	c := Ours(s.Spec, idle, s.Poll)
	c.configured = &s
	return c
}

// All returns every contender that has a name: our policies that need no parameters, then the other autoscalers.
func All() []Contender {
	var all []Contender
	for _, name := range policy.Names() {
		spec := policy.Spec{Name: name}
		switch name {
		case "metric-math", "step", "schedule", "largest":
			continue // they decide nothing without parameters
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

// Find returns the contender of the given name. NAME[VALUE] sets the main setting, and deadline[seasonal] is deadline
// with a forecast. An error names similar names, or says why a policy needs a configuration.
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

// With returns c with another value of its main setting, which it must have.
func (c Contender) With(value float64) Contender {
	c.Value = value
	c.idle = c.peer.Idle(value)
	c.Name = c.base
	if value != c.peer.Default {
		c.Name = fmt.Sprintf("%s[%g]", c.base, value)
	}
	return c
}

// settings returns the controller's settings and the world for c in the event e. mean is the true mean of the trace's
// services.
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
	s.Unreported, s.Protect = w.Silent, false // nothing else stops simulated workers while they work
	if c.Peer {
		s.Spec = policy.Spec{Name: "exact"} // a placeholder that passes the checks: the peer decides
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

// queueOf returns the name of the simulated queue: that of the queue whose metrics the policy reads, if it reads any.
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

// anyQueue is the name of the simulated queue where the policy does not care.
const anyQueue = "queue"

// pace returns the time between two polls. A rule that acts only once a period needs no more polls than that.
func (c Contender) pace(e Event) time.Duration {
	poll := orElse(orElse(c.poll, e.Poll), time.Second)
	if !c.Peer {
		return poll
	}
	return max(poll, min(c.peer.Period, longestPoll))
}

// orElse returns v, or fallback where v is zero.
func orElse[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

// Default is the name of the policy that runs when none is named.
const Default = policy.Default
