package terminal

import "time"

// Stages estimates the remaining time of work in several stages, from the effort of each.
type Stages struct {
	began   time.Time
	efforts []float64
}

// NewStages returns the stages of work that begins now. Efforts are above 0, in any unit.
func NewStages(efforts []float64) Stages { return Stages{began: time.Now(), efforts: efforts} }

// After returns an estimate for [Progress].Left during stage i, which has the given number of steps:
// the remaining time of all stages when done steps of this one are done. It assumes that the pace per
// effort so far continues.
func (s Stages) After(i, steps int) func(done int) time.Duration {
	before, all := 0.0, 0.0
	for k, e := range s.efforts {
		if k < i {
			before += e
		}
		all += e
	}
	return func(done int) time.Duration {
		made := before + s.efforts[i]*float64(done)/float64(steps)
		return time.Duration(float64(time.Since(s.began)) * (all - made) / made)
	}
}
