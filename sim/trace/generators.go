package trace

import (
	"time"

	"github.com/muster-scale/muster/sim/trace/internal/chance"
)

const day = 24 * time.Hour

// rate, and the functions below, return parameters that several generators have.
func rate(value, what string) Parameter {
	return Parameter{Name: "rate", Default: value, What: what, least: 0, most: 1e6}
}

// to is the second rate of a generator whose rate changes.
func to(value, what string) Parameter {
	p := rate(value, what)
	p.Name = "to"
	return p
}

// span is a duration of at least least and at most MaxTime.
func span(name, value, what string, least time.Duration) Parameter {
	return Parameter{Name: name, Default: value, What: what, kind: duration, least: least.Seconds(),
		most: MaxTime.Seconds()}
}

// over is how long messages arrive, which bounds every trace but that of a burst and of trees.
func over(value string) Parameter {
	return span("duration", value, "how long messages arrive", time.Second)
}

// work returns the parameters of a lognormal service.
func work(service, cv string) []Parameter {
	return []Parameter{
		{Name: "service", Default: service, What: "the mean service", kind: duration, least: 1e-6,
			most: day.Seconds() * 30},
		{Name: "cv", Default: cv, What: "how much it varies: standard deviation over mean, lognormal above 0", least: 0,
			most: 10},
	}
}

// generators is the table of all generators. Their texts are printed by muster trace and in docs/traces.md.
func generators() []Generator {
	all := func(own []Parameter, more ...Parameter) []Parameter {
		return append(append([]Parameter{}, more...), own...)
	}
	return []Generator{
		{Name: "steady", What: "messages at equal distances", plan: steadyPlan,
			Parameters: all(work("10s", "0.5"), rate("2", "messages a second"), over("1h"))},
		{Name: "poisson", What: "independent messages (a Poisson process)", plan: poissonPlan,
			Parameters: all(work("10s", "0.5"), rate("2", "messages a second"), over("1h"))},
		{Name: "step", What: "a rate that jumps once", plan: stepPlan,
			Parameters: all(work("10s", "0.5"), rate("0.5", "messages a second at first"),
				to("5", "messages a second from the jump on"),
				span("at", "18m", "when it jumps", 0), over("2h"))},
		{Name: "spike", What: "a steady stream, and many messages at once every so often", plan: spikePlan,
			Parameters: all(work("10s", "0.5"), rate("0.3", "messages a second between spikes"),
				Parameter{Name: "size", Default: "300", What: "messages in a spike", kind: whole, least: 1, most: 1e8},
				span("every", "48m", "from one spike to the next", time.Second),
				span("at", "24m", "the first spike", 0), over("4h"))},
		{Name: "diurnal", What: "a rate that swings like a day, lowest at the start", plan: diurnalPlan,
			Parameters: all(work("10s", "0.5"), rate("1.5", "messages a second, in the mean"),
				Parameter{Name: "swing", Default: "0.8", What: "how far it swings around the mean, as a share of it",
					least: 0, most: 1},
				span("period", "24h", "the length of a day", time.Hour), over("24h"))},
		{Name: "workday", What: "a rate that jumps up every morning, and down every evening", plan: workdayPlan,
			Parameters: all(work("5s", "0.5"), rate("0.1", "messages a second by night"),
				to("2", "messages a second by day"),
				span("at", "9h", "when the day's work begins", 0), span("busy", "8h", "how long it lasts", time.Second),
				over("72h"))},
		{Name: "mmpp", What: "quiet and busy times of random length", plan: mmppPlan,
			Parameters: all(work("10s", "0.5"), rate("0.5", "messages a second in quiet times"),
				to("4", "messages a second in busy times"),
				span("quiet", "20m", "the mean length of a quiet time, exponential", time.Second),
				span("busy", "10m", "the mean length of a busy time, exponential", time.Second), over("4h"))},
		{Name: "drift", What: "a service that jumps once", plan: driftPlan,
			Parameters: all(work("5s", "0.5"), rate("1", "messages a second"),
				Parameter{Name: "to", Default: "40s", What: "the mean service from the jump on", kind: duration,
					least: 1e-6, most: day.Seconds() * 30},
				span("at", "75m", "when it jumps", 0), over("3h"))},
		{Name: "heavytail", What: "a few messages with most of the work", plan: heavytailPlan,
			Parameters: all(work("8s", "4"), rate("1", "messages a second"),
				Parameter{Name: "law", Default: "lognormal", What: "the law of the service, lognormal or pareto",
					kind: word, words: []string{"lognormal", "pareto"}}, over("6h"))},
		{Name: "sparse", What: "few messages", plan: sparsePlan,
			Parameters: all(work("15s", "0.5"), Parameter{Name: "load", Default: "0.1", What: "busy slots in the mean",
				least: 0, most: 1e6}, over("24h"))},
		{Name: "burst", What: "messages that all arrive at once", plan: burstPlan,
			Parameters: all(work("25s", "0"), Parameter{Name: "size", Default: "50", What: "messages", kind: whole,
				least: 1, most: 1e8})},
		{Name: "bimodal", What: "two classes of work, short and long", plan: bimodalPlan,
			Parameters: all(work("500ms", "0"), rate("8", "messages a second"),
				Parameter{Name: "to", Default: "2s", What: "the mean service of the long class", kind: duration,
					least: 1e-6, most: day.Seconds() * 30},
				Parameter{Name: "share", Default: "0.5", What: "the share of long messages", least: 0, most: 1},
				span("at", "0s", "when the share changes; 0s is never", 0),
				Parameter{Name: "then", Default: "0.5", What: "the share of long messages from then on", least: 0,
					most: 1}, over("1h"))},
		{Name: "tree", What: "roots whose messages send more when they finish", plan: treePlan,
			Parameters: all(work("5s", "1"),
				Parameter{Name: "roots", Default: "20", What: "roots", kind: whole, least: 1, most: 1e8},
				span("every", "10m", "from one root to the next", 0),
				Parameter{Name: "depth", Default: "6", What: "levels below a root", kind: whole, least: 0,
					most: MaxDepth},
				Parameter{Name: "fanout", Default: "3", What: "children in the mean: each number from 0 to its " +
					"double is as likely", kind: whole, least: 1, most: 1000},
				Parameter{Name: "most", Default: "2000", What: "messages of one tree at most, the root included",
					kind: whole, least: 1, most: MaxTree})},
	}
}

