package guard

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// Facts are what a controller knows of a fleet at a time.
type Facts struct {
	Fleet string
	// At is the time of the question. The observation may be up to Stale older.
	At time.Time
	// Sized is true while a controller sizes the fleet and has read it at least once. Trouble says why it does not.
	Sized   bool
	Trouble string
	// Observation and Decision are those of the newest step.
	Observation muster.Observation
	Decision    muster.Decision
	// Logs is what is known of the log of the workers.
	Logs Logs
	// LogQuiet is how long the log must have been silent; zero means [DefaultLogQuiet].
	LogQuiet time.Duration
	// Stale is the age at which the observation is too old to judge by; zero means the larger of ten polls and
	// [DefaultStale].
	Stale time.Duration
}

// The defaults of [Facts].
const (
	DefaultLogQuiet = 30 * time.Second
	DefaultStale    = time.Minute
)

// measuredWithin is the age at which a count of messages is too old to judge by, unless three polls are longer. Some
// sources poll rarely while their queue is quiet: wake them before the question.
const measuredWithin = 30 * time.Second

// Logs is what is known of the log of a fleet's workers.
type Logs struct {
	// Kept is false for a fleet whose log is not kept where the question is asked: the check then does not count.
	Kept bool
	// LastAt is the time of the newest line; zero if there is none.
	LastAt time.Time
	// Failure says why the log cannot be read; empty if it can.
	Failure string
}

// Judgement is the answer for one fleet.
type Judgement struct {
	Fleet string    `json:"fleet"`
	At    time.Time `json:"at"`
	// Quiet is true if no check is busy.
	Quiet bool `json:"quiet"`
	// Checks are all checks, in the order of the package's documentation.
	Checks []Check `json:"checks"`
}

// Check is one check with its result.
type Check struct {
	// Name is control, scaling, workers, work or logs.
	Name string `json:"name"`
	// Busy is true if the check speaks against a deployment now. Unknown is true if it does so because something is
	// unknown.
	Busy    bool `json:"busy"`
	Unknown bool `json:"unknown,omitzero"`
	// Evidence says in words what was found, with numbers.
	Evidence string `json:"evidence"`
}

// Judge judges whether a fleet is quiet.
func Judge(f Facts) Judgement {
	j := Judgement{Fleet: f.Fleet, At: f.At, Quiet: true}
	j.Checks = append(j.Checks, control(f))
	if !j.Checks[0].Busy {
		j.Checks = append(j.Checks, scaling(f), workers(f), work(f))
	}
	j.Checks = append(j.Checks, logs(f))
	for _, c := range j.Checks {
		j.Quiet = j.Quiet && !c.Busy
	}
	return j
}

// Sentence describes the judgement in one sentence: the busy checks with their evidence.
func (j Judgement) Sentence() string {
	var why []string
	for _, c := range j.Checks {
		if c.Busy {
			why = append(why, c.Evidence)
		}
	}
	if len(why) == 0 {
		return j.Fleet + " is quiet"
	}
	return j.Fleet + " is busy: " + strings.Join(why, "; ")
}

// control checks that the state of the fleet is known at all. Without it, the other checks would judge old numbers.
func control(f Facts) Check {
	c := Check{Name: "control", Evidence: "the fleet is sized, and its state is recent"}
	o := f.Observation
	if !f.Sized || o.At.IsZero() {
		c.Busy, c.Unknown = true, true
		c.Evidence = cmp.Or(f.Trouble, "the fleet was not read yet")
		return c
	}
	most := cmp.Or(f.Stale, max(10*o.Poll, DefaultStale))
	if age := f.At.Sub(o.At); age > most {
		c.Busy, c.Unknown = true, true
		c.Evidence = fmt.Sprintf("the newest observation is %s old, at most %s is allowed",
			render.Seconds(age.Seconds()), render.Seconds(most.Seconds()))
	} else if f.Trouble != "" {
		c.Busy, c.Evidence = true, f.Trouble
	} else if f.Decision.Verdict == muster.Shadow {
		c.Evidence = "another system sizes the fleet, and its state is recent"
	}
	return c
}

// scaling checks that the size does not change. Lost workers are unknown: they may still work.
func scaling(f Facts) Check {
	c, k := Check{Name: "scaling"}, f.Observation.Capacity
	if !k.Known {
		c.Busy, c.Unknown, c.Evidence = true, true, "the members are unknown: "+k.Reason
		return c
	}
	var moves []string
	add := func(n int, text string) {
		if n > 0 {
			moves = append(moves, fmt.Sprintf("%d %s", n, text))
		}
	}
	add(k.Ordered, "ordered")
	add(k.Booting, "booting")
	add(k.Draining, "draining")
	add(k.Released, "about to end")
	add(k.Lost, "lost")
	if d := f.Decision; d.Verdict == muster.Apply && d.Desired != d.Previous {
		moves = append(moves, fmt.Sprintf("the size changes from %d to %d", d.Previous, d.Desired))
	}
	if len(moves) > 0 {
		c.Busy, c.Unknown = true, k.Lost > 0
		c.Evidence = "scaling is in progress: " + strings.Join(moves, ", ")
		return c
	}
	v := f.Decision.Verdict
	if v != muster.Delegate && v != muster.Shadow && k.Active() != f.Decision.Desired {
		c.Busy = true
		c.Evidence = fmt.Sprintf("scaling is in progress: %d desired, %d active", f.Decision.Desired, k.Active())
		return c
	}
	c.Evidence = fmt.Sprintf("the size is steady at %s", render.Plural(k.Active(), "worker"))
	return c
}

