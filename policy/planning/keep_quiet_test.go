package planning

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/quiet"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// quietBegin is when the observations of these tests begin.
var quietBegin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// seldom is a fleet whose workers boot for 13 minutes with an objective of 7, so many seconds after quietBegin. Ten
// messages of 200 s came within the busiest minute, and none for the last quiet seconds. active workers are idle.
func seldom(after, quiet float64, active int) muster.Observation {
	o, _ := planned(200, 7*time.Minute, 13*time.Minute)
	o.At = quietBegin.Add(time.Duration(after * float64(time.Second)))
	o.Capacity = muster.Capacity{Known: true, Desired: active, Idle: active, Slots: active, SlotsPerWorker: 1}
	o.Queues = []muster.QueueObservation{{Backlog: muster.Measured(o.At, 0), InFlight: muster.Measured(o.At, 0),
		OldestAge: muster.Measured(o.At, 0)}}
	o.Arrivals = muster.Arrivals{Known: true, Minute: 0.05, FiveMinutes: 0.05, TwentyMinutes: 0.05, Hour: 0.05,
		QuietSeconds: quiet, WatchedSeconds: 3600,
		Busiest: []muster.Busiest{{OverSeconds: 60, Messages: 10}, {OverSeconds: 1280, Messages: 70}}}
	return o
}

// forgotten is seldom after so long a quiet time that nothing is remembered of the arrivals.
func forgotten(after, quiet float64, active int) muster.Observation {
	o := seldom(after, quiet, active)
	o.Arrivals = muster.Arrivals{Known: true, QuietSeconds: quiet, WatchedSeconds: 3600}
	return o
}

func TestAQuietFleetKeepsTheHeadroomOfItsLastBusyTimeForAsLongAsItIsWorthIt(t *testing.T) {
	busy := Deadline{}.Decide(seldom(0, 0, 10), nil)
	s := quiet.HeadroomOf(muster.Recent{}.With(busy, time.Minute))
	if s.Workers < 2 || s.Worth < 2100 || s.Last != rules.Seconds(quietBegin) {
		t.Fatalf("the busy time kept %+v, and the cases below begin 2000 s after it", s)
	}
	enough := rules.Ceil(s.Workers)
	for _, row := range []struct {
		name string
		o    muster.Observation
		want int
	}{
		{"nothing is remembered of the arrivals any more", forgotten(s.Worth-5, s.Worth-5, 20), enough},
		{"a worker that was lost is replaced", forgotten(s.Worth-5, s.Worth-5, 1), enough},
		{"the headroom is no longer worth its idle workers", forgotten(s.Worth+5, s.Worth+5, 20), 0},
		{"the arrivals are unknown: the workers stay", func() muster.Observation {
			o := forgotten(s.Worth-5, 0, 20)
			o.Arrivals = muster.Arrivals{}
			return o
		}(), enough},
		{"a launch has become in time", func() muster.Observation {
			o := forgotten(2000, 2000, 20)
			o.Objective.Latency = time.Hour
			return o
		}(), 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := Deadline{}.Decide(row.o, muster.Recent{}.With(busy, time.Minute))
			if d.Desired < row.want || d.Desired > row.want+1 || row.want == 0 && d.Desired != 0 { // one by keepFactor
				t.Errorf("%d workers stay, want %d: %s", d.Desired, row.want, d.Sentence())
			}
			if !slices.Equal(d.Kept, busy.Kept) {
				t.Errorf("kept %v, want that of the busy time, %v", d.Kept, busy.Kept)
			}
		})
	}
	d := Deadline{}.Decide(forgotten(2000, 2000, 10), muster.Recent{}.With(busy, time.Minute))
	until := quietBegin.Add(time.Duration(s.Worth * float64(time.Second))).Format("15:04:05")
	if !strings.Contains(d.Sentence(), "until "+until) {
		t.Errorf("the sentence does not say until when workers stay, %s: %s", until, d.Sentence())
	}
}

