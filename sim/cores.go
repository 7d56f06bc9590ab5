package sim

import (
	"container/heap"
	"time"
)

// roundingError bounds, in nanoseconds, by how much the clock of the cores may be behind when the next work ends.
const roundingError = 2

// cores are those of a machine that all members share: with more works under way than cores, each goes slower in
// proportion (processor sharing). All go equally fast at any time, so one clock is enough, which goes as fast as each
// of them does: a work ends when the clock has gone on by its service since it began.
type cores struct {
	// clock is what each work did since the start of the run, at the instant at, both in nanoseconds.
	clock, at int64
	works     works
	// turn numbers the planned ends: only the newest counts.
	turn uint64
}

// coreWork is a work under way.
type coreWork struct {
	end    int64 // of the clock
	number uint32
	member int32
	ref    int32
}

// works is a heap of works by their end, and by their number where that is the same.
type works []coreWork

// Len implements [heap.Interface].
func (w works) Len() int { return len(w) }

// Less implements [heap.Interface].
func (w works) Less(i, j int) bool {
	return w[i].end < w[j].end || w[i].end == w[j].end && w[i].number < w[j].number
}

// Swap implements [heap.Interface].
func (w works) Swap(i, j int) { w[i], w[j] = w[j], w[i] }

// Push implements [heap.Interface].
func (w *works) Push(x any) { *w = append(*w, x.(coreWork)) }

// Pop implements [heap.Interface].
func (w *works) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}

// slowdown is how many times as long each work takes for now.
func (r *run) slowdown() float64 {
	return max(1, float64(len(r.cores.works))/float64(r.world.Cores))
}

// tick brings the clock of the cores to the present.
func (r *run) tick() {
	c := &r.cores
	c.clock += int64(float64(r.now-c.at) / r.slowdown())
	c.at = r.now
}

// share begins a work on the cores.
func (r *run) share(i int32, ref int32, number uint32) {
	r.tick()
	heap.Push(&r.cores.works, coreWork{r.cores.clock + r.queue.all[ref].service, number, i, ref})
	r.planShared()
}

// unshare takes the works of a member that died from the cores.
func (r *run) unshare(i int32) {
	r.tick()
	for k := len(r.cores.works) - 1; k >= 0; k-- {
		if r.cores.works[k].member == i {
			heap.Remove(&r.cores.works, k)
			k = len(r.cores.works) // the order has changed
		}
	}
	r.planShared()
}

// planShared plans the end of the work that ends first, as fast as all go now.
func (r *run) planShared() {
	c := &r.cores
	c.turn++
	if len(c.works) > 0 {
		left := max(0, c.works[0].end-c.clock)
		r.add(r.now+int64(float64(left)*r.slowdown()), evShared, none, c.turn)
	}
}

// sharedEnded ends the works that are done. Each is handed over as it would be without the others.
func (r *run) sharedEnded() {
	r.tick()
	c := &r.cores
	for len(c.works) > 0 && c.works[0].end <= c.clock+roundingError {
		w := heap.Pop(&c.works).(coreWork)
		x := &r.queue.all[w.ref]
		x.took = r.now - x.since
		r.after(r.world.Handover, evFinished, w.member, uint64(w.number))
	}
	r.planShared()
}

// took is how long the work on a message took that has just ended.
func (r *run) took(x *message) time.Duration {
	if r.world.Cores > 0 {
		return time.Duration(x.took)
	}
	return time.Duration(x.service)
}