// meanAt returns the mean service in seconds, and the class, of a message that arrives at a time.
type meanAt func(time.Duration) (float64, string)

// flow is the plan of independent messages. when returns their arrivals, and law the law of their services around the
// mean that newMean returns. newMean is called at each start, because it may draw; nil takes the service of s.
func flow(s settings, seed uint64, expected float64, when func() *arrivals, law chance.Unit,
	newMean func() meanAt) plan {
	if newMean == nil {
		mean := s.number("service")
		newMean = func() meanAt { return func(time.Duration) (float64, string) { return mean, "" } }
	}
	return plan{expected: expected, start: func() func() (Message, bool) {
		a, mean, services := when(), newMean(), chance.New(seed, chance.ForServices)
		return func() (Message, bool) {
			at, ok := a.next()
			if !ok {
				return Message{}, false
			}
			m, class := mean(at)
			return Message{Arrival: at, Service: toService(float64(m * law(services))), Class: class}, true
		}
	}}
}

// random returns a function that starts a Poisson process in the pieces of when.
func random(seed uint64, when func() pieces) func() *arrivals {
	return func() *arrivals { return newArrivals(when(), chance.New(seed, chance.ForArrivals)) }
}

// constantRate returns the pieces of one constant rate.
func constantRate(s settings) func() pieces {
	p := piece{length: s.time("duration"), rate: s.number("rate")}
	return func() pieces { return once(p) }
}

// total returns the expected number of messages at the constant rate.
func total(s settings) float64 { return s.number("rate") * s.number("duration") }

