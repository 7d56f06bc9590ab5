package scarcity_test

import (
	"testing"

	"github.com/muster-scale/muster/policy/internal/scarcity"
	"pgregory.net/rapid"
)

func TestNearTheMaximumLessOfTheObjectiveIsUsed(t *testing.T) {
	for _, row := range []struct {
		name  string
		share float64
		want  float64
	}{
		{"nothing arrives", 0, 300},
		{"three times the load fits", 0.3, 300},
		{"half of the rest", 0.65, 150},
		{"hardly any room: no launch is postponed", 0.95, 100},
		{"more work than the maximum finishes", 1.5, 100},
	} {
		if got := scarcity.Latency(300, 100, row.share); got < row.want-1e-9 || got > row.want+1e-9 {
			t.Errorf("%s: found %v, want %v", row.name, got, row.want)
		}
	}
	if got := scarcity.Latency(50, 100, 0.9); got != 50 {
		t.Errorf("less than the least: found %v, want it unchanged", got)
	}
}

func TestWorkersAreWantedWhereTheQueueNeedsMostOfThePermittedOnes(t *testing.T) {
	// One worker begins 190 messages of a second within its boot; three are permitted.
	queue := scarcity.Queue{Waiting: 80, Begun: 190, Load: 1.3, Mean: 1, Boot: 190, Left: 120}
	for _, row := range []struct {
		name   string
		change func(q *scarcity.Queue)
		slots  float64
		most   int
		want   int
	}{
		// (80 - 190 + 1.3 x 190) / 120 + 1.3 = 2.4 workers.
		{"most of three", func(*scarcity.Queue) {}, 1, 3, 3},
		{"most of two, and no more than those", func(*scarcity.Queue) {}, 1, 2, 2},
		{"a quarter of ten", func(*scarcity.Queue) {}, 1, 10, 0},
		{"more slots need fewer workers", func(*scarcity.Queue) {}, 4, 3, 0},
		{"the present workers do it", func(q *scarcity.Queue) { q.Begun = 400 }, 1, 3, 0},
		{"the oldest can wait for longer", func(q *scarcity.Queue) { q.Left = 600 }, 1, 3, 0},
		{"the oldest is late", func(q *scarcity.Queue) { q.Left = -50 }, 1, 3, 3},
		{"nothing waits and nothing arrives", func(q *scarcity.Queue) { *q = scarcity.Queue{Mean: 1} }, 1, 1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := queue
			row.change(&q)
			if got := scarcity.Workers(q, row.slots, row.most); got != row.want {
				t.Errorf("found %d, want %d", got, row.want)
			}
		})
	}
}

// No more workers are wanted than are permitted, and no fewer where more waits or more arrives.
func TestMoreWorkNeverWantsFewerWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.Float64Range(0, 1e5)
		q := scarcity.Queue{Waiting: some.Draw(t, "waiting"), Begun: some.Draw(t, "begun"),
			Load: some.Draw(t, "load") / 100, Mean: rapid.Float64Range(1e-3, 1e4).Draw(t, "mean"),
			Boot: some.Draw(t, "boot"), Left: some.Draw(t, "left") - 100}
		slots, most := rapid.Float64Range(1, 64).Draw(t, "slots"), rapid.IntRange(1, 5000).Draw(t, "most")
		before := scarcity.Workers(q, slots, most)
		if q.Waiting += some.Draw(t, "more waiting"); rapid.Bool().Draw(t, "also more load") {
			q.Load *= 1.5
		}
		if after := scarcity.Workers(q, slots, most); after < before || after > most {
			t.Fatalf("%d workers, and %d with more work; %d are permitted", before, after, most)
		}
	})
}
