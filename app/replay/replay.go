package replay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/advice"
	"github.com/muster-scale/muster/app/simulation"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy"
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
	// Others are other autoscalers to compare with. Bound computes the lower bound of the cost. With OthersOnly the
	// runs of the fleet itself are left out, and what was recorded: a page shows those first, and asks for the rest
	// then.
	Others     []string `json:"others"`
	Bound      bool     `json:"bound"`
	OthersOnly bool     `json:"others_only"`
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
	w, cut, err := window(ctx, h, plan.present.Name, r)
	if err != nil {
		return Found{}, err
	}
	if err := plan.prepare(w); err != nil {
		return Found{}, err
	}
	was, unknown := asItWas(w.Past, w.To.Sub(w.From), plan.present)
	found := Found{Fleet: plan.present.Name, From: w.From, To: w.To, Messages: w.Messages, YAML: plan.yaml,
		ObjectiveSeconds: plan.present.Objective.Latency.Seconds(), Quantile: plan.present.Objective.Quantile,
		Notes: slices.Concat(w.Notes(), unknown, plan.missing)}
	if cut {
		found.Notes = append([]string{fmt.Sprintf("only the newest part of the window is replayed, because it has "+
			"more than %d messages", MaxMessages)}, found.Notes...)
	}
	all := variants.Plan{Variants: plan.entries, Span: w.To.Sub(w.From), Bound: r.Bound, Parallel: parallel, Done: done}
	if r.OthersOnly {
		all.Skip = len(plan.entries) - len(plan.others)
	}
	runs, bound, err := all.Play(ctx)
	if !r.OthersOnly {
		runs = append([]Run{was}, runs...)
	}
	found.Runs, found.Bound = runs, bound
	return found, err
}

// window reads what was recorded, at most MaxMessages messages of it: the newest. Then cut is true. The time before the
// first record and after the last one is left out.
func window(ctx context.Context, h History, fleet string, r Request) (w recorded.Window, cut bool, err error) {
	if w, err = recorded.Read(ctx, h, fleet, r.From, r.To); err == nil {
		w = w.Trimmed()
		cut = w.Messages > MaxMessages
		w, err = recorded.Newest(ctx, h, w, MaxMessages)
	}
	if err == nil && w.Messages < leastMessages {
		err = fmt.Errorf("replay fleet %s: found %s from %s to %s, at least %d are needed; name another window",
			fleet, render.Plural(int(w.Messages), "recorded message"), r.From.UTC().Format(time.RFC3339),
			r.To.UTC().Format(time.RFC3339), leastMessages)
	}
	return w, cut, err
}

// Check returns what is wrong with a request; nil if nothing is. It reads no history. Errors are marked as misuse.
func Check(c *config.Config, r Request) error {
	_, err := newPlan(c, r)
	return err
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
	if span := r.To.Sub(r.From); span < time.Minute || span > MaxWindow {
		return p, misuse.Setting("window", "found %s, allowed is 1m to %s", render.Rounded(span),
			advice.Text(MaxWindow))
	}
	at, err := simulation.FleetOf(c, r.Fleet)
	if err != nil {
		return p, err
	}
	p.present = c.Fleets[at]
	others := r.Others
	ours := r.Policy
	if r.Policy != "" && !slices.Contains(policy.Names(), r.Policy) {
		x, err := contest.Find(r.Policy)
		switch {
		case err != nil:
			return p, misuse.Setting("policy", "%w", err)
		case x.Peer:
			others, ours = append([]string{r.Policy}, others...), ""
		}
	}
	if len(others) > MaxOthers {
		return p, misuse.Errorf("found %d other autoscalers, at most %d are allowed", len(others), MaxOthers)
	}
	for i, name := range others {
		if slices.Contains(others[:i], name) {
			continue
		}
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

// note adds a remark on what the replay lacks, once.
func (p *plan) note(text string) {
	if !slices.Contains(p.missing, text) {
		p.missing = append(p.missing, text)
	}
}

// prepare makes the entries from what was recorded.
func (p *plan) prepare(w recorded.Window) error {
	t, err := w.Trace(recorded.Options{Seed: variants.Seed, Mean: p.present.Policy.Processing})
	if err == nil {
		t, err = inMemory(t, w.Messages)
	}
	if err != nil {
		return err
	}
	if d := w.Uncounted(); d >= time.Minute {
		p.note(fmt.Sprintf("the worker-hours of the runs include the %s in which arrivals were not counted",
			render.Rounded(d)))
	}
	add := func(kind string, f config.Fleet) error {
		boot := p.bootOf(w, f)
		e, who, missing, err := simulation.OfFleet(f, t, simulation.Circumstances{Start: w.From, Boot: boot})
		if err != nil {
			return err
		}
		// A fleet is paid for in the window: also after its last message, and not for what it keeps until later.
		e.World.Length, e.World.Tail = w.To.Sub(w.From), time.Nanosecond
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

// bootOf returns the measured boot time of members; zero takes the stated one. A change of the stated one asks what
// another boot time would come to.
func (p *plan) bootOf(w recorded.Window, f config.Fleet) time.Duration {
	if w.Boots.Count == 0 || f.Workers.Boot != p.present.Workers.Boot {
		return 0
	}
	boot := time.Duration(w.Boots.SumSeconds / float64(w.Boots.Count) * float64(time.Second))
	is, stated := render.Seconds(boot.Seconds()), render.Seconds(f.Workers.Boot.Seconds())
	if is != stated {
		p.note(fmt.Sprintf("workers boot in %s, as was measured, and not in the stated %s", is, stated))
	}
	return boot
}
