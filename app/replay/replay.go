package replay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/advice"
	"github.com/muster-scale/muster/app/simulation"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace/recorded"
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
	// Its queue is polled once in a pollShare of the objective, or each longestPoll if that is sooner, but not faster
	// than the configuration says: a fleet that is sized so much later still has nearly all of the objective left.
	pollShare   = 20
	longestPoll = 5 * time.Second
	// points is how many values each curve of a run has at most.
	points = 300
	// leastMessages is how many messages a replay needs to say something.
	leastMessages = 10
	// parallel is how many runs are made at a time.
	parallel = 2
	// seed is that of all runs, so that the same history gives the same answer.
	seed = 1
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
type Found struct {
	Fleet string    `json:"fleet"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	// Messages is how many messages were replayed.
	Messages int64 `json:"messages"`
	// Objective and Quantile are those of the present configuration.
	ObjectiveSeconds float64 `json:"objective_s"`
	Quantile         float64 `json:"quantile"`
	// Notes say how the messages were reconstructed, and what is not simulated.
	Notes []string `json:"notes"`
	// Runs are what really happened, the present configuration, the changed one if there is one, and the others in the
	// order of the request.
	Runs []Run `json:"runs"`
	// Bound is a lower bound of the cost of any scheduler that meets the objective; absent if it was not asked for.
	Bound *Bound `json:"bound,omitzero"`
	// YAML is the changed fleet as a part of a configuration; empty without a change of it.
	YAML string `json:"yaml"`
}

// Run is what one configuration or autoscaler came to. A figure that is unknown is nil, and null in JSON.
type Run struct {
	// Name is the name of the policy. Kind is "recorded" for what really happened, "present", "changed" or "other".
	Name string `json:"name"`
	Kind string `json:"kind"`
	// InTime is the share of messages in time, and P50, P95 and P99 are quantiles of the time from sent to finished.
	InTime *float64 `json:"in_time"`
	P50    *float64 `json:"p50_s"`
	P95    *float64 `json:"p95_s"`
	P99    *float64 `json:"p99_s"`
	// WorkerHours is what is paid for. Cost is their price; nil without a price.
	WorkerHours *float64 `json:"worker_hours"`
	Cost        *float64 `json:"cost"`
	ScaleEvents *int     `json:"scale_events"`
	Launches    *int     `json:"launches"`
	PeakWorkers *int     `json:"peak_workers"`
	// Curves are nil for what really happened: the history has them.
	Curves *Curves `json:"curves"`
	// Failure says why the run is not possible; then no figure is known.
	Failure string `json:"failure,omitzero"`
}

// Bound is a lower bound of the cost.
type Bound struct {
	WorkerHours float64  `json:"worker_hours"`
	Cost        *float64 `json:"cost"`
	// Unreachable says that no scheduler at all meets the objective.
	Unreachable bool `json:"unreachable"`
}

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
		Notes: slices.Concat(w.Notes(), unknown, plan.missing), Runs: make([]Run, 1+len(plan.entries))}
	found.Runs[0] = was
	if cut {
		found.Notes = append([]string{fmt.Sprintf("only the newest part of the window is replayed, because it has "+
			"more than %d messages", MaxMessages)}, found.Notes...)
	}
	return found, plan.run(ctx, &found, done)
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

// entry is one run to make.
type entry struct {
	kind  string
	event contest.Event
	who   contest.Contender
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
	entries []entry
	missing []string
	// prepared is the recorded trace, measured once for all runs.
	prepared contest.Prepared
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
	t, err := w.Trace(recorded.Options{Seed: seed, Mean: p.present.Policy.Processing})
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
		if w.Messages > manyMessages && e.World.Wakes {
			// A step at every message costs four times as much as the message, and one at every second as much again.
			e.World.Wakes = false
			e.Poll = max(e.Poll, min(longestPoll, f.Objective.Latency/pollShare))
			p.note(fmt.Sprintf("with more than %d messages, the simulated queue does not announce messages: it is "+
				"polled every %s", manyMessages, render.Seconds(e.Poll.Seconds())))
		}
		p.entries = append(p.entries, entry{kind, e, who})
		return nil
	}
	if err := add("present", p.present); err != nil {
		return err
	}
	if p.changed != nil {
		if err := add("changed", *p.changed); err != nil {
			return misuse.Wrap(err)
		}
	}
	for _, x := range p.others {
		p.entries = append(p.entries, entry{"other", p.entries[0].event, x})
	}
	p.prepared, err = contest.Prepare(p.entries[0].event, seed)
	return err
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

// run makes the runs, two at a time, and the bound beside them.
func (p *plan) run(ctx context.Context, found *Found, done func(done, of int)) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(parallel)
	ended := make(chan struct{}, len(p.entries)+1)
	for i, e := range p.entries {
		all.Go(func() error {
			defer func() { ended <- struct{}{} }()
			run, err := e.run(ctx, p.prepared, found.To.Sub(found.From))
			found.Runs[1+i] = run
			return err
		})
	}
	if p.request.Bound {
		all.Go(func() (err error) {
			defer func() { ended <- struct{}{} }()
			found.Bound, err = p.bound()
			return err
		})
	}
	finished := make(chan error, 1)
	go func() { finished <- all.Wait() }()
	for n := 0; ; {
		select {
		case <-ended:
			if n++; done != nil {
				done(n, cap(ended))
			}
		case err := <-finished:
			return err
		}
	}
}

// run makes one run on the prepared trace. A policy that cannot run is a failure of the run, and no error.
func (e entry) run(ctx context.Context, prepared contest.Prepared, span time.Duration) (Run, error) {
	run := Run{Name: e.who.Name, Kind: e.kind}
	prepared.Event = e.event
	if err := e.who.Runnable(prepared.Event); err != nil {
		run.Failure = err.Error()
		return run, nil
	}
	curves := newCurves(span)
	result, err := prepared.Run(ctx, e.who, func(v sim.View) { curves.see(v) }, nil)
	if err == nil {
		err = contest.Broken([]scoring.Result{result})
	}
	if err != nil {
		return run, err
	}
	run.InTime, run.P50, run.P95, run.P99 = &result.InTimeRatio, &result.P50, &result.P95, &result.P99
	run.WorkerHours, run.ScaleEvents = new(result.WorkerSeconds/3600), &result.ScaleEvents
	run.Launches, run.PeakWorkers = &result.Launches, &result.PeakWorkers
	run.Curves = new(curves.ended())
	if e.event.World.PricePerHour > 0 {
		run.Cost = &result.Cost
	}
	return run, nil
}

// bound computes the lower bound for the present objective.
func (p *plan) bound() (*Bound, error) {
	prepared := p.prepared
	if err := prepared.Limit(); err != nil {
		return nil, err
	}
	strongest := prepared.Limits.Prescient
	b := &Bound{WorkerHours: strongest.WorkerSeconds / 3600, Unreachable: strongest.Unreachable}
	if price := p.entries[0].event.World.PricePerHour; price > 0 {
		cost := b.WorkerHours * price
		b.Cost = &cost
	}
	return b, nil
}