// workers checks that no worker has a message in progress.
func workers(f Facts) Check {
	c, k := Check{Name: "workers"}, f.Observation.Capacity
	switch {
	case !k.Known:
		c.Busy, c.Unknown, c.Evidence = true, true, "the state of the workers is unknown: "+k.Reason
	case k.Unreported && !f.Observation.InFlight().Known:
		c.Busy, c.Unknown = true, true
		c.Evidence = "the workers do not report, and the number of messages in flight is " +
			f.Observation.InFlight().String()
	case k.Busy > 0 || k.BusySlots > 0:
		c.Busy = true
		c.Evidence = fmt.Sprintf("%s busy with %s", isAre(k.Busy, "worker"), render.Plural(k.BusySlots, "message"))
		if k.HeldMeanSeconds > 0 {
			c.Evidence += fmt.Sprintf(", for %s on average", render.Seconds(k.HeldMeanSeconds))
		}
	default:
		c.Evidence = "no worker is busy"
	}
	return c
}

// work checks that no work is unreleased: no message waits, is in flight or waits for retry, and no tree runs.
func work(f Facts) Check {
	c, o := Check{Name: "work"}, f.Observation
	var there, unknown, aside []string
	within := max(measuredWithin, 3*o.Poll)
	for i := range o.Queues {
		q := &o.Queues[i]
		for _, s := range []struct {
			sample   muster.Sample
			text     string
			required bool
		}{
			{q.Backlog, "in the backlog", true}, {q.InFlight, "in flight", true},
			// Many sources cannot count delayed messages. Such a message needs no worker yet.
			{q.Delayed, "delayed", false},
		} {
			s.sample = s.sample.Fresh(f.At, within)
			switch {
			case s.sample.Known && s.sample.Value > 0:
				there = append(there, fmt.Sprintf("%s %s of %s", render.Number(s.sample.Value), s.text, q.Queue))
			case !s.sample.Known && s.required:
				unknown = append(unknown, fmt.Sprintf("the number %s of %s is %s", s.text, q.Queue, s.sample))
			case !s.sample.Known:
				aside = append(aside, q.Queue)
			}
		}
	}
	if e := o.Expected; e != nil && !e.Known {
		unknown = append(unknown, "the running trees are unknown: "+e.Reason)
	} else if e != nil {
		there = append(there, fmt.Sprintf("%s with %s open nodes", runs(e.Trees, "tree"), render.Number(e.Open)))
	}
	if n := o.Progress.Value().Retrying; n.Known && n.Value > 0 {
		there = append(there, render.Number(n.Value)+" waiting for retry")
	}
	switch {
	case len(there)+len(unknown) > 0:
		c.Busy, c.Unknown = true, len(unknown) > 0
		c.Evidence = "work is unreleased: " + strings.Join(append(there, unknown...), ", ")
	case len(o.Queues) == 0:
		c.Evidence = "the fleet has no queue; its workers report all work"
	default:
		c.Evidence = "no message waits or is in flight"
	}
	if len(aside) > 0 {
		c.Evidence += "; delayed messages are not counted: " + strings.Join(aside, ", ")
	}
	return c
}

// logs checks that the workers have been silent for some time.
func logs(f Facts) Check {
	c := Check{Name: "logs"}
	quiet := cmp.Or(f.LogQuiet, DefaultLogQuiet)
	age := f.At.Sub(f.Logs.LastAt)
	switch {
	case f.Logs.Failure != "":
		c.Busy, c.Unknown, c.Evidence = true, true, "the log of the workers cannot be read: "+f.Logs.Failure
	case !f.Logs.Kept:
		c.Evidence = "the log of the workers is not kept here"
	case f.Logs.LastAt.IsZero():
		c.Evidence = "the log of the workers is empty"
	case age < quiet:
		c.Busy = true
		c.Evidence = fmt.Sprintf("the workers wrote to their log %s ago, quiet is %s",
			render.Seconds(max(0, age.Round(time.Second).Seconds())), render.Seconds(quiet.Seconds()))
	default:
		c.Evidence = fmt.Sprintf("the last line of the log is %s old", render.Seconds(age.Round(time.Second).Seconds()))
	}
	return c
}

// isAre writes a number of things with its verb, as in "1 worker is".
func isAre(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return fmt.Sprintf("%d %ss are", n, noun)
}

// runs writes a number of things that run.
func runs(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " runs"
	}
	return fmt.Sprintf("%d %ss run", n, noun)
}
