package limit

import (
	"fmt"
	"math/big"
	"time"
)

// neutral is the price at which a worker earns exactly what its time costs while all its slots are busy.
const neutral = 1_000_000

// Certificate is the proof of a bound: how much a second of a busy worker earns in each slot of time, and how much a
// message pays for being late. [Check] needs nothing else; docs/limit.md says why it is a proof. It has whole numbers
// only, so that nothing is rounded.
type Certificate struct {
	// Start is prescient or causal.
	Start string `json:"start"`
	// Width is the width of a slot of time.
	Width time.Duration `json:"width_ns"`
	// Prices has one number for each slot of time, at least 0: the price of a second of work in all slots of a worker,
	// in millionths of what a worker's second costs.
	Prices []int64 `json:"prices_millionths"`
	// Fee is the price at which a message is excused from its deadline, at least 0, in nanoseconds of a worker.
	Fee time.Duration `json:"fee_ns"`
}

// mostPrice bounds prices and fees, so that sums of them stay short numbers.
const mostPrice = 1 << 50

// Check returns the bound that a certificate proves for a profile, however the certificate was found. An error says why
// it proves nothing: a price is negative, the slots of time do not fit, or some worker would earn more than it costs.
func Check(f *Profile, c Certificate) (Bound, error) {
	f, start, err := fit(f, c)
	if err != nil {
		return Bound{}, err
	}
	from := f.from(start)
	extra := surplus(c.Prices, c.Width, f.problem.Boot, from, -1)
	if extra.Sign() > 0 && f.problem.Max == 0 {
		return Bound{}, fmt.Errorf("certificate of trace %q: at these prices workers can earn %s worker-seconds more "+
			"than they cost; allowed is none: lower the prices", f.problem.Trace.Name, seconds(extra))
	}
	total, impossible := f.paid(c, from)
	fees := product(int64(c.Fee), int64(f.problem.Slots)*neutral)
	total.Sub(total, fees.Mul(fees, big.NewInt(f.excused)))
	standing := surplus(c.Prices, c.Width, f.problem.Boot, 0, int(f.last/f.width))
	profit := standing.Mul(standing, big.NewInt(int64(f.problem.Min)))
	if f.problem.Max > 0 {
		profit.Add(profit, extra.Mul(extra, big.NewInt(int64(f.problem.Max-f.problem.Min))))
	}
	total.Sub(total, profit.Mul(profit, big.NewInt(int64(f.problem.Slots))))
	// Whole microseconds, rounded down, are exact in a float64 up to three hundred years.
	total.Div(total, big.NewInt(int64(f.problem.Slots)*neutral*1000))
	micro, _ := new(big.Float).SetInt(total).Float64()
	bound := Bound{WorkerSeconds: max(0, micro/1e6), Method: "prices", Start: c.Start, Certificate: &c}
	bound.Unreachable = impossible > f.excused || f.problem.Max > 0 && bound.WorkerSeconds > f.dearest()
	return bound, nil
}

// dearest returns more than the cheapest schedule costs, if one with Max workers meets the objective: all of them until
// the last deadline, and then a worker for each message that is still to be worked. What is proved to cost more does
// not exist.
func (f *Profile) dearest() float64 {
	whole := f.problem.Boot + f.last + f.problem.Latency
	return float64(f.problem.Max)*whole.Seconds() + f.work.Seconds() + f.problem.Boot.Seconds()
}

// fit returns the profile with slots of time as wide as the certificate's.
func fit(f *Profile, c Certificate) (*Profile, Start, error) {
	refuse := func(name string, found, allowed any) error {
		return fmt.Errorf("certificate of trace %q: %s is %v; allowed is %v", f.problem.Trace.Name, name, found,
			allowed)
	}
	start := Prescient
	if c.Start == Causal.String() {
		start = Causal
	} else if c.Start != Prescient.String() {
		return nil, 0, refuse("the start", fmt.Sprintf("%q", c.Start), "prescient or causal")
	}
	fine := f.width
	for f.width < c.Width && f.length() > 1 {
		f = f.wider()
	}
	if f.width != c.Width {
		return nil, 0, refuse("the width", c.Width, fmt.Sprintf("%v, or that doubled a few times", fine))
	}
	if len(c.Prices) != f.length() {
		return nil, 0, refuse("the number of prices", len(c.Prices), f.length())
	}
	for t, price := range c.Prices {
		if price < 0 || price > mostPrice {
			return nil, 0, refuse(fmt.Sprintf("price %d", t), price, fmt.Sprintf("0 to %d", int64(mostPrice)))
		}
	}
	if c.Fee < 0 || c.Fee > mostPrice {
		return nil, 0, refuse("the fee", c.Fee, fmt.Sprintf("0s to %v", time.Duration(mostPrice)))
	}
	return f, start, nil
}

