package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy"
)

// This file declares the keys of a fleet, fills in what depends on several of them, and checks that.

// rows declare the keys of a fleet. Their order matters: it is the order of the reference, and a default may depend on
// values that are declared before it. split is decoded last, because every part begins as a copy of the fleet's
// workers.
func (f *Fleet) rows(kinds Kinds) []keys.Key {
	parts := func(p *Part) []keys.Key { return f.partRows(p, kinds.Queues) }
	rows := []keys.Key{
		keys.Text("name", &f.Name, "1 to 63 letters, digits, dots, hyphens and underscores").Required().Must(
			"a fleet's name: 1 to 63 letters, digits, dots, hyphens and underscores, the first a letter or digit",
			isFleetName),
		keys.Custom("queue", keys.TextForm, "the name of an embedded queue, or the URL of one on SQS",
			func(d *keys.Decoder, n *yaml.Node, path string) {
				f.Queues = append(f.Queues, refer(d, n, path, kinds.Queues))
			}),
		keys.Custom("queues", keys.TextForm, "several queues, in place of queue",
			func(d *keys.Decoder, n *yaml.Node, path string) {
				d.Each(n, path, maxServed,
					func(n *yaml.Node, path string) { f.Queues = append(f.Queues, refer(d, n, path, kinds.Queues)) })
			}).List().Check(func(s *keys.Source, path string) { f.checkQueues(s, path, kinds.Queues) }),
		keys.ListFrom("split", &f.Split, maxServed, func() Part { return Part{Workers: f.Workers} }, parts,
			"kinds of workers that share the fleet's size: the bases first, then by weight").Late(),
		keys.Into("objective", &f.Objective, objectiveRows, "when messages must be finished"),
	}
	rows = append(rows, f.limitRows()...)
	rows = append(rows, f.policyRows()...)
	workers := func(w *Workers) []keys.Key { return w.rows(f.workersByDefault, kinds.Queues) }
	rows = append(rows, keys.Into("workers", &f.Workers, workers, "the program and the settings of a "+
		"worker").Unchecked())
	return append(rows, f.kindRows(kinds)...)
}

// kindRows declare one key for each kind of signal, members and sizer. A fleet is of at most one kind of members. A
// signal checks itself here; members check themselves in check, because the first kind has no key.
func (f *Fleet) kindRows(kinds Kinds) []keys.Key {
	var rows []keys.Key
	for _, k := range kinds.Signals {
		put := func(x Signal) { f.Signals = append(f.Signals, x) }
		rows = append(rows, section(k.Key, k.What, k.New, put, func() []Signal { return f.Signals }, f))
	}
	for i := 1; i < len(kinds.Members); i++ { // the first one has no key
		k := kinds.Members[i]
		put := func(m Members) { f.Members = m }
		row := section(k.Key, k.What, k.New, put, func() []Members { return []Members{f.Members} }, nil)
		rows = append(rows, row.Check(func(s *keys.Source, path string) {
			for _, other := range kinds.Members[1:i] {
				if s.Has(path) && s.Has(keys.Join(parent(path), other.Key)) {
					s.Fault(path, fmt.Sprintf("found %s and %s, allowed is one of them", k.Key, other.Key), "")
				}
			}
		}))
	}
	rows = append(rows, keys.Custom("reports_from", keys.TextForm, "where the workers of a fleet on AWS keep their "+
		"reports, when they cannot reach the controller: dynamodb:TABLE",
		f.decodeReportsTable).Check(f.checkReportsTable))
	for _, k := range kinds.Sizers {
		put := func(x Sizer) { f.Sizer = x }
		rows = append(rows, section(k.Key, k.What, k.New, put, func() []Sizer { return []Sizer{f.Sizer} }, f))
	}
	return rows
}

// parent returns the path of the mapping around the key at path.
func parent(path string) string { return path[:max(0, strings.LastIndexByte(path, '.'))] }

// isFleetName tells whether name can be a fleet's name, which also stands in paths of the API and in metrics.
func isFleetName(name string) bool {
	return len(name) >= 1 && len(name) <= 63 && keys.Consists(name, "-_.") && keys.Consists(name[:1], "")
}

