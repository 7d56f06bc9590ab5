package cloud

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// The bounds of a world. They are at or above the default quotas of AWS where those are known.
const (
	// MaxGroups is how many Auto Scaling groups there may be.
	MaxGroups = 500
	// MaxGroupSize is the largest MaxSize of a group.
	MaxGroupSize = 5_000
	// MaxPolicies is how many scaling policies a group or a scalable target may have.
	MaxPolicies = 50
	// MaxHooks is how many lifecycle hooks a group may have.
	MaxHooks = 50
	// MaxActivities is how many activities of one group or target are kept; the oldest go first.
	MaxActivities = 1_000
	// MaxQueues is how many queues there may be.
	MaxQueues = 1_000
	// MaxMetrics is how many metrics there may be.
	MaxMetrics = 10_000
	// MaxAlarms is how many alarms there may be.
	MaxAlarms = 5_000
	// MaxEvents is how many events are kept until they are taken; the oldest go first.
	MaxEvents = 10_000
	// MaxClientTokens is how many client tokens of launches are remembered; the oldest go first.
	MaxClientTokens = 1_000

	// maxSeconds bounds times that callers state, far above every limit of AWS that is not checked for itself.
	maxSeconds = 31 * 24 * 3600
)

// Settings make a world. The zero value of every field but Start is a default.
type Settings struct {
	// Start is the first instant; needed.
	Start time.Time
	// Seed decides everything that is drawn.
	Seed uint64
	// Region is us-east-1 when empty, Account 000000000000.
	Region, Account string
	// Caller is who calls: a group with another Operator refuses it.
	Caller string
	// Machines is how instances of groups behave that have no Machines of their own.
	Machines Machines
	// Tasks is how tasks behave.
	Tasks Tasks
	// Counts is how the counts of queues look from outside.
	Counts Counts
	// Metrics is how CloudWatch takes in metrics.
	Metrics MetricDelays
	// Tracking is how target tracking of groups works.
	Tracking Tracking
	// Rates are the token buckets of the API, by service and action; DefaultRates when nil.
	Rates []Rate
	// WarmPoolsMayMix lets a group have a warm pool and a mixed instances policy at a time. The documentation of 2023
	// says no; whether it is still so could not be settled.
	WarmPoolsMayMix bool
}

// World is one account in one region, at one instant. It is not safe for concurrent use.
type World struct {
	settings Settings
	now      time.Time
	agenda   agenda
	turns    uint64
	drawn    map[string]uint64
	ids      uint64

	groups     map[string]*group
	instances  map[string]*instance
	pools      map[Pool]int
	lambdas    map[string]TerminationPolicy
	tokens     clientTokens
	queues     map[string]*queueCounts
	metrics    map[string]*metric
	alarms     map[string]*metricAlarm
	targets    map[string]*scalable
	ecs        ecsState
	buckets    []*bucket
	injections []*Injection
	events     []Event
}

// New returns a world at its start, with nothing in it.
func New(s Settings) *World {
	s.Region = cmp.Or(s.Region, "us-east-1")
	s.Account = cmp.Or(s.Account, "000000000000")
	s.Caller = cmp.Or(s.Caller, "arn:aws:iam::"+s.Account+":role/caller")
	s.Machines = s.Machines.withDefaults(Machines{})
	s.Tasks = s.Tasks.withDefaults()
	s.Tracking = s.Tracking.withDefaults()
	if s.Rates == nil {
		s.Rates = DefaultRates()
	}
	w := &World{
		settings: s, now: s.Start, drawn: map[string]uint64{}, groups: map[string]*group{},
		instances: map[string]*instance{},
		pools:     map[Pool]int{}, lambdas: map[string]TerminationPolicy{}, queues: map[string]*queueCounts{},
		metrics: map[string]*metric{}, alarms: map[string]*metricAlarm{}, targets: map[string]*scalable{},
	}
	w.ecs = newECSState(s.Tasks, s.Start)
	for _, r := range s.Rates {
		w.buckets = append(w.buckets, &bucket{rate: r, tokens: r.Burst, at: s.Start})
	}
	w.at(nextMinute(s.Start), w.minute)
	return w
}

// Now is the instant of the world.
func (w *World) Now() time.Time { return w.now }

// Region is the region that the world is.
func (w *World) Region() string { return w.settings.Region }

// Advance lets time pass until an instant: everything that is due until then happens, in order of time. An earlier
// instant than Now changes nothing.
func (w *World) Advance(to time.Time) {
	for len(w.agenda) > 0 && !w.agenda[0].at.After(to) {
		d := w.agenda.pop()
		w.now = d.at
		d.run()
	}
	if to.After(w.now) {
		w.now = to
	}
}

// minute is what happens once a minute: metrics are published.
func (w *World) minute() {
	w.publishQueues()
	w.publishGroups()
	w.publishECS()
	w.forget()
	w.at(w.now.Add(time.Minute), w.minute)
}

