package limit

import (
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/limit/internal/linear"
)

// priceSlots bounds the number of prices, and with it the time of a search.
const priceSlots = 4096

// Prices returns the bound of a linear relaxation with fractions of workers, and the certificate that proves it: prices
// for work in each slot of time at which no worker earns more than it costs. The search takes at most effort rounds on
// each of a few widths of the slots of time, from wide to narrow; 0 stands for 1000. Any prices that it finds are a
// proof. An error means that the certificate does not pass [Check], which would be a fault of this package.
func (f *Profile) Prices(start Start, effort int) (Bound, error) {
	if effort <= 0 {
		effort = 1000
	}
	narrow := f
	for narrow.length() > priceSlots {
		narrow = narrow.wider()
	}
	profiles := []*Profile{narrow}
	// A wide start is solved quickly and is a good start for the next width.
	for profiles[0].length() > 40 {
		profiles = slices.Insert(profiles, 0, profiles[0].wider())
	}
	// A neutral price everywhere is a proof too, so there is a result even if the search finds nothing.
	best := proposal{value: math.Inf(-1)}
	narrow.propose(start, linear.Ones(narrow.length()), narrow.ledger(), &best)
	var coarse *relaxation
	var found linear.Point
	for _, p := range profiles {
		r := relax(p, start)
		at := r.start(p)
		if coarse != nil {
			coarse.refine(r, found, at)
		}
		found = r.search(p, start, at, effort*min(6, max(1, priceSlots/p.length())), &best)
		coarse = r
	}
	return Check(f, best.certificate)
}

// search takes rounds of the solver from a point, keeps the best proposal seen, and returns where it ended.
func (r *relaxation) search(f *Profile, start Start, at linear.Point, rounds int,
	best *proposal) linear.Point {
	// Turning a point into prices costs more than a round, so it is done once in a while.
	const often = 100
	ledger := f.ledger()
	row, column := r.Scale()
	for i := range row {
		at.Y[i] /= row[i]
	}
	for j := range column {
		at.X[j] /= column[j]
	}
	s := linear.NewSplitting(&r.Program, at)
	quiet, prices := 0, make([]float64, r.slots)
	for round := range rounds {
		s.Round()
		if round%often != often-1 {
			continue
		}
		for t := range prices {
			prices[t] = s.Reached().Y[r.capacity+t] * row[r.capacity+t]
		}
		before := best.value
		f.propose(start, prices, ledger, best)
		if quiet++; best.value > before+1e-5*math.Abs(best.value) {
			quiet = 0
		}
		if quiet >= 20 {
			break
		}
	}
	for i := range row {
		s.Reached().Y[i] *= row[i]
	}
	for j := range column {
		s.Reached().X[j] *= column[j]
	}
	return s.Reached()
}

// proposal is a certificate and, up to rounding, what it proves.
type proposal struct {
	certificate Certificate
	value       float64
}

// propose makes fair prices of those given, 1 being the neutral one, with the best fee, and keeps them if they are
// better than the best so far.
func (f *Profile) propose(start Start, prices []float64, ledger []entry, best *proposal) {
	fair := [][]float64{f.clipped(start, prices), f.shrunk(start, prices)}
	if f.problem.Max > 0 {
		fair = append(fair, prices)
	}
	for _, p := range fair {
		c := Certificate{Start: start.String(), Width: f.width, Prices: make([]int64, len(p))}
		for t, v := range p {
			c.Prices[t] = int64(min(max(0, v*neutral), mostPrice))
		}
		value := 0.0
		c.Fee, value = f.settle(c, ledger)
		if value > best.value {
			best.certificate, best.value = c, value
		}
	}
}

// entry is an atom and the slot of time in which it arrives.
type entry struct {
	atom
	slot int
}

// ledger lists the atoms of all slots of time.
func (f *Profile) ledger() (all []entry) {
	for g, s := range f.slots {
		for _, k := range s.classes {
			for _, a := range k.atoms() {
				if a.work > 0 {
					all = append(all, entry{a, g})
				}
			}
		}
	}
	return all
}