// objectiveRows declare the latency objective: the share quantile of messages is finished within latency.
func objectiveRows(o *muster.Objective) []keys.Key {
	return []keys.Key{
		keys.Duration("latency", &o.Latency, "from sent to finished: 1ms to 336h, by default 30s").
			Default(30*time.Second).Within(time.Millisecond, maxLatency),
		keys.Number("quantile", &o.Quantile, "the share of messages that are in time: above 0, at most 1, by default "+
			"0.99").Default(0.99).Check(func(s *keys.Source, path string, q float64) {
			if !(q > 0 && q <= 1) {
				s.Fault(path, fmt.Sprintf("found %s, allowed is a share above 0 and at most 1, as in 0.99",
					render.Number(q)), "")
			}
		}),
		keys.Duration("late", &o.Late, "what a late message is worth, as the time of one worker: 0s to 336h; 0s, the "+
			"default: its boot, 1m at least, 100 x the work of the message at most").Within(0, maxLatency),
	}
}

// limitRows declare the limits of the size, of launches and of polls. A stated max is required: no default would be
// right for every budget.
func (f *Fleet) limitRows() []keys.Key {
	l := &f.Limits
	return []keys.Key{
		keys.Whole("min", &l.Min, "the fewest workers, by default 0").Within(0, maxWorkers),
		keys.Whole("max", &l.Max, "the most workers, up to 10000").Required().Check(func(s *keys.Source, path string,
			most int) {
			if !s.Has(path) {
				s.Fault(path, s.Missing(path, "", "the largest number of workers, 0 to 10000"), "")
			}
			least := l.Min >= 0 && l.Min <= maxWorkers
			if keys.Within(s, path, most, 0, maxWorkers, strconv.Itoa) && least && s.Has(path) && !s.Bad(path) &&
				l.Min > most {
				s.Fault(parent(path)+".min", fmt.Sprintf("found min %d above max %d, allowed is at most max", l.Min,
					most), "")
			}
		}),
		// The default is computed before max is checked, so max is bounded here to keep the product from overflowing.
		keys.Whole("launches_per_hour", &l.LaunchesPerHour, "launch attempts, failed ones too; by default 10 for "+
			"each worker of max, at least 60").DefaultOf(func() int {
			return max(60, 10*min(l.Max,
				maxWorkers))
		}).Within(1,
			maxLaunches),
		keys.Duration("poll", &f.Poll,
			"time between two polls of the queue: 100ms to 1h, by default 1s, and 5s on AWS").
			DefaultOf(f.pollByDefault).Within(100*time.Millisecond, time.Hour),
	}
}

// pollByDefault returns 1 s, and 5 s where each poll is a paid call.
func (f *Fleet) pollByDefault() time.Duration {
	if f.Remote() {
		return 5 * time.Second
	}
	return time.Second
}

// Facts returns the facts of the fleet's kind.
func (f *Fleet) Facts() Facts {
	if f.Members == nil {
		return Facts{Local: true, Reported: true, Answered: true}
	}
	return f.Members.Facts()
}

// Local tells whether the fleet's members are processes of this machine that Muster starts.
func (f *Fleet) Local() bool { return f.Facts().Local }

// Remote tells whether polling the fleet, one of its queues or one of its signals calls a service on the network. Such
// calls have a price, and their results are late.
func (f *Fleet) Remote() bool {
	return f.Facts().Remote || len(f.Signals) > 0 ||
		slices.ContainsFunc(f.Queues, func(q QueueRef) bool { return q.Remote })
}

// Sets returns the number that Muster sets for the fleet, with the region in its Name, as far as it is stated. It is
// zero when no other fleet could set the same number.
func (f *Fleet) Sets() Sized {
	facts := f.Facts()
	number := facts.Sized
	if number.Name == "" {
		return Sized{}
	}
	region := facts.Region
	for _, q := range f.Queues {
		region = cmp.Or(region, q.Region)
	}
	number.Name += " " + region
	return number
}

// partRows declare the keys of a part. Its workers begin as those of the fleet, so it states only what differs.
func (f *Fleet) partRows(p *Part, queues []QueueKind) []keys.Key {
	return []keys.Key{
		keys.Text("name", &p.Name, "1 to 63 letters, digits, hyphens and underscores").Required(),
		keys.Whole("base", &p.Base, "workers it has before other parts get any"),
		keys.Whole("weight", &p.Weight, "its share of the workers beyond all bases"),
		keys.Whole("max", &p.Max, "the most workers it may have"),
		keys.Into("workers", &p.Workers, func(w *Workers) []keys.Key {
			return w.rows(func() Workers { return f.Workers }, queues)
		}, "what differs from the fleet's workers").Unchecked(),
	}
}

