package learning

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/series"
)

func TestMessagesFinishedSinceTheCountsWereTaken(t *testing.T) {
	r := Rules{Learn: time.Hour, LookBack: time.Hour, Poll: time.Second}
	finish := func(m *Memory, n int) {
		var some series.Durations
		for range n {
			some = series.Add(some, time.Second)
		}
		m.Reported(r, Reports{Processing: []series.Durations{some}, Finished: int64(n)}, nil)
	}
	m := New(r)
	finish(&m, 2)
	m.Flush(after(0), false) // they ended within the five seconds before
	finish(&m, 1)
	for _, row := range []struct {
		name string
		at   float64
		lag  float64
		want float64
	}{
		{"within the lag, recorded and not", 3, 20, 3},
		{"nearly as long ago: whole steps count", 20, 20, 3},
		{"one that is not recorded yet is new", 120, 20, 1},
		{"counts are exact", 3, 0, 0},
	} {
		if got := m.FinishedSince(after(row.at), row.lag); got != row.want {
			t.Errorf("%s: found %v, want %v", row.name, got, row.want)
		}
	}
	m.Flush(after(130), false)
	if got := m.FinishedSince(after(300), 20); got != 0 {
		t.Errorf("found %v long after, want none", got)
	}
}
