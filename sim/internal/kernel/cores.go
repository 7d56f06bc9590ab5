package kernel

import "container/heap"

// roundingError bounds, in nanoseconds, how far the clock of the cores can be behind the end of a work when the event
// of that end happens: the clock and the time of the event are each rounded down.
const roundingError = 2

// Cores are the cores of a machine that all members share. With more works in progress than cores, each work slows down
// in proportion (processor sharing).
//
// All works go equally fast at any time, so one clock for all is enough. It goes as fast as each work does: a work ends
// when the clock has gone on by its service since it began. A work that begins or ends changes the speed of the clock
// alone, and no other work has to be touched.
//
// The caller plans one event, at [Cores.NextEnd], and plans it anew after each Begin, Remove and End.
type Cores struct {
	// Count is the number of cores, at least 1. It must not change during a run.
	Count int

	// clock is how much each work has done since the start of the run, and at is the time of that reading, both in
	// nanoseconds.
	clock, at int64
	works     works
}

// Work is a work in progress.
type Work struct {
	// Number identifies the work. Of works that end at the same time the smaller number ends first.
	Number uint32
	// Member does the work, on the message Ref.
	Member, Ref int32

	end int64 // of the clock
}

// slowdown is how many times as long each work takes at present.
func (c *Cores) slowdown() float64 {
	return max(1, float64(len(c.works))/float64(c.Count))
}

// advance brings the clock to the time now.
func (c *Cores) advance(now int64) {
	c.clock += int64(float64(now-c.at) / c.slowdown())
	c.at = now
}

// Begin begins a work that takes service nanoseconds on a core of its own.
func (c *Cores) Begin(now, service int64, w Work) {
	c.advance(now)
	w.end = c.clock + service
	heap.Push(&c.works, w)
}

// Remove removes the works of a member, which died.
func (c *Cores) Remove(now int64, member int32) {
	c.advance(now)
	for k := len(c.works) - 1; k >= 0; k-- {
		if c.works[k].Member == member {
			heap.Remove(&c.works, k)
			k = len(c.works) // the order has changed
		}
	}
}

// NextEnd returns when the first work ends if no other begins or is removed before; false when there is none. The clock
// must be at now, as it is after Begin, Remove and End.
func (c *Cores) NextEnd(now int64) (at int64, any bool) {
	if len(c.works) == 0 {
		return 0, false
	}
	left := max(0, c.works[0].end-c.clock)
	return now + int64(float64(left)*c.slowdown()), true
}

// End removes a work that is done at the time now and returns it; false when there is none. Callers repeat it until
// then, because several works can end at once.
func (c *Cores) End(now int64) (Work, bool) {
	c.advance(now)
	if len(c.works) == 0 || c.works[0].end > c.clock+roundingError {
		return Work{}, false
	}
	return heap.Pop(&c.works).(Work), true
}

// works is a heap of works by their end, and by their number where that is the same.
type works []Work

// Len implements [heap.Interface].
func (w works) Len() int { return len(w) }

// Less implements [heap.Interface].
func (w works) Less(i, j int) bool {
	return w[i].end < w[j].end || w[i].end == w[j].end && w[i].Number < w[j].Number
}

// Swap implements [heap.Interface].
func (w works) Swap(i, j int) { w[i], w[j] = w[j], w[i] }

// Push implements [heap.Interface].
func (w *works) Push(x any) { *w = append(*w, x.(Work)) }

// Pop implements [heap.Interface].
func (w *works) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}
