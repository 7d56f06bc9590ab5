package learning

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
)

// Crowded is how long messages took that finished while about as many were in progress, in a [Learned].
type Crowded struct {
	// Level names the crowd: see [levelOf].
	Level int `json:"level"`
	// Messages finished, which took so many Seconds in all. Busy is the sum over them of how many slots were busy.
	Messages float64 `json:"n"`
	Seconds  float64 `json:"s"`
	Busy     float64 `json:"busy"`
}

// levelsPerDoubling is how many crowds are told apart between a number of busy slots and twice as many.
const levelsPerDoubling = 4

// levelOf is the crowd that so many busy slots on average belong to: levels are as far apart as their numbers, in
// proportion, because so are the durations that they explain.
func levelOf(busy float64) int {
	if !(busy > 1) {
		return 0
	}
	return int(math.Min(math.Round(levelsPerDoubling*math.Log2(busy)), muster.MaxCrowds-1))
}

// leastWatched is the least time over which busy slots are averaged: workers report every second, and what takes less
// than that is in progress in few reports.
const leastWatched = 2 * time.Second

// maxTurns bounds how often the number of busy slots may change within what is remembered of it.
const maxTurns = 256

// crowding remembers how many slots were busy, and what was learned of durations by that. It is empty for a fleet whose
// members do not share a machine.
type crowding struct {
	// turns are the changes of the number of busy slots, oldest first; at most maxTurns. They are replaced, never
	// changed.
	turns []turn
	// crowds are what was learned, by level. They are replaced, never changed.
	crowds []crowd
	// seconds adds up the durations that the reports of one step told, messages is how many.
	seconds  float64
	messages int64
}

// turn is an instant from which on so many slots were busy.
type turn struct {
	at   time.Time
	busy int
	// spent is the sum of busy slots over time before it, in seconds.
	spent float64
}

// crowd is what was learned of one level.
type crowd struct {
	level                   int
	messages, seconds, busy series.Counts
}

// Crowd takes in what a step showed of members that share a machine, of whose slots so many are busy.
func (m *Memory) Crowd(now time.Time, r Rules, busy int) {
	if r.Cores > 0 {
		m.crowding.watch(now, busy)
		m.crowding.told(now, &m.measured)
	}
}

// watch notes that so many slots are busy from now on.
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

// spentBy is the sum of busy slots over time until an instant; false before the first that is remembered.
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

// told takes what the reports of a step told until now into what was measured: it belongs to the crowd that was there
// while these messages were worked on. What began before the first turn that is remembered belongs to none.
func (c *crowding) told(now time.Time, l *Learned) {
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
	l.Crowded = addCrowded(l.Crowded, Crowded{Level: levelOf(busy), Messages: float64(n), Seconds: seconds,
		Busy: busy * float64(n)})
}

// addCrowded returns all with more of one level, sorted by level; all is not changed.
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

// learn takes a record's crowds into those that count, for as long as durations do.
func (c *crowding) learn(since, at time.Time, l Learned, length time.Duration) {
	if len(l.Crowded) == 0 {
		return
	}
	crowds := slices.Clone(c.crowds)
	for _, x := range l.Crowded {
		if x.Level < 0 || x.Level >= muster.MaxCrowds {
			continue // of a stranger's record
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

// Sharing tells what was learned of members that share a machine; nil for a fleet whose members do not.
func (m *Memory) Sharing(now time.Time, r Rules) *muster.Sharing {
	if r.Cores < 1 {
		return nil
	}
	w := &muster.Sharing{Cores: r.Cores}
	for i := range m.crowding.crowds {
		x := &m.crowding.crowds[i]
		n := x.messages.Over(now, r.Learn)
		if n < 0.5 { // less than a message is what is left of one at the edge of the time that counts
			continue
		}
		w.Crowds = append(w.Crowds, muster.Crowd{
			Busy: math.Max(1, x.busy.Over(now, r.Learn)/n), Messages: n, Lately: x.messages.Over(now, PaceOver),
			MeanSeconds: x.seconds.Over(now, r.Learn) / n,
		})
	}
	return w
}
