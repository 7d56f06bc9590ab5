package limit

import (
	"math"

	"github.com/muster-scale/muster/sim/limit/internal/linear"
)

// relaxation is the problem with fractions of workers and of messages, as a linear program over the profile's slots of
// time. A unit of work is what one worker does in one slot of time, and a unit of cost is what it costs in one.
//
// Its columns are blocks with one column for each slot of time: workers in service, starts of workers, work done in
// time, late work done, work that waits and can be in time, excused work that is not due yet, and late work that waits.
// Behind them are the classes of messages that can be excused, with the work that is. Its rows say that work is done by
// workers in service (capacity), that these were started (ramp), and that no work is lost (the balances), that waiting
// work meets its deadline (deadline) and that no more messages are late than may be (fee).
type relaxation struct {
	linear.Program
	slots int
	// The number at which each block of columns or rows begins; -1 if the problem does not need it.
	workers, starts, inTime, late, waiting, excusing, waitingLate, excuses int
	capacity, ramp, balance, excusingBalance, deadline, lateBalance, fee   int
	// owners has the slot of time in which the messages of each excused class arrive.
	owners []int
	// unit is the width of a slot of time in seconds.
	unit float64
}

// perSlot is the number of classes of each slot of time that the relaxation distinguishes. The certificate
// distinguishes all of them; here they only guide the search for prices.
const perSlot = 3

// relax builds the relaxation of a profile.
func relax(f *Profile, start Start) *relaxation {
	r := &relaxation{slots: f.length(), unit: f.width.Seconds()}
	boot := f.problem.Boot.Seconds() / r.unit
	from := f.from(start)
	late, excuse := !f.problem.Shed && (f.excused > 0 || f.beyond > 0), f.excused > 0
	r.workers, r.starts = r.columns(true, 1), r.columns(true, boot)
	for t := range r.slots {
		if f.problem.Max > 0 {
			r.Upper[r.workers+t] = float64(f.problem.Max)
		}
		if t < from {
			r.Upper[r.workers+t] = float64(f.problem.Min)
		}
		if t < int(f.last/f.width) {
			r.Lower[r.workers+t] = float64(f.problem.Min)
		}
	}
	r.inTime, r.waiting = r.columns(true, 0), r.columns(true, 0)
	r.late, r.waitingLate = r.columns(late, 0), r.columns(late, 0)
	r.excusing = r.columns(excuse, 0)
	// Late work that is never done would be free; it is done after the last slot at the price of a worker.
	if late {
		r.Cost[r.waitingLate+r.slots-1] = 1
	}
	r.capacityRows(f)
	r.workRows(f, r.excusable(f, excuse))
	return r
}

// columns adds a block of columns, one for each slot of time, if it is wanted, and returns where it begins.
func (r *relaxation) columns(wanted bool, cost float64) int {
	if !wanted {
		return -1
	}
	first := len(r.Cost)
	for range r.slots {
		r.Add(cost, math.Inf(1))
	}
	return first
}

// excusable adds the columns of work that can be excused. It returns for each how many messages a unit of work is.
func (r *relaxation) excusable(f *Profile, wanted bool) (messages []float64) {
	r.excuses = len(r.Cost)
	if !wanted {
		return nil
	}
	unit := r.unit * float64(f.problem.Slots)
	for g, s := range f.slots {
		// The largest classes have columns of their own, because a fee excuses most work there. The others share one.
		rest := 0.0
		for i := range s.classes {
			k := s.classes[len(s.classes)-1-i]
			rest += k.work.Seconds()
			if i < perSlot-1 || i == len(s.classes)-1 {
				if rest > 0 {
					r.Add(0, rest/unit)
					r.owners, messages = append(r.owners, g), append(messages, unit/k.most.Seconds())
				}
				rest = 0
			} else if i == perSlot-1 {
				// Smaller messages are excused as if they had this size, which is cheaper than the truth.
				for _, small := range s.classes[:len(s.classes)-1-i] {
					rest += small.work.Seconds()
				}
				r.Add(0, rest/unit)
				r.owners, messages = append(r.owners, g), append(messages, unit/k.most.Seconds())
				break
			}
		}
	}
	return messages
}

// capacityRows adds the rows that work is done by workers in service, and that workers in service were started.
func (r *relaxation) capacityRows(f *Profile) {
	r.capacity = len(r.Right)
	for t := range r.slots {
		r.Row(0, false)
		r.Entry(r.workers+t, 1)
		r.Entry(r.inTime+t, -1)
		if r.late >= 0 {
			r.Entry(r.late+t, -1)
		}
	}
	r.ramp = len(r.Right)
	for t := range r.slots {
		r.Row(0, false)
		r.Entry(r.starts+t, 1)
		r.Entry(r.workers+t, -1)
		if t > 0 {
			r.Entry(r.workers+t-1, 1)
		} else {
			r.Right[len(r.Right)-1] = -float64(f.problem.Min)
		}
	}
}

