package planning

import (
	"math"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/arrivals"
	"github.com/muster-scale/muster/policy/internal/durations"
)

func TestHeadroomIsNoMoreThanASlotForEachMessageOfTheBusiestTimes(t *testing.T) {
	for _, row := range []struct {
		name          string
		latency       float64
		mean, minutes float64
		busiest       muster.Busiest
		want          float64
	}{
		{"a slot begins several: 100 x 2 / (10 + 12 - 2)", 12, 2, 0,
			muster.Busiest{OverSeconds: 10, Messages: 100}, 10},
		{"work that takes far longer than the window: 12", 3600, 4000, 0,
			muster.Busiest{OverSeconds: 5, Messages: 12}, 12.0036},
		{"beside what is busy anyway, of which an hour tells: 12 + 3600 / 600", 3600, 6000, 1.0 / 600,
			muster.Busiest{OverSeconds: 5, Messages: 12}, 18},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := &plan{Work: durations.Work{LongTermMean: row.mean}, latency: row.latency, slots: 1, boot: 60,
				tooLateShare: 1, price: 1e9,
				quantile: 0.99}
			a := muster.Arrivals{FiveMinutes: row.minutes, Hour: math.Max(1e-6, row.minutes),
				Busiest: []muster.Busiest{row.busiest}}
			if got := p.headroom(a, arrivals.Load(a, row.mean)); !about(got, row.want) {
				t.Errorf("found %v slots, want %v", got, row.want)
			}
		})
	}
}

// Idle slots cost a second each; of two messages a second every late one costs the price. Room for half of them takes 2
// slots, for four fifths 4, for nine tenths 8, for nineteen in twenty 16 and for all but one in a hundred 64.
func TestHeadroomIsWorthItsPrice(t *testing.T) {
	busiest := []muster.Busiest{{OverSeconds: 10, Messages: 640, Rooms: [4]float64{20, 40, 80, 160}}}
	for _, row := range []struct {
		name          string
		price, missed float64
		quiet         float64
		want          float64
	}{
		{"late messages cost next to nothing: none", 0.1, 1, 0, 0},
		{"one message is worth ten seconds: 4 + 2 x 10 x 0.19 is the least, and 0.17 for chance", 10, 1, 0, 4.17226},
		{"a hundred seconds: 16 + 2 x 100 x 0.04", 100, 1, 0, 16.23296},
		{"any price: as many as the objective asks for", 1e4, 1, 0, 64},
		{"one launch in ten is too late: as if the price were a tenth", 1000, 0.1, 0, 16.23296},
		{"nothing came for so long that the idle slots have cost more than it saves", 100, 1, 1e6, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := &plan{Work: durations.Work{LongTermMean: 1}, latency: 1, slots: 1, boot: 60, tooLateShare: row.missed,
				price:    row.price,
				quantile: 0.99}
			if got := p.headroom(muster.Arrivals{Hour: 2, Busiest: busiest, QuietSeconds: row.quiet}, 0); !about(got,
				row.want) {
				t.Errorf("found %v slots, want %v", got, row.want)
			}
		})
	}
}

// The workers that late messages pay for stay while the share of late messages is unknown. The sentence and the trail
// then have no share, in place of one that looks like all messages.
func TestAnUnknownShareOfLateMessagesIsNotSaidToBeAll(t *testing.T) {
	p := &plan{forLate: 1}
	for _, row := range []struct {
		name     string
		progress *muster.Progress
		says     string
		values   int
	}{
		{"known", &muster.Progress{InTime: muster.Sample{Known: true, Value: 0.75}},
			", and 25 % of the past hour's messages were late", 2},
		{"unknown", &muster.Progress{}, ", and messages were late in the past hour", 1},
		{"no progress", nil, ", and messages were late in the past hour", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := muster.Observation{Progress: row.progress}
			if got, in := p.whyLate(o), p.reasons(muster.Decision{}, o); got != row.says || len(in) != row.values {
				t.Errorf("found %q and %v, want %q and %d values", got, in, row.says, row.values)
			}
		})
	}
}

// Nothing is launched for messages that have not come unless so many of them would be late that it pays. An objective
// of 70 s leaves 30 s beside the boot for work of which 95 % take at most 28 s.
func TestOnlyWhatWouldBeLateIsLaunchedAheadOf(t *testing.T) {
	for _, row := range []struct {
		name          string
		p95, p99, per float64 // durations in seconds, arrivals a second
		quantile      float64
		want          bool
	}{
		{"one in fifty is too late, and one in a hundred may be", 28, 35, 2, 0.99, true},
		{"one in twenty may be", 28, 35, 2, 0.95, false},
		{"messages come too rarely for that to pay", 28, 35, 0.001, 0.99, false},
	} {
		at := muster.Measured(time.Unix(1e9, 0), 1)
		o, _ := planned(10, 70*time.Second, 35*time.Second)
		o.Processing.P95Seconds, o.Processing.P99Seconds = row.p95, row.p99
		o.Objective.Quantile = row.quantile
		o.Queues = []muster.QueueObservation{{Backlog: at, OldestAge: muster.Measured(at.At, 0)}}
		o.Arrivals = muster.Arrivals{Known: true, TenSeconds: row.per, Minute: row.per, FiveMinutes: row.per,
			TwentyMinutes: row.per, Hour: row.per, WatchedSeconds: 3600}
		p := planOf(o)
		if got := p.needAfter(0).cause == forArriving; got != row.want || p.slack() > 0 {
			t.Errorf("%s: launched ahead is %t with u = %.3f and a slack of %.1f s", row.name, got, p.tooLateShare,
				p.slack())
		}
	}
}

// Workers are launched for the load that is sure, and those that are there stay for all of it, with the hysteresis: of
// work of a minute, 15 messages in five minutes keep 3 slots busy, and 2.2 surely. With the room for chance that pays,
// these are 4.1 and 3.4.
func TestWorkersAreLaunchedForTheSureLoadAndStayForAllOfIt(t *testing.T) {
	for _, row := range []struct {
		name         string
		active, want int
	}{
		{"none is there", 0, 4},
		{"those for the sure load are there", 4, 4},
		{"one more is there, and may be busy", 5, 5},
		{"more are there than are kept for all of the load", 40, 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := s0(60, 0)
			o.Objective.Latency, o.Boot = 100*time.Second, lasting(120, 1000)
			o.Queues[0].Backlog, o.Waiting = muster.Measured(o.At, 0), nil
			o.Capacity = muster.Capacity{Known: true, Desired: row.active, Idle: row.active, Slots: row.active,
				SlotsPerWorker: 1}
			o.Arrivals = steadily(0.05)
			o.Arrivals.WatchedSeconds = 3600
			p := planOf(o)
			if got := p.keptWorkers(o); got != row.want {
				all, _ := p.usableHeadroom(o, arrivals.Load)
				t.Errorf("found %d workers kept, want %d; for the sure load %v, for all of it %v", got, row.want,
					p.sureHeadroom(o), all)
			}
		})
	}
}
