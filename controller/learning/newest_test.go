package learning

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
)

// Work that has changed is known by what ended since, once that is enough and covers more than a few messages take.
func TestWorkThatHasChangedIsKnownByTheNewest(t *testing.T) {
	const hours = 3 * time.Hour
	for _, row := range []struct {
		name string
		// before come every second for three hours, then after for so long, one each so many seconds.
		before, after []time.Duration
		since, each   time.Duration
		want          float64 // the mean, in seconds
	}{
		{"nothing has changed", seconds(10), seconds(10), 10 * time.Minute, time.Second, 10},
		{"a third of the time, for six minutes", seconds(10), seconds(3), 6 * time.Minute, time.Second, 3},
		{"for four minutes: those of before are not forgotten", seconds(10), seconds(3), 4 * time.Minute, time.Second,
			9.847},
		{"twice the time, for twenty minutes", seconds(10), seconds(20), 20 * time.Minute, time.Second, 20},
		{"a fifth less is no other work", seconds(10), seconds(8), 20 * time.Minute, time.Second, 9.8},
		{"one each twenty seconds, for half an hour: an hour would tell", seconds(10), seconds(3), 30 * time.Minute,
			20 * time.Second, 9.94},
		{"one each ten seconds, for an hour", seconds(10), seconds(3), time.Hour, 10 * time.Second, 3},
		{"long work: within five minutes only the short messages end", seconds(60, 600), seconds(60), 5 * time.Minute,
			time.Second, 322.7},
		{"fewer long messages than before", seconds(10, 10, 10, 10, 100), seconds(10, 10, 10, 10, 10, 10, 10, 10, 10,
			100), 20 * time.Minute, time.Second, 27.1},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := Rules{Learn: 6 * time.Hour, LookBack: time.Hour, Waits: time.Minute, Poll: time.Second}
			m, at := New(r), time.Unix(1e9, 0)
			work := func(d []time.Duration, over, each time.Duration) {
				for n := 0; time.Duration(n)*each < over; n++ {
					at = at.Add(each)
					m.count(at, Learned{Processing: series.Add(series.Durations{}, d[n%len(d)])})
				}
			}
			work(row.before, hours, time.Second)
			work(row.after, row.since, row.each)
			e := m.Processing(at, muster.Estimate{}, 0)
			if e.MeanSeconds < row.want*0.99 || e.MeanSeconds > row.want*1.01 {
				t.Errorf("found a mean of %.3f s, want %.3f s", e.MeanSeconds, row.want)
			}
		})
	}
}

func seconds(all ...float64) (d []time.Duration) {
	for _, s := range all {
		d = append(d, time.Duration(s*float64(time.Second)))
	}
	return d
}
