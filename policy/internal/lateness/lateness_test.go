package lateness

import (
	"math"
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// observed is a fleet whose objective asks for 99 % in time, of which so many of the past hour's 4,000 messages were in
// time, watched for so many seconds.
func observed(at time.Time, inTime, watched float64) muster.Observation {
	return muster.Observation{At: at, Objective: muster.Objective{Quantile: 0.99},
		Arrivals: muster.Arrivals{Known: true, WatchedSeconds: watched},
		Progress: &muster.Progress{Ended: 4000, InTime: muster.Measured(at, inTime)}}
}

// A twentieth of what late messages have cost pays for workers, within as long again. Of 4,000 messages in half an hour
// at 60 s each, two in a hundred late beyond the share that may be cost 4,800 worker-seconds.
func TestLateMessagesPayForMoreHeadroom(t *testing.T) {
	for _, row := range []struct {
		name                   string
		room, price            float64
		inTime, ended, watched float64
		failing                float64
		want                   float64
	}{
		{"as many in time as the objective asks for", 4, 60, 0.99, 4000, 1800, 0, 0},
		{"more than it asks for", 4, 60, 1, 4000, 1800, 0, 0},
		{"two in a hundred too few: 0.05 x 4800 / 1800", 4, 60, 0.97, 4000, 1800, 0, 0.133},
		{"within an hour it is half as much", 4, 60, 0.97, 4000, 3600, 0, 0.067},
		{"longer than an hour is not known", 4, 60, 0.97, 4000, 1e6, 0, 0.067},
		{"the first minute is no reason to hurry", 4, 60, 0.97, 4000, 5, 0, 4},
		{"all are late: the headroom doubles at most", 4, 60, 0, 4000, 1800, 0, 4},
		{"half a worker: one more at most", 0.5, 60, 0, 4000, 1800, 0, 1},
		{"no headroom is worth its price: none for late ones either", 0, 60, 0, 4000, 1800, 0, 0},
		{"late messages cost nothing", 4, 0, 0, 4000, 1800, 0, 0},
		{"nothing has ended", 4, 60, 0, 0, 1800, 0, 0},
		{"one in a hundred attempts fails", 4, 60, 0.97, 4000, 1800, 0.01, 0.067},
		{"as many fail as are late", 4, 60, 0.97, 4000, 1800, 0.05, 0},
		{"all fail", 4, 60, 0, 4000, 1800, 1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := observed(noon, row.inTime, row.watched)
			o.Progress.Ended = row.ended
			o.Progress.Failed, o.Progress.Finished = 1000*row.failing, 1000*(1-row.failing)
			if got := (Extra{}).Next(o, row.price).Beside(row.room); math.Abs(got-row.want) > 1e-3 {
				t.Errorf("found %.4f workers more, want %v", got, row.want)
			}
		})
	}
}

// Decisions keep three decimals. A number of a few thousandths must not look changed because of that: history would
// record it with each decision.
func TestAFewThousandthsOfAWorkerAreKeptAsTheyAre(t *testing.T) {
	for _, ended := range []float64{30, 31, 34, 40, 47, 50, 62, 70} {
		few := func(after time.Duration) muster.Observation {
			o := observed(noon.Add(after), 0, 3600)
			o.Progress.Ended = ended
			return o
		}
		first := Extra{}.Next(few(0), 3.6)
		recent := muster.Recent{}.With(muster.Decision{Kept: first.Kept()}, time.Minute)
		if next := ExtraOf(recent).Next(few(time.Second), 3.6); next != first {
			t.Errorf("%v messages: %v is kept, and a second later %v", ended, first, next)
		}
	}
}

// The share in time is unknown now and then, and moves with each message. Workers neither come nor go with that.
func TestExtraWorkersLastAndAreKept(t *testing.T) {
	first := Extra{}.Next(observed(noon, 0.5, 3600), 60)
	unknown := func(after time.Duration) muster.Observation {
		o := observed(noon.Add(after), 0, 3600)
		o.Progress.InTime = muster.Unknown(o.At, "nobody tells")
		return o
	}
	for _, row := range []struct {
		name string
		o    muster.Observation
		want float64 // as a share of the first
	}{
		{"unknown for a moment", unknown(time.Minute), 1},
		{"unknown for an hour", unknown(time.Hour), 1},
		{"unknown for longer", unknown(time.Hour + time.Second), 0},
		{"no progress at all", muster.Observation{At: noon.Add(time.Minute)}, 1},
		{"a little better a moment later", observed(noon.Add(time.Minute), 0.55, 3600), 1},
		{"much better", observed(noon.Add(time.Minute), 0.74, 3600), 0.25 / 0.49},
		{"a little better after five minutes", observed(noon.Add(5*time.Minute), 0.55, 3600), 0.44 / 0.49},
		{"as many in time as the objective asks for", observed(noon.Add(time.Second), 0.99, 3600), 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			kept := ExtraOf(muster.Recent{{At: noon, Kept: first.Kept()}})
			if got := kept.Next(row.o, 60); math.Abs(got.Workers-row.want*first.Workers) > 1e-3 {
				t.Errorf("found %v after %v, want %g of it", got, first, row.want)
			}
		})
	}
	if got := ExtraOf(nil).Kept(); got != nil {
		t.Errorf("no extra workers keep %v, want nothing", got)
	}
}
