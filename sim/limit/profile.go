package limit

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/muster-scale/muster/sim/trace"
)

const (
	// mostSlots bounds the length of a profile, and with it the memory and time of every bound.
	mostSlots = 32768
	// fineness is the number of slots of time in a latency objective at first. The slots are doubled in width until the
	// trace fits into mostSlots.
	fineness = 256
)

// Profile is what the bounds need to know of a trace: how much work arrived in each slot of time, in messages of which
// size. Its size does not depend on the number of messages: it has at most 32768 slots of time, with one class for each
// power of two of the service. A Profile is not changed after [Read] and may be used by several goroutines.
type Profile struct {
	problem Problem
	// width is the width of a slot of time; slots[g] holds the messages that arrived in [g*width, (g+1)*width).
	width time.Duration
	slots []slot
	// messages counts all messages, attainable those with a service of at most Latency, and excused how many of the
	// attainable ones may be late.
	messages, attainable, excused int64
	// work is the service of all messages together. beyond is the part of it without a deadline: unattainable messages
	// and children. longest is the longest service of an attainable message.
	work, beyond, longest time.Duration
	// first and last are the first and last arrival. sizes has the classes of all attainable messages, and children
	// counts the children.
	first, last time.Duration
	sizes       []class
	children    int64
}

// slot holds what arrives in one slot of time.
type slot struct {
	// first and last are the earliest and latest arrival of an attainable message, if there is one.
	first, last time.Duration
	classes     []class
	// beyond is the work without a deadline that arrives here.
	beyond time.Duration
}

// class holds messages of similar size: their services in nanoseconds have the same number of binary digits.
type class struct {
	digits      int
	count       int64
	work        time.Duration
	least, most time.Duration
}

// atom is work in messages of one size, each of which can be excused for the same fee.
type atom struct{ work, size time.Duration }

// Read reads the trace of a problem once. An error says what in the problem or the trace is not allowed, or is the
// trace's own.
func Read(p Problem) (*Profile, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	f := &Profile{problem: p, width: (p.Latency + fineness - 1) / fineness}
	var fault error
	err := p.Trace.Each(func(m trace.Message) bool {
		fault = f.add(m)
		return fault == nil
	})
	if err == nil {
		err = fault
	}
	if err == nil && f.messages == 0 {
		err = fmt.Errorf("limit of trace %q: it has no message; give one with at least one", p.Trace.Name)
	}
	if err != nil {
		return nil, err
	}
	f.excused = p.excused(f.attainable)
	return f, nil
}

// add adds a root with its children. It widens the slots of time when the trace has become too long for them.
func (f *Profile) add(m trace.Message) error {
	at := func(what string, found time.Duration, allowed string) error {
		return fmt.Errorf("limit of trace %q: message %d has %s %v; allowed is %s", f.problem.Trace.Name, f.messages+1,
			what, found, allowed)
	}
	switch {
	case m.Arrival < f.last:
		return at("the arrival", m.Arrival, "one that is not before the message before, at "+f.last.String())
	case m.Arrival > longest:
		return at("the arrival", m.Arrival, "at most "+longest.String())
	}
	if f.messages == 0 {
		f.first = m.Arrival
	}
	f.last = m.Arrival
	// The profile must not grow with the length of the trace.
	for f.horizon(m.Arrival) > mostSlots {
		f.widen()
	}
	return f.count(m, m.Arrival, false)
}

// count adds a message, and its children at the earliest arrival that is possible for them.
func (f *Profile) count(m trace.Message, arrival time.Duration, child bool) error {
	if m.Service < 0 || m.Service > longest || m.Arrival < 0 || m.Arrival > longest {
		return fmt.Errorf("limit of trace %q: message %d has a service of %v at %v; allowed are 0s to %v",
			f.problem.Trace.Name, f.messages+1, m.Service, m.Arrival, longest)
	}
	// Sums of a few such numbers must not overflow.
	if f.work > math.MaxInt64/4-m.Service {
		return fmt.Errorf("limit of trace %q: message %d brings the work above %v worker-seconds, which is the most; "+
			"cut the trace",
			f.problem.Trace.Name, f.messages+1, time.Duration(math.MaxInt64/4).Seconds())
	}
	f.messages++
	f.work += m.Service
	g := int(arrival / f.width)
	for len(f.slots) <= g {
		f.slots = append(f.slots, slot{})
	}
	s := &f.slots[g]
	if m.Service <= f.problem.Latency {
		f.attainable++
		f.longest = max(f.longest, m.Service)
		one := class{bits.Len64(uint64(m.Service)), 1, m.Service, m.Service, m.Service}
		f.sizes = include(f.sizes, one)
		if !child {
			s.span(arrival, arrival)
			s.classes = include(s.classes, one)
		}
	}
	if child || m.Service > f.problem.Latency {
		f.beyond += m.Service
		s.beyond += m.Service
	}
	for _, c := range m.Children {
		f.children++
		// A child's work counts in the slot of its root, which is no later than any arrival it can have.
		if err := f.count(c, arrival, true); err != nil {
			return err
		}
	}
	return nil
}