// steadyPlan has arrivals at equal distances; only the services are random.
func steadyPlan(s settings, seed uint64) plan {
	when := constantRate(s)
	return flow(s, seed, total(s), func() *arrivals { return newArrivals(when(), nil) },
		chance.Lognormal(s.number("cv")), nil)
}

// poissonPlan has one constant rate and independent arrivals.
func poissonPlan(s settings, seed uint64) plan {
	return flow(s, seed, total(s), random(seed, constantRate(s)), chance.Lognormal(s.number("cv")), nil)
}

// stepPlan has two pieces: the rate before and after the jump. A jump behind the end does not happen.
func stepPlan(s settings, seed uint64) plan {
	all := s.time("duration")
	before := min(s.time("at"), all)
	when := func() pieces {
		return once(piece{length: before, rate: s.number("rate")}, piece{length: all - before, rate: s.number("to")})
	}
	expected := s.number("rate")*before.Seconds() + s.number("to")*(all-before).Seconds()
	return flow(s, seed, expected, random(seed, when), chance.Lognormal(s.number("cv")), nil)
}

// spikePlan begins a piece with a burst at each spike, and one without before the first spike.
func spikePlan(s settings, seed uint64) plan {
	all, every, size := s.time("duration"), s.time("every"), s.whole("size")
	when := func() pieces {
		p := piece{length: s.time("at"), rate: s.number("rate")}
		return within(all, func() (piece, bool) {
			next := p
			p.length, p.burst = every, size
			return next, true
		})
	}
	// The number of bursts that fit into the duration, the first at the time at.
	spikes := max(0, (s.number("duration")-s.number("at"))/s.number("every")+1)
	return flow(s, seed, total(s)+spikes*float64(size), random(seed, when), chance.Lognormal(s.number("cv")), nil)
}

// diurnalPlan follows a sine with 1440 pieces a period: one a minute for a day. It starts at the lowest rate.
func diurnalPlan(s settings, seed uint64) plan {
	const steps = 1440
	when := func() pieces {
		k := 0
		return within(s.time("duration"), func() (piece, bool) {
			// The rate of a piece is that of its middle; a quarter of a turn earlier the sine is at its lowest.
			turn := (float64(k)+0.5)/steps - 0.25
			k++
			swing := float64(s.number("swing") * chance.SinTurns(turn))
			return piece{length: toTime(s.number("period") / steps), rate: float64(s.number("rate") * (1 + swing))},
				true
		})
	}
	// A duration that ends at noon has more than the mean rate, at most twice as much.
	return flow(s, seed, 2*total(s), random(seed, when), chance.Lognormal(s.number("cv")), nil)
}

// workdayPlan alternates between night and day, from midnight on.
func workdayPlan(s settings, seed uint64) plan {
	busy := min(s.time("busy"), day)
	when := func() pieces {
		// The first night ends at the time at; the later ones fill the rest of a day.
		first, working := min(s.time("at"), day), true
		return within(s.time("duration"), func() (piece, bool) {
			if working = !working; working {
				return piece{length: busy, rate: s.number("to")}, true
			}
			p := piece{length: first, rate: s.number("rate")}
			first = day - busy
			return p, true
		})
	}
	return flow(s, seed, max(s.number("rate"), s.number("to"))*s.number("duration"), random(seed, when),
		chance.Lognormal(s.number("cv")), nil)
}

// mmppPlan is a Markov-modulated Poisson process with two states; it begins in the quiet one.
func mmppPlan(s settings, seed uint64) plan {
	when := func() pieces {
		// The states have a stream of their own, so a change of the rates leaves their lengths alone.
		states, busy := chance.New(seed, chance.ForStates), true
		return within(s.time("duration"), func() (piece, bool) {
			busy = !busy
			p, mean := piece{rate: s.number("rate")}, s.number("quiet")
			if busy {
				p.rate, mean = s.number("to"), s.number("busy")
			}
			p.length = max(time.Microsecond, toService(float64(mean*states.Exponential())))
			return p, true
		})
	}
	expected := max(s.number("rate"), s.number("to")) * s.number("duration")
	return flow(s, seed, expected, random(seed, when), chance.Lognormal(s.number("cv")), nil)
}

