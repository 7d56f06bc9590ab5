package policy

import (
	"testing"

	"github.com/muster-scale/muster"
)

func TestHeadroomIsNoMoreThanASlotForEachMessageOfTheBusiestTimes(t *testing.T) {
	for _, row := range []struct {
		name          string
		latency, tail float64
		mean, minute  float64
		busiest       muster.Busiest
		want          float64
	}{
		{"a slot begins several: 0.8 x 100 x 2 / (10 + 10)", 12, 2, 2, 0, muster.Busiest{OverSeconds: 10, Messages: 100}, 8},
		{"work that takes far longer than the window: 0.8 x 12", 3600, 4000, 600, 0, muster.Busiest{OverSeconds: 5, Messages: 12}, 9.6},
		{"beside what is busy anyway: 0.8 x (12 + 600 / 60)", 3600, 4000, 600, 1.0 / 60, muster.Busiest{OverSeconds: 5, Messages: 12}, 17.6},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := plan{work: work{tail: row.tail, lately: row.mean}, latency: row.latency, slots: 1}
			if got := p.headroom(muster.Arrivals{Minute: row.minute, Busiest: []muster.Busiest{row.busiest}}); !about(got, row.want) {
				t.Errorf("found %v slots, want %v", got, row.want)
			}
		})
	}
}
