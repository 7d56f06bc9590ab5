package box

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/worlds"
	"github.com/muster-scale/muster/tools/score/arena"
	"github.com/muster-scale/muster/tools/score/report"
)

// The runs: all contenders in all worlds, with a time limit each, and lower bounds and oracles where they can be
// computed. Worlds are played one after the other in as many turns as the arena has, so that few traces are in memory.

const (
	// mostPerRun is how long a run of the policy in a drawn world may take, mostPerBaseline one of a baseline. A longer
	// one counts as not answered. Baselines have more time, because their speed is not judged: a baseline that is left
	// out cannot be regretted.
	mostPerRun, mostPerBaseline = time.Minute, 10 * time.Minute
	// mostForOracle bounds the messages of a world for which the schedule of an oracle is computed.
	mostForOracle = 20_000
)

// errUnanswered means that a run took longer than it may. It is a result and stops nothing.
var errUnanswered = errors.New("the run was not answered in time")

// Baselines are the contenders that the policy is compared with in drawn worlds: other autoscalers at their defaults,
// and the policy exact. [worlds.Reference] is always among them.
func (b *Box) Baselines() ([]contest.Contender, error) {
	all := slices.Clone(b.Peers)
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

// Play plays the worlds, judges the results and returns the section of the page. It takes hours for 300 worlds, and
// minutes where a file has what the baselines did.
func (b *Box) Play() (report.Section, error) {
	baselines, err := b.Baselines()
	if err != nil {
		return report.Section{}, err
	}
	all, tuned, err := b.playAll(baselines)
	if err != nil {
		return report.Section{}, err
	}
	for i := range all {
		all[i].leaveOutUndone()
	}
	named, err := b.playNamed()
	if err != nil {
		return report.Section{}, err
	}
	// Two comparisons in the mean: the reference at its default, and at its best setting for all worlds.
	means := []beside{
		{what: fmt.Sprintf("`%s` at its default", worlds.Reference)},
		{what: fmt.Sprintf("`%s` at %g, which is best for the whole box", worlds.Reference, tuned.Value)},
	}
	// The tuned reference takes part in the mean only: no user tunes a baseline for the worlds to come.
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
	found := report.Section{About: b.aboutBox(tuned)}
	found.Goals = append(judgeRegret(all), judgeSettled(all))
	found.Goals = append(append(found.Goals, judgeCheap(all)...), judgeBoots(all))
	found.Goals = append(append(found.Goals, judgeMeans(means)...), judgeNamed(named))
	found.Goals = append(found.Goals, judgeAnswers(all)...)
	found.Tables = []report.Table{distributions(all), baselineTable(all, baselines), worstTable(all), namedTable(named)}
	found.Notes = append(boxNotes(all), b.notes...)
	return found, nil
}

// aboutBox is the text above the goals.
func (b *Box) aboutBox(tuned contest.Contender) string {
	return fmt.Sprintf(
		"%d worlds, %s. [simulation.md](simulation.md#worlds-drawn-at-random) states the distribution; `muster "+
			"worlds --numbers N` plays one of them. `deadline` and each baseline "+
			"play every world %s, each baseline at its default; the baselines are those of "+
			"[peers.md](peers.md) and the policy `exact`. A world has slack where a launch saves a message that is "+
			"already there. The loss is the worker-seconds and the price of the messages that are late beyond the "+
			"permitted share. `%s` also plays with the setting that is best for the whole box: its %s is %g, which "+
			"has the least loss, geometric mean, in the worlds %d to %d. Those are not judged. "+
			"[quality-worlds.tsv](quality-worlds.tsv) has what each other policy did in each world, and the lower "+
			"bounds.",
		len(b.Numbers),
		b.DrawnFrom,
		b.timesPlayed(),
		worlds.Reference,
		tuned.Setting,
		tuned.Value,
		firstTuning,
		lastTuning,
	)
}

// timesPlayed says how often each world is played.
func (b *Box) timesPlayed() string {
	if b.Draws > 1 {
		return fmt.Sprintf("%d times, with other arrivals, durations and faults of the same distributions, and the "+
			"mean counts", b.Draws)
	}
	return "once"
}

// leaveOut removes a baseline from the others.
func (d *drawn) leaveOut(name string) {
	d.others = slices.DeleteFunc(d.others, func(o worlds.Outcome) bool { return o.Policy == name })
}

// tunedReference returns the baseline [worlds.Reference] at the setting that has the least geometric mean of the loss
// in the worlds for tuning. A world counts where every setting answers. The mean is geometric, so that a world with
// long work does not decide alone.
func (b *Box) tunedReference() (contest.Contender, error) {
	c, err := contest.Find(worlds.Reference)
	if err != nil {
		return c, err
	}
	var field []contest.Contender
	for _, v := range c.Sweep {
		// Every setting of its sweep is tried.
		field = append(field, c.With(v))
	}
	b.Say("   tunes %s on %d worlds", c.Name, len(b.Tuning))
	all, err := b.playOthers(b.Tuning, field)
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
		// Every setting is averaged over the same worlds.
		if mean := worlds.GeometricMean(losses); i == 0 || mean < least {
			best, least = x, mean
		}
	}
	return best, nil
}

