package playground

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/edit"
	"github.com/muster-scale/muster/config/settings"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/variants"
)

// The bounds of one request.
const (
	// MaxRequest bounds the JSON of a request, in bytes, and MaxContent the file beside it.
	MaxRequest = 1 << 20
	MaxContent = 64 << 20
	// MaxMessages bounds the messages of a trace. A message takes some ten microseconds in a browser, for each run.
	MaxMessages = 500_000
	// MaxSpan bounds the last arrival.
	MaxSpan = 60 * 24 * time.Hour
	// MaxOthers bounds the other autoscalers.
	MaxOthers = 4
	// manyMessages is the number of messages from which the queue announces none, which takes a fraction of the time.
	manyMessages = 10_000
	// seed is that of everything that is drawn.
	seed = variants.Seed
)

// Request says what to simulate.
type Request struct {
	// List asks for the built-in traces, and for nothing else.
	List bool `json:"list"`
	// Trace is the name of a built-in trace, or a generator with its settings. It is not used with File, the name of
	// the file whose content comes beside the request.
	Trace string `json:"trace"`
	File  string `json:"file"`
	// Service, ServiceCV and Spread say how long the work of a file takes that has only counts, as package sim/trace
	// reads them.
	Service   string  `json:"service"`
	ServiceCV float64 `json:"service_cv"`
	Spread    string  `json:"spread"`
	// Configuration is the text of a configuration with one fleet.
	Configuration string `json:"configuration"`
	// Policy is another policy: one of ours, or the rule of another autoscaler. Set are values of keys of the fleet, as
	// KEY=VALUE. Both may be empty; then only the configuration is simulated.
	Policy string   `json:"policy"`
	Set    []string `json:"set"`
	// Others are other autoscalers to compare with. Bound computes the lower bound of the cost, which may take longer
	// than all runs together; with BoundOnly it is computed without the runs, so that a page can do both at a time.
	Others    []string `json:"others"`
	Bound     bool     `json:"bound"`
	BoundOnly bool     `json:"bound_only"`
	// Start is the instant at which the trace begins, for policies with a calendar. Zero is a Monday at midnight, UTC.
	Start time.Time `json:"start"`
}

// Reply is the answer. One of its fields is set.
type Reply struct {
	Found  *variants.Found `json:"found,omitzero"`
	Traces []BuiltIn       `json:"traces,omitzero"`
	// Error says in words what is wrong with the request.
	Error string `json:"error,omitzero"`
}

// Answer returns the [Reply] to a [Request], both as JSON. content is that of the request's file, nil without one. It
// must not change. progress, which may be nil, is called with the finished share of the work, above 0 and at most 1.
func Answer(request, content []byte, progress func(share float64)) []byte {
	reply := func() Reply {
		if len(request) > MaxRequest {
			return Reply{Error: fmt.Sprintf("the request has %d bytes, at most %d are allowed", len(request),
				MaxRequest)}
		}
		var r Request
		d := json.NewDecoder(bytes.NewReader(request))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			return Reply{Error: fmt.Sprintf("read the request: %v", err)}
		}
		if r.List {
			return Reply{Traces: Traces()}
		}
		found, err := Make(r, content, progress)
		if err != nil {
			return Reply{Error: err.Error()}
		}
		return Reply{Found: &found}
	}()
	text, err := json.Marshal(reply)
	if err != nil { // a number that JSON does not have
		text, _ = json.Marshal(Reply{Error: fmt.Sprintf("write the answer: %v", err)})
	}
	return text
}

