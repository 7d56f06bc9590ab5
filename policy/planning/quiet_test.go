package planning

import (
	"math"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"pgregory.net/rapid"
)

// The decisions of a fleet whose messages come once an hour: at first a worker stays for the next one, which never
// comes while it is worth that. So later ones go at once.
func TestAWorkerDoesNotWaitInVainAgainAndAgain(t *testing.T) {
	var recent muster.Recent
	idle := func(hour int) (seconds int) {
		for quiet := 0; quiet < 3600; quiet += 5 {
			o := seldom(float64(3600*hour+quiet), float64(quiet), 1)
			o.Processing, o.Boot = lasting(2, 1000), stated(120)
			o.Objective.Latency = 130 * time.Second // launches are just in time
			o.Arrivals.Minute, o.Arrivals.FiveMinutes = 10/60.0, 10/300.0
			o.Arrivals.TwentyMinutes, o.Arrivals.Hour = 20/1200.0, 60/3600.0
			d := Deadline{}.Decide(o, recent)
			recent = muster.Recent{}.With(d, time.Minute)
			if d.Desired > 0 {
				seconds += 5
			}
		}
		return seconds
	}
	var all []int
	for hour := range 5 {
		all = append(all, idle(hour))
	}
	if all[0] < 55 || all[4] > 20 {
		t.Errorf("a worker was idle for %v seconds after the messages of each hour; want about a minute at first, "+
			"and at most 20 s later", all)
	}
}

func TestOneWorkerIsKeptForRareMessagesOnlyIfLateOnesCostMore(t *testing.T) {
	for _, row := range []struct {
		name   string
		rate   float64
		boot   float64
		rarely bool
	}{
		{"a message in six minutes, boots of two: each launch is late", 1.0 / 360, 120, true},
		{"a message in three minutes", 1.0 / 180, 120, true},
		{"a message in two minutes: the next ones are late too", 1.0 / 120, 120, false},
		{"a message in six minutes, boots of ten", 1.0 / 360, 600, false},
		{"a message in half a minute, boots of one: launches are in time", 1.0 / 30, 60, true},
	} {
		_, p := planned(15, 100*time.Second, time.Duration(row.boot*float64(time.Second)))
		a := muster.Arrivals{Known: true, FiveMinutes: row.rate, Hour: row.rate}
		if got := p.rarelyUseful(a); got != row.rarely {
			t.Errorf("%s: rarely useful is %v, want %v", row.name, got, row.rarely)
		}
	}
}

