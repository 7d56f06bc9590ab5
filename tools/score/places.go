package main

import (
	"math"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/tools/score/arena"
	"github.com/muster-scale/muster/tools/score/report"
)

// What an event is like decides to which part it belongs, and which goals hold for it. The events are measured by their
// traces, not by what their names promise.

// circumstances are an event and the properties of its traces over the seeds. They decide to which part an event
// belongs and how it is judged.
type circumstances struct {
	event contest.Event
	// slack is the least slack ratio k = (L - s - b) / b, with the true quantile s of the work: above 0 a launch that
	// follows a message still saves it.
	slack float64
	// workers is the mean load in busy workers; a single burst has no duration to take it over.
	workers float64
	burst   bool
	// attainable is the least share of messages whose own work fits into the objective.
	attainable float64
}

// measure reads the traces of an event with each seed. Of the slack and the attainable share the worst seed counts.
func (s *score) measure(e contest.Event, seeds []uint64) (circumstances, error) {
	c := circumstances{event: e, slack: math.Inf(1), attainable: 1}
	for _, seed := range seeds {
		p, err := s.Prepared(e, seed)
		if err != nil {
			return c, err
		}
		x := p.Statistics
		if x.Slack.Ratio.Known {
			c.slack = min(c.slack, x.Slack.Ratio.Value)
		}
		c.attainable = min(c.attainable, 1-x.Slack.Longer)
		c.workers += x.Workers.Value / float64(len(seeds))
		// A burst has no length to divide its work by.
		c.burst = c.burst || !x.Workers.Known
	}
	return c, nil
}

// sorted measures the scenarios of a part, and returns first those in which a launch saves a message, then the others.
func (s *score) sorted(part string) (rescuable, others []circumstances, err error) {
	for _, x := range s.scenarios[part] {
		c, err := s.measure(contest.Told(contest.Scenario(x)), s.seeds)
		if err != nil {
			return nil, nil, err
		}
		if c.slack > 0 {
			rescuable = append(rescuable, c)
		} else {
			others = append(others, c)
		}
	}
	return rescuable, others, nil
}

// load renders the load, in busy workers.
func (c circumstances) load() string {
	if c.burst {
		return "one burst"
	}
	return report.Number(c.workers)
}

// attempt combines the figures of the policy with the circumstances they are judged by.
func (c circumstances) attempt(f arena.Figure) attempt {
	return attempt{event: c.event.Name, workers: c.workers, burst: c.burst, least: f.InTimeLeast, mean: f.InTimeMean,
		ratio: f.RatioMean}
}

// pairs returns requests for the policy on each of the events.
func pairs(all []circumstances) []arena.Request {
	var requests []arena.Request
	for _, c := range all {
		requests = append(requests, arena.Request{Event: c.event, Contender: arena.Ours()})
	}
	return requests
}

// toldNothing plays the untold policy on the events of earlier runs. The traces are the same, so the limits are taken
// from there.
func (s *score) toldNothing(all []circumstances, seeds []uint64, before [][]arena.Outcome) ([]arena.Figure, error) {
	var events []contest.Event
	for _, c := range all {
		events = append(events, untold(c.event))
	}
	figures, _, err := s.Alike(events, seeds, before)
	return figures, err
}

// untold returns an event in which nothing is stated beforehand.
func untold(e contest.Event) contest.Event {
	e.TellMean, e.TellBoot, e.Prior, e.BootPrior = false, false, 0, 0
	e.Name += ", told nothing"
	return e
}
