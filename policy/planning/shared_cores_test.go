package planning

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/durations"
)

// crowdsOf are crowds by busy slots and mean duration, of 20 messages each.
func crowdsOf(pairs ...float64) (all []muster.Crowd) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, muster.Crowd{Busy: pairs[i], Messages: 20, MeanSeconds: pairs[i+1]})
	}
	return all
}

func TestHowDurationsGrowIsEstimated(t *testing.T) {
	even := muster.Estimate{Known: true, Count: 100, MeanSeconds: 4, P95Seconds: 4, P99Seconds: 4}
	mixed := muster.Estimate{Known: true, Count: 100, MeanSeconds: 4, P95Seconds: 12, P99Seconds: 18}
	few := crowdsOf(1, 4, 2, 5)
	for i := range few {
		few[i].Messages = 2
	}
	for _, row := range []struct {
		name         string
		of           muster.Estimate
		crowds       []muster.Crowd
		known        bool
		base, useful float64
	}{
		{"nothing was measured", even, nil, false, 0, 0},
		{"one number of busy slots tells nothing", even, crowdsOf(6, 12), false, 0, 0},
		{"work that computes, on 2 cores", even, crowdsOf(1, 4, 2, 4, 4, 8, 6, 12), true, 4, 2},
		{"with 6 busy each takes 3 times as long as with 2", even, crowdsOf(2, 4, 6, 12), true, 4, 2},
		{"work that computes half of the time", even, crowdsOf(1, 4, 2, 4, 4, 4, 8, 8, 16, 16), true, 4, 4},
		{"work that waits does not grow", even, crowdsOf(1, 4, 8, 4, 20, 4.1), false, 0, 0},
		{"one that grows less than by a quarter counts as even", even, crowdsOf(1, 4, 20, 4.8), false, 0, 0},
		{"durations that shrink do not grow", even, crowdsOf(1, 8, 20, 4), false, 0, 0},
		{"what few messages took may be chance", mixed, few, false, 0, 0},
		{"skewed durations take more of them", mixed, crowdsOf(1, 3, 4, 5), false, 0, 0},
		{"and are seen to grow all the same", mixed, crowdsOf(1, 3, 10, 15), true, 3, 2},
		{"what is no measurement is left out", even, crowdsOf(1, 4, 2, 0, 0, 3, 6, 12), true, 4, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := durations.GrowthOf(muster.Observation{Processing: row.of,
				Sharing: &muster.Sharing{Cores: 2, Crowds: row.crowds}})
			if g.Known != row.known || row.known &&
				(math.Abs(g.Base/row.base-1) > 0.03 || math.Abs(g.Useful/row.useful-1) > 0.03) {
				t.Errorf("known %v, alone %.3g s up to %.3g busy; want %v, %v s up to %v", g.Known, g.Base, g.Useful,
					row.known, row.base, row.useful)
			}
		})
	}
}

// crowded is a fleet of n idle workers, of which none was needed for a while, with so many messages of 4 s.
func crowded(n, waiting int, mean float64, s *muster.Sharing) muster.Observation {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return muster.Observation{
		Fleet: "f", At: at, Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99},
		Limits: muster.Limits{Max: 20, LaunchesPerHour: 1000},
		Queues: []muster.QueueObservation{{Queue: "q", Backlog: muster.Measured(at, float64(waiting)),
			InFlight: muster.Measured(at, 0), OldestAge: muster.Measured(at, 20)}},
		Capacity: muster.Capacity{Known: true, Desired: n, Idle: n, Slots: n, SlotsPerWorker: 1},
		Processing: muster.Estimate{Known: true, Count: 40, MeanSeconds: mean, P50Seconds: mean, P95Seconds: mean,
			P99Seconds: mean},
		Boot: muster.Estimate{Known: true, MeanSeconds: 1, P95Seconds: 1, P99Seconds: 1}, Sharing: s,
		Waiting: []muster.Waiting{{AgeSeconds: 20, Messages: float64(waiting)}},
	}
}

func TestDeadlineLaunchesNoMoreThanTheMachineHasUseFor(t *testing.T) {
	computing := &muster.Sharing{Cores: 2, Crowds: crowdsOf(1, 4, 10, 20)}
	for _, row := range []struct {
		name    string
		o       muster.Observation
		desired int
		says    string
	}{
		{"members with a machine each", crowded(0, 60, 4, nil), 7, "launching 7"},
		{"what computes on two cores", crowded(0, 60, 12, computing), 2, "20s with 10 messages in progress, 4s " +
			"alone; 2 workers finish as much as more would"},
		{"workers that are there stay", crowded(5, 60, 12, computing), 5, "launching"},
		{"what fewer finish in time is as it was", crowded(0, 18, 12, computing), 2, "launching 2"},
		{"also where one is enough", crowded(0, 5, 12, computing), 0, "a later launch is still in time"},
		{"work that waits", crowded(0, 60, 4, &muster.Sharing{Cores: 2, Crowds: crowdsOf(1, 4, 8, 4)}), 7,
			"launching 7"},
		{"two find out where nothing was measured at more than one, while that is free",
			crowded(0, 400, 1, &muster.Sharing{Cores: 1, Crowds: crowdsOf(1, 1)}), 2,
			"how durations grow with busy workers is not known yet: 2 workers find out"},
		{"and all are launched where the others would be too many then",
			crowded(0, 680, 1, &muster.Sharing{Cores: 1, Crowds: crowdsOf(1, 1)}), 19, "launching 19"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := Deadline{}.Decide(row.o, nil)
			if d.Desired != row.desired || !strings.Contains(d.Sentence(), row.says) {
				t.Errorf("desired %d: %s; want %d and %q", d.Desired, d.Sentence(), row.desired, row.says)
			}
		})
	}
}
