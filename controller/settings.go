package controller

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/policy"
)

// Settings are the configuration of one fleet. They do not change while a loop runs. Make them with [NewSettings].
//
// Functions of a step take a pointer to them, because they are half a kilobyte.
type Settings struct {
	// Fleet is the fleet's name, Queues the names of the queues it serves, sorted.
	Fleet  string
	Queues []string
	// Spec is the policy as configured. Every recorded decision refers to it.
	Spec      policy.Spec
	Objective muster.Objective
	Limits    muster.Limits
	// Slots is the configured number of slots of a worker, at least 1.
	Slots int
	// BootPrior is the boot time that is assumed before one was measured; above zero.
	BootPrior time.Duration
	// Poll is the time between two polls of the queues and the fleet; above zero.
	Poll time.Duration
	// Cores is the number of cores of the machine that all members share; 0 if they do not share one or it is unknown.
	// With cores, the controller measures how durations grow with the number of messages in progress.
	Cores int
	// Trees means that [Expected] inputs come. Nothing is decided before the first one.
	Trees bool
	// Stale is the age at which a measurement or a listing becomes unknown; zero means three polls, at least 5 s. It is
	// longer for sources that poll less often while the queue is quiet.
	Stale time.Duration
	// Unreported is set for a fleet whose workers do not report. Its members count as working while the fleet's own
	// service lists them in service, and that service chooses which of them to end.
	Unreported bool
	// Protect asks for the protection of members that the fleet's own service could end while they work.
	Protect bool
	// HandEvery is the time between two handovers to a cloud's target tracking; zero means a minute.
	HandEvery time.Duration
	// OmitBodies leaves the bodies of records empty. Simulations that never read them take a third less time.
	OmitBodies bool
	// Learn is the window of measured durations; above zero.
	Learn time.Duration

	// policy is built from Spec; memory is how far back it reads recent decisions; spec is Spec as JSON.
	policy muster.Policy
	memory time.Duration
	// plansAhead is true for a policy that reads the busiest times, which are the most expensive part of an
	// observation; lasting for one that remembers rare work.
	plansAhead, lasting bool
	spec                []byte
	// uses are the metrics that the policy reads, sorted by key.
	uses []policy.MetricUse
}

// NewSettings completes s: it builds the policy from s.Spec and sets the defaults of zero fields: Poll one second,
// Learn ten minutes, Slots 1, BootPrior one minute. The error is about the policy.
func NewSettings(s Settings) (Settings, error) {
	p, err := policy.New(s.Spec)
	if err != nil {
		return Settings{}, fmt.Errorf("fleet %s: build the policy: %w", s.Fleet, err)
	}
	spec, err := json.Marshal(s.Spec)
	if err != nil {
		return Settings{}, fmt.Errorf("fleet %s: encode the policy: %w", s.Fleet, err)
	}
	s.policy, s.spec, s.memory, s.uses = p, spec, s.Spec.Memory(), s.Spec.Metrics(s.Fleet, s.Queues)
	s.plansAhead, s.lasting = s.Spec.PlansAhead(), s.Spec.ForgetsSlowly()
	s.Slots = max(1, s.Slots)
	if s.BootPrior <= 0 {
		s.BootPrior = time.Minute
	}
	if s.Poll <= 0 {
		s.Poll = time.Second
	}
	if s.Learn <= 0 {
		s.Learn = 10 * time.Minute
		if s.lasting {
			s.Learn = deadlineLearn
		}
	}
	return s, nil
}

// Deciding returns s with the policy p in place of the configured one; p reads decisions as far back as memory, and no
// busiest times. Its decisions cannot be recomputed, because their records refer to the configured policy.
func (s Settings) Deciding(p muster.Policy, memory time.Duration) Settings {
	s.policy, s.memory, s.plansAhead = p, memory, false
	return s
}

// LookTimeout bounds one poll of the queues and the fleet: the first reading must not be stale when the last one
// arrives.
func (s *Settings) LookTimeout() time.Duration {
	return min(max(3*s.Poll, 5*time.Second)*3/4, 10*time.Second)
}

const (
	// silence is how long after its last report a worker is lost. Workers report every second, or every five seconds if
	// answers are late, and a report may take half a minute longer than the one before. Stored reports are written
	// every ten to fifteen seconds and read every ten. The end of a member is found sooner, by the listing of its
	// fleet.
	silence = 45 * time.Second
	// treesStale is the age at which the forecast of trees becomes unknown. Some stores are read rarely, because each
	// reading costs money.
	treesStale = 30 * time.Second
	// grace is how long after it joined a member gets no stop request.
	grace = 10 * time.Second
	// endOverdue is how long a released worker may take to stop by itself before the fleet ends it.
	endOverdue = 10 * time.Second
	// holdEvery is how often an unchanged decision is recorded.
	holdEvery = learning.NotedEvery
	// wishEvery is the shortest time between two records of a changed recommendation alone.
	wishEvery = time.Second
	// deadlineLearn is the window of durations for the policy deadline: rare long messages matter to it, and changes of
	// the mean show in the recent pace.
	deadlineLearn = 6 * time.Hour
	// maxMoves bounds the members that are launched or asked to drain in one step; the next step continues.
	maxMoves = 1000
	// OrderTimeout is how long the result of an order is awaited; after that the order counts as failed.
	OrderTimeout = 2 * time.Minute
)