// playOthers plays contenders in worlds, without the policy, bounds and oracles.
func (b *Box) playOthers(numbers []uint64, others []contest.Contender) ([]drawn, error) {
	const once = 1 // tuning asks for the mean over many worlds alone
	return b.inWorlds(numbers, once, func(w worlds.World, p contest.Prepared) (drawn, error) {
		d := drawnOf(w)
		return d, b.playEach(&d, w, p, others)
	})
}

// playDrawn plays the policy in worlds. It plays the others and measures the world where neither is known.
func (b *Box) playDrawn(
	numbers []uint64, ours contest.Contender, others []contest.Contender, known map[uint64]published,
) ([]drawn, error) {
	return b.inWorlds(numbers, b.Draws, func(w worlds.World, p contest.Prepared) (drawn, error) {
		d := drawnOf(w)
		o, err := b.playWithin(w, p, ours, mostPerRun)
		if err == nil {
			d.ours = &o
		} else if !errors.Is(err, errUnanswered) {
			return d, err
		}
		if _, ok := known[w.Number]; ok {
			return d, nil
		}
		if err := b.playEach(&d, w, p, others); err != nil {
			return d, err
		}
		return d, b.measureDrawn(&d, w, p)
	})
}

// drawnOf is a world without outcomes.
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

// inWorlds calls play for each repetition of each world when it is its turn, so that few traces are in memory at a
// time. A world is the mean of its repetitions. The first error stops the worlds that have not begun.
func (b *Box) inWorlds(
	numbers []uint64, times int, play func(worlds.World, contest.Prepared) (drawn, error),
) ([]drawn, error) {
	all := make([]drawn, len(numbers))
	ctx, stop := context.WithCancelCause(b.Ctx)
	defer stop(nil)
	err := arena.Each(len(numbers), func(i int) error {
		done, err := b.Turn()
		defer done()
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		var draws []drawn
		for k := range max(1, times) {
			w := b.Draw(numbers[i]).Repeat(k)
			p, err := worlds.Prepare(w)
			var d drawn
			if err == nil {
				d, err = play(w, p)
			}
			if err != nil {
				stop(err) // the other worlds take hours
				return err
			}
			draws = append(draws, d)
		}
		all[i] = meanOf(draws)
		return nil
	})
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return all, err
}

