package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/worlds"
)

const (
	// mostPerRun is how long one run in a drawn world may take; a longer one counts as not answered.
	mostPerRun = time.Minute
	// mostForOracle bounds the messages of a world for which the schedule of an oracle is computed.
	mostForOracle = 20_000
)

var errUnanswered = errors.New("the run was not answered in time")

// baselines are the contenders that the policy is judged beside in drawn worlds: other autoscalers at their defaults,
// and the policy exact.
func (s *score) baselines() ([]contest.Contender, error) {
	all := slices.Clone(s.peers)
	for _, name := range []string{"exact", worlds.Reference} {
		c, err := contest.Find(name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(o contest.Contender) bool { return o.Name == name }) {
			all = append(all, c)
		}
	}
	return all, nil
}

// box is the part of worlds drawn at random.
func (s *score) box() (section, error) {
	baselines, err := s.baselines()
	if err != nil {
		return section{}, err
	}
	tuned, err := s.tunedReference()
	if err != nil {
		return section{}, err
	}
	s.say("   plays %d worlds", len(s.numbers))
	others := slices.Clone(baselines)
	if tuned.Name != worlds.Reference {
		others = append(others, tuned)
	}
	all, err := s.playDrawn(s.numbers, ours(), others)
	if err != nil {
		return section{}, err
	}
	named, err := s.playNamed()
	if err != nil {
		return section{}, err
	}
	means := []beside{
		{what: fmt.Sprintf("`%s` at its default", worlds.Reference)},
		{what: fmt.Sprintf("`%s` at %g, which is best for the whole box", worlds.Reference, tuned.Value)},
	}
	for i := range all {
		for k, name := range []string{worlds.Reference, tuned.Name} {
			if o := all[i].other(name); all[i].ours != nil && o != nil {
				means[k].ratios = append(means[k].ratios, all[i].ours.Loss/o.Loss)
			}
		}
		if tuned.Name != worlds.Reference {
			all[i].leaveOut(tuned.Name) // it is judged by the mean alone
		}
	}
	found := section{about: s.aboutBox(tuned)}
	found.goals = append(judgeRegret(all), judgeSettled(all))
	found.goals = append(append(found.goals, judgeCheap(all)...), judgeBoots(all))
	found.goals = append(append(found.goals, judgeMeans(means)...), judgeNamed(named))
	found.goals = append(found.goals, judgeAnswers(all)...)
	found.tables = []table{distributions(all), baselineTable(all, baselines), worstTable(all), namedTable(named)}
	found.notes = append(boxNotes(all), s.notes...)
	return found, nil
}

func (s *score) aboutBox(tuned contest.Contender) string {
	return fmt.Sprintf(
		"%d worlds, %s. [simulation.md](simulation.md#worlds-drawn-at-random) states the distribution; `muster "+
			"worlds --numbers N` plays one of them. `deadline` and each baseline "+
			"play every world once, each baseline at its default; the baselines are those of [peers.md](peers.md) "+
			"and the policy `exact`. A world has slack where a launch saves a message that "+
			"is already there. The loss is the worker-seconds and the price of the messages that are late beyond "+
			"the share that may be. `%s` also stands at the setting that "+
			"is best for the whole box: its %s is %g, which has the least loss, geometric mean, in the worlds %d "+
			"to %d. Those are not judged.",
		len(s.numbers),
		s.drawnFrom,
		worlds.Reference,
		tuned.Setting,
		tuned.Value,
		firstTuning,
		lastTuning,
	)
}

// leaveOut takes a baseline out of the others.
func (d *drawn) leaveOut(name string) {
	d.others = slices.DeleteFunc(d.others, func(o worlds.Outcome) bool { return o.Policy == name })
}

// tunedReference returns the baseline [worlds.Reference] at the setting that has the least geometric mean of the loss
// in the worlds for tuning. A world counts where every setting answers.
func (s *score) tunedReference() (contest.Contender, error) {
	c, err := contest.Find(worlds.Reference)
	if err != nil {
		return c, err
	}
	var field []contest.Contender
	for _, v := range c.Sweep {
		field = append(field, c.With(v))
	}
	s.say("   tunes %s on %d worlds", c.Name, len(s.tuning))
	all, err := s.playOthers(s.tuning, field)
	if err != nil {
		return c, err
	}
	best, least := c, 0.0
	for i, x := range field {
		var losses []float64
		for _, d := range all {
			if len(d.others) == len(field) {
				losses = append(losses, d.others[i].Loss)
			}
		}
		if mean := worlds.GeometricMean(losses); i == 0 || mean < least {
			best, least = x, mean
		}
	}
	return best, nil
}

// playOthers plays contenders in worlds, without the policy, bounds and oracles.
func (s *score) playOthers(numbers []uint64, others []contest.Contender) ([]drawn, error) {
	return s.inWorlds(numbers, func(w worlds.World, p contest.Prepared) (drawn, error) {
		d := drawnOf(w)
		return d, s.playEach(&d, w, p, others)
	})
}

// playDrawn plays the policy and the others in worlds.
func (s *score) playDrawn(numbers []uint64, ours contest.Contender, others []contest.Contender) ([]drawn, error) {
	return s.inWorlds(numbers, func(w worlds.World, p contest.Prepared) (drawn, error) {
		d := drawnOf(w)
		o, err := s.playWithin(w, p, ours)
		if err == nil {
			d.ours = &o
		} else if !errors.Is(err, errUnanswered) {
			return d, err
		}
		if err := s.playEach(&d, w, p, others); err != nil {
			return d, err
		}
		return d, s.measureDrawn(&d, w, p)
	})
}