// settle returns the best fee for the prices of a certificate, and the bound that they prove up to rounding.
func (f *Profile) settle(c Certificate, ledger []entry) (fee time.Duration, bound float64) {
	from := f.from(Prescient)
	if c.Start == Causal.String() && f.problem.Min == 0 {
		from = f.from(Causal)
	}
	inTime, late := f.lowest(c.Prices, from)
	type choice struct{ fee, messages float64 } // up to which fee being late is cheaper, and how many messages that is
	var choices []choice
	slots, total := float64(f.problem.Slots), 0.0
	for g, s := range f.slots {
		total += s.beyond.Seconds() * float64(late[g])
	}
	for _, e := range ledger {
		total += e.work.Seconds() * float64(late[e.slot])
		if above := inTime[e.slot] - late[e.slot]; above > 0 {
			choices = append(choices, choice{e.size.Seconds() * float64(above), float64(e.work) / float64(e.size)})
		} else if inTime[e.slot] < 0 {
			choices = append(choices, choice{math.Inf(1), float64(e.work) / float64(e.size)})
		}
	}
	slices.SortFunc(choices, func(a, b choice) int {
		switch {
		case a.fee > b.fee:
			return -1
		case a.fee < b.fee:
			return 1
		}
		return 0
	})
	left, best := float64(f.excused), 0.0
	for _, k := range choices {
		if left -= k.messages; left < 0 {
			best = k.fee
			break
		}
	}
	if math.IsInf(best, 1) {
		best = 0 // more messages than may be late cannot be in time: no fee stands for that
	}
	whole := int64(min(best/(slots*neutral)*1e9, mostPrice))
	best = float64(whole) * slots * neutral / 1e9
	for _, k := range choices {
		total += k.messages * min(k.fee, best)
	}
	total -= best * float64(f.excused)
	return time.Duration(whole), total/(slots*neutral) - f.profit(c)
}

// profit returns what the workers allowed by Min and Max can earn above their cost, in worker-seconds.
func (f *Profile) profit(c Certificate) float64 {
	p := f.problem
	start := Prescient
	if c.Start == Causal.String() {
		start = Causal
	}
	all := 0.0
	if p.Min > 0 {
		n, _ := surplus(c.Prices, c.Width, p.Boot, 0, int(f.last/f.width)).Float64()
		all += n * float64(p.Min)
	}
	if p.Max > 0 {
		n, _ := surplus(c.Prices, c.Width, p.Boot, f.from(start), -1).Float64()
		all += n * float64(p.Max-p.Min)
	}
	return all / (neutral * 1e9)
}

// clipped lowers each price, from the last one back, as far as needed that no worker earns more than it costs: what a
// worker who is in service at t can still earn above its time is at most its boot.
func (f *Profile) clipped(start Start, prices []float64) []float64 {
	fair := slices.Clone(prices)
	most := f.problem.Boot.Seconds() / f.width.Seconds() * (1 - 1e-9)
	ahead := 0.0
	for t := len(fair) - 1; t >= f.from(start); t-- {
		fair[t] = max(0, fair[t])
		if excess := ahead + fair[t] - 1 - most; excess > 0 {
			fair[t] -= excess
		}
		ahead = max(0, ahead+fair[t]-1)
	}
	return fair
}

// shrunk moves all prices towards the neutral one by the same share, as far as needed that no worker earns more than it
// costs.
func (f *Profile) shrunk(start Start, prices []float64) []float64 {
	boot := f.problem.Boot.Seconds() / f.width.Seconds() * (1 - 1e-9)
	most, ahead := 0.0, 0.0
	for t := len(prices) - 1; t >= f.from(start); t-- {
		ahead = max(0, ahead+max(0, prices[t])-1)
		most = max(most, ahead)
	}
	share := 1.0
	if most > boot {
		share = boot / most
	}
	fair := slices.Clone(prices)
	for t := f.from(start); t < len(fair); t++ {
		fair[t] = 1 + share*(max(0, fair[t])-1)
	}
	return fair
}
