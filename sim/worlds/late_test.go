package worlds

import (
	"context"
	"testing"
)

// Worlds in which no launch is in time for what waits, and in which the headroom for the measured load was too little:
// the loss was a multiple of that of other autoscalers. Each row has the share in time and the worker-seconds that
// deadline/11 had, which knew nothing of late messages.
func TestLateMessagesPayForHeadroom(t *testing.T) {
	playWithin(t, []withinLimits{
		{"counts a minute old, a load just below one worker: 0.59 for 1,044", 7044, 0.95, 2500},
		{"counts a minute old, an objective of 19 s: 0.81 for 15,816", 1017, 0.91, 18_000},
		{"no worker at first, boots of two minutes that nothing states: 0.89 for 2730", 1073, 0.93, 6000},
		{"work that takes longer the more messages wait: 0.53 for 45,307", 7079, 0.7, 100_000},
		{"an unstated boot of minutes, work that takes ever longer: 0.89 for 143,246", 5057, 0.93, 130_000},
		{"messages that fail are late whatever is kept: 0.87 for 807", 1033, 0.87, 900},
	})
}

// The top of a burst is no rate for a boot of half an hour and no load of the maximum, a worker that finds no message
// knows more than an old count, and workers that are too few at the maximum do not stop before the next busy time. The
// names say what was found before.
func TestWorkersThatAreThereAreKnownAndKept(t *testing.T) {
	playWithin(t, []withinLimits{
		{"a burst of seconds under boots of half an hour: 47,455 in 22 launches", 1067, 0.96, 20_000},
		{"counts 41 s old, boots of 2 s: 14,836 in 260 launches", 5043, 0.99, 12_500},
		{"two workers under more work than they do: 0.39 for 180,651", 1024, 0.44, 230_000},
		{"spikes under a maximum, a few messages between them: 0.45 for 92,925", 1064, 0.65, 125_000},
		{"one worker finishes the burst in time: 20 for 17,748 in 95 launches", 1070, 0.91, 14_000},
		{"bursts under an objective of hours: 41,424", 7014, 0.92, 33_000},
	})
}

// Counts are 41 s old, and eight times as much comes. What the workers finish shows it within ten seconds. deadline/19
// had 0.85 in time for 20,653 worker-seconds.
func TestFullWorkersShowMoreThanOldCounts(t *testing.T) {
	playWithin(t, []withinLimits{
		{"eight times as many messages of 117 ms under an objective of 11 s", 3895055165, 0.97, 25_000},
		{"a step of messages of 48 ms, objective 23 s: 0.92", 2000086, 0.975, 11_000},
	})
}

// Arrivals that grow meet a maximum, work takes longer the more of it waits, and of a tree only the root is late
// without a worker. The names say what deadline/26 had.
func TestWaitingCostsMoreThanItLooksOrLess(t *testing.T) {
	playWithin(t, []withinLimits{
		{"arrivals grow to four workers' work, three are permitted: 0.86", 36000033, 0.93, 6500},
		{"boots of a second, messages of 19 min, longer the more wait: 3,201,260", 36000617, 0.99, 2_100_000},
		{"roots of trees, a boot twice as long as the objective: 70,116", 36000520, 0.92, 52_000},
	})
}

// The tail of the work and a long boot leave no time for a launch, and yet most launches are in time. Messages that had
// just come counted as late in any case, and late ones were given as long again. The names say what deadline/27 had.
func TestMessagesThatMostLaunchesSaveAreNotLateInAnyCase(t *testing.T) {
	playWithin(t, []withinLimits{
		{"a ramp up to hundreds of workers' work: 0.60 for 424,557", 41000184, 0.99, 390_000},
		{"a ramp, five slots, boots of 4 s under an objective of 20 s: 0.75 for 35,851", 44015228, 0.99, 32_000},
		{"a ramp, messages that take up to ten times the mean, counts 14 s old: 0.94", 44005486, 0.99, 45_000},
		{"steady, boots of 9.6 min under an objective of 11 min: 0.91", 45002330, 0.97, 106_000},
	})
}

// Work takes longer the more messages wait, and they could wait for hours. The names say what deadline/27 had.
func TestMessagesDoNotWaitWhereThatMakesTheWorkLonger(t *testing.T) {
	playWithin(t, []withinLimits{
		{"a ramp of messages of 21 s, boots of two minutes: 48,486", 49000242, 0.99, 40_000},
		{"busy and quiet times, messages of 21 min: 1,534,800 in 63 launches", 49005705, 0.99, 1_320_000},
		{"a step, boots of 11 min, spot: 1,611,920", 49000055, 0.99, 1_400_000},
	})
}

// withinLimits is a drawn world, with the least share in time and the greatest cost in worker-seconds.
type withinLimits struct {
	name         string
	number       uint64
	inTime, cost float64
}

// playWithin plays the worlds, each as a test of its own.
func playWithin(t *testing.T, all []withinLimits) {
	t.Helper()
	if testing.Short() {
		t.Skip("it plays hours of busy worlds")
	}
	for _, x := range all {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			w := Draw(x.number)
			p, err := Prepare(w)
			if err != nil {
				t.Fatal(err)
			}
			o, err := Play(context.Background(), w, p, underTest(t))
			if err != nil {
				t.Fatal(err)
			}
			if o.InTime < x.inTime || o.WorkerSeconds > x.cost || len(o.Faults) > 0 {
				t.Errorf("found %.3f in time for %.0f worker-seconds with the faults %v, want %g at least for %g at "+
					"most: %s", o.InTime, o.WorkerSeconds, o.Faults, x.inTime, x.cost, w)
			}
		})
	}
}
