package account

import (
	"cmp"
	"slices"
	"time"
)

// The bounds of an account.
const (
	// MaxEvents is the number of events that are kept until they are taken; the oldest are dropped first.
	MaxEvents = 10_000
	// MaxClientTokens is the number of client tokens that a service remembers; the oldest are dropped first.
	MaxClientTokens = 1_000
	// MaxSeconds bounds times that callers state and that no rule of AWS bounds more closely: 31 days.
	MaxSeconds = 31 * 24 * 3600
)

// Identity names an account and says when it starts.
type Identity struct {
	// Start is the first instant.
	Start time.Time
	// Seed decides everything that is drawn by chance.
	Seed uint64
	// Region is us-east-1 when empty, Account is 000000000000.
	Region, Account string
	// Caller is the ARN of the caller; a role of the account when empty.
	Caller string
	// Rates are the token buckets of the API, by service and action; DefaultRates when nil.
	Rates []Rate
}

// Account is one account in one region, at one instant. It is not safe for concurrent use.
type Account struct {
	identity   Identity
	now        time.Time
	agenda     agenda            // what is scheduled, earliest first
	turns      uint64            // counts schedulings, so that equal instants keep their order
	drawn      map[string]uint64 // numbers drawn, by stream
	ids        uint64            // identifiers given
	pools      map[Pool]int      // capacity of limited pools
	buckets    []*Bucket
	injections []*Injection
	events     []Event
}

// New returns an account at its start, with nothing in it.
func New(i Identity) *Account {
	i.Region = cmp.Or(i.Region, "us-east-1")
	i.Account = cmp.Or(i.Account, "000000000000")
	i.Caller = cmp.Or(i.Caller, "arn:aws:iam::"+i.Account+":role/caller")
	if i.Rates == nil {
		i.Rates = DefaultRates()
	}
	a := &Account{identity: i, now: i.Start, drawn: map[string]uint64{}, pools: map[Pool]int{}}
	for _, r := range i.Rates {
		a.buckets = append(a.buckets, NewBucket(r, i.Start))
	}
	return a
}

// Region returns the region of the account.
func (w *Account) Region() string { return w.identity.Region }

// Caller returns the ARN of the caller of all actions.
func (w *Account) Caller() string { return w.identity.Caller }

// ARN returns the ARN of a resource of the account.
func (w *Account) ARN(service, rest string) string {
	return "arn:aws:" + service + ":" + w.identity.Region + ":" + w.identity.Account + ":" + rest
}

// QueueURL returns the URL of a queue of the account.
func (w *Account) QueueURL(name string) string {
	return "https://sqs." + w.identity.Region + ".amazonaws.com/" + w.identity.Account + "/" + name
}

// The markets of instances and tasks.
const (
	OnDemand = "on-demand"
	Spot     = "spot"
)

// Pool is a source of instances, or of tasks on Fargate, whose capacity may be short. Market is OnDemand or Spot.
type Pool struct {
	InstanceType, AvailabilityZone, Market string
}

// LimitCapacity sets how many instances a pool can run at once, running ones included; a negative number means no
// limit. Launches beyond it fail with InsufficientInstanceCapacity. The pool of Fargate has no zone.
func (w *Account) LimitCapacity(p Pool, instances int) {
	if instances < 0 {
		delete(w.pools, p)
		return
	}
	w.pools[p] = instances
}

// Capacity returns how many instances a pool can run at once, and whether that is limited.
func (w *Account) Capacity(p Pool) (int, bool) {
	n, limited := w.pools[p]
	return n, limited
}

// Nothing is the answer of actions without output.
type Nothing struct{}

// Publish publishes a metric of AWS: the value of the minute that has just ended. Dimensions are names and values in
// turn.
type Publish func(namespace, metric string, v float64, dimensions ...string)

// Event is what AWS would send to EventBridge. The caller of TakeEvents decides on its delivery: late, twice or
// never.
type Event struct {
	At time.Time
	// Source is aws.autoscaling, aws.ec2, aws.ecs or aws.cloudwatch.
	Source string
	// DetailType is what happened, in the words of EventBridge.
	DetailType string
	// Resource is the id or ARN of what it happened to.
	Resource string
	// Detail says more, for instance the new state.
	Detail string
}

// Tell keeps an event until it is taken.
func (w *Account) Tell(source, kind, resource, detail string) {
	w.events = append(w.events, Event{w.now, source, kind, resource, detail})
	if len(w.events) > 2*MaxEvents { // twice the bound, because each deletion moves all that stay
		w.events = slices.Delete(w.events, 0, len(w.events)-MaxEvents)
	}
}

// TakeEvents returns the events since the last call, oldest first, at most MaxEvents.
func (w *Account) TakeEvents() []Event {
	taken := w.events[max(len(w.events)-MaxEvents, 0):]
	w.events = nil
	return taken
}
