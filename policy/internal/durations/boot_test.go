package durations

import (
	"testing"

	"github.com/muster-scale/muster"
)

// A worker that boots for longer than expected is overdue, and is taken to need as long as that again. A measured boot
// is believed whatever the launches under way do: one that hangs is no reason to doubt a hundred that did not.
func TestLaunchesUnderWayCorrectAnUnmeasuredBoot(t *testing.T) {
	stated := muster.Estimate{Known: true, Prior: true, MeanSeconds: 60, P95Seconds: 60}
	for _, row := range []struct {
		name   string
		boot   muster.Estimate
		coming []muster.Coming
		want   float64
	}{
		{"nothing is under way", stated, nil, 60},
		{"not overdue yet", stated, []muster.Coming{{AgeSeconds: 60, Members: 1}}, 60},
		{"overdue by a second", stated, []muster.Coming{{AgeSeconds: 61, Members: 1}}, 62},
		{"overdue by seven minutes", stated, []muster.Coming{{AgeSeconds: 480, Members: 1}}, 900},
		{"the oldest counts", stated, []muster.Coming{{AgeSeconds: 100, Members: 1}, {AgeSeconds: 5, Members: 9}}, 140},
		{"from the warm pool", stated, []muster.Coming{{AgeSeconds: 480, Members: 2, Warm: 2}}, 60},
		{"one of two from the warm pool", stated, []muster.Coming{{AgeSeconds: 100, Members: 2, Warm: 1}}, 140},
		{"nothing is stated", muster.Estimate{}, []muster.Coming{{AgeSeconds: 150, Members: 1}}, 180},
		{"measured", muster.Estimate{Known: true, Count: 1, MeanSeconds: 60, P95Seconds: 60},
			[]muster.Coming{{AgeSeconds: 480, Members: 1}}, 60},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := BootSoFar(muster.Observation{Boot: row.boot, Coming: row.coming})
			if Boot(got) != row.want || got.Known && got.Prior == (row.boot.Count > 0) {
				t.Errorf("found %+v, want %g s, as an estimate that was not measured", got, row.want)
			}
		})
	}
}