// workersByDefault returns the defaults of the fleet's workers. With a policy whose fleets shrink only when idle
// workers stop by themselves, workers become ready to stop after 30 s without a message; otherwise they never do.
func (f *Fleet) workersByDefault() Workers {
	idle := time.Duration(0)
	if f.Policy.FallsByReports() {
		idle = 30 * time.Second
	}
	boot := cmp.Or(f.Facts().Boot, time.Second)
	return Workers{Slots: 1, Batch: 1, Boot: boot, Visibility: 30 * time.Second, Idle: idle}
}

// settle fills in the settings that depend on several keys.
func (f *Fleet) settle(s *keys.Source, path string) {
	if f.Sizer != nil {
		d := f.Sizer.Delegation()
		f.Policy.Delegate = &d
	}
	// Local processes without a price save nothing by waiting until one worker can handle several messages, so they
	// are launched at once. Members elsewhere have a price, stated or not.
	f.Policy.Prompt = f.Policy.Prompt || f.Local() && f.Policy.Name == policy.Default && f.Policy.PricePerHour == 0 &&
		!s.Has(path+".policy.prompt")
	// A policy that follows a number would shrink the fleet with every dip of it, so its recommendation must have held
	// for 5 min.
	if at := path + ".scale_in.stabilization"; !f.Policy.FallsByItself() && !s.Has(at) {
		f.Policy.In.Stabilization = 5 * time.Minute
	}
}

// check checks the policy and the members, which depend on several keys.
func (f *Fleet) check(s *keys.Source, path string, kinds Kinds) {
	f.checkPolicy(s, path)
	if members := f.members(kinds); members != nil {
		members.Check(s, keys.Join(path, members.Facts().Key), f)
	}
}

// checkQueues checks the queues of a fleet: one of queue and queues is stated, and all queues are of one kind, because
// a worker has credentials for one kind. path is that of queues.
func (f *Fleet) checkQueues(s *keys.Source, path string, kinds []QueueKind) {
	path = parent(path)
	if s.Has(path+".queue") && s.Has(path+".queues") {
		s.Fault(path+".queues", "found queue and queues, allowed is one of them", "")
	}
	for i := range f.Queues {
		at := f.queuePath(s, path, i)
		if both := plurals(kinds, f.Queues[0], f.Queues[i]); len(both) > 1 {
			both := strings.Join(both, " and ")
			s.Fault(at, "found "+both+" in one fleet, allowed are those of one kind",
				"a worker has keys for one of them")
		}
	}
}

// queuePath returns the path of the i-th of f.Queues. A fleet that wrongly states queue and queues has that of queue
// first.
func (f *Fleet) queuePath(s *keys.Source, path string, i int) string {
	if s.Has(path + ".queue") {
		if i == 0 {
			return path + ".queue"
		}
		i--
	}
	return keys.Element(path+".queues", i)
}

// refer decodes a reference to a queue by the first kind that takes the text.
func refer(d *keys.Decoder, n *yaml.Node, path string, kinds []QueueKind) QueueRef {
	text := d.Text(n, path)
	for _, k := range kinds {
		if !k.Takes(text) {
			continue
		}
		q, found, allowed := k.Refer(text)
		if allowed != "" {
			d.Fault(path, "found "+found+", allowed is "+allowed, "")
		}
		return q
	}
	if len(kinds) > 0 {
		var all []string
		for _, k := range kinds {
			all = append(all, k.Plural)
		}
		d.Fault(path, "found "+keys.Quote(text)+", allowed are "+strings.Join(all, ", "), "")
	}
	return QueueRef{Name: text}
}

// plurals returns the names of the kinds of the given queues, each once, in the order of the table.
func plurals(kinds []QueueKind, queues ...QueueRef) (all []string) {
	for _, k := range kinds {
		if slices.ContainsFunc(queues, func(q QueueRef) bool { return k.Takes(q.Text()) }) {
			all = append(all, k.Plural)
		}
	}
	return all
}

// Parts returns the parts of the fleet. A fleet without split is one part with an empty name.
func (f *Fleet) Parts() []Part {
	if len(f.Split) > 0 {
		return f.Split
	}
	return []Part{{Weight: 1, Workers: f.Workers}}
}

// members returns the fleet's members; for a fleet that states no kind, a new statement of the first kind.
func (f *Fleet) members(kinds Kinds) Members {
	if f.Members == nil {
		return kinds.local()
	}
	return f.Members
}
