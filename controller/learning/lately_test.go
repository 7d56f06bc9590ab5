package learning

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster/series"
)

// finished is a memory that has counted these durations in seconds, the last of them now.
func finished(t *testing.T, before []float64, now ...float64) Memory {
	t.Helper()
	m := New(Rules{Learn: time.Hour, LookBack: time.Hour, Poll: time.Second})
	for i, some := range [][]float64{before, now} {
		var h series.Durations
		for _, s := range some {
			h = series.Add(h, time.Duration(s*float64(time.Second)))
		}
		m.Reported(Rules{}, Reports{Processing: []series.Durations{h}}, nil)
		m.Flush(after(float64(60*i)), false)
	}
	return m
}

// A message that hung for an hour counts in the pace of work with ten times what nearly all messages take.
func TestAMessageThatHungDoesNotSetThePace(t *testing.T) {
	for _, row := range []struct {
		name          string
		before        []float64
		now           []float64
		seconds, long float64
	}{
		{"usual messages", slices.Repeat([]float64{2}, 300), []float64{2, 2}, 4, 0},
		{"one hung: ten times 2 s, within the error of a percentile", slices.Repeat([]float64{2}, 300),
			[]float64{2, 3600}, 22, 1},
		{"longer work", slices.Repeat([]float64{2}, 300), []float64{5, 5, 5}, 15, 3},
		{"too few for a percentile", slices.Repeat([]float64{2}, 100), []float64{2, 3600}, 3602, 0},
	} {
		m := finished(t, row.before, row.now...)
		p, measured := m.Pace(after(60)), 2*float64(len(row.before))
		if got := p.Seconds - measured; math.Abs(got-row.seconds) > 0.02*row.seconds {
			t.Errorf("%s: %v s of work, want %v", row.name, got, row.seconds)
		}
		if got := p.LatelyLong; math.Abs(got-row.long) > 1e-9 {
			t.Errorf("%s: %v took long, want %v", row.name, got, row.long)
		}
	}
}

// A few messages that hang are part of the mean of the hours. A pace without one is as fast as they are, all the same.
func TestAPaceLikeThatOfTheHoursHasTheirMean(t *testing.T) {
	before := slices.Repeat([]float64{2}, 1000)
	before[0], before[1] = 3600, 3600
	m := finished(t, before, slices.Repeat([]float64{2}, 100)...)
	p := m.Pace(after(60))
	p.Finished, p.Seconds = p.Finished-1000, p.Seconds-2*998-7200
	if each, want := p.Seconds/p.Finished, (2*998.0+7200)/1000; math.Abs(each-want) > 0.05*want {
		t.Errorf("%v s each, want about the mean of the hours before, %v", each, want)
	}
}

// The messages of the last seconds say how long work takes now, and are forgotten soon.
func TestTheLastSecondsAreForgottenSoon(t *testing.T) {
	m := finished(t, slices.Repeat([]float64{2}, 300), slices.Repeat([]float64{10}, 40)...)
	for _, row := range []struct{ after, n float64 }{{0, 40}, {8, 40 / math.E}, {16, 40 / math.E / math.E}, {60, 0}} {
		p := m.Pace(after(60 + row.after))
		if math.Abs(p.LatelyFinished-row.n) > 0.01 {
			t.Errorf("%v s later %v messages count, want %v", row.after, p.LatelyFinished, row.n)
		}
		if row.n > 0 && math.Abs(p.LatelySeconds/p.LatelyFinished-10) > 0.01 || p.LatelyLong != p.LatelyFinished {
			t.Errorf("%v s later %+v, want 10 s each, all of them long", row.after, p)
		}
	}
}

// How busy the slots have been lately does not depend on how often it is recorded, and is unknown a while after the
// newest record.
func TestHowBusySlotsHaveBeenLately(t *testing.T) {
	for _, row := range []struct {
		name       string
		every      float64
		each       int
		later      float64
		per, slots float64
	}{
		{"50 messages of 0.1 s each five seconds", 5, 50, 0, 10, 1},
		{"the same until the next record", 5, 50, 4.9, 10, 1},
		{"records each ten seconds", 10, 100, 9, 10, 1},
		{"records each minute", 60, 600, 14, 10, 1},
		{"long after the newest", 5, 50, 16, 0, 0},
	} {
		m := finished(t, slices.Repeat([]float64{0.1}, 300))
		at := 60.0
		for range 20 {
			at += row.every
			h := series.Durations{}
			for range row.each {
				h = series.Add(h, 100*time.Millisecond)
			}
			m.Reported(Rules{}, Reports{Processing: []series.Durations{h}}, nil)
			m.Flush(after(at), false)
		}
		per, slots := m.LatelyBusy(after(at + row.later))
		if math.Abs(per-row.per) > 0.02*row.per || math.Abs(slots-row.slots) > 0.02*row.slots {
			t.Errorf("%s: %v a second in %v slots, want %v in %v", row.name, per, slots, row.per, row.slots)
		}
	}
}