func TestHowLongAWorkerIsIdleUntilItSaysSo(t *testing.T) {
	for _, row := range []struct {
		name            string
		poll, boot, lag time.Duration
		want            time.Duration
	}{
		{"polls of a second: the next one asks it as soon", time.Second, time.Minute, 0, 0},
		{"short boots: its next report may be seconds away", time.Second, 2 * time.Second, 0, time.Second},
		{"rare polls, short boots", time.Minute, time.Second, 0, time.Second},
		{"rare polls: a twentieth of a boot", time.Minute, 100 * time.Second, 0, 5 * time.Second},
		{"long boots: the next poll is sooner", 10 * time.Second, 20 * time.Minute, 0, 0},
		{"old counts, arrivals unknown: until they show what the worker did", time.Minute, time.Minute,
			45 * time.Second, 45 * time.Second},
		{"old counts that finished messages explain", time.Minute, 100 * time.Second, 44 * time.Second,
			5 * time.Second},
	} {
		o, _ := planned(1, time.Hour, row.boot)
		o.Arrivals.Known = row.lag == 44*time.Second
		o.Poll = row.poll
		o.Queues = []muster.QueueObservation{{Backlog: muster.Measured(o.At, 0), LateSeconds: row.lag.Seconds()}}
		p := planOf(o)
		if got := p.idleStop(o); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

// ordered returns the plan of a fleet whose boots took 100 s on average, at most 185 s for nearly all.
func ordered() *plan {
	o, _ := planned(10, 20*time.Minute, 100*time.Second)
	o.Boot = muster.Estimate{Known: true, Count: 1000, MeanSeconds: 100, P50Seconds: 100, P95Seconds: 185,
		P99Seconds: 220}
	o.Capacity.Booting, o.Capacity.Desired = 10, 10
	o.Coming = []muster.Coming{{AgeSeconds: 0, Members: 10}}
	return planOf(o)
}

func TestSeveralBootsTakeAMeanTimeTogether(t *testing.T) {
	p := ordered()
	if math.Abs(p.bootSpread-50) > 1e-9 {
		t.Fatalf("boots deviate by %v s, want (185 - 100) / 1.7 = 50", p.bootSpread)
	}
	// After 190 s: 15 messages of 10 s, or 5, for boots of 50 and of 150 s. If all took 185 s, it would be one.
	if mean, deviation := p.startsAfterBoot(190, 0); mean != 10 || deviation != 5 {
		t.Errorf("a worker begins %v messages with a deviation of %v, want 10 and 5", mean, deviation)
	}
	// A worker that has booted for a minute is none of those that take 50 s.
	if mean, deviation := p.startsAfterBoot(190, 60); mean != 5 || deviation != 0 {
		t.Errorf("a worker still booting begins %v messages with a deviation of %v, want 5 and 0", mean, deviation)
	}
	if n, want := p.begunTogether(190), 10*10-1.7*math.Sqrt(10)*5; math.Abs(n-want) > 1e-9 {
		t.Errorf("ten workers begin %v messages, want 100 less 1.7 deviations, %v", n, want)
	}
	if alone, together := p.launchesToBegin(70, 190), p.launchesTogether(70, 190); alone != 70 ||
		math.Abs(10*together-1.7*5*math.Sqrt(together)-70) > 1e-6 {
		t.Errorf("70 messages need %v workers alone and %v together, want 70, and n with 10 n - 8.5 sqrt(n) = 70",
			alone, together)
	}
}

// Taken together, workers never begin fewer messages than each for itself, and more time never begins fewer.
func TestWorkersTogetherBeginNoFewerThanAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := ordered()
		p.pending[0].age = rapid.Float64Range(0, 180).Draw(t, "age")
		p.pending[0].at = math.Max(1, p.boot-p.pending[0].age)
		p.pending[0].slots = float64(rapid.IntRange(0, 50).Draw(t, "workers"))
		until := rapid.Float64Range(0, 1000).Draw(t, "until")
		if alone, together := p.begun(until), p.begunTogether(until); together < alone-1e-9 {
			t.Fatalf("%v together, %v alone", together, alone)
		}
		before := p.boot + rapid.Float64Range(0, 1000).Draw(t, "before")
		messages := rapid.Float64Range(0, 1e6).Draw(t, "messages")
		if alone, together := p.launchesToBegin(messages, before), p.launchesTogether(messages, before); together >
			alone+1e-9 || messages > 0 && together <= 0 {
			t.Fatalf("%v messages need %v workers together and %v alone", messages, together, alone)
		}
	})
}

// Where steady arrivals pay for the workers, a silence that is usual between messages is no quiet time: one message
// each ten seconds costs 30 worker-seconds when late, so three workers may be idle for it.
func TestASilenceBetweenSteadyMessagesIsNoQuietTime(t *testing.T) {
	for _, row := range []struct {
		name            string
		minutes, hour   float64 // messages a second
		tooLate, silent float64
		workers         float64
		want            bool
	}{
		{"three mean gaps", 0.1, 0.1, 1, 30, 1, true},
		{"five", 0.1, 0.1, 1, 50, 1, false},
		{"five of the hour, whose rate is higher", 0.1, 0.2, 1, 30, 1, false},
		{"three workers pay as well", 0.1, 0.1, 1, 30, 2.5, true},
		{"four do not", 0.1, 0.1, 1, 30, 3.5, false},
		{"a tenth of the launches is too late", 0.1, 0.1, 0.1, 30, 1, false},
		{"the hour had nothing yet", 0.1, 0.01, 1, 30, 1, false},
	} {
		p := plan{price: 30, tooLateShare: row.tooLate}
		a := muster.Arrivals{Known: true, FiveMinutes: row.minutes, Hour: row.hour, QuietSeconds: row.silent}
		if got := p.mayBeChance(a, row.workers); got != row.want {
			t.Errorf("%s: may be chance is %t, want %t", row.name, got, row.want)
		}
	}
}
