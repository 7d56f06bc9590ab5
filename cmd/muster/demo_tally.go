package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/roster"
)

type outcome = controller.Outcome

// demoResult is one test under one policy, as muster demo -o json prints it.
type demoResult struct {
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
	// WorkerSeconds adds up each worker's time from its launch until it left, at the latest until the last message.
	WorkerSeconds float64 `json:"worker_seconds"`
	// Decisions counts the decisions that set a size.
	Decisions int `json:"decisions"`
}

// demoTally adds up what happens, from what the commands wrote down and from the controllers' steps.
type demoTally struct {
	path string
	runs []demoRun

	mu       sync.Mutex
	startAt  time.Time
	offset   int64
	finished map[string]map[string][]finish // by queue, by message
	launched map[string]map[string]time.Time
	ended    map[string]map[string]time.Time
	peak     map[string]int
	applied  map[string]int
	// first is the instant of each fleet's first step, joined when each member first took messages, processing what was last
	// known of the work on a message.
	first      map[string]time.Time
	joined     map[string]map[string]time.Time
	processing map[string]muster.Estimate
}

// finish is the end of the work on a message, which began in the process worker.
type finish struct {
	sent, began, done time.Time
	worker            string
}

func newDemoTally(runs []demoRun, path string) *demoTally {
	t := &demoTally{path: path, runs: runs, finished: map[string]map[string][]finish{}, launched: map[string]map[string]time.Time{},
		ended: map[string]map[string]time.Time{}, peak: map[string]int{}, applied: map[string]int{},
		first: map[string]time.Time{}, joined: map[string]map[string]time.Time{}, processing: map[string]muster.Estimate{}}
	for _, r := range runs {
		t.finished[r.queue()] = map[string][]finish{}
		t.launched[r.fleet.Name], t.ended[r.fleet.Name] = map[string]time.Time{}, map[string]time.Time{}
		t.joined[r.fleet.Name] = map[string]time.Time{}
	}
	return t
}

func (t *demoTally) start(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.startAt = at
}

func (t *demoTally) started() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.startAt
}

// outcome notes what a step showed of the members.
func (t *demoTally) outcome(o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fleet := o.Decision.Fleet
	members := o.Members(o.Decision.At)
	if t.first[fleet].IsZero() {
		t.first[fleet] = o.Decision.At
	}
	for _, m := range members {
		t.launched[fleet][m.ID] = m.LaunchedAt
		if !m.JoinedAt.IsZero() {
			t.joined[fleet][m.ID] = m.JoinedAt
		}
	}
	if p := o.Observation.Processing; p.Known && !p.Prior {
		t.processing[fleet] = p
	}
	t.peak[fleet] = max(t.peak[fleet], len(members))
	if o.Decision.Verdict == muster.Apply {
		t.applied[fleet]++
	}
	for _, c := range o.Changes {
		if c.What == roster.HasEnded {
			t.ended[fleet][c.Member] = o.Decision.At
		}
	}
}

// read takes the lines that the commands have written since the last time.
func (t *demoTally) read() error {
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
		var queue, id, sent, done, worker, began string
		if _, err := fmt.Sscan(line, &queue, &id, &sent, &done, &worker, &began); err != nil {
			return fmt.Errorf("the demo's log holds %q: %w", line, err)
		}
		f := finish{worker: worker}
		for _, at := range []struct {
			text string
			time *time.Time
		}{{sent, &f.sent}, {began, &f.began}, {done, &f.done}} {
			if *at.time, err = time.Parse(time.RFC3339Nano, at.text); err != nil {
				return fmt.Errorf("the demo's log holds %q: %w", line, err)
			}
		}
		t.finishLocked(queue[strings.LastIndexByte(queue, '/')+1:], id, f)
	}
}

// finish notes that a message was finished.
func (t *demoTally) finish(queue, id string, f finish) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finishLocked(queue, id, f)
}

func (t *demoTally) finishLocked(queue, id string, f finish) {
	if t.finished[queue] != nil {
		t.finished[queue][id] = append(t.finished[queue][id], f)
	}
}

// processed returns how many messages of a run are finished.
func (t *demoTally) processed(r demoRun) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.finished[r.queue()])
}

func (t *demoTally) complete() bool {
	for _, r := range t.runs {
		if t.processed(r) < demoMessages {
			return false
		}
	}
	return true
}

func (t *demoTally) results() []demoResult {
	t.mu.Lock()
	defer t.mu.Unlock()
	var results []demoResult
	for _, r := range t.runs {
		results = append(results, t.result(r))
	}
	return results
}

func (t *demoTally) result(r demoRun) demoResult {
	d := demoResult{Name: r.test.name, Policy: r.fleet.Policy.Name, Messages: demoMessages,
		PeakWorkers: t.peak[r.fleet.Name], Decisions: t.applied[r.fleet.Name]}
	last := t.startAt
	var times []float64
	for _, all := range t.finished[r.queue()] {
		first := all[0]
		d.Processed++
		if len(all) > 1 {
			d.Twice++
		}
		times = append(times, first.done.Sub(first.sent).Seconds())
		if first.done.Sub(first.sent) <= demoLatency {
			d.InTime++
		}
		if first.done.After(last) {
			last = first.done
		}
	}
	d.InTimeRatio = float64(d.InTime) / float64(d.Messages)
	d.Seconds = last.Sub(t.startAt).Seconds()
	if slices.Sort(times); len(times) > 0 {
		d.P95 = times[(95*len(times)+99)/100-1]
	}
	d.WorkerSeconds = t.workerSeconds(r, last)
	return d
}

// workerSeconds adds up the time of each worker from its launch until it left, at the latest until last.
func (t *demoTally) workerSeconds(r demoRun, last time.Time) (sum float64) {
	for id, from := range t.launched[r.fleet.Name] {
		until := last
		if end, ok := t.ended[r.fleet.Name][id]; ok && end.Before(last) {
			until = end
		}
		sum += max(0, until.Sub(from).Seconds())
	}
	return sum
}
