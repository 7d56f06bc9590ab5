package limit

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"time"
)

// afterwards places late jobs when all others are done, and not before ready. It uses as many workers, up to most, as
// finish them within about span, and begins with the longest job, so that all slots end at about the same time.
func afterwards(jobs []job, places []placed, late []int, slots, most int, ready, span time.Duration) {
	if len(late) == 0 {
		return
	}
	order := slices.SortedStableFunc(slices.Values(late),
		func(a, b int) int { return cmp.Compare(jobs[b].service, jobs[a].service) })
	work, begin := time.Duration(0), ready
	for _, j := range late {
		work += jobs[j].service
		begin = max(begin, jobs[j].arrival)
		places[j].worker = -1
	}
	for j, at := range places {
		if at.worker >= 0 {
			begin = max(begin, at.begin+jobs[j].service)
		}
	}
	workers := min(most, int(work/time.Duration(slots)/max(1, span))+1)
	var ends finishHeap
	for n := range min(workers*slots, len(late)) {
		heap.Push(&ends, finish{begin, n / slots})
	}
	for _, j := range order {
		e := heap.Pop(&ends).(finish)
		places[j] = placed{e.worker, e.at}
		heap.Push(&ends, finish{e.at + jobs[j].service, e.worker})
	}
}

// bill is what a schedule costs: how many of its jobs are late or left undone, how often a worker is launched, and how
// many workers there are.
type bill struct {
	paid              time.Duration
	late              int64
	launches, workers int
}

// audit bills a schedule by the places of its jobs alone, and checks that it is possible: no job begins before its
// arrival, nor on a worker that would have to be launched before ready, and no worker has more jobs at once than slots.
// A worker that is idle for longer than a boot ends and is launched again. The minimum serves from 0 to until, without
// a boot.
func audit(p Problem, jobs []job, places []placed, ready, until time.Duration) (bill, error) {
	fault := func(j int, what string) error {
		return fmt.Errorf("schedule of trace %q: message %d begins at %v on worker %d, %s; this is a fault of the "+
			"scheduler", p.Trace.Name, j+1, places[j].begin, places[j].worker, what)
	}
	var b bill
	var order []int
	for j, at := range places {
		switch {
		case at.worker < 0:
			b.late++
			continue
		case at.begin < jobs[j].arrival:
			return b, fault(j, "before it arrives")
		case at.worker >= p.Min && at.begin < ready:
			return b, fault(j, "before the worker can be ready")
		case p.Max > 0 && at.worker >= p.Max:
			return b, fault(j, fmt.Sprintf("but only %d workers are allowed", p.Max))
		case at.begin > jobs[j].latest:
			b.late++
		}
		order = append(order, j)
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(places[i].worker, places[j].worker), cmp.Compare(places[i].begin, places[j].begin),
			cmp.Compare(jobs[i].service, jobs[j].service), cmp.Compare(i, j))
	})
	b.workers, b.paid = p.Min, time.Duration(p.Min)*until
	worker := -1
	var full finishHeap
	var end time.Duration
	for _, j := range order {
		begin := places[j].begin
		if places[j].worker != worker {
			worker, full, end = places[j].worker, full[:0], until
			b.workers = max(b.workers, worker+1)
			if worker >= p.Min {
				b.launches, b.paid, end = b.launches+1, b.paid+p.Boot, begin
			}
		}
		for len(full) > 0 && full[0].at <= begin {
			heap.Pop(&full)
		}
		heap.Push(&full, finish{begin + jobs[j].service, worker})
		if len(full) > p.Slots {
			return b, fault(j, fmt.Sprintf("whose %d slots are full", p.Slots))
		}
		if begin > end+p.Boot {
			b.launches, b.paid, end = b.launches+1, b.paid+p.Boot, begin
		}
		stop := max(end, begin+jobs[j].service)
		b.paid, end = b.paid+stop-end, stop
	}
	return b, nil
}
