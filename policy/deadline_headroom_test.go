package policy

import (
	"math"
	"testing"

	"github.com/muster-scale/muster"
)

func TestHeadroomIsNoMoreThanASlotForEachMessageOfTheBusiestTimes(t *testing.T) {
	for _, row := range []struct {
		name          string
		latency       float64
		mean, minutes float64
		busiest       muster.Busiest
		want          float64
	}{
		{"a slot begins several: 0.9 x 100 x 2 / (10 / 2 + 12 - 2)", 12, 2, 0, muster.Busiest{OverSeconds: 10, Messages: 100}, 12},
		{"work that takes far longer than the window: 0.9 x 12", 3600, 4000, 0, muster.Busiest{OverSeconds: 5, Messages: 12}, 10.8},
		{"beside what is busy anyway: 0.9 x (12 + 6000 / 600)", 3600, 6000, 1.0 / 600, muster.Busiest{OverSeconds: 5, Messages: 12}, 19.8},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := &plan{work: work{settled: row.mean}, latency: row.latency, slots: 1, boot: 60}
			if got := p.headroom(muster.Arrivals{FiveMinutes: row.minutes, Busiest: []muster.Busiest{row.busiest}}); !about(got, row.want) {
				t.Errorf("found %v slots, want %v", got, row.want)
			}
		})
	}
}

func TestSteadyArrivalsThatComeAtRandomTakeMoreThanTheyKeepBusy(t *testing.T) {
	for _, row := range []struct {
		name                                string
		quantile, mean, variation, boot, at float64
		spare                               float64
		want                                float64
	}{
		// The slots beyond those that are busy are m (1 + v^2) / (2 x) ln 100.
		{"one second of work, all alike, two to wait: (10 + 4.605 / 4) 60 / 62", 0.99, 1, 0, 60, 10, 2, 10.7916},
		{"work that varies as much as exponential work: (10 + 4.605 / 2) 60 / 62", 0.99, 1, 1, 60, 10, 2, 11.9058},
		{"one in twenty may be late: (10 + 2.996 / 4) 60 / 62", 0.95, 1, 0, 60, 10, 2, 10.4022},
		{"all shall be in time: as if one in ten thousand might be late", 1, 1, 0, 60, 10, 2, 11.9058},
		{"time enough for a launch leaves most of it to that", 0.99, 1, 0, 60, 10, 540, 1.0004},
		{"no time to wait counts as the work itself", 0.99, 1, 0, 60, 10, 0, 12.3026},
		{"little comes: no more than twice what is busy", 0.99, 1, 0, 60, 0.5, 2, 0.9677},
		{"nothing comes", 0.99, 1, 0, 60, 0, 2, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := &plan{work: work{settled: row.mean, variation: row.variation}, quantile: row.quantile, boot: row.boot}
			if got := p.steady(row.at, row.spare); math.Abs(got-row.want) > 1e-3 {
				t.Errorf("found %.4f slots, want %v", got, row.want)
			}
		})
	}
}

func TestAMeanSettlesOnWhatIsNoChance(t *testing.T) {
	for _, row := range []struct {
		name                                         string
		before, lately, deviation, weight, durations float64
		want                                         float64
	}{
		{"a little longer is chance: 2 x 2 x 10 / 110 = 0.364", 5, 5.3, 2, 10, 100, 5},
		{"beyond that it counts, 0.364 squared left out of it", 5, 6, 2, 10, 100, 5.8678},
		{"so does shorter work", 5, 4, 2, 10, 100, 4.1322},
		{"nothing was measured lately", 5, 5, 2, 10, 0, 5},
		{"work that is all alike leaves nothing to chance", 5, 5.3, 0, 10, 100, 5.3},
	} {
		if got := settle(row.before, row.lately, row.deviation, row.weight, row.durations); math.Abs(got-row.want) > 1e-3 {
			t.Errorf("%s: found %.4f, want %v", row.name, got, row.want)
		}
	}
}
