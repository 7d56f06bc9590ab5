package controller

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/policy"
)

// Settings are what is configured for one fleet. They do not change while a loop runs. Make them with [NewSettings].
//
// What is called within a step takes a pointer to them, because they are half a kilobyte.
type Settings struct {
	// Fleet is the fleet's name, Queues the names of the queues it serves, sorted.
	Fleet  string
	Queues []string
	// Spec is the policy as configured; every recorded decision keeps it.
	Spec      policy.Spec
	Objective muster.Objective
	Limits    muster.Limits
	// Slots is the configured number of slots of a worker, at least 1.
	Slots int
	// BootPrior is the expected boot time until one was measured; above zero.
	BootPrior time.Duration
	// Poll is how often the queue and the fleet are looked at; above zero.
	Poll time.Duration
	// Cores is how many cores the machine has that all members share; 0 where members do not share one, or where that
	// is not known. The controller then measures how durations grow with the number of messages in progress.
	Cores int
	// Trees says that [Expected] tells what running trees are expected to send: nothing is decided before it did once.
	Trees bool
	// Stale is how old a measurement or a listing may be before it is unknown; zero means three polls, and 5 s at
	// least. It is above that where sources look less often than they are asked while nothing happens.
	Stale time.Duration
	// Unreported is set for a fleet whose workers do not report: its members work while the fleet's own service says
	// that they are in service, and it is the service that chooses which of them end.
	Unreported bool
	// Protect has members protected that the fleet's own service could end while they work.
	Protect bool
	// HandEvery is how often a fleet is handed over to a cloud's target tracking; zero means a minute.
	HandEvery time.Duration
	// Learn is how far back measured durations count; above zero.
	Learn time.Duration

	policy muster.Policy
	memory time.Duration
	// plansAhead is true for a policy that may ask for the busiest times: they take the longest to tell.
	plansAhead bool
	spec       []byte
	// uses are the metrics that the policy reads, sorted by key.
	uses []policy.MetricUse
}

// NewSettings completes s: it builds the policy from s.Spec and fills in what is zero: Poll with a second, Learn with
// ten minutes, Slots with 1, BootPrior with a minute. It returns what is wrong with the policy.
func NewSettings(s Settings) (Settings, error) {
	p, err := policy.New(s.Spec)
	if err != nil {
		return Settings{}, fmt.Errorf("fleet %s: build the policy: %w", s.Fleet, err)
	}
	spec, err := json.Marshal(s.Spec)
	if err != nil {
		return Settings{}, fmt.Errorf("fleet %s: encode the policy: %w", s.Fleet, err)
	}
	s.policy, s.spec, s.memory, s.plansAhead = p, spec, s.Spec.Memory(), s.Spec.PlansAhead()
	s.uses = s.Spec.Metrics(s.Fleet, s.Queues)
	s.Slots = max(1, s.Slots)
	if s.BootPrior <= 0 {
		s.BootPrior = time.Minute
	}
	if s.Poll <= 0 {
		s.Poll = time.Second
	}
	if s.Learn <= 0 {
		s.Learn = 10 * time.Minute
		if s.Spec.ForgetsSlowly() {
			s.Learn = deadlineLearn
		}
	}
	return s, nil
}

// Deciding returns s with the policy p, which looks memory far back, in place of the configured one. Decisions made
// with it cannot be recomputed from their records, because those keep the configured policy.
func (s Settings) Deciding(p muster.Policy, memory time.Duration) Settings {
	s.policy, s.memory, s.plansAhead = p, memory, true
	return s
}

// LookTimeout bounds one look at the queues and the fleet: what was seen first must not be stale when the last is in.
func (s *Settings) LookTimeout() time.Duration {
	return min(max(3*s.Poll, 5*time.Second)*3/4, 10*time.Second)
}

const (
	// silence is how long after its last report a worker is lost. Workers report every second, and every five seconds
	// where answers are late; but the next report may take half a minute longer than the last one. Workers that keep
	// their reports elsewhere do so every ten to fifteen seconds, and those are read every ten. That a member has ended
	// is seen sooner, by the listing of its fleet.
	silence = 45 * time.Second
	// treesStale is how long what trees are expected to send counts. Some are read seldom, because each reading costs.
	treesStale = 30 * time.Second
	// grace is how long after it joined a member is not asked to go.
	grace = 10 * time.Second
	// endOverdue is how long a released worker may take to leave by itself before the fleet ends it.
	endOverdue = 10 * time.Second
	// holdEvery is how often an unchanged decision is recorded.
	holdEvery = learning.NotedEvery
	// wishEvery is how often a changed wish alone is recorded.
	wishEvery = time.Second
	// deadlineLearn is how far back the policy deadline learns: rare long messages matter to it, and changes of the
	// mean show in the recent pace.
	deadlineLearn = 6 * time.Hour
	// maxMoves bounds the members launched or asked to drain in one step; the next step goes on.
	maxMoves = 1000
	// OrderTimeout is when the result of an order is given up: the order then counts as failed.
	OrderTimeout = 2 * time.Minute
)
