package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/internal/lifecycle"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/notice"
	"github.com/muster-scale/muster/server"
)

const (
	// incidentsFile of the data directory holds the incidents and the notices that wait.
	incidentsFile = "incidents.json"
	// maxIncidentsFile bounds that file, in bytes.
	maxIncidentsFile = 64 << 20
	// incidentsEvery is how often incidents are derived.
	incidentsEvery = time.Second
)

// incidents derives the incidents of a running App and tells them. Any goroutine may use it.
type incidents struct {
	app    *App
	host   string
	sender *notice.Sender
	// changed is true while the file is older than the incidents or the waiting notices.
	changed atomic.Bool

	mu      sync.Mutex
	past    map[string]incident.Past
	tracker incident.Tracker
}

// incidentsKept is the content of the file. A restart continues with it.
type incidentsKept struct {
	Tracker incident.Tracker             `json:"incidents"`
	Waiting map[string][]incident.Notice `json:"waiting,omitzero"`
}

// newIncidents reads the incidents of the previous run. A file that cannot be read costs a second notice of what is
// still open, so it is logged, and replaced.
func newIncidents(a *App) *incidents {
	x := &incidents{app: a, past: map[string]incident.Past{}}
	x.host, _ = os.Hostname() // the name is for people, and may be unknown
	kept, err := readIncidents(filepath.Join(a.config.Data, incidentsFile))
	if err != nil {
		a.options.Logger.Warn("the incidents of the previous run are unknown", "error", err)
	}
	if a.options.Ephemeral {
		kept = incidentsKept{}
	}
	x.tracker = kept.Tracker.Restored()
	x.sender = notice.New(notice.Options{
		Destinations: kind.ChannelsOf(a.host, a.config), Waiting: kept.Waiting,
		Changed: func() { x.changed.Store(true) }, Logger: a.options.Logger,
	})
	return x
}

func readIncidents(path string) (kept incidentsKept, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err != nil {
		return kept, err
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxIncidentsFile)).Decode(&kept); err != nil {
		return incidentsKept{}, fmt.Errorf("read %s: %w", path, err)
	}
	return kept, nil
}

// write writes the file if it is out of date: an incident that is in it as told is in it with its notice, or the notice
// was delivered.
func (x *incidents) write() {
	if x.app.options.Ephemeral || !x.changed.Swap(false) {
		return
	}
	x.mu.Lock()
	kept := incidentsKept{Tracker: x.tracker, Waiting: x.sender.Waiting()}
	x.mu.Unlock()
	err := durable.Replace(filepath.Join(x.app.config.Data, incidentsFile), func(w io.Writer) error {
		return json.NewEncoder(w).Encode(kept)
	})
	if err != nil {
		x.changed.Store(true)
		x.app.options.Logger.Warn("the incidents could not be written, and are tried again", "error", err)
	}
}

// see takes the outcome of a step.
func (x *incidents) see(o controller.Outcome) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.past[o.Observation.Fleet] = x.past[o.Observation.Fleet].With(o)
}

// run derives and tells incidents until ctx ends.
func (x *incidents) run(ctx context.Context) {
	var sending sync.WaitGroup
	defer x.write()
	defer sending.Wait()
	sending.Go(func() { x.sender.Run(ctx) })
	tick := time.NewTicker(incidentsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			x.step(now.UTC().Round(0))
			x.write()
		}
	}
}

// step derives the incidents at a time and queues the notices.
func (x *incidents) step(now time.Time) {
	v := x.app.view(now)
	x.mu.Lock()
	defer x.mu.Unlock()
	there := map[string]bool{}
	for i := range v.Fleets {
		f := &v.Fleets[i]
		f.Past, there[f.Name] = x.past[f.Name], true
	}
	for name := range x.past {
		if !there[name] {
			delete(x.past, name)
		}
	}
	var notices []incident.Notice
	x.tracker, notices = x.tracker.Step(v)
	for _, n := range notices {
		n = n.From(x.host)
		x.app.options.Logger.Warn("an incident "+string(n.Event), "id", n.Incident.ID, "text", n.Incident.Sentence)
		x.sender.Tell(n)
		x.changed.Store(true)
	}
}

// served returns the incidents as the API serves them.
func (x *incidents) served() server.Incidents {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := server.Incidents{Open: x.tracker.Open(), Recent: []incident.Incident{}, Channels: x.sender.Status()}
	for i := len(x.tracker.Recent) - 1; i >= 0; i-- {
		all.Recent = append(all.Recent, x.tracker.Recent[i])
	}
	return all
}

// view returns what is known of a at a time, without the pasts of fleets.
func (a *App) view(now time.Time) incident.View {
	v := incident.View{At: now, Fleets: a.fleets.view(), Faults: a.faults.kinds()}
	if err := a.conns.Failing(); err != nil {
		v.Faults = append(v.Faults, incident.Fault{Kind: incident.ConnectionsRefused, Text: err.Error()})
	}
	for _, name := range a.queues.Queues() {
		if c, err := a.queues.Counts(name); err == nil && c.Damaged > 0 {
			if v.Damaged == nil {
				v.Damaged = map[string]int{}
			}
			v.Damaged[name] = c.Damaged
		}
	}
	return v
}

// view returns the fleets for incidents, without their pasts.
func (f *fleets) view() []incident.Fleet {
	served, standing := f.served(), f.standing()
	f.mu.Lock()
	phases := slices.Clone(f.phases)
	f.mu.Unlock()
	var all []incident.Fleet
	for _, p := range phases {
		one := incident.Fleet{Name: p.Name, Local: p.Wanted.Local(), Trouble: standing[p.Name].Trouble()}
		if loop := served[p.Name]; loop != nil {
			o, there := loop.Last()
			one.Unrecorded = o.Unrecorded
			one.Observed = there && o.Ready && o.Unrecorded == "" && p.Phase == lifecycle.Running
			one.Observation, one.Decision = o.Observation, o.Decision
		}
		all = append(all, one)
	}
	return all
}