func drawnOf(w worlds.World) drawn {
	return drawn{
		number:   w.Number,
		text:     w.String(),
		slack:    w.Slack() > 0,
		failing:  w.Failing(),
		binding:  w.Binding,
		load:     w.Load,
		quantile: w.Event.Objective.Quantile,
		boot:     w.Event.World.Boot.Average().Seconds(),
	}
}

// inWorlds calls play for each world when it is its turn, so that few traces are in memory at a time.
func (s *score) inWorlds(numbers []uint64, play func(worlds.World, contest.Prepared) (drawn, error)) ([]drawn, error) {
	all := make([]drawn, len(numbers))
	ctx, stop := context.WithCancelCause(s.ctx)
	defer stop(nil)
	err := each(len(numbers), func(i int) error {
		done, err := s.turn()
		defer done()
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		w := s.draw(numbers[i])
		p, err := worlds.Prepare(w)
		if err == nil {
			all[i], err = play(w, p)
		}
		if err != nil {
			stop(err) // the other worlds take hours
		}
		return err
	})
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return all, err
}

// playEach plays each of the others in a world, or takes what is kept of it.
func (s *score) playEach(d *drawn, w worlds.World, p contest.Prepared, others []contest.Contender) error {
	digest, err := w.Digest(p)
	if err != nil {
		return err
	}
	for _, c := range others {
		play := func() (worlds.Outcome, error) { return s.playWithin(w, p, c) }
		var o worlds.Outcome
		if s.boxPrint == "" {
			o, err = play()
		} else {
			o, err = s.drawnRuns.get(fmt.Sprintf("%s %s %d %s", s.boxPrint, described(c), w.Number, digest), play)
		}
		if errors.Is(err, errUnanswered) {
			d.unanswered = append(d.unanswered, c.Name)
			continue
		}
		if err != nil {
			return err
		}
		if d.leavesUndone(o) {
			d.undone = append(d.undone, c.Name)
			continue
		}
		d.others = append(d.others, o)
	}
	return nil
}

// playWithin plays one contender in a world, and returns errUnanswered when that takes too long.
func (s *score) playWithin(w worlds.World, p contest.Prepared, c contest.Contender) (worlds.Outcome, error) {
	ctx, stop := context.WithTimeout(s.ctx, mostPerRun)
	defer stop()
	o, err := worlds.Play(ctx, w, p, c)
	if ctx.Err() != nil && s.ctx.Err() == nil {
		err = errUnanswered
	}
	if s.count(fmt.Sprintf("%s in world %d", c.Name, w.Number)) {
		if err := s.keepFound(); err != nil { // a run that is stopped keeps what was played
			s.say("   what was played is not kept: %v", err)
		}
	}
	return o, err
}

// measureDrawn computes the lower bound of a world, and where it has slack the schedule of an oracle.
func (s *score) measureDrawn(d *drawn, w worlds.World, p contest.Prepared) error {
	bounds, err := s.limits.of(p)
	if err != nil {
		s.note("The lower bound of world %d is unknown: %v.", w.Number, err)
	}
	d.bound = bounds.Prescient.WorkerSeconds
	if !d.slack || w.Shape == worlds.Trees || w.Messages > mostForOracle {
		return nil
	}
	key, err := circumstancesOf(p)
	if err != nil {
		return err
	}
	oracle, err := s.oracles.get(key, p.Schedule)
	if err != nil {
		s.note("The schedule of an oracle in world %d is unknown: %v.", w.Number, err)
		return nil
	}
	d.oracle = &oracle
	return nil
}

// note adds a sentence to the notes of the part that is played.
func (s *score) note(format string, args ...any) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// playNamed plays the policy in the named worlds, told nothing and told the mean.
func (s *score) playNamed() ([]namedRun, error) {
	seed := []uint64{worlds.NamedSeed}
	var untold []request
	var told []contest.Event
	for _, n := range s.named {
		untold = append(untold, request{event: n.Event, contender: ours()})
		e := contest.Told(n.Event)
		e.Name += ", told the mean"
		told = append(told, e)
	}
	_, first, err := s.figures(untold, seed, true)
	if err != nil {
		return nil, err
	}
	_, second, err := s.alike(told, seed, first)
	if err != nil {
		return nil, err
	}
	var all []namedRun
	for i, n := range s.named {
		all = append(all, namedRun{n, first[i][0], second[i][0]})
	}
	return all, nil
}

// alike plays the policy on events whose traces are those of runs that were made before with the same seeds, and takes
// the lower bounds from there.
func (s *score) alike(events []contest.Event, seeds []uint64, before [][]outcome) ([]figure, [][]outcome, error) {
	var pairs []request
	for _, e := range events {
		pairs = append(pairs, request{event: e, contender: ours()})
	}
	_, runs, err := s.figures(pairs, seeds, false)
	if err != nil {
		return nil, nil, err
	}
	var all []figure
	for i := range runs {
		for k := range runs[i] {
			o, b := &runs[i][k], before[i][k]
			o.Clairvoyant, o.Method, o.boundCausal = b.Clairvoyant, b.Method, b.boundCausal
			if o.Clairvoyant > 0 {
				o.Ratio = o.WorkerSeconds / o.Clairvoyant
			}
		}
		all = append(all, sum(runs[i]))
	}
	return all, runs, nil
}

// toldNothing plays the policy with nothing stated beforehand on the events of runs that were made before.
func (s *score) toldNothing(all []circumstances, seeds []uint64, before [][]outcome) ([]figure, error) {
	var events []contest.Event
	for _, c := range all {
		events = append(events, untold(c.event))
	}
	figures, _, err := s.alike(events, seeds, before)
	return figures, err
}

// untold returns an event in which nothing is stated beforehand.
func untold(e contest.Event) contest.Event {
	e.TellMean, e.TellBoot, e.Prior, e.BootPrior = false, false, 0, 0
	e.Name += ", told nothing"
	return e
}
