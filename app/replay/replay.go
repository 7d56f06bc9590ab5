package replay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/simulation"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/trace/recorded"
	"github.com/muster-scale/muster/sim/variants"
)

// The bounds of one replay.
const (
	// MaxMessages bounds the messages of a replay; a run takes a few microseconds for each.
	MaxMessages = 1_000_000
	// MaxOthers bounds the other autoscalers.
	MaxOthers = 4
	// MaxWindow bounds the window: the history keeps learned arrivals for weeks.
	MaxWindow = 60 * 24 * time.Hour
	// manyMessages is the number of messages from which the queue of a replay announces none.
	manyMessages = 100_000
	// leastMessages is how many messages a replay needs to say something.
	leastMessages = 10
	// parallel is how many runs are made at a time.
	parallel = 2
)

// Request says what to replay. The zero From and To are not allowed.
type Request struct {
	// Fleet is the name of a fleet; empty for the only one.
	Fleet string `json:"fleet"`
	// From and To bound the window of the history.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Policy is another policy: one of ours, or the rule of another autoscaler. Set are values of keys of the fleet, as
	// KEY=VALUE. Both may be empty; then only the present configuration is replayed.
	Policy string   `json:"policy"`
	Set    []string `json:"set"`
	// Others are other autoscalers to compare with. Bound computes the lower bound of the cost.
	Others []string `json:"others"`
	Bound  bool     `json:"bound"`
}

// Found is the result, as muster replay -o json prints it.
type Found = variants.Found

// Run is what one configuration or autoscaler came to.
type Run = variants.Run

// Bound is a lower bound of the cost.
type Bound = variants.Bound

// Curves are those of one run.
type Curves = variants.Curves

// History is the part of a history that a replay reads.
type History interface {
	Read(ctx context.Context, fleet string, since time.Time, yield func(muster.Record) bool) error
}

// Make replays. Errors about the request are marked as misuse. It ends early with the error of ctx. done, which may be
// nil, is called with the number of runs that are done.
func Make(ctx context.Context, h History, c *config.Config, r Request, done func(done, of int)) (Found, error) {
	plan, err := newPlan(c, r)
	if err != nil {
		return Found{}, err
	}
	w, err := window(ctx, h, plan.present.Name, r)
	if err != nil {
		return Found{}, err
	}
	if err := plan.prepare(w); err != nil {
		return Found{}, err
	}
	found := Found{Fleet: plan.present.Name, From: w.From, To: w.To, Messages: w.Messages, YAML: plan.yaml,
		ObjectiveSeconds: plan.present.Objective.Latency.Seconds(), Quantile: plan.present.Objective.Quantile,
		Notes: append(w.Notes(), plan.missing...)}
	if w.From.After(r.From) {
		found.Notes = append([]string{fmt.Sprintf("only the newest part of the window is replayed, because it has "+
			"more than %d messages", MaxMessages)}, found.Notes...)
	}
	found.Runs, found.Bound, err = variants.Plan{Variants: plan.entries, Span: w.To.Sub(w.From), Bound: r.Bound,
		Parallel: parallel, Done: done}.Play(ctx)
	return found, err
}

// window reads what was recorded, at most MaxMessages messages of it: the newest.
func window(ctx context.Context, h History, fleet string, r Request) (recorded.Window, error) {
	if span := r.To.Sub(r.From); span < time.Minute || span > MaxWindow {
		return recorded.Window{}, misuse.Setting("window", "found %s, allowed is 1m to %s", span, MaxWindow)
	}
	w, err := recorded.Read(ctx, h, fleet, r.From, r.To)
	// Arrivals may be denser in the newest part, so it is shortened until it fits.
	for err == nil && w.Messages > MaxMessages {
		span := time.Duration(float64(w.To.Sub(w.From)) * 0.95 * MaxMessages / float64(w.Messages))
		if span < time.Minute {
			return w, fmt.Errorf("replay fleet %s: more than %d messages arrive in a minute; that is too much for a "+
				"replay", fleet, MaxMessages)
		}
		w, err = recorded.Read(ctx, h, fleet, w.To.Add(-span), w.To)
	}
	if err == nil && w.Messages < leastMessages {
		err = fmt.Errorf("replay fleet %s: %d messages were recorded from %s to %s, at least %d are needed; name "+
			"another window", fleet, w.Messages, r.From.Format(time.RFC3339), r.To.Format(time.RFC3339), leastMessages)
	}
	return w, err
}

