package limit

import (
	"container/heap"
	"time"
)

// job is a message of a schedule: its arrival, its service, and the last time at which it may begin and still be in
// time.
type job struct{ arrival, service, latest time.Duration }

// placed says which worker does a job, and when the job begins. Worker -1 means that the job is left undone.
type placed struct {
	worker int
	begin  time.Duration
}

// crews says how many workers may take messages in each slot of time. After the last slot it is the number of the last;
// before the schedule opens, only the least number may.
type crews struct {
	opens time.Duration
	least int
	width time.Duration
	most  []int
}

// at returns how many workers may take messages at the time now.
func (c crews) at(now time.Duration) int {
	if now < c.opens {
		return c.least
	}
	t := min(int(now/c.width), len(c.most)-1)
	return c.most[t]
}

// slotHeap holds a worker's number for each of its free slots. The lowest number takes the next message, so that
// workers with high numbers become idle and can end.
type slotHeap []int

// Len, Less, Swap, Push and Pop implement [heap.Interface].
func (h slotHeap) Len() int           { return len(h) }
func (h slotHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h slotHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *slotHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *slotHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// finish is the time at which a slot of a worker becomes free.
type finish struct {
	at     time.Duration
	worker int
}

// finishHeap holds the finishes to come, the earliest first, and of equal times the lowest worker.
type finishHeap []finish

// Len, Less, Swap, Push and Pop implement [heap.Interface].
func (h finishHeap) Len() int { return len(h) }
func (h finishHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].worker < h[j].worker
}
func (h finishHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *finishHeap) Push(x any)   { *h = append(*h, x.(finish)) }
func (h *finishHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// floor replays a schedule: workers take jobs in the order of arrival. A job is its index in that order.
type floor struct {
	slots   int
	jobs    []job
	crews   crews
	places  []placed
	queue   []int // waiting jobs, the first arrival first
	late    []int // jobs that can no longer be in time, in the order in which that was found
	free    slotHeap
	busy    finishHeap
	workers int
}

// replay lets crews work the jobs, which are ordered by arrival: a free worker takes the first job that can still be in
// time. The jobs in excused, and those that can no longer be in time, are returned in late and have no place yet.
func replay(jobs []job, excused []bool, slots int, c crews) (places []placed, late []int) {
	f := &floor{slots: slots, jobs: jobs, crews: c, places: make([]placed, len(jobs))}
	next, now := 0, time.Duration(0)
	for next < len(jobs) || len(f.queue) > 0 {
		for ; next < len(jobs) && jobs[next].arrival <= now; next++ {
			if excused[next] || jobs[next].latest < jobs[next].arrival {
				f.late = append(f.late, next)
			} else {
				f.queue = append(f.queue, next)
			}
		}
		for len(f.busy) > 0 && f.busy[0].at <= now {
			heap.Push(&f.free, heap.Pop(&f.busy).(finish).worker)
		}
		f.take(now)
		soonest := time.Duration(-1)
		if next < len(jobs) {
			soonest = jobs[next].arrival
		}
		if len(f.queue) > 0 {
			change := (now/c.width + 1) * c.width
			if now < c.opens {
				change = min(change, c.opens)
			}
			if soonest < 0 || change < soonest {
				soonest = change
			}
			if len(f.busy) > 0 {
				soonest = min(soonest, f.busy[0].at)
			}
		}
		if soonest < 0 {
			break
		}
		now = soonest
	}
	return f.places, f.late
}

// take begins as many waiting jobs as workers that may take messages now have free slots.
func (f *floor) take(now time.Duration) {
	most := f.crews.at(now)
	for len(f.queue) > 0 {
		j := f.queue[0]
		if f.jobs[j].latest < now {
			f.late = append(f.late, j)
			f.queue = f.queue[1:]
			continue
		}
		if len(f.free) == 0 && f.workers < most {
			for range f.slots {
				heap.Push(&f.free, f.workers)
			}
			f.workers++
		}
		if len(f.free) == 0 || f.free[0] >= most {
			return
		}
		worker := heap.Pop(&f.free).(int)
		f.places[j] = placed{worker, now}
		heap.Push(&f.busy, finish{now + f.jobs[j].service, worker})
		f.queue = f.queue[1:]
	}
}
