package room_test

import (
	"math"
	"testing"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/room"
	"pgregory.net/rapid"
)

func TestSteadyArrivalsThatComeAtRandomTakeMoreThanTheyKeepBusy(t *testing.T) {
	for _, row := range []struct {
		name                                string
		quantile, mean, variation, boot, at float64
		spare, missed                       float64
		want                                float64
	}{
		// The slots beyond those that are busy are m (1 + v^2) / (2 x) ln 100.
		{"one second of work, all alike, two to wait: 10 + 4.605 / 4 x 60 / 62", 0.99, 1, 0, 60, 10, 2, 1, 11.1142},
		{"work that varies as much as exponential work: 10 + 4.605 / 2 x 60 / 62", 0.99, 1, 1, 60, 10, 2, 1, 12.2283},
		{"one in twenty may be late: 10 + 2.996 / 4 x 60 / 62", 0.95, 1, 0, 60, 10, 2, 1, 10.7248},
		{"all shall be in time: as if one in ten thousand might be late", 1, 1, 0, 60, 10, 2, 1, 12.2283},
		{"time enough for a launch leaves chance to that", 0.99, 1, 0, 60, 10, 540, 1, 10.0004},
		{"no time to wait counts as the work itself", 0.99, 1, 0, 60, 10, 0, 1, 12.3026},
		{"little comes: no more than twice what is busy", 0.99, 1, 0, 60, 0.5, 2, 1, 0.9839},
		{"one launch in ten is too late, so one in ten may wait: 10 + 2.303 / 4 x 60 / 62", 0.99, 1, 0, 60, 10, 2, 0.1,
			10.5571},
		{"no more launches are too late than messages may be", 0.99, 1, 0, 60, 10, 2, 0.005, 10},
		{"nothing comes", 0.99, 1, 0, 60, 0, 2, 1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := room.Work{Mean: row.mean, Variation: row.variation, Boot: row.boot, TooLate: row.missed,
				Quantile: row.quantile}
			if got := w.Steady(row.at, row.spare); math.Abs(got-row.want) > 1e-3 {
				t.Errorf("found %.4f slots, want %v", got, row.want)
			}
		})
	}
}

// A burst takes what begins it in time; busy minutes of messages at random take more than they keep busy.
func TestBusyTimesAreServedAsSteadyArrivalsAre(t *testing.T) {
	work := room.Work{Mean: 0.7, Variation: 0.4, Boot: 3, TooLate: 1, Quantile: 0.99}
	for _, row := range []struct {
		name         string
		over         float64
		n            float64
		usual, spare float64
		want         float64
	}{
		// 64 messages of 0.7 s: 56 x 0.7 / 5.5 = 7.127, and 0.58 ln 100 x 3 / 3.5 more for chance.
		{"ten a second for a while, and half a second to wait", 5, 64, 4, 0.5, 9.417},
		{"time to wait: the work of the window is spread", 5, 64, 4, 30, 4},
		{"more than a slot for each message never helps", 5, 3, 0, 0.1, 0.412},
		{"one message within the hour", 3600, 1, 0, 0.5, 0.000194},
		{"nothing came", 5, 0, 2, 0.5, 2},
	} {
		all := []muster.Busiest{{OverSeconds: row.over, Messages: row.n}}
		got := work.Busiest(all, row.usual, row.spare, func(b muster.Busiest) float64 { return b.Messages })
		if math.Abs(got-row.want) > 1e-3 {
			t.Errorf("%s: found %.6f slots, want %v", row.name, got, row.want)
		}
	}
}

// Busy times take at least what they keep busy, at most a slot for each message beside the usual ones, and no fewer
// slots for more messages or less time to wait.
func TestTheRoomForBusyTimesIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Float64Range(0.01, 1e4)
		w := room.Work{Mean: number.Draw(t, "mean"), Variation: rapid.Float64Range(0, 1).Draw(t, "variation"),
			Boot: number.Draw(t, "boot"), TooLate: rapid.Float64Range(0, 1).Draw(t, "too late"),
			Quantile: rapid.Float64Range(0.5, 1).Draw(t, "quantile")}
		over, n, usual, spare := number.Draw(t, "over"), number.Draw(t, "n"), number.Draw(t, "usual"),
			number.Draw(t, "spare")
		slots := func(n, spare float64) float64 {
			return w.Busiest([]muster.Busiest{{OverSeconds: over, Messages: n}}, usual, spare,
				func(b muster.Busiest) float64 { return b.Messages })
		}
		got := slots(n, spare)
		if least := math.Min(n*w.Mean/(over+spare), n+usual); got < math.Max(usual, least)*(1-1e-9) || got > n+usual {
			t.Fatalf("%v slots, want %v to %v", got, math.Max(usual, least), n+usual)
		}
		if more := slots(n+1, spare); more < got*(1-1e-9) && n >= 1 {
			t.Fatalf("one message more: %v slots, before %v", more, got)
		}
		if less := slots(n, spare/2); less < got*(1-1e-9) {
			t.Fatalf("half the time to wait: %v slots, before %v", less, got)
		}
	})
}

// Room is kept as far as it is worth its price, and never less for a higher one.
func TestTheCheapestRoomGrowsWithThePrice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Float64Range(0.01, 1000)
		w := room.Work{Mean: number.Draw(t, "mean"), Variation: rapid.Float64Range(0, 1).Draw(t, "variation"),
			Boot: number.Draw(t, "boot"), TooLate: rapid.Float64Range(0, 1).Draw(t, "too late"), Quantile: 0.99}
		b := muster.Busiest{OverSeconds: number.Draw(t, "over"), Messages: number.Draw(t, "n")}
		for k, share := range []float64{0.2, 0.4, 0.6, 0.8} {
			b.Rooms[k] = share * b.Messages
		}
		usual, spare, slots := number.Draw(t, "usual"), number.Draw(t, "spare"), number.Draw(t, "slots")
		of := func(price float64) float64 {
			return w.Cheapest([]muster.Busiest{b}, usual, spare, slots, price,
				func(b muster.Busiest) float64 { return b.Messages })
		}
		price := number.Draw(t, "price")
		few, more, all := of(price), of(2*price), of(1e12)
		if of(0) != usual || few < usual || more < few || all < more && w.TooLate > 0 {
			t.Fatalf("for nothing %v slots, for %v %v, for twice as much %v, for any price %v; %v are usual", of(0),
				price, few, more, all, usual)
		}
	})
}