// plan is what a request asks for.
type plan struct {
	request Request
	present config.Fleet
	// changed is nil without a change of the configuration.
	changed *config.Fleet
	yaml    string
	// others are the contenders of other autoscalers; the policy of the request comes first if it is one.
	others  []contest.Contender
	entries []variants.Variant
	missing []string
}

// newPlan checks a request, before anything is read.
func newPlan(c *config.Config, r Request) (p plan, err error) {
	p.request = r
	if p.present, err = fleetOf(c, r.Fleet); err != nil {
		return p, err
	}
	others := r.Others
	ours := r.Policy
	if r.Policy != "" {
		x, err := contest.Find(r.Policy)
		if err == nil && x.Peer {
			others, ours = append([]string{r.Policy}, others...), ""
		}
	}
	if len(others) > MaxOthers {
		return p, misuse.Errorf("found %d other autoscalers, at most %d are allowed", len(others), MaxOthers)
	}
	for _, name := range others {
		x, err := contest.Find(name)
		if err != nil {
			return p, misuse.Wrap(err)
		}
		p.others = append(p.others, x)
	}
	if ours == "" && len(r.Set) == 0 {
		return p, nil
	}
	changed, text, err := Changed(c, p.present.Name, ours, r.Set)
	if err != nil {
		return p, err
	}
	p.yaml = text
	i := slices.IndexFunc(changed.Fleets, func(f config.Fleet) bool { return f.Name == p.present.Name })
	if i < 0 {
		return p, misuse.Errorf("the name of a fleet cannot be changed in a replay")
	}
	p.changed = &changed.Fleets[i]
	return p, nil
}

// fleetOf returns the named fleet, or the only one.
func fleetOf(c *config.Config, name string) (config.Fleet, error) {
	var names []string
	for _, f := range c.Fleets {
		if f.Name == name || name == "" && len(c.Fleets) == 1 {
			return f, nil
		}
		names = append(names, f.Name)
	}
	if name == "" {
		return config.Fleet{}, misuse.Errorf("name a fleet; there is %s", misuse.Names(names, len(names)))
	}
	return config.Fleet{}, misuse.Errorf("there is no fleet %q; there is %s", name, misuse.Names(names, len(names)))
}

// note adds a remark on what the replay lacks, once.
func (p *plan) note(text string) {
	if !slices.Contains(p.missing, text) {
		p.missing = append(p.missing, text)
	}
}

// prepare makes the entries from what was recorded.
func (p *plan) prepare(w recorded.Window) error {
	t, err := w.Trace(recorded.Options{Seed: variants.Seed, Mean: p.present.Policy.Processing})
	if err != nil {
		return err
	}
	add := func(kind string, f config.Fleet) error {
		e, who, missing, err := simulation.OfFleet(f, t, simulation.Circumstances{Start: w.From})
		if err != nil {
			return err
		}
		for _, what := range missing {
			p.note("not simulated: " + what)
		}
		if text := variants.Calm(&e, w.Messages, manyMessages, f.Objective); text != "" {
			p.note(text)
		}
		p.entries = append(p.entries, variants.Variant{Kind: kind, Event: e, Who: who})
		return nil
	}
	if err := add(variants.Present, p.present); err != nil {
		return err
	}
	if p.changed != nil {
		if err := add(variants.Changed, *p.changed); err != nil {
			return misuse.Wrap(err)
		}
	}
	for _, x := range p.others {
		p.entries = append(p.entries, variants.Variant{Kind: variants.Other, Event: p.entries[0].Event,
			Who: x})
	}
	return nil
}
