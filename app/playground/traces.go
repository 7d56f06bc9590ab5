package playground

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/sim/trace"
)

// builtIn are the scenarios of the suite that the playground offers: those whose runs take seconds in a browser.
var builtIn = []string{"spikes-300", "step-1to10x", "mmpp-bursty", "burst-25s", "sparse-R0.1", "mpd-drift-5to40",
	"heavytail-cv4", "spikes-hard-L30"}

// BuiltIn is a built-in trace.
type BuiltIn struct {
	// Name is what [Request].Trace names it by. What says in one line what it has.
	Name string `json:"name"`
	What string `json:"what"`
	// Configuration is the text of a configuration to begin with: the objective, boot time and slots of the scenario.
	Configuration string `json:"configuration"`
}

// Traces returns the built-in traces.
func Traces() []BuiltIn {
	var all []BuiltIn
	for _, s := range trace.Scenarios() {
		if slices.Contains(builtIn, s.Name) {
			all = append(all, BuiltIn{s.Name, s.What, configuration(s.Objective.Latency, s.Boot, s.Slots, s.Max)})
		}
	}
	slices.SortFunc(all, func(a, b BuiltIn) int {
		return slices.Index(builtIn, a.Name) - slices.Index(builtIn, b.Name)
	})
	return all
}

// configuration writes a configuration. Its command is not run: the parser wants one, and so does the user's own file.
func configuration(latency, boot time.Duration, slots, most int) string {
	return fmt.Sprintf(`version: 1
fleets:
  - name: jobs
    queue: jobs
    objective: {latency: %s, quantile: 0.99}
    min: 0
    max: %d
    policy: deadline
    price: 0.05
    workers: {command: [./work], boot: %s, slots: %d}
`, duration(latency), min(most, 1000), duration(boot), slots)
}

// duration writes a duration without parts that are zero.
func duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// open returns the trace of a request: a built-in one, a generated one, or the content of a file.
func (r Request) open(content []byte) (trace.Trace, error) {
	if r.File == "" {
		if s, ok := trace.FindScenario(r.Trace); ok {
			return s.Trace(seed)
		}
		t, err := trace.Generate(r.Trace, seed)
		return t, misuse.Wrap(err)
	}
	if len(content) > MaxContent {
		return trace.Trace{}, misuse.Errorf("%s has %d bytes, at most %d are allowed; compress it with gzip, or use "+
			"muster simulate", r.File, len(content), MaxContent)
	}
	o := trace.Options{Seed: seed, ServiceCV: r.ServiceCV, Spread: trace.Spread(r.Spread)}
	if r.Service != "" {
		mean, err := time.ParseDuration(r.Service)
		if err != nil || mean <= 0 {
			return trace.Trace{}, misuse.Setting("service", "found %q, allowed is a duration above 0s such as 10s",
				r.Service)
		}
		o.Service = mean
	}
	t, err := trace.Read(r.File, content, o)
	return t, misuse.Wrap(err)
}

// measured is the number of messages of a trace, children included, and its last arrival.
type measured struct {
	messages int64
	last     time.Duration
}

// measure reads a trace until it is too large.
func measure(t trace.Trace) (m measured, err error) {
	err = t.Each(func(one trace.Message) bool {
		m.messages += count(one)
		m.last = one.Arrival
		return m.messages <= MaxMessages && m.last <= MaxSpan
	})
	switch {
	case err != nil:
		return m, misuse.Wrap(err)
	case m.messages > MaxMessages:
		return m, misuse.Errorf("%s has more than %d messages, which is too much for a browser; cut it, or use muster "+
			"simulate", t.Name, MaxMessages)
	case m.last > MaxSpan:
		return m, misuse.Errorf("%s has an arrival at %s, later than %s after its start; cut it, or use muster "+
			"simulate", t.Name, m.last, MaxSpan)
	}
	return m, nil
}

// count returns the number of messages of a tree.
func count(m trace.Message) int64 {
	n := int64(1)
	for _, child := range m.Children {
		n += count(child)
	}
	return n
}