// span extends the range of arrivals of the slot by those from first to last. It is called before the classes are
// added.
func (s *slot) span(first, last time.Duration) {
	if len(s.classes) == 0 {
		s.first, s.last = first, last
		return
	}
	s.first, s.last = min(s.first, first), max(s.last, last)
}

// include adds a class to the classes of a slot, which stay ordered by size.
func include(all []class, c class) []class {
	i := len(all)
	for i > 0 && all[i-1].digits > c.digits {
		i--
	}
	if i > 0 && all[i-1].digits == c.digits {
		same := &all[i-1]
		same.count += c.count
		same.work += c.work
		same.least, same.most = min(same.least, c.least), max(same.most, c.most)
		return all
	}
	all = append(all, class{})
	copy(all[i+1:], all[i:])
	all[i] = c
	return all
}

// horizon returns how many slots of time reach to the deadlines of all messages that arrive until last.
func (f *Profile) horizon(last time.Duration) int {
	return max(int(last/f.width), int((last+f.problem.Latency-1)/f.width)) + 1
}

// length returns the number of slots of time in which messages can be in time.
func (f *Profile) length() int { return f.horizon(f.last) }

// due returns the last slot of time in which the messages that arrive in slot g can be in time. It does not decrease
// from one slot with messages to the next.
func (f *Profile) due(g int) int { return max(g, int((f.slots[g].last+f.problem.Latency-1)/f.width)) }

// widen doubles the width of the slots in place.
func (f *Profile) widen() {
	wide := f.wider()
	f.width, f.slots = wide.width, wide.slots
}

// wider returns the profile with slots of twice the width.
func (f *Profile) wider() *Profile {
	w := *f
	w.width *= 2
	w.slots = make([]slot, (len(f.slots)+1)/2)
	for g, s := range f.slots {
		to := &w.slots[g/2]
		if len(s.classes) > 0 {
			to.span(s.first, s.last)
		}
		for _, c := range s.classes {
			to.classes = include(to.classes, c)
		}
		to.beyond += s.beyond
	}
	return &w
}

// atoms splits a class into work in messages of its least and of its most size, so that under any price and fee the two
// parts together pay no more than the class does.
//
// With least a, most z, count n and work v, the class has the same number and work as (v-n*a)/(z-a) messages of size z
// and the rest of size a. What a message pays, min(price times size, fee), is concave in its size, so moving messages
// to the ends pays no more. Rounding moves work to the larger size, which pays no more either.
func (c class) atoms() [2]atom {
	if c.least == c.most {
		return [2]atom{{c.work, c.most}}
	}
	above := c.work - time.Duration(c.count)*c.least
	high, low := bits.Mul64(uint64(c.most), uint64(above))
	large, rest := bits.Div64(high, low, uint64(c.most-c.least))
	if rest > 0 {
		large++
	}
	upper := min(time.Duration(large), c.work)
	return [2]atom{{upper, c.most}, {c.work - upper, c.least}}
}

// largest returns the most work that n messages of the classes can have together.
func largest(classes []class, n int64) (work time.Duration) {
	for i := len(classes) - 1; i >= 0 && n > 0; i-- {
		c := classes[i]
		if c.count <= n {
			work += c.work
		} else {
			work += min(c.work, c.most*time.Duration(n))
		}
		n -= c.count
	}
	return work
}

// Ceiling returns the share of the messages whose own service fits into the latency objective. No schedule has a larger
// share in time.
func (f *Profile) Ceiling() float64 { return float64(f.attainable) / float64(f.messages) }

// Messages returns how many messages the trace has, children included.
func (f *Profile) Messages() int64 { return f.messages }