// workRows adds the rows that no work is lost: work that arrives is done, excused or waits; work that waits beyond its
// deadline was excused; excused work is done late or waits for ever.
func (r *relaxation) workRows(f *Profile, messages []float64) {
	unit := r.unit * float64(f.problem.Slots)
	arrives, beyond, due := make([]float64, r.slots), make([]float64, r.slots), make([]float64, r.slots)
	excused, over := make([][]int, r.slots), make([][]int, r.slots)
	for g, s := range f.slots {
		for _, k := range s.classes {
			arrives[g] += k.work.Seconds() / unit
		}
		beyond[g] = s.beyond.Seconds() / unit
		due[f.due(g)] += arrives[g]
	}
	for i, g := range r.owners {
		excused[g] = append(excused[g], r.excuses+i)
		over[f.due(g)] = append(over[f.due(g)], r.excuses+i)
	}
	// flow adds a row for each slot of time: the work that waited, plus what enters, minus what leaves, waits.
	flow := func(block, out int, in []float64, enter, leave [][]int) int {
		if block < 0 {
			return -1
		}
		first := len(r.Right)
		for t := range r.slots {
			r.Row(-in[t], true)
			if t > 0 {
				r.Entry(block+t-1, 1)
			}
			r.Entry(block+t, -1)
			if out >= 0 {
				r.Entry(out+t, -1)
			}
			for _, column := range enter[t] {
				r.Entry(column, 1)
			}
			for _, column := range leave[t] {
				r.Entry(column, -1)
			}
		}
		return first
	}
	none, zero := make([][]int, r.slots), make([]float64, r.slots)
	r.balance = flow(r.waiting, r.inTime, arrives, none, excused)
	r.excusingBalance = flow(r.excusing, -1, zero, excused, over)
	r.lateBalance = flow(r.waitingLate, r.late, beyond, excused, none)
	// open is the work that has arrived and is not due yet: no more may wait.
	r.deadline = len(r.Right)
	open := 0.0
	for t := range r.slots {
		open += arrives[t] - due[t]
		r.Row(-max(0, open), false)
		r.Entry(r.waiting+t, -1)
		if r.excusing >= 0 {
			r.Entry(r.excusing+t, -1)
		}
	}
	r.fee = len(r.Right)
	r.Row(-float64(f.excused), false)
	for i, m := range messages {
		r.Entry(r.excuses+i, -m)
	}
}

// start returns the point at which the search for prices begins: all work is done when it arrives, by workers that
// serve in that slot of time only, and all prices are neutral.
func (r *relaxation) start(f *Profile) linear.Point {
	at := linear.NewPoint(&r.Program)
	unit := r.unit * float64(f.problem.Slots)
	for t := range r.slots {
		for _, block := range []int{r.balance, r.lateBalance} {
			if block >= 0 {
				at.Y[block+t] = -1
			}
		}
		at.Y[r.capacity+t] = 1
		if t < len(f.slots) {
			for _, k := range f.slots[t].classes {
				at.X[r.inTime+t] += k.work.Seconds() / unit
			}
			at.X[r.workers+t] = at.X[r.inTime+t]
			if r.late >= 0 {
				at.X[r.late+t] = f.slots[t].beyond.Seconds() / unit
				at.X[r.workers+t] += at.X[r.late+t]
			}
		}
		at.X[r.starts+t] = at.X[r.workers+t]
		if t > 0 {
			at.X[r.starts+t] = max(0, at.X[r.workers+t]-at.X[r.workers+t-1])
		}
	}
	return at
}

// refine sets to, a point of the relaxation with slots of time of half the width, to the point that corresponds to
// from. So each width starts where the wider one ended.
func (r *relaxation) refine(fine *relaxation, from, to linear.Point) {
	block := func(coarse, finer []float64, at, atFiner int, factor float64) {
		if at < 0 {
			return
		}
		for t := range fine.slots {
			finer[atFiner+t] = factor * coarse[at+min(t/2, r.slots-1)]
		}
	}
	for _, b := range []struct {
		at, atFiner int
		factor      float64
	}{
		{r.workers, fine.workers, 1}, {r.inTime, fine.inTime, 1}, {r.late, fine.late, 1},
		{r.waiting, fine.waiting, 2}, {r.excusing, fine.excusing, 2}, {r.waitingLate, fine.waitingLate, 2},
	} {
		block(from.X, to.X, b.at, b.atFiner, b.factor)
	}
	for t := 0; t < fine.slots; t += 2 {
		to.X[fine.starts+t] = from.X[r.starts+min(t/2, r.slots-1)]
	}
	for _, b := range []struct {
		at, atFiner int
		factor      float64
	}{
		{r.capacity, fine.capacity, 1}, {r.ramp, fine.ramp, 2}, {r.balance, fine.balance, 1},
		{r.excusingBalance, fine.excusingBalance, 1}, {r.lateBalance, fine.lateBalance, 1},
		{r.deadline, fine.deadline, 1},
	} {
		block(from.Y, to.Y, b.at, b.atFiner, b.factor)
	}
	to.Y[fine.fee] = 2 * from.Y[r.fee]
}
