package uninformed

import "math"

// dues is the dynamic program over the launches that are made while no message has finished.
//
// A worker that is launched at the arrival has the latency minus its boot for work. One that is launched when the
// messages are known to take longer than d has d less than A, the latency minus two boots. Of messages that take s > d
// seconds it finishes F = floor(A/s) in time, or one fewer if d exceeds the remainder of that division.
//
// So of k workers that were launched no later than e, with the sum D of their d and the remainder r, at least
// (D - k r) / (e - r) finish one fewer. The state is k and D, and a launch adds to both. D is counted in steps and
// rounded down, so the result is a lower bound.
type dues struct {
	*belief
	step float64
	// most is the largest k. The states of k begin at offset[k].
	most   int
	offset []int
	costs  []float64
	// taken[i] tells for each state whether one more worker is launched at the instant i.
	taken [][]bool
}

// newDues returns the program for a belief.
func newDues(g *belief) *dues {
	d := &dues{belief: g, offset: []int{0}}
	if n := len(g.instants); n > 0 {
		d.most, d.step = g.burst.Messages, g.instants[n-1].Seconds()/untoldSteps
	}
	for k := range d.most + 1 {
		d.offset = append(d.offset, d.offset[k]+k*untoldSteps+1)
	}
	states := d.offset[d.most+1]
	d.costs = make([]float64, states)
	for range g.instants {
		d.taken = append(d.taken, make([]bool, states))
	}
	return d
}

// solve returns a lower bound of the least mean with so many workers at the arrival, and the launches that the program
// makes at each instant.
func (d *dues) solve(first int) (bound float64, later []int) {
	clear(d.costs)
	for i := len(d.instants); i >= 0; i-- {
		for _, x := range d.spans[i] {
			d.pay(i, first, x)
		}
		if i > 0 {
			d.launch(i - 1)
		}
	}
	later = make([]int, len(d.instants))
	k, late := 0, 0
	for i := range d.instants {
		for k < d.most && d.taken[i][d.offset[k]+late] {
			k, late = k+1, late+d.steps(i)
			later[i]++
		}
	}
	return d.work + d.burst.boots(first)*d.left[0] + d.costs[0], later
}

// steps returns the number of steps in an instant, rounded down.
func (d *dues) steps(i int) int { return int(d.instants[i].Seconds()/d.step + 1e-9) }

// pay adds what is to be paid once a message has finished, for messages of the duration x in the span i.
func (d *dues) pay(i, first int, x possible) {
	anyway := first * d.burst.begun(d.burst.whole(), x.seconds)
	each := d.burst.begun(d.burst.second(), x.seconds)
	remainder, latest := d.burst.second()-float64(each)*x.seconds, 0.0
	if i > 0 {
		latest = d.instants[i-1].Seconds()
	}
	for k := range d.most + 1 {
		inTime := anyway + k*each
		costs := d.costs[d.offset[k]:d.offset[k+1]]
		for late := range costs {
			fewer := 0.0
			if each > 0 && latest > remainder {
				fewer = math.Ceil((float64(late)*d.step-float64(k)*remainder)/(latest-remainder) - 1e-9)
			}
			costs[late] += x.rest[min(d.burst.Messages, inTime-int(max(0, min(float64(k), fewer))))]
		}
	}
}

// launch decides for each state whether one more worker is launched at an instant. It begins with the most workers, so
// that several can be launched.
func (d *dues) launch(i int) {
	boot, more := d.burst.boots(1)*d.left[i+1], d.steps(i)
	for k := d.most - 1; k >= 0; k-- {
		costs, next := d.costs[d.offset[k]:d.offset[k+1]], d.costs[d.offset[k+1]:]
		for late := range costs {
			with := boot + next[late+more]
			taken := with < costs[late]
			if taken {
				costs[late] = with
			}
			d.taken[i][d.offset[k]+late] = taken
		}
	}
}