// A hold keeps what the decision before it kept, or a failed reading would end the headroom.
func TestAHoldKeepsTheHeadroomOfTheLastBusyTime(t *testing.T) {
	busy := Deadline{}.Decide(seldom(0, 0, 10), nil)
	for name, change := range map[string]func(*muster.Observation){
		"unlisted": func(o *muster.Observation) { o.Capacity.Known = false },
		"backlog":  func(o *muster.Observation) { o.Queues[0].Backlog = muster.Unknown(o.At, "timeout") },
		"duration": func(o *muster.Observation) { o.Processing = muster.Estimate{} },
	} {
		o := forgotten(10, 10, 10)
		change(&o)
		if d := (Deadline{}).Decide(o, muster.Recent{}.With(busy, time.Minute)); !slices.Equal(d.Kept, busy.Kept) {
			t.Errorf("%s: kept %v, want %v", name, d.Kept, busy.Kept)
		}
	}
}

// A used forecast tells what comes next, so the last busy time no longer counts.
func TestAUsedForecastReplacesTheHeadroomOfTheLastBusyTime(t *testing.T) {
	busy := Deadline{Seasonal: true}.Decide(seldom(0, 0, 10), nil)
	o := forgotten(2000, 2000, 10)
	o.Forecast = muster.Forecast{Known: true, Used: true, LatelyPerSecond: 0.05}
	d := Deadline{Seasonal: true}.Decide(o, muster.Recent{}.With(busy, time.Minute))
	if d.Desired != 0 {
		t.Errorf("%d workers stay although nothing is forecast: %s", d.Desired, d.Sentence())
	}
}

// History records each change of the kept numbers, so they change at most once a minute unless the headroom moves.
func TestTheKeptHeadroomChangesAtMostOnceAMinute(t *testing.T) {
	var recent muster.Recent
	changes, active := 0, 10
	for second := range 600 {
		d := Deadline{}.Decide(seldom(float64(second), 0, active), recent)
		active = d.Desired
		next := recent.With(d, time.Minute)
		if len(recent) > 0 && !slices.Equal(next[len(next)-1].Kept, recent[len(recent)-1].Kept) {
			changes++
		}
		recent = next
	}
	if changes > 10 {
		t.Errorf("%d changes in ten minutes of steady arrivals, want one a minute", changes)
	}
	if len(recent) > 3 {
		t.Errorf("%d decisions are remembered", len(recent))
	}
	d := Deadline{}.Decide(seldom(600, 0, active), recent)
	twice := seldom(611, 0, active)
	for i := range twice.Arrivals.Busiest {
		twice.Arrivals.Busiest[i].Messages *= 2
	}
	if again := (Deadline{}).Decide(twice, recent.With(d, time.Minute)); slices.Equal(again.Kept, d.Kept) {
		t.Error("twice the arrivals did not change the kept headroom")
	}
}

// A fleet with time to launch keeps no headroom, so its decisions keep no numbers.
func TestAFleetWithTimeToLaunchKeepsNoNumbers(t *testing.T) {
	o := seldom(0, 0, 10)
	o.Objective.Latency = time.Hour
	if d := (Deadline{}).Decide(o, nil); d.Kept != nil {
		t.Errorf("kept %v", d.Kept)
	}
}

// A first message that comes alone makes one message late, however many came at the busiest time of all.
func TestTheWorthOfHeadroomCountsTheMessagesOfATypicalBusyTime(t *testing.T) {
	_, p := planned(10, 7*time.Minute, 13*time.Minute)
	window := p.boot + p.LongTermMean - p.latency
	for _, row := range []struct {
		name  string
		rooms [4]float64
		late  float64
	}{
		{"most messages come alone", [4]float64{1, 2, 5, 20}, 1},
		{"no smaller share is known", [4]float64{}, 40},
	} {
		a := muster.Arrivals{Known: true, Busiest: []muster.Busiest{
			{OverSeconds: window, Messages: 40, Rooms: row.rooms}}}
		if got, want := p.headroomWorth(a, 2), p.price*row.late/2+p.boot; math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: worth %v s of quiet, want %v", row.name, got, want)
		}
	}
}
