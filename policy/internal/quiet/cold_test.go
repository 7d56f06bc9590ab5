package quiet_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/quiet"
	"pgregory.net/rapid"
)

// waits is a fleet without a worker for which messages wait, with an objective of 30 s. One worker was launched booting
// seconds ago; below zero none was.
func waits(booting float64, groups ...muster.Waiting) muster.Observation {
	o := muster.Observation{Objective: muster.Objective{Latency: 30 * time.Second}, Waiting: groups}
	n := 0.0
	for _, g := range groups {
		n += g.Messages
	}
	o.Queues = []muster.QueueObservation{{Backlog: muster.Measured(o.At, n)}}
	if booting >= 0 {
		o.Coming = []muster.Coming{{AgeSeconds: booting, Members: 1}}
	}
	return o
}

// ready is the fleet once its worker is in service.
func ready() muster.Observation {
	return muster.Observation{Capacity: muster.Capacity{Known: true, Busy: 1, Slots: 1, BusySlots: 1}}
}

func TestAColdStartCountsTheMessagesThatNoWorkerIsReadyFor(t *testing.T) {
	const boot, mean = 44.0, 1.0
	for _, row := range []struct {
		name  string
		while muster.Observation
		late  float64
	}{
		{"the root of a tree", waits(0, muster.Waiting{AgeSeconds: 1, Messages: 1}), 1},
		{"a burst", waits(0, muster.Waiting{AgeSeconds: 1, Messages: 50}), 50},
		{"the worker is ready soon", waits(40, muster.Waiting{AgeSeconds: 1, Messages: 50}), 0},
		{"only the first ones", waits(30, muster.Waiting{AgeSeconds: 25, Messages: 3},
			muster.Waiting{AgeSeconds: 2, Messages: 20}), 3},
		{"no launch is under way", waits(-1, muster.Waiting{AgeSeconds: 0, Messages: 2}), 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := quiet.ColdStarts{}
			for range 3 {
				c = c.Next(row.while, boot, mean).Next(ready(), boot, mean)
			}
			if got := c.AtMost(1e6); got < row.late-1e-9 || got > row.late+1e-9 {
				t.Errorf("found %v late in a start, want %v: %+v", got, row.late, c)
			}
		})
	}
}

func TestColdStartsTellNothingBeforeTheSecond(t *testing.T) {
	start := waits(0, muster.Waiting{AgeSeconds: 1, Messages: 1})
	c := quiet.ColdStarts{}.Next(start, 44, 1)
	for step, want := range []float64{10, 10, 1} {
		if got := c.AtMost(10); got != want {
			t.Errorf("after %d starts: %v of 10 are expected, want %v", step, got, want)
		}
		c = c.Next(ready(), 44, 1).Next(ready(), 44, 1).Next(start, 44, 1)
	}
	if got := c.AtMost(0.5); got != 0.5 {
		t.Errorf("fewer are expected than were late: found %v, want 0.5", got)
	}
}

// Between the starts the fleet is empty for a while, and an idle worker would wait for as long.
func TestColdStartsAreCheapWhereAnIdleWorkerCostsMore(t *testing.T) {
	for _, row := range []struct {
		name         string
		empty, price float64
		want         bool
	}{
		{"a root that is worth ten seconds, a minute and a half of nothing", 90, 10, true},
		{"the next one comes after six seconds", 6, 10, false},
		{"a late message costs more than the time between them", 90, 100, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, now := quiet.ColdStarts{}, time.Unix(1e9, 0)
			step := func(o muster.Observation, after float64) {
				now = now.Add(time.Duration(after * float64(time.Second)))
				o.At = now
				c = c.Next(o, 44, 1)
			}
			start := waits(0, muster.Waiting{AgeSeconds: 1, Messages: 1})
			for n := range 12 {
				step(waits(-1), 0)     // the last worker has stopped
				step(start, row.empty) // a message came
				step(start, 20)        // its worker boots
				step(ready(), 24)      // and works
				step(ready(), 1000)    // for long: that is no time in which the fleet is empty
				if n == 0 && c.Cheap(row.price) {
					t.Error("one start tells it")
				}
			}
			if got := c.Cheap(row.price); got != row.want {
				t.Errorf("cheap: %v, want %v: %+v", got, row.want, c)
			}
			if c.Empty < row.empty-1e-6 || c.Empty > row.empty+1e-6 {
				t.Errorf("empty for %v s, want %v", c.Empty, row.empty)
			}
		})
	}
}

// A start is counted once, however often it is observed, and nothing that was counted is negative or grows for ever.
func TestColdStartsStayBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 1000
		c := quiet.ColdStarts{}
		for range rapid.IntRange(0, 200).Draw(t, "observations") {
			o := ready()
			if rapid.Bool().Draw(t, "without a worker") {
				o = waits(rapid.Float64Range(-1, 60).Draw(t, "booting"), muster.Waiting{
					AgeSeconds: rapid.Float64Range(0, 100).Draw(t, "age"),
					Messages:   rapid.Float64Range(0, most).Draw(t, "messages")})
			}
			c = c.Next(o, 44, 1)
		}
		if c.Count < 0 || c.Count > 1/(1-0.85) || c.Late < 0 || c.Late > most*c.Count+1e-6 || c.Now > most+1 {
			t.Fatalf("found %+v", c)
		}
	})
}

func TestColdStartsSurviveADecision(t *testing.T) {
	for _, want := range []quiet.ColdStarts{{}, {Since: 1.7e9, Now: 3, Late: 12.5, Count: 2.75, Empty: 140}} {
		d := muster.Decision{Kept: want.Kept()}
		if got := quiet.ColdStartsOf(muster.Recent{}.With(d, time.Minute)); got != want {
			t.Errorf("found %+v, want %+v", got, want)
		}
	}
}
