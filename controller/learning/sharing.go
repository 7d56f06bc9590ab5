package learning

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
)

// Crowded is the sum over messages that finished while a similar number was in progress, in a [Learned].
type Crowded struct {
	// Level is the index of the group: see [levelOf].
	Level int `json:"level"`
	// Messages is how many finished, Seconds the sum of their durations, Busy the sum over them of the mean number of
	// busy slots.
	Messages float64 `json:"n"`
	Seconds  float64 `json:"s"`
	Busy     float64 `json:"busy"`
}

// levelsPerDoubling is the number of levels between a number of busy slots and twice as many.
const levelsPerDoubling = 4

// levelOf returns the level of a mean number of busy slots. Levels are logarithmic, because durations on a shared
// machine grow in proportion to the number.
func levelOf(busy float64) int {
	if !(busy > 1) {
		return 0
	}
	return int(math.Min(math.Round(levelsPerDoubling*math.Log2(busy)), muster.MaxCrowds-1))
}

// leastWatched is the shortest time over which busy slots are averaged. Workers report every second, so shorter work is
// in progress in few reports.
const leastWatched = 2 * time.Second

// maxTurns bounds the remembered changes of the number of busy slots.
const maxTurns = 256

// crowding remembers how many slots were busy when, and the durations learned by that number. It is empty for a fleet
// whose members do not share a machine.
type crowding struct {
	// turns are the changes of the number of busy slots, oldest first, at most maxTurns. It is replaced, never changed.
	turns []turn
	// crowds are the learned durations by level. It is replaced, never changed.
	crowds []crowd
	// seconds is the sum of the durations in the reports of one step, messages their number.
	seconds  float64
	messages int64
}

// changeCrowding returns a copy of m.crowding, which takes its place and which the caller may change.
func (m *Memory) changeCrowding() *crowding {
	var c crowding
	if m.crowding != nil {
		c = *m.crowding
	}
	m.crowding = &c
	return &c
}

// add adds the durations in the reports of a step.
func (c *crowding) add(all []series.Durations) {
	for _, d := range all {
		c.messages, c.seconds = c.messages+d.Count, c.seconds+d.SumSeconds
	}
}

// turn is a time from which on a number of slots were busy.
type turn struct {
	at   time.Time
	busy int
	// spent is the integral of busy slots over time until at, in slot-seconds. Differences give the mean of any span.
	spent float64
}

// crowd has the measurements of one level.
type crowd struct {
	level                   int
	messages, seconds, busy series.Counts
}

// Crowd notes at the end of a step how many slots are busy, and assigns the step's durations to a level.
func (m *Memory) Crowd(now time.Time, r Rules, busy int) {
	if r.Cores > 0 {
		c := m.changeCrowding()
		c.watch(now, busy)
		c.assign(now, &m.measured)
	}
}

// watch notes the number of busy slots from now on.
func (c *crowding) watch(now time.Time, busy int) {
	n := len(c.turns)
	if n == 0 {
		c.turns = []turn{{at: now, busy: busy}}
		return
	}
	last := c.turns[n-1]
	if last.busy == busy || !now.After(last.at) {
		return
	}
	from := 0
	if n >= maxTurns {
		from = n - maxTurns/2
	}
	next := turn{at: now, busy: busy, spent: last.spent + float64(last.busy)*now.Sub(last.at).Seconds()}
	c.turns = append(append(make([]turn, 0, n-from+1), c.turns[from:]...), next)
}

// spentBy returns the slot-seconds until a time; false before the first remembered change.
func (c *crowding) spentBy(at time.Time) (float64, bool) {
	i, found := slices.BinarySearchFunc(c.turns, at, func(t turn, at time.Time) int { return t.at.Compare(at) })
	if !found {
		i--
	}
	if i < 0 {
		return 0, false
	}
	t := c.turns[i]
	return t.spent + float64(t.busy)*at.Sub(t.at).Seconds(), true
}

// assign adds the durations of a step's reports to u, at the level of the mean number of busy slots while these
// messages were in progress. Messages that began before the first remembered change are dropped.
func (c *crowding) assign(now time.Time, u *unrecorded) {
	n, seconds := c.messages, c.seconds
	c.messages, c.seconds = 0, 0
	if n == 0 {
		return
	}
	mean := seconds / float64(n)
	span := max(leastWatched, time.Duration(mean*float64(time.Second)))
	began, known := c.spentBy(now.Add(-span))
	if !known {
		return
	}
	ended, _ := c.spentBy(now)
	busy := math.Max(1, (ended-began)/span.Seconds())
	l := u.change()
	l.Crowded = addCrowded(l.Crowded, Crowded{Level: levelOf(busy), Messages: float64(n), Seconds: seconds,
		Busy: busy * float64(n)})
}

// addCrowded returns a copy of all with more added to its level. It is sorted by level.
func addCrowded(all []Crowded, more Crowded) []Crowded {
	all = slices.Clone(all)
	i, found := slices.BinarySearchFunc(all, more.Level,
		func(c Crowded, level int) int { return cmp.Compare(c.Level, level) })
	if !found {
		return slices.Insert(all, i, more)
	}
	c := &all[i]
	c.Messages, c.Seconds, c.Busy = c.Messages+more.Messages, c.Seconds+more.Seconds, c.Busy+more.Busy
	return all
}

// learn adds the groups of a record to the windows.
func (c *crowding) learn(since, at time.Time, l Learned, length time.Duration) {
	crowds := slices.Clone(c.crowds)
	for _, x := range l.Crowded {
		if x.Level < 0 || x.Level >= muster.MaxCrowds {
			continue // the record is damaged, or of a version with more levels
		}
		i, found := slices.BinarySearchFunc(crowds, x.Level,
			func(c crowd, level int) int { return cmp.Compare(c.level, level) })
		if !found {
			empty := series.Counts{Length: length}
			crowds = slices.Insert(crowds, i, crowd{level: x.Level, messages: empty, seconds: empty, busy: empty})
		}
		o := &crowds[i]
		o.messages = o.messages.Add(since, at, x.Messages)
		o.seconds, o.busy = o.seconds.Add(since, at, x.Seconds), o.busy.Add(since, at, x.Busy)
	}
	c.crowds = crowds
}

// Sharing returns the durations by messages in progress; nil for a fleet whose members do not share a machine.
func (m *Memory) Sharing(now time.Time, r Rules) *muster.Sharing {
	if r.Cores < 1 {
		return nil
	}
	w := &muster.Sharing{Cores: r.Cores}
	if m.crowding == nil {
		return w
	}
	for i := range m.crowding.crowds {
		x := &m.crowding.crowds[i]
		n := x.messages.Over(now, r.Learn)
		if n < 0.5 { // the rest of a message at the edge of the window
			continue
		}
		w.Crowds = append(w.Crowds, muster.Crowd{
			Busy: math.Max(1, x.busy.Over(now, r.Learn)/n), Messages: n, Lately: x.messages.Over(now, paceOver()),
			MeanSeconds: x.seconds.Over(now, r.Learn) / n,
		})
	}
	return w
}
