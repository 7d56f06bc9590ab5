package terminal

import "time"

// Stages estimates how long work in several stages goes on, by the effort of each.
type Stages struct {
	began   time.Time
	efforts []float64
}

// NewStages returns the stages of work that begins now. The efforts are in any unit, and above 0.
func NewStages(efforts []float64) Stages { return Stages{began: time.Now(), efforts: efforts} }

// After returns an estimate for [Progress].Left of the stage i: how long the work goes on when so many of the steps of
// that stage are done.
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
