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
		{"seven of ten may be chance", muster.Pace{LatelyFinished: 10, LatelySeconds: 20, LatelyLong: 7}, 0.2},
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

// What hangs is measured by work that has ended. Messages of a class that has become frequent do not hang because that
// class was rare, and after a jump of the work, messages that take as long as the others do not hang either.
func TestWhatIsUsualNowDoesNotHang(t *testing.T) {
	even := func(seconds float64, n int64) muster.Estimate {
		return muster.Estimate{Known: true, Count: n, MeanSeconds: seconds, P50Seconds: seconds, P95Seconds: seconds,
			P99Seconds: seconds}
	}
	all := even(1, 10_000)
	all.MeanSeconds = 1.295
	classes := func(long float64) []muster.Class {
		return []muster.Class{{Processing: even(1, 9950), Finished: 100}, {Processing: even(60, 50), Finished: long}}
	}
	busy := muster.Capacity{Busy: 10, BusySlots: 10, HeldMeanSeconds: 20, HeldDeviationSeconds: 15}
	for _, row := range []struct {
		name string
		o    muster.Observation
		hang bool
	}{
		{"longer than ten times all work", muster.Observation{Processing: even(1, 10_000), Capacity: busy}, true},
		{"after a jump", muster.Observation{Processing: even(1, 10_000), Capacity: busy, Pace: muster.Pace{
			LatelyFinished: 20, LatelySeconds: 600, LatelyLong: 20}}, false},
		{"a class that has stayed rare", muster.Observation{Processing: all, Classes: classes(0), Capacity: busy},
			true},
		{"a class that has become frequent", muster.Observation{Processing: all, Classes: classes(100), Capacity: busy},
			false},
	} {
		if w, _ := Of(row.o); (w.Hanging > 0) != row.hang {
			t.Errorf("%s: %v hang", row.name, w.Hanging)
		}
	}
}

// On a machine that all members share, more messages in progress take longer. That is no other work.
func TestACrowdedMachineShowsNoJump(t *testing.T) {
	o := muster.Observation{
		Processing: muster.Estimate{Known: true, Count: 1000, MeanSeconds: 2, P50Seconds: 2, P95Seconds: 2,
			P99Seconds: 2},
		Pace: muster.Pace{Finished: 100, Seconds: 200, LatelyFinished: 20, LatelySeconds: 200, LatelyLong: 20},
	}
	g := Growth{Known: true, Base: 1, Useful: 2, Crowds: []muster.Crowd{{Busy: 4, Messages: 1000, Lately: 100}}}
	if p := g.Convert(o, 4).Pace; p.LatelyFinished != 0 || p.LatelyLong != 0 || p.Seconds != 200 {
		t.Errorf("found %+v, want none of the last seconds, and 200 s in all", p)
	}
}
