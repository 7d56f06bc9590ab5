package planning

import (
	"math"
	"testing"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/durations"
)

func TestHeadroomIsNoMoreThanASlotForEachMessageOfTheBusiestTimes(t *testing.T) {
	for _, row := range []struct {
		name          string
		latency       float64
		mean, minutes float64
		busiest       muster.Busiest
		want          float64
	}{
		{"a slot begins several: 100 x 2 / (10 + 12 - 2)", 12, 2, 0,
			muster.Busiest{OverSeconds: 10, Messages: 100}, 10},
		{"work that takes far longer than the window: 12", 3600, 4000, 0,
			muster.Busiest{OverSeconds: 5, Messages: 12}, 12.0036},
		{"beside what is busy anyway, of which an hour tells: 12 + 3600 / 600", 3600, 6000, 1.0 / 600,
			muster.Busiest{OverSeconds: 5, Messages: 12}, 18},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := &plan{Work: durations.Work{LongTermMean: row.mean}, latency: row.latency, slots: 1, boot: 60,
				tooLateShare: 1, price: 1e9,
				quantile: 0.99}
			if got := p.headroom(muster.Arrivals{FiveMinutes: row.minutes, Hour: math.Max(1e-6, row.minutes),
				Busiest: []muster.Busiest{row.busiest}}); !about(got, row.want) {
				t.Errorf("found %v slots, want %v", got, row.want)
			}
		})
	}
}

// Idle slots cost a second each; of two messages a second every late one costs the price. Room for the busiest 10 s
// takes 640 / (10 + 5) slots.
func TestHeadroomIsWorthItsPrice(t *testing.T) {
	busiest := []muster.Busiest{{OverSeconds: 10, Messages: 640}}
	for _, row := range []struct {
		name          string
		price, missed float64
		quiet         float64
		want          float64
	}{
		{"late messages cost next to nothing: none", 0.1, 1, 0, 0},
		{"a little more than they cost: 42.67 > 21.5 x 2 x 0.99", 21.5, 1, 0, 0},
		{"a little less: 42.67 < 21.6 x 2 x 0.99", 21.6, 1, 0, 42.6667},
		{"one launch in ten is too late: as if the price were a tenth", 215, 0.1, 0, 0},
		{"so the price must be ten times as high", 216, 0.1, 0, 42.6667},
		{"nothing came for so long that the idle slots have cost more than it saves", 100, 1, 1e6, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := &plan{Work: durations.Work{LongTermMean: 1}, latency: 6, slots: 1, boot: 60, tooLateShare: row.missed,
				price:    row.price,
				quantile: 0.99}
			if got := p.headroom(muster.Arrivals{Hour: 2, Busiest: busiest,
				QuietSeconds: row.quiet}); math.Abs(got-row.want) > 1e-3 {
				t.Errorf("found %v slots, want %v", got, row.want)
			}
		})
	}
}

// The workers that late messages pay for stay while the share of late messages is unknown. The sentence and the trail
// then have no share, in place of one that looks like all messages.
func TestAnUnknownShareOfLateMessagesIsNotSaidToBeAll(t *testing.T) {
	p := &plan{forLate: 1}
	for _, row := range []struct {
		name     string
		progress *muster.Progress
		says     string
		values   int
	}{
		{"known", &muster.Progress{InTime: muster.Sample{Known: true, Value: 0.75}},
			", and 25 % of the past hour's messages were late", 2},
		{"unknown", &muster.Progress{}, ", and messages were late in the past hour", 1},
		{"no progress", nil, ", and messages were late in the past hour", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := muster.Observation{Progress: row.progress}
			if got, in := p.whyLate(o), p.reasons(muster.Decision{}, o); got != row.says || len(in) != row.values {
				t.Errorf("found %q and %v, want %q and %d values", got, in, row.says, row.values)
			}
		})
	}
}
