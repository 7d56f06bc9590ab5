package limit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/trace"
)

// Schedule is what a schedule of the oracle pays: an upper bound of the least possible cost, as [Bound] is a lower one.
type Schedule struct {
	// WorkerSeconds is the bill, without a minimum or granularity of billing.
	WorkerSeconds float64 `json:"worker_seconds"`
	// Late counts messages that were not in time, including the unattainable ones. InTime is the share of the
	// attainable ones in time, and Kept tells whether it meets the objective. If it does not, no schedule that was
	// tried does, and this one has the fewest late messages.
	Late   int64   `json:"late"`
	InTime float64 `json:"in_time"`
	Kept   bool    `json:"kept"`
	// Launches counts launches, and Workers the workers that were used, at once or one after the other.
	Launches int `json:"launches"`
	Workers  int `json:"workers"`
	// Method says how the schedule was made.
	Method string `json:"method"`
	Start  string `json:"start"`
}

// mostJobs bounds the memory of a schedule, which is kept message by message.
const mostJobs = 5_000_000

// Oracle searches a cheap schedule that meets the objective and knows the future. It plans crews that begin as
// late as possible or at once, with several margins, works each plan through message by message, audits it and returns
// the cheapest. It takes some dozen passes over the trace. It refuses traces with children, whose arrivals depend on
// the schedule, and traces above five million messages.
func Oracle(p Problem, start Start) (Schedule, error) {
	f, err := Read(p)
	if err != nil {
		return Schedule{}, err
	}
	s := scheduler{Profile: f, start: start, best: Schedule{Late: math.MaxInt64, Start: start.String()}}
	if f.children > 0 || f.messages > mostJobs {
		return Schedule{}, fmt.Errorf("schedule of trace %q: it has %d messages, %d of them children; allowed are %d "+
			"messages without children", p.Trace.Name, f.messages, f.children, mostJobs)
	}
	err = p.Trace.Each(func(m trace.Message) bool {
		s.jobs = append(s.jobs, job{m.Arrival, m.Service, m.Arrival + p.Latency - m.Service})
		return true
	})
	if err != nil {
		return Schedule{}, err
	}
	if start == Causal {
		s.ready = f.first + p.Boot
	}
	err = s.search()
	return s.best, err
}

// scheduler tries schedules and keeps the best.
type scheduler struct {
	*Profile
	start Start
	jobs  []job
	ready time.Duration
	// best is the best schedule so far, and crews and choice are what it was made from.
	best   Schedule
	crews  crews
	choice choice
}

// search tries margins of the deadline, and then closer ones around the best. It lets any messages be late, and then
// the longest ones.
func (s *scheduler) search() error {
	excuses := []choice{{"any late", make([]bool, len(s.jobs))}}
	if s.excused > 0 {
		excuses = append(excuses, choice{"the longest late", s.longestExcused()})
	}
	for _, e := range excuses {
		for _, way := range []struct {
			name string
			plan func([]bool, float64) crews
		}{{"course", s.course}, {"at once", s.plan}} {
			if err := s.margins(e, way.name, way.plan); err != nil {
				return err
			}
		}
		all := s.within(crews{width: s.problem.Latency, most: []int{s.most()}})
		if _, err := s.try(e, all, "never waiting, "+e.name); err != nil {
			return err
		}
	}
	return s.trim()
}

// trim takes one worker away in one stretch of time after the other, first in long and then in shorter ones, and keeps
// each change that makes the schedule cheaper.
func (s *scheduler) trim() error {
	const most, least, work = 240, 24, 6_000_000
	trials := min(most, max(least, work/len(s.jobs)))
	method := s.best.Method + ", trimmed"
	for parts := 4; trials > 0 && parts <= len(s.crews.most); parts *= 2 {
		for part := range min(parts, trials) {
			c := s.crews
			c.most = slices.Clone(c.most)
			for t := len(c.most) * part / parts; t < len(c.most)*(part+1)/parts; t++ {
				c.most[t] = max(c.least, c.most[t]-1)
			}
			c.most[len(c.most)-1] = max(1, c.most[len(c.most)-1])
			if _, err := s.try(s.choice, c, method); err != nil {
				return err
			}
		}
		trials -= parts
	}
	return nil
}

// choice is a choice of the messages that are late on purpose.
type choice struct {
	name    string
	excused []bool
}

// margins tries one way to plan with several margins, each a share by which the planned objective is shorter.
func (s *scheduler) margins(e choice, name string, plan func([]bool, float64) crews) error {
	best, at := math.Inf(1), 0.0
	try := func(margin float64) error {
		cost, err := s.try(e, plan(e.excused, margin), fmt.Sprintf("%s, %s, margin %.3f", name, e.name, margin))
		if cost < best {
			best, at = cost, margin
		}
		return err
	}
	for _, margin := range []float64{-0.3, -0.15, -0.05, 0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.7, 0.9} {
		if err := try(margin); err != nil {
			return err
		}
	}
	width := 0.03 + at/8
	for range 5 {
		for _, margin := range []float64{at - width, at + width} {
			if err := try(min(1, margin)); err != nil {
				return err
			}
		}
		width *= 0.6
	}
	return nil
}

// most returns the largest number of workers that can be of use: one for each job, where there is no maximum.
func (s *scheduler) most() int {
	if s.problem.Max > 0 {
		return s.problem.Max
	}
	return len(s.jobs)
}

// longestExcused marks the longest attainable jobs, as many as may be late.
func (s *scheduler) longestExcused() []bool {
	order := make([]int, 0, len(s.jobs))
	for j := range s.jobs {
		if s.jobs[j].latest >= s.jobs[j].arrival {
			order = append(order, j)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.jobs[b].service, s.jobs[a].service) })
	marked := make([]bool, len(s.jobs))
	for _, j := range order[:s.excused] {
		marked[j] = true
	}
	return marked
}

// try works through one schedule and keeps it if it is the best so far. It returns the cost, infinite if it is not
// kept.
func (s *scheduler) try(e choice, c crews, method string) (cost float64, err error) {
	places, late := replay(s.jobs, e.excused, s.problem.Slots, c)
	if s.problem.Shed {
		for _, j := range late {
			places[j].worker = -1
		}
	} else {
		afterwards(s.jobs, places, late, s.problem.Slots, s.most(), s.ready, s.last+s.problem.Latency)
	}
	b, err := audit(s.problem, s.jobs, places, s.ready, s.last)
	if err != nil {
		return 0, err
	}
	lateAttainable := b.late - (s.messages - s.attainable)
	made := Schedule{
		WorkerSeconds: b.paid.Seconds(), Late: b.late, Kept: lateAttainable <= s.excused, InTime: 1,
		Launches: b.launches, Workers: b.workers, Method: method, Start: s.start.String(),
	}
	if s.attainable > 0 {
		made.InTime = 1 - float64(lateAttainable)/float64(s.attainable)
	}
	better := made.Kept && made.WorkerSeconds < s.best.WorkerSeconds
	if made.Kept != s.best.Kept {
		better = made.Kept
	} else if !made.Kept {
		better = made.Late < s.best.Late
	}
	if better {
		s.best, s.crews, s.choice = made, c, e
	}
	if !made.Kept {
		return math.Inf(1), nil
	}
	return made.WorkerSeconds, nil
}
