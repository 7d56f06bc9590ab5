package controller

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
)

// counting tells whether it is known what every queue has counted.
func counting(o muster.Observation) bool {
	for _, q := range o.Queues {
		if !q.Sent.Known {
			return false
		}
	}
	return len(o.Queues) > 0
}

// Restores tells whether a restart at now needs the record, which is within [Settings.RestoreFrom]: of long past, what
// was learned counts alone.
func (s Settings) Restores(r muster.Record, now time.Time) bool {
	return r.Kind == muster.Learned || !r.At.Before(now.Add(-s.reach()))
}

// reach is how far back records of every kind count.
func (s *Settings) reach() time.Duration {
	return max(time.Hour, s.Learn, s.memory+holdEvery, series.Counts{Length: s.lookBack()}.Reach())
}

// RestoreFrom returns how far back [Settings.Restore] needs the records, before now.
func (s Settings) RestoreFrom() time.Duration {
	if s.Spec.Seasonal() {
		return max(s.reach(), series.SeasonLength+24*time.Hour)
	}
	return s.reach()
}