// playEach plays each of the others in a world, or takes the result from the cache. A contender that did not answer is
// noted and is no competitor there.
func (b *Box) playEach(d *drawn, w worlds.World, p contest.Prepared, others []contest.Contender) error {
	// The key of the cache holds the world as it is drawn today: the same number may mean another world tomorrow.
	digest, err := w.Digest(p)
	if err != nil {
		return err
	}
	for _, c := range others {
		play := func() (worlds.Outcome, error) { return b.playWithin(w, p, c, mostPerBaseline) }
		var o worlds.Outcome
		// Without a fingerprint nothing may be taken from the cache.
		if b.Print == "" {
			o, err = play()
		} else {
			o, err = b.DrawnRuns.Get(fmt.Sprintf("%s %s %d %s", b.Print, arena.Described(c), w.Number, digest), play)
		}
		// Errors are not kept in the cache, so it is tried again next time.
		if errors.Is(err, errUnanswered) {
			d.unanswered = append(d.unanswered, c.Name)
			continue
		}
		if err != nil {
			return err
		}
		d.others = append(d.others, o)
	}
	return nil
}

// playWithin plays one contender in a world, and returns errUnanswered when that takes longer than most. Now and then
// it writes the caches.
func (b *Box) playWithin(
	w worlds.World, p contest.Prepared, c contest.Contender, most time.Duration,
) (worlds.Outcome, error) {
	ctx, stop := context.WithTimeout(b.Ctx, most)
	defer stop()
	o, err := worlds.Play(ctx, w, p, c)
	// The run's own limit was reached, and not the end of everything.
	if ctx.Err() != nil && b.Ctx.Err() == nil {
		err = errUnanswered
	}
	if b.Count(fmt.Sprintf("%s in world %d", c.Name, w.Number)) {
		if err := b.KeepAll(); err != nil { // a run that is stopped keeps what was played
			b.Say("   what was played is not kept: %v", err)
		}
	}
	return o, err
}

// measureDrawn computes the lower bound of a world, and where it has slack the schedule of an oracle. Neither failing
// to compute one stops the part: the note says what is missing.
func (b *Box) measureDrawn(d *drawn, w worlds.World, p contest.Prepared) error {
	// A world without a known bound has none of the goals of cost.
	bounds, err := b.Limits.Of(p)
	if err != nil {
		b.note("The lower bound of world %d is unknown: %v.", w.Number, err)
	}
	d.bound = bounds.Prescient.WorkerSeconds
	// A schedule for trees, or for so many messages, takes too long to find.
	if !d.slack || w.Shape == worlds.Trees || w.Messages > mostForOracle {
		return nil
	}
	key, err := arena.CircumstancesOf(p)
	if err != nil {
		return err
	}
	found, err := b.Oracles.Get(key, p.Schedule)
	if err != nil {
		b.note("The schedule of an oracle in world %d is unknown: %v.", w.Number, err)
		return nil
	}
	d.oracle = &oracle{float64(found.Launches), float64(found.Workers), found.Kept}
	return nil
}

// note adds a sentence to the notes of the part that is played.
func (b *Box) note(format string, args ...any) {
	b.noting.Lock()
	defer b.noting.Unlock()
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
}

// playNamed plays the policy in the named worlds, untold and told.
func (b *Box) playNamed() ([]namedRun, error) {
	seed := []uint64{worlds.NamedSeed}
	var untold []arena.Request
	var told []contest.Event
	for _, n := range b.Named {
		untold = append(untold, arena.Request{Event: n.Event, Contender: arena.Ours()})
		// The told run is shown and not judged.
		e := contest.Told(n.Event)
		e.Name += ", told the mean"
		told = append(told, e)
	}
	_, first, err := b.Figures(untold, seed, true)
	if err != nil {
		return nil, err
	}
	_, second, err := b.Alike(told, seed, first)
	if err != nil {
		return nil, err
	}
	var all []namedRun
	for i, n := range b.Named {
		all = append(all, namedRun{n, first[i][0], second[i][0]})
	}
	return all, nil
}

// KeepAll writes all caches.
func (b *Box) KeepAll() error { return errors.Join(b.Keep(), b.DrawnRuns.Write(), b.Oracles.Write()) }
