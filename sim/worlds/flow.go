package worlds

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/muster-scale/muster/sim/trace"
)

// Shape says how messages arrive.
type Shape string

// The shapes, all equally likely.
const (
	Steady  Shape = "steady"
	Poisson Shape = "poisson"
	MMPP    Shape = "busy and quiet times"
	Diurnal Shape = "days"
	Weekly  Shape = "weeks"
	OnOff   Shape = "on and off"
	Spikes  Shape = "spikes"
	Pareto  Shape = "bursts of Pareto size"
	Ramp    Shape = "ramp and cliff"
	Step    Shape = "step"
	Trees   Shape = "trees"
)

// Shapes returns all shapes.
func Shapes() []Shape {
	return []Shape{Steady, Poisson, MMPP, Diurnal, Weekly, OnOff, Spikes, Pareto, Ramp, Step, Trees}
}

// flow says how messages arrive: a rate over time in proportion to its mean, and how many messages arrive at once.
type flow struct {
	shape Shape
	seed  uint64
	// least is the shortest length in seconds that shows the shape.
	least float64
	// wanted is the number of messages that there should be.
	wanted float64
	// period is the period of what repeats, and swing its amplitude. busy is the share of the time that is busy, size
	// the number of messages in a burst.
	period, swing, busy, size float64
}

// drawFlow draws the shape of the arrivals and its parameters.
func drawFlow(d draws, w *World) flow {
	f := flow{shape: Shapes()[d.IntN(len(Shapes()))], seed: d.Uint64(), wanted: d.log(500, 20_000),
		swing: d.between(0.3, 1), busy: d.log(0.05, 0.5)}
	w.Shape = f.shape
	f.least = math.Max(shortest, 8*w.Boot+3*w.Latency+10*w.Mean)
	unit := w.Boot + w.Latency // the time scale on which a policy can react
	switch f.shape {
	case MMPP:
		f.period = unit * d.log(0.5, 20)
		f.least = math.Max(f.least, 5*f.period)
	case OnOff:
		f.period = math.Max(unit*d.log(1, 20), d.log(600, 3*86400))
		f.least = math.Max(f.least, 4*f.period)
	case Diurnal:
		f.period = 86400
		f.least = math.Max(f.least, 2*86400)
	case Weekly:
		f.period = 7 * 86400
		f.least = math.Max(f.least, 15*86400)
	case Spikes:
		f.period = unit * d.log(1, 20)
		f.least = math.Max(f.least, 5*f.period)
	case Pareto:
		f.size = d.log(2, 30)
	}
	return f
}

// settle sets the length of the world, and lowers its load where so many messages are too many.
func (f *flow) settle(w *World, reportEvery float64) {
	// A simulated run costs by messages and by reports of busy workers; both are bounded, and 150 messages are always
	// allowed.
	most := math.Min(mostMessages, math.Max(150, mostWork*reportEvery/w.Mean))
	f.wanted = math.Min(f.wanted, most)
	rate := w.Load * float64(w.Slots) / w.Mean
	length := math.Min(math.Max(f.least, f.wanted/rate), longest)
	if n := rate * length; n > most {
		rate = most / length
		w.Load = rate * w.Mean / float64(w.Slots)
	}
	w.Length, w.Messages = length, int(math.Ceil(rate*length))
}

// level returns the rate at a time, over its mean.
func (f flow) level(t, length float64) float64 {
	switch f.shape {
	case Diurnal:
		return 1 - f.swing*math.Cos(2*math.Pi*t/f.period)
	case Weekly:
		day := math.Max(0, 1-f.swing*math.Cos(2*math.Pi*t/86400))
		if math.Mod(t, f.period) >= 5*86400 {
			return 0.2 * day
		}
		// Five days of 1.32 and two of 0.2 have a mean of 1.
		return 1.32 * day
	case OnOff:
		if math.Mod(t, f.period) < f.busy*f.period {
			return 1 / f.busy
		}
		return 0
	case Spikes:
		return 0.3 // the rest arrives in spikes
	case Ramp:
		if t < 0.7*length {
			// The ramp rises over 70 % of the length, and its mean over the whole is about 1.
			return 0.1 + 3.2*(t/(0.7*length))*0.8
		}
		return 0.1
	case Step:
		if t < 0.4*length {
			return 0.2
		}
		// The mean over 40 % at 0.2 and 60 % at this level is 1.
		return 1.533
	}
	return 1
}

// times returns the arrivals, ascending, in seconds.
func (f flow) times(w World) []float64 {
	d := draws{rand.New(rand.NewPCG(f.seed, 2))}
	rate := float64(w.Messages) / w.Length
	var at []float64
	switch f.shape {
	case Steady:
		for t := 0.5 / rate; t < w.Length; t += 1 / rate {
			at = append(at, t)
		}
		return at
	case MMPP:
		busy := false
		until := 0.0
		high, low := 0.8/f.busy, 0.2/(1-f.busy)
		level := low
		for t := 0.0; t < w.Length; {
			if t >= until {
				busy = !busy
				level, until = low, t+d.ExpFloat64()*f.period*(1-f.busy)
				if busy {
					level, until = high, t+d.ExpFloat64()*f.period*f.busy
				}
			}
			next := t + d.ExpFloat64()/(rate*level)
			if next > until {
				t = until
				continue
			}
			if t = next; t < w.Length {
				at = append(at, t)
			}
		}
		return at
	case Pareto:
		for t := d.ExpFloat64() * f.size / rate; t < w.Length; t += d.ExpFloat64() * f.size / rate {
			// A Pareto distribution of index 1.5 has a mean of three times its least value.
			n := math.Min(f.size/3*math.Pow(1-d.Float64(), -1/1.5), float64(w.Messages)/3)
			for range max(1, int(n+0.5)) {
				at = append(at, t)
			}
		}
		return at
	}
	most := 0.0
	for k := range 2000 {
		most = math.Max(most, f.level(w.Length*float64(k)/2000, w.Length))
	}
	if f.shape == OnOff {
		most = 1 / f.busy
	}
	for t := d.ExpFloat64() / (rate * most); t < w.Length; t += d.ExpFloat64() / (rate * most) {
		if d.Float64()*most < f.level(t, w.Length) {
			at = append(at, t)
		}
	}
	if f.shape == Spikes {
		n := 0.7 * rate * f.period
		for t := f.period / 2; t < w.Length; t += f.period {
			for range int(n + 0.5) {
				at = append(at, t)
			}
		}
		slices.Sort(at)
	}
	return at
}

// trace makes the messages of a world.
func (f flow) trace(w World, x work) trace.Trace {
	d := draws{rand.New(rand.NewPCG(x.seed, 3))}
	message := func(at, share float64) trace.Message {
		s, class := x.draw(d, share)
		return trace.Message{Arrival: seconds(at), Service: seconds(s), Class: class}
	}
	times := f.times(w)
	if len(times) == 0 {
		times = []float64{w.Length / 2}
	}
	var all []trace.Message
	if f.shape != Trees {
		for _, t := range times {
			all = append(all, message(t, t/w.Length))
		}
		return trace.Of(w.Event.Name, all...)
	}
	// One message in about ten is a root with two levels below it.
	for i := 0; i < len(times); i += 13 {
		root := message(times[i], times[i]/w.Length)
		for range 3 {
			child := message(0, times[i]/w.Length)
			for range 3 {
				child.Children = append(child.Children, message(0, times[i]/w.Length))
			}
			root.Children = append(root.Children, child)
		}
		all = append(all, root)
	}
	return trace.Of(w.Event.Name, all...)
}