// driftPlan changes the mean service at one time, and not the arrivals.
func driftPlan(s settings, seed uint64) plan {
	at := s.time("at")
	newMean := func() meanAt {
		return func(arrival time.Duration) (float64, string) {
			if arrival < at {
				return s.number("service"), ""
			}
			return s.number("to"), ""
		}
	}
	return flow(s, seed, total(s), random(seed, constantRate(s)), chance.Lognormal(s.number("cv")), newMean)
}

// heavytailPlan differs from poissonPlan in the law of the services alone.
func heavytailPlan(s settings, seed uint64) plan {
	law := chance.Lognormal(s.number("cv"))
	if s.words["law"] == "pareto" {
		law = chance.Pareto(s.number("cv"))
	}
	return flow(s, seed, total(s), random(seed, constantRate(s)), law, nil)
}

// sparsePlan states the load instead of the rate: the rate is the load over the mean service.
func sparsePlan(s settings, seed uint64) plan {
	// The settings belong to this plan alone, so they may be changed.
	s.numbers["rate"] = s.number("load") / s.number("service")
	return poissonPlan(s, seed)
}

// burstPlan has one piece without any length or rate: all messages arrive with its burst.
func burstPlan(s settings, seed uint64) plan {
	when := func() *arrivals { return newArrivals(once(piece{burst: s.whole("size")}), nil) }
	return flow(s, seed, s.number("size"), when, chance.Lognormal(s.number("cv")), nil)
}

// bimodalPlan draws a class for each message. From the time at on, the share of long ones is then.
func bimodalPlan(s settings, seed uint64) plan {
	newMean := func() meanAt {
		classes := chance.New(seed, chance.ForClasses)
		return func(at time.Duration) (float64, string) {
			share := s.number("share")
			if turns := s.time("at"); turns > 0 && at >= turns {
				share = s.number("then")
			}
			if classes.Uniform() < share {
				return s.number("to"), "long"
			}
			return s.number("service"), "short"
		}
	}
	return flow(s, seed, total(s), random(seed, constantRate(s)), chance.Lognormal(s.number("cv")), newMean)
}

// treePlan sends a root at regular times, each with a random tree below.
func treePlan(s settings, seed uint64) plan {
	every, mean, law := s.time("every"), s.number("service"), chance.Lognormal(s.number("cv"))
	return plan{expected: s.number("roots") * s.number("most"), start: func() func() (Message, bool) {
		shapes, services, left, at := chance.New(seed, chance.ForTrees), chance.New(seed,
			chance.ForServices), s.whole("roots"), time.Duration(0)
		return func() (Message, bool) {
			if left == 0 || at > MaxTime {
				return Message{}, false
			}
			root := grow(shapes, s.whole("depth"), s.whole("fanout"), s.whole("most"), func() time.Duration {
				return toService(float64(mean * law(services)))
			})
			// Roots arrive at regular times; the children of a node are sent at once when it finishes.
			root.Arrival = at
			left--
			at += every
			return root, true
		}
	}}
}

// grow makes a tree level by level, so that a tree that reaches its largest size is cut at the bottom and not on one
// side. A root has at least one child.
func grow(shapes *chance.Stream, depth, fanout, most int, service func() time.Duration) Message {
	all := []Message{{Service: service()}}
	var children []int // the number of children of each, in the same order
	for level, from := 0, 0; level < depth && from < len(all); level++ {
		until := len(all)
		for i := from; i < until; i++ {
			// Each number of children from 0 to twice the mean is equally likely.
			n := int(float64(shapes.Uniform() * float64(2*fanout+1)))
			if level == 0 {
				n = max(1, n)
			}
			n = min(n, most-len(all))
			children = append(children, n)
			for range n {
				all = append(all, Message{Service: service()})
			}
		}
		from = until
	}
	first := 1
	for i, n := range children {
		if n > 0 {
			all[i].Children = all[first : first+n : first+n]
		}
		first += n
	}
	return all[0]
}
