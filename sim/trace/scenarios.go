package trace

import (
	"slices"
	"time"

	"github.com/muster-scale/muster"
)

// Scenario is a trace with all that a policy is judged by on it: one row of the built-in suite.
type Scenario struct {
	// Name is what tables and the command line call it. What says in one line what it tests.
	Name, What string
	// Spec is its generator with settings, as [Generate] reads it.
	Spec string
	// Objective is the latency objective that a policy is given.
	Objective muster.Objective
	// Boot is the median boot time of a worker, Slots how many messages a worker handles at once.
	Boot  time.Duration
	Slots int
	// Max is the most workers. It is far above what the work needs, so that it does not hide a policy that launches too
	// many.
	Max int
}

// Trace generates the trace of the scenario for a seed.
func (s Scenario) Trace(seed uint64) (Trace, error) {
	t, err := Generate(s.Spec, seed)
	t.Name = s.Name
	return t, err
}

// Seeds returns the seeds with which the suite is run: 1 to 10. One seed says little about the 99th percentile of 500
// messages.
func Seeds() []uint64 { return []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10} }

// Scenarios returns the built-in suite. docs/traces.md says where its numbers come from.
func Scenarios() []Scenario {
	within := func(latency time.Duration) muster.Objective {
		return muster.Objective{Latency: latency, Quantile: 0.99}
	}
	const s, m = time.Second, time.Minute
	return []Scenario{
		{"burst-25s", "50 messages of 25 s at once", "burst:size=50,service=25s,cv=0", within(5 * m), 90 * s, 1, 100},
		{"burst-50s", "50 messages of 50 s at once", "burst:size=50,service=50s,cv=0", within(5 * m), 90 * s, 1, 100},
		{"bimodal-L5", "0.5 s and 2 s of work, an objective below the boot time",
			"bimodal:rate=8,duration=1h,service=500ms,to=2s,share=0.5", within(5 * s), 60 * s, 10, 100},
		{"bimodal-L60", "0.5 s and 2 s of work, an objective as long as the boot time",
			"bimodal:rate=8,duration=1h,service=500ms,to=2s,share=0.5", within(m), 60 * s, 1, 500},
		{"steady-R20", "twenty busy workers, all the time", "poisson:rate=2,duration=4h,service=10s,cv=0.5",
			within(2 * m), 60 * s, 1, 500},
		{"step-1to10x", "ten times the load from one moment on",
			"step:rate=0.5,to=5,at=18m,duration=2h,service=10s,cv=0.5", within(5 * m), 60 * s, 1, 500},
		{"spikes-300", "300 messages at once, five times",
			"spike:rate=0.3,size=300,every=48m,at=24m,duration=4h,service=10s,cv=0.5", within(5 * m), 60 * s, 1, 500},
		{"diurnal-24h", "a day and a night", "diurnal:rate=1.5,swing=0.8,period=24h,duration=24h,service=10s,cv=0.5",
			within(3 * m), 60 * s, 1, 500},
		{"mmpp-bursty", "quiet and busy times of random length",
			"mmpp:rate=0.5,to=4,quiet=20m,busy=10m,duration=4h,service=10s,cv=0.5", within(5 * m), 60 * s, 1, 500},
		{"mpd-drift-5to40", "work that takes eight times as long from one moment on",
			"drift:rate=1,service=5s,to=40s,at=75m,duration=3h,cv=0.5", within(5 * m), 60 * s, 1, 500},
		{"heavytail-cv4", "a few messages with most of the work", "heavytail:rate=1,duration=6h,service=8s,cv=4",
			within(10 * m), 60 * s, 1, 500},
		{"sparse-R0.1", "a message every few minutes", "sparse:load=0.1,service=15s,duration=24h,cv=0.5",
			within(10 * m), 60 * s, 1, 100},
		{"spikes-hard-L30", "spikes that must be done before a worker has booted",
			"spike:rate=2,size=200,every=17m,at=8m30s,duration=4h,service=5s,cv=0.5", within(30 * s), 60 * s, 4, 200},
		{"tree-6x3", "each message sends about three more, six levels deep",
			"tree:roots=20,every=10m,depth=6,fanout=3,most=2000,service=5s,cv=1", within(5 * m), 60 * s, 1, 500},
		{"tree-30x2", "a hierarchy of thirty levels, one root",
			"tree:roots=1,depth=30,fanout=2,most=5000,service=5s,cv=1", within(10 * m), 60 * s, 1, 500},
	}
}

// FindScenario returns the scenario of that name.
func FindScenario(name string) (Scenario, bool) {
	all := Scenarios()
	at := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if at < 0 {
		return Scenario{}, false
	}
	return all[at], true
}

// scenarioNames returns the names of all scenarios.
func scenarioNames() (names []string) {
	for _, s := range Scenarios() {
		names = append(names, s.Name)
	}
	return names
}