// Make simulates. Errors about the request are marked as misuse.
func Make(r Request, content []byte, progress func(share float64)) (variants.Found, error) {
	var found variants.Found
	fleets, part, err := r.fleets()
	if err != nil {
		return found, err
	}
	others, err := r.others()
	if err != nil {
		return found, err
	}
	t, err := r.open(content)
	if err != nil {
		return found, err
	}
	size, err := measure(t)
	if err != nil {
		return found, err
	}
	if r.Start.IsZero() {
		r.Start = monday
	}
	present := fleets[0]
	// The work of the last messages ends later, so the curves are longer than the trace.
	span := max(time.Minute, size.last+present.Objective.Latency+present.Workers.Boot)
	plan := variants.Plan{Span: span, Bound: r.Bound || r.BoundOnly, BoundOnly: r.BoundOnly, Parallel: 1}
	for i, f := range fleets {
		e, who, notes, err := simulated(f, t, size, r.Start)
		if err != nil {
			return found, misuse.Wrap(err)
		}
		if i == 0 {
			found.Notes = notes
		}
		plan.Variants = append(plan.Variants, variants.Variant{Kind: []string{variants.Present, variants.Changed}[i],
			Event: e, Who: who})
	}
	for _, x := range others {
		plan.Variants = append(plan.Variants, variants.Variant{Kind: variants.Other, Event: plan.Variants[0].Event,
			Who: x})
	}
	report(&plan, size.last, progress)
	found.Fleet, found.From, found.To, found.Messages = present.Name, r.Start, r.Start.Add(span), size.messages
	found.ObjectiveSeconds, found.Quantile = present.Objective.Latency.Seconds(), present.Objective.Quantile
	found.YAML = part
	found.Runs, found.Bound, err = plan.Play(context.Background())
	return found, err
}

// monday is the default start of a trace, as that of a simulated world.
var monday = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// fleets returns the fleet of the configuration, and the changed one if the request changes it, with its text.
func (r Request) fleets() (all []config.Fleet, part string, err error) {
	c, err := parse("the configuration", r.Configuration)
	if err != nil {
		return nil, "", misuse.Wrap(err)
	}
	if len(c.Fleets) != 1 {
		return nil, "", misuse.Errorf("the configuration has %s, the playground simulates one: leave out the others",
			render.Plural(len(c.Fleets), "fleet"))
	}
	all = c.Fleets
	ours := r.Policy
	if x, err := contest.Find(ours); err == nil && x.Peer {
		ours = "" // it is one of the others
	}
	if ours == "" && len(r.Set) == 0 {
		return all, "", nil
	}
	text, part, err := edit.Fleet(c.Text(), all[0].Name, ours, r.Set)
	if err != nil {
		return nil, "", err
	}
	changed, err := parse("the changed configuration", string(text))
	if err != nil {
		return nil, "", misuse.Wrap(err)
	}
	return append(all, changed.Fleets...), part, nil
}

// others returns the other autoscalers to compare with. The policy of the request comes first if it is one.
func (r Request) others() (all []contest.Contender, err error) {
	names := r.Others
	if x, err := contest.Find(r.Policy); err == nil && x.Peer {
		names = append([]string{r.Policy}, names...)
	}
	if len(names) > MaxOthers {
		return nil, misuse.Errorf("found %d other autoscalers, at most %d are allowed", len(names), MaxOthers)
	}
	for _, name := range names {
		x, err := contest.Find(name)
		if err != nil {
			return nil, misuse.Wrap(err)
		}
		all = append(all, x)
	}
	return all, nil
}

// simulated returns the event and the contender of a fleet. The queue announces its messages, unless they are many.
func simulated(f config.Fleet, t trace.Trace, size measured, start time.Time) (e contest.Event, who contest.Contender,
	notes []string, err error) {
	e = variants.OfFleet(f, t, start)
	e.World.Wakes = true
	for _, what := range variants.Missing(f) {
		notes = append(notes, "not simulated: "+what)
	}
	if text := variants.Calm(&e, size.messages, manyMessages, f.Objective); text != "" {
		notes = append(notes, text)
	}
	who, err = variants.Contender(f, func(f config.Fleet) (controller.Settings, error) { return settings.Of(f, 0) })
	return e, who, notes, err
}

// report makes a plan tell its progress, at most a hundred times a run. All runs count the same.
func report(p *variants.Plan, last time.Duration, progress func(share float64)) {
	if progress == nil {
		return
	}
	of := len(p.Variants)
	if p.Bound {
		of++
	}
	done, told := 0, 0
	p.Done = func(n, of int) {
		done, told = n, 0
		progress(float64(n) / float64(of))
	}
	p.Within = func(_ int, at time.Duration) {
		if percent := int(100 * at / max(last, 1)); percent > told && percent < 100 {
			told = percent
			progress((float64(done) + float64(percent)/100) / float64(of))
		}
	}
}
