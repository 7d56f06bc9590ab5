package peer

import (
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// see is what there is to see, told the way a person would.
type see struct {
	backlog, inFlight, age float64
	// serving are in service, busy of them busy; coming are on their way; draining drain.
	serving, busy, coming, draining int
	unseen                          int // launched and not listed yet
	desired                         int // 0: serving + coming
	slots                           int // 0: 1
	min, max                        int // max 0: 100000
	rate                            float64
	mpd                             time.Duration
	latency                         time.Duration

	noBacklog, noInFlight, noListing, noAge, noRate bool
}

func (s see) at(now time.Time) muster.Observation {
	sample := func(v float64, unknown bool) muster.Sample {
		if unknown {
			return muster.Unknown(now, "no answer")
		}
		return muster.Measured(now, v)
	}
	slots := max(1, s.slots)
	o := muster.Observation{
		Fleet: "f", At: now, Objective: muster.Objective{Latency: s.latency, Quantile: 0.99},
		Limits: muster.Limits{Min: s.min, Max: s.max, LaunchesPerHour: 1_000_000},
		Queues: []muster.QueueObservation{{Queue: "q", Backlog: sample(s.backlog, s.noBacklog),
			InFlight:  sample(s.inFlight, s.noInFlight),
			OldestAge: sample(s.age, s.noAge)}},
		Capacity: muster.Capacity{Known: !s.noListing, Reason: "refused", Desired: s.serving + s.coming,
			Idle: s.serving - s.busy, Busy: s.busy,
			Booting: s.coming, Ordered: s.unseen, Draining: s.draining, Slots: s.serving * slots,
			BusySlots: s.busy * slots, SlotsPerWorker: float64(slots)},
		Arrivals: muster.Arrivals{Known: !s.noRate, TenSeconds: s.rate, Minute: s.rate, FiveMinutes: s.rate,
			Hour: s.rate},
	}
	if s.desired > 0 {
		o.Capacity.Desired = s.desired
	}
	if s.max == 0 {
		o.Limits.Max = 100_000
	}
	if s.latency == 0 {
		o.Objective.Latency = 5 * time.Minute
	}
	if s.mpd > 0 {
		o.Processing = muster.Estimate{Known: true, Count: 100, MeanSeconds: s.mpd.Seconds()}
	}
	return o
}

// world steps a policy once a second, as the controller does, over a fleet whose members take boot to come into
// service. What it remembers is what the controller remembers.
type world struct {
	of     muster.Policy
	memory time.Duration
	boot   time.Duration

	now      time.Time
	ordered  []time.Time // one for each member
	recent   muster.Recent
	last     muster.Decision
	recorded time.Time
}

// newWorld is a world with so many members in service.
func newWorld(of muster.Policy, memory, boot time.Duration, serving int) *world {
	w := &world{of: policy.Bounds{Of: of}, memory: memory, boot: boot, now: t0}
	for range serving {
		w.ordered = append(w.ordered, t0.Add(-24*time.Hour))
	}
	return w
}

// built is a world of the named peer with its default setting.
func built(t *testing.T, name string, prior, boot time.Duration, serving int) *world {
	t.Helper()
	p, ok := Find(name)
	if !ok {
		t.Fatalf("no peer %q", name)
	}
	return newWorld(p.Build(p.Default, prior), p.Memory, boot, serving)
}

// step shows the policy s with the members of the world, brings the fleet to its decision and lets a second pass.
func (w *world) step(s see) muster.Decision {
	s.serving, s.coming, s.desired = 0, 0, 0
	for _, at := range w.ordered {
		if w.now.Sub(at) >= w.boot {
			s.serving++
		} else {
			s.coming++
		}
	}
	s.busy = min(s.serving, int(s.inFlight))
	d := w.of.Decide(s.at(w.now), w.recent)
	for len(w.ordered) < d.Desired {
		w.ordered = append(w.ordered, w.now)
	}
	w.ordered = w.ordered[:d.Desired]
	l := w.last
	changed := d.Previous != l.Previous || d.Desired != l.Desired || d.Verdict != l.Verdict || d.Reason != l.Reason
	wished := (d.Wish != l.Wish || !slices.Equal(d.Kept, l.Kept)) && w.now.Sub(w.recorded) >= time.Second
	if changed || wished {
		w.recent = w.recent.With(d, w.memory)
		w.last, w.recorded = d, w.now
	}
	w.now = w.now.Add(time.Second)
	return d
}

// change is a size and the second at which it was set.
type change struct{ second, size int }

// run steps through so many seconds of a script and returns every change of the size.
func (w *world) run(seconds int, script func(second int) see) []change {
	var changes []change
	for s := range seconds {
		if d := w.step(script(s)); d.Desired != d.Previous {
			changes = append(changes, change{s, d.Desired})
		}
	}
	return changes
}

// always shows the same thing all the time.
func always(s see) func(int) see { return func(int) see { return s } }

func expect(t *testing.T, got, want []change) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("changes {second size} %v\nwant                  %v", got, want)
	}
}

// ago is a past decision; kept are names and numbers in turn.
func ago(d time.Duration, previous, desired int, kept ...muster.Value) muster.Past {
	return muster.Past{At: t0.Add(-d), Wish: desired, Desired: desired, Previous: previous, Kept: kept}
}
