package limit

import "math"

// Capacity returns the bound of Work, and whether Max workers are too few for the objective, however early they are
// launched. The work of the messages that arrive in some stretches of time has to be done within these, each stretch
// being as much longer as the objective. Only the longest messages may be left for later, as many as may be late.
func (f *Profile) Capacity() Bound {
	bound := f.Work()
	bound.Method = "capacity"
	bound.Unreachable = f.problem.Max > 0 && f.crowded() > largest(f.sizes, f.excused).Seconds()
	return bound
}

// crowded returns by how many seconds of work the stretches of time with the largest excess need more than Max workers
// can do. Two stretches may overlap: the time in both counts twice as capacity, which is on the safe side.
func (f *Profile) crowded() float64 {
	rate := float64(f.problem.Max) * float64(f.problem.Slots)
	// over is the largest excess of stretches that have ended. open is that with one that goes on: what its workers do
	// until the time 0 is subtracted, and what they do until its end is added when it ends.
	over, open := 0.0, math.Inf(-1)
	for _, s := range f.slots {
		if len(s.classes) == 0 {
			continue
		}
		work := 0.0
		for _, c := range s.classes {
			work += c.work.Seconds()
		}
		open = max(open, over+rate*s.first.Seconds()) + work
		over = max(over, open-rate*(s.last+f.problem.Latency).Seconds())
	}
	return over
}
