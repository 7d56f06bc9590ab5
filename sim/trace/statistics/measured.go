package statistics

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/sim/trace"
)

const (
	maxClasses = 32
	maxGroups  = 1 << 16
	maxBins    = 128
	// batch is how many services are added to the histogram at once.
	batch = 4096
)

// measured holds what is known of the messages read so far.
type measured struct {
	order     trace.Order
	objective time.Duration
	roots     int64
	depth     int
	last      time.Duration

	minutes
	bins Histogram

	services series.Durations
	waiting  []time.Duration // services that are not in the histogram yet
	spread   spread
	shortest time.Duration
	longest  time.Duration
	longer   int64

	classes     map[string]*class
	moreClasses bool
	groups      map[string]struct{}
	moreGroups  bool
}

type class struct {
	messages int64
	seconds  float64
}

// arrival counts a root.
func (m *measured) arrival(at time.Duration) {
	m.roots++
	m.last = at
	m.minutes.add(int64(at / time.Minute))
	bin := int64(at/time.Second) / m.bins.WidthSeconds
	for bin >= maxBins { // halve the resolution, so that the histogram stays small
		half := make([]int64, (len(m.bins.Counts)+1)/2, maxBins)
		for i, n := range m.bins.Counts {
			half[i/2] += n
		}
		m.bins.Counts = half
		m.bins.WidthSeconds *= 2
		bin /= 2
	}
	for int64(len(m.bins.Counts)) <= bin {
		m.bins.Counts = append(m.bins.Counts, 0)
	}
	m.bins.Counts[bin]++
}

// message counts a message and its children.
func (m *measured) message(message trace.Message, depth int) {
	m.depth = max(m.depth, depth)
	m.waiting = append(m.waiting, message.Service)
	if len(m.waiting) == batch {
		m.fold()
	}
	m.spread.add(message.Service.Seconds())
	if m.shortest = min(m.shortest, message.Service); m.spread.n == 1 {
		m.shortest = message.Service
	}
	m.longest = max(m.longest, message.Service)
	if m.objective > 0 && message.Service > m.objective {
		m.longer++
	}
	m.class(message)
	if message.Group != "" && !m.moreGroups {
		if _, known := m.groups[message.Group]; !known {
			if m.moreGroups = len(m.groups) == maxGroups; !m.moreGroups {
				m.groups[message.Group] = struct{}{}
			}
		}
	}
	for _, c := range message.Children {
		m.message(c, depth+1)
	}
}

// class counts a message in its class, if that is one of the first ones.
func (m *measured) class(message trace.Message) {
	c := m.classes[message.Class]
	if c == nil {
		if len(m.classes) == maxClasses {
			m.moreClasses = true
			return
		}
		c = &class{}
		m.classes[message.Class] = c
	}
	c.messages++
	c.seconds += message.Service.Seconds()
}

// fold adds the waiting services to the histogram.
func (m *measured) fold() {
	m.services = series.Add(m.services, m.waiting...)
	m.waiting = m.waiting[:0]
}

// statistics returns what was measured.
func (m *measured) statistics(goal Goal) Statistics {
	m.fold()
	slots := max(1, goal.Slots)
	over := m.last.Seconds()
	s := Statistics{
		Messages: m.order.Messages(), Roots: m.roots, Depth: m.depth, DurationSeconds: round(over),
		PeakPerMinute: m.minutes.peak(), Dispersion: m.minutes.dispersion(),
		Service: Service{
			WorkSeconds: round(m.services.SumSeconds), MeanSeconds: round(m.spread.mean),
			MaxSeconds: round(m.longest.Seconds()),
			P50Seconds: m.quantile(0.5), P95Seconds: m.quantile(0.95), P99Seconds: m.quantile(0.99), CV: m.spread.cv(),
		},
		MoreClasses: m.moreClasses, Groups: len(m.groups), MoreGroups: m.moreGroups, Arrivals: m.bins,
		Classes: m.sorted(),
	}
	if over > 0 {
		s.RatePerSecond = known(float64(m.roots) / over)
		s.Load = known(m.services.SumSeconds / over)
		s.Workers = known(m.services.SumSeconds / over / float64(slots))
	}
	if goal.Objective.Latency > 0 {
		s.Slack = m.slack(goal, slots)
	}
	return s
}

// quantile returns a quantile of the services, limited to the range of the services: the histogram's can be outside.
func (m *measured) quantile(q float64) float64 {
	return round(min(max(series.Quantile(m.services, q), m.shortest.Seconds()), m.longest.Seconds()))
}

// slack compares the trace with the goal.
func (m *measured) slack(goal Goal, slots int) *Slack {
	q := cmp.Or(goal.Objective.Quantile, 0.99)
	s := &Slack{
		ObjectiveSeconds: goal.Objective.Latency.Seconds(), Quantile: q, BootSeconds: goal.Boot.Seconds(), Slots: slots,
		Longer: round(float64(m.longer) / float64(m.order.Messages())),
	}
	if goal.Boot > 0 {
		s.Ratio = known((s.ObjectiveSeconds - m.quantile(q) - s.BootSeconds) / s.BootSeconds)
	}
	return s
}

// sorted returns the classes by name; none when no message has a class.
func (m *measured) sorted() []Class {
	all := []Class{}
	if len(m.classes) == 1 && m.classes[""] != nil {
		return all
	}
	for name, c := range m.classes {
		all = append(all, Class{Name: name, Messages: c.messages, MeanSeconds: round(c.seconds / float64(c.messages))})
	}
	slices.SortFunc(all, func(a, b Class) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// minutes counts arrivals in each minute, in constant memory.
type minutes struct {
	now         int64 // the minute of the newest arrival
	count, most int64 // arrivals in that minute, and the most in a minute before it
	sum, square float64
}

// add counts an arrival in a minute, which must not be before that of the arrival before.
func (m *minutes) add(minute int64) {
	if minute != m.now {
		n := float64(m.count)
		m.most = max(m.most, m.count)
		m.sum += n
		m.square += float64(n * n)
		m.now, m.count = minute, 0 // the minutes between have no arrivals
	}
	m.count++
}

// peak returns the most arrivals in a minute.
func (m *minutes) peak() int64 { return max(m.most, m.count) }

// dispersion returns the variance over the mean, without the last minute, which is not complete.
func (m *minutes) dispersion() Maybe {
	if m.now < 10 || m.sum == 0 {
		return Maybe{}
	}
	mean := m.sum / float64(m.now)
	return known(max(0, m.square/float64(m.now)-float64(mean*mean)) / mean)
}

// spread computes the mean and the variance of numbers by Welford's method, which loses no digits.
type spread struct {
	n, mean, squares float64
}

// add adds a number.
func (s *spread) add(v float64) {
	s.n++
	off := v - s.mean
	s.mean += off / s.n
	s.squares += float64(off * (v - s.mean))
}

// cv returns the coefficient of variation.
func (s *spread) cv() Maybe {
	if s.n == 0 || s.mean <= 0 {
		return Maybe{}
	}
	return known(math.Sqrt(s.squares/s.n) / s.mean)
}

// known returns a known number with six digits.
func known(v float64) Maybe { return Maybe{Known: true, Value: round(v)} }

// round returns v with six significant digits.
func round(v float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64) // it cannot fail on what was just written
	return rounded
}
