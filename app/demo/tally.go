package demo

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/roster"
)

// Result is one test under one policy, as muster demo -o json prints it.
type Result struct {
	Name   string `json:"name"`
	Policy string `json:"policy"`
	// Messages were sent, Processed finished, InTime within the objective.
	Messages    int     `json:"messages"`
	Processed   int     `json:"processed"`
	InTime      int     `json:"in_time"`
	InTimeRatio float64 `json:"in_time_ratio"`
	// Twice counts messages that were processed more than once.
	Twice int `json:"processed_twice"`
	// Seconds is from the first message sent to the last one finished.
	Seconds float64 `json:"seconds"`
	// P95 is the 95th percentile of the time from sent to finished, in seconds.
	P95         float64 `json:"p95_s"`
	PeakWorkers int     `json:"peak_workers"`
	// WorkerSeconds adds up each worker's time from its launch to its end, or to the last message if that is earlier.
	WorkerSeconds float64 `json:"worker_seconds"`
	// Decisions counts the decisions that set a desired count.
	Decisions int `json:"decisions"`
}

// Finish is one completed work on a message, by the process Worker.
type Finish struct {
	Sent, Began, Done time.Time
	Worker            string
}

// Measured holds the measurements of one run. Package validate turns them into the conditions of a simulation.
type Measured struct {
	// Started is when the first message was sent. First is the time of the first step of the fleet's controller.
	Started, First time.Time
	// Finished holds the completions of each message by its id: several if it was processed more than once.
	Finished map[string][]Finish
	// Launched, Joined and Ended are, by member, the times of its launch, of its first readiness and of its end.
	Launched, Joined, Ended map[string]time.Time
	// Peak is the most members at a time. Applied counts the decisions that set a desired count.
	Peak, Applied int
	// Processing is the last estimate of the processing time.
	Processing muster.Estimate
}

// WorkerSeconds adds up the time of each worker from its launch to its end, or to last if that is earlier.
func (m Measured) WorkerSeconds(last time.Time) (sum float64) {
	for id, from := range m.Launched {
		until := last
		if end, ok := m.Ended[id]; ok && end.Before(last) {
			until = end
		}
		sum += max(0, until.Sub(from).Seconds())
	}
	return sum
}

// Tally measures runs, from the log of the workers' programs and the steps of the controllers. Several goroutines may
// use it.
type Tally struct {
	path string
	runs []Run

	mu      sync.Mutex
	startAt time.Time
	// offset is how much of the log was read, in bytes.
	offset int64
	fleets map[string]*Measured // by fleet
	queues map[string]*Measured // the same, by queue
}

// NewTally returns the empty tally of runs whose workers log to the file at path.
func NewTally(runs []Run, path string) *Tally {
	t := &Tally{path: path, runs: runs, fleets: map[string]*Measured{}, queues: map[string]*Measured{}}
	for _, r := range runs {
		m := &Measured{Finished: map[string][]Finish{}, Launched: map[string]time.Time{},
			Joined: map[string]time.Time{},
			Ended:  map[string]time.Time{}}
		t.fleets[r.Fleet.Name], t.queues[r.Queue()] = m, m
	}
	return t
}

// Runs returns the runs that are measured.
func (t *Tally) Runs() []Run { return t.runs }

// Start notes when the first message is sent.
func (t *Tally) Start(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.startAt = at
}

// started returns when the first message was sent; the zero time before.
func (t *Tally) started() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.startAt
}

// Outcome records the members of a fleet after a step.
func (t *Tally) Outcome(o controller.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.fleets[o.Decision.Fleet]
	if f == nil {
		return
	}
	// Members that have ended are no longer among them, so their end is taken from the changes below.
	members := o.Members(o.Decision.At)
	if f.First.IsZero() {
		f.First = o.Decision.At
	}
	for _, m := range members {
		f.Launched[m.ID] = m.LaunchedAt
		if !m.JoinedAt.IsZero() {
			f.Joined[m.ID] = m.JoinedAt
		}
	}
	if p := o.Observation.Processing; p.Known && !p.Prior {
		f.Processing = p
	}
	f.Peak = max(f.Peak, len(members))
	if o.Decision.Verdict == muster.Apply {
		f.Applied++
	}
	for _, c := range o.Changes {
		if c.What == roster.HasEnded {
			f.Ended[c.Member] = o.Decision.At
		}
	}
}

