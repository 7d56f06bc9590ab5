package durations

import (
	"testing"

	"github.com/muster-scale/muster"
)

// Work that becomes longer is followed within seconds, although two minutes are full of shorter messages.
func TestAJumpIsFollowedWithinSeconds(t *testing.T) {
	for _, row := range []struct {
		name string
		pace muster.Pace
		want float64
	}{
		{"most take longer: their own mean", muster.Pace{LatelyFinished: 30, LatelySeconds: 60, LatelyLong: 24}, 2},
		{"half of them do, as half of all exceed the median", muster.Pace{LatelyFinished: 30, LatelySeconds: 60,
			LatelyLong: 15}, 0.2},
		{"too few tell nothing", muster.Pace{LatelyFinished: 9, LatelySeconds: 18, LatelyLong: 9}, 0.2},
		{"one that hung does not count, however long", muster.Pace{LatelyFinished: 30, LatelySeconds: 600,
			LatelyLong: 1}, 0.2},
	} {
		row.pace.Finished, row.pace.Seconds = 6000, 1200
		e := muster.Estimate{Known: true, Count: 6000, MeanSeconds: 0.2, P50Seconds: 0.2, P95Seconds: 0.2,
			P99Seconds: 0.2}
		w, _ := Of(muster.Observation{Processing: e, Pace: row.pace})
		if diff := w.Mean - row.want; diff > 1e-9 || diff < -1e-9 || w.FinishedMean != w.Mean {
			t.Errorf("%s: found %v, of finished messages %v, want %v", row.name, w.Mean, w.FinishedMean, row.want)
		}
	}
}