// from returns the first slot of time in which a launched worker can be in service.
func (f *Profile) from(start Start) int {
	if start == Causal {
		return int((f.first + f.problem.Boot) / f.width)
	}
	return 0
}

// surplus returns the most that a worker can earn above its cost, in millionths of nanoseconds, when it chooses the
// slots of time in which it serves, from the given one on, and pays a boot for each start. With present at least 0 it
// is there in the beginning without a boot, and has to stay for so many slots.
func surplus(prices []int64, width, boot time.Duration, from, present int) *big.Int {
	on, off := new(big.Int), new(big.Int)
	cost := product(int64(boot), neutral)
	up, down := present >= 0, present < 1
	for t := range prices {
		if t < from {
			continue
		}
		if down {
			if launched := new(big.Int).Sub(off, cost); !up || launched.Cmp(on) > 0 {
				on = launched
			}
			up = true
		}
		on = on.Add(on, product(prices[t]-neutral, int64(width)))
		if t+1 >= present && (!down || on.Cmp(off) > 0) {
			off.Set(on)
			down = true
		}
	}
	if down {
		return off
	}
	return on
}

// paid returns what all work pays, in millionths of nanoseconds of a slot, and how many messages cannot be in time.
// Each message pays the lesser of two: the lowest price until its deadline, or the lowest price at any time from its
// arrival on together with the fee.
func (f *Profile) paid(c Certificate, from int) (total *big.Int, impossible int64) {
	if f.problem.Min > 0 {
		from = 0
	}
	inTime, late := f.lowest(c.Prices, from)
	total = new(big.Int)
	fee := product(int64(c.Fee), int64(f.problem.Slots)*neutral)
	for g, s := range f.slots {
		total.Add(total, product(int64(s.beyond), late[g]))
		for _, k := range s.classes {
			// A message without work can be finished at the instant of its deadline, which is in no slot of time.
			if inTime[g] < 0 && k.least > 0 {
				impossible += k.count
			}
			for _, a := range k.atoms() {
				if a.work == 0 {
					continue
				}
				excused := new(big.Int).Mul(fee, big.NewInt(int64(a.work)))
				excused.Div(excused, big.NewInt(int64(a.size)))
				excused.Add(excused, product(int64(a.work), late[g]))
				if kept := product(int64(a.work), inTime[g]); inTime[g] >= 0 && kept.Cmp(excused) < 0 {
					excused = kept
				}
				total.Add(total, excused)
			}
		}
	}
	return total, impossible
}

// lowest returns two prices for each slot of arrivals: the lowest one until the last deadline of its messages, -1 where
// no worker can be there by then, and the lowest one at any time from the arrival on. After the last deadline the price
// is neutral. Late work that may be left undone pays nothing.
func (f *Profile) lowest(prices []int64, from int) (inTime, late []int64) {
	inTime, late = make([]int64, len(f.slots)), make([]int64, len(f.slots))
	low := int64(neutral)
	for t := len(prices) - 1; t >= 0; t-- {
		if t >= from {
			low = min(low, prices[t])
		}
		if t < len(late) && !f.problem.Shed {
			late[t] = low
		}
	}
	var window []int // slots of time whose price is below all later ones seen so far
	seen := from
	for g := range f.slots {
		inTime[g] = -1
		if len(f.slots[g].classes) == 0 {
			continue
		}
		for ; seen <= f.due(g); seen++ {
			for len(window) > 0 && prices[window[len(window)-1]] >= prices[seen] {
				window = window[:len(window)-1]
			}
			window = append(window, seen)
		}
		for len(window) > 0 && window[0] < g {
			window = window[1:]
		}
		if len(window) > 0 {
			inTime[g] = prices[window[0]]
		}
	}
	return inTime, late
}

// product returns a x b, which can exceed 64 bits: a price of millionths times a time of nanoseconds.
func product(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }

// seconds returns millionths of nanoseconds as a text in seconds, for error texts.
func seconds(n *big.Int) string {
	s, _ := new(big.Float).SetInt(n).Float64()
	return fmt.Sprintf("%.6g", s/(neutral*1e9))
}