// Read reads the lines that were logged since the last call.
func (t *Tally) Read() error {
	f, err := os.Open(t.path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := f.Seek(t.offset, 0); err != nil {
		return err
	}
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil // the rest of the line is still to come
		}
		t.offset += int64(len(line))
		if err := t.readLocked(line); err != nil {
			return fmt.Errorf("the demo's log holds %q: %w", line, err)
		}
	}
}

// readLocked parses a line of [WriteDone].
func (t *Tally) readLocked(line string) error {
	var queue, id, sent, done, worker, began string
	if _, err := fmt.Sscan(line, &queue, &id, &sent, &done, &worker, &began); err != nil {
		return err
	}
	f := Finish{Worker: worker}
	for _, at := range []struct {
		text string
		time *time.Time
	}{{sent, &f.Sent}, {began, &f.Began}, {done, &f.Done}} {
		var err error
		if *at.time, err = time.Parse(time.RFC3339Nano, at.text); err != nil {
			return err
		}
	}
	t.finishLocked(queue[strings.LastIndexByte(queue, '/')+1:], id, f)
	return nil
}

// Finish records that the message id of a queue was finished.
func (t *Tally) Finish(queue, id string, f Finish) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finishLocked(queue, id, f)
}

// finishLocked records a finish. The caller holds the lock.
func (t *Tally) finishLocked(queue, id string, f Finish) {
	if m := t.queues[queue]; m != nil {
		m.Finished[id] = append(m.Finished[id], f)
	}
}

// Processed returns how many messages of a run are finished.
func (t *Tally) Processed(r Run) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queues[r.Queue()].Finished)
}

// complete tells whether every message of every run was finished at least once.
func (t *Tally) complete() bool {
	for _, r := range t.runs {
		if t.Processed(r) < Messages {
			return false
		}
	}
	return true
}

// Measured returns a copy of the measurements of a run.
func (t *Tally) Measured(r Run) Measured {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := *t.fleets[r.Fleet.Name]
	m.Started = t.startAt
	m.Launched, m.Joined, m.Ended = maps.Clone(m.Launched), maps.Clone(m.Joined), maps.Clone(m.Ended)
	m.Finished = maps.Clone(m.Finished)
	return m
}

// Results returns the results of all runs.
func (t *Tally) Results() (all []Result) {
	for _, r := range t.runs {
		all = append(all, t.Result(r))
	}
	return all
}

// Result returns the result of a run.
func (t *Tally) Result(r Run) Result {
	m := t.Measured(r)
	d := Result{Name: r.Test.Name, Policy: r.Fleet.Policy.Name, Messages: Messages, PeakWorkers: m.Peak,
		Decisions: m.Applied}
	last := m.Started
	var times []float64
	for _, all := range m.Finished {
		// A message that was processed twice counts once, with its first finish.
		first := all[0]
		d.Processed++
		if len(all) > 1 {
			d.Twice++
		}
		times = append(times, first.Done.Sub(first.Sent).Seconds())
		if first.Done.Sub(first.Sent) <= latency {
			d.InTime++
		}
		if first.Done.After(last) {
			last = first.Done
		}
	}
	d.InTimeRatio = float64(d.InTime) / float64(d.Messages)
	d.Seconds = last.Sub(m.Started).Seconds()
	d.P95 = P95(times)
	d.WorkerSeconds = m.WorkerSeconds(last)
	return d
}

// P95 returns the 95th percentile, and 0 of nothing. It sorts the values.
func P95(values []float64) float64 {
	if slices.Sort(values); len(values) == 0 {
		return 0
	}
	return values[(95*len(values)+99)/100-1]
}