func nextMinute(t time.Time) time.Time { return t.Truncate(time.Minute).Add(time.Minute) }

// due is something that happens at an instant.
type due struct {
	at   time.Time
	turn uint64
	run  func()
}

// agenda is a heap of what is due, by instant and then in the order in which it was written down.
type agenda []due

func (a agenda) before(i, j int) bool {
	if !a[i].at.Equal(a[j].at) {
		return a[i].at.Before(a[j].at)
	}
	return a[i].turn < a[j].turn
}

func (a *agenda) push(d due) {
	*a = append(*a, d)
	for i := len(*a) - 1; i > 0; {
		parent := (i - 1) / 2
		if !a.before(i, parent) {
			return
		}
		(*a)[i], (*a)[parent] = (*a)[parent], (*a)[i]
		i = parent
	}
}

func (a *agenda) pop() due {
	first, last := (*a)[0], len(*a)-1
	(*a)[0] = (*a)[last]
	(*a)[last] = due{}
	*a = (*a)[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if a.before(child, least) {
				least = child
			}
		}
		if least == i {
			return first
		}
		(*a)[i], (*a)[least] = (*a)[least], (*a)[i]
		i = least
	}
}

// at has something happen at an instant, now if that is over.
func (w *World) at(t time.Time, run func()) {
	if t.Before(w.now) {
		t = w.now
	}
	w.turns++
	w.agenda.push(due{t, w.turns, run})
}

func (w *World) after(d time.Duration, run func()) { w.at(w.now.Add(max(d, 0)), run) }

// draw is the next number of a stream, in [0, 1). Streams do not disturb each other.
func (w *World) draw(stream string) float64 {
	n := w.drawn[stream]
	w.drawn[stream] = n + 1
	return float64(scramble(scramble(w.settings.Seed^fold(stream))+n)>>11) / (1 << 53)
}

// hit tells whether something of a probability happens. What cannot happen draws nothing.
func (w *World) hit(stream string, probability float64) bool {
	return probability > 0 && w.draw(stream) < probability
}

// around is a duration with a relative spread: uniform between d*(1-spread) and d*(1+spread).
func (w *World) around(stream string, d time.Duration, spread float64) time.Duration {
	if spread <= 0 || d <= 0 {
		return max(d, 0)
	}
	return time.Duration(float64(d) * (1 + min(spread, 1)*(2*w.draw(stream)-1)))
}

// id is a new identifier of n hexadecimal digits, 16 to 32. No two of a world are equal.
func (w *World) id(n int) string {
	w.ids++
	first := scramble(w.settings.Seed ^ w.ids) // one to one
	return fmt.Sprintf("%016x%016x", first, scramble(first))[:n]
}

// uuid is a new identifier in the form of a UUID.
func (w *World) uuid() string {
	h := w.id(32)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// scramble spreads the bits of a number: the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// fold is a number of a text: FNV-1a.
func fold(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}

func (w *World) arn(service, rest string) string {
	return "arn:aws:" + service + ":" + w.settings.Region + ":" + w.settings.Account + ":" + rest
}

// Event is something that AWS would tell on EventBridge. Delivery is for whoever takes it: late, twice or never.
type Event struct {
	At time.Time
	// Source is aws.autoscaling, aws.ec2, aws.ecs or aws.cloudwatch.
	Source string
	// DetailType is what happened, in the words of EventBridge.
	DetailType string
	// Resource is the id or ARN of what it happened to.
	Resource string
	// Detail is a word more, for instance the new state.
	Detail string
}

func (w *World) tell(source, kind, resource, detail string) {
	w.events = append(w.events, Event{w.now, source, kind, resource, detail})
	if len(w.events) > 2*MaxEvents { // seldom, as it moves all that stay
		w.events = slices.Delete(w.events, 0, len(w.events)-MaxEvents)
	}
}

// TakeEvents returns the events since the last call, oldest first, at most MaxEvents.
func (w *World) TakeEvents() []Event {
	taken := w.events[max(len(w.events)-MaxEvents, 0):]
	w.events = nil
	return taken
}

// sorted are the keys of a map in order: nothing that comes out may hang on the order of a map.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// page cuts a list into pages: the part from a token on, at most n long, and the token of the next part.
func page[T any](all []T, token string, n int) ([]T, string, error) {
	from := 0
	if token != "" {
		if _, err := fmt.Sscanf(token, "from-%d", &from); err != nil || from < 0 || from > len(all) {
			return nil, "", invalid("The token '%s' is invalid.", token)
		}
	}
	to := min(from+n, len(all))
	next := ""
	if to < len(all) {
		next = fmt.Sprintf("from-%d", to)
	}
	return all[from:to], next, nil
}

// or is what a pointer points at, or a default.
func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// ptr points at a copy.
func ptr[T any](v T) *T { return &v }
