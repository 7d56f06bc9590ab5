package peer

import (
	"math"
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

func TestNomadScalesOneThingAtATime(t *testing.T) {
	nomad := Nomad{Target: 5, Cooldown: 300 * time.Second}
	for _, row := range []struct {
		name   string
		recent muster.Recent
		see    see
		want   int
	}{
		{"from zero the factor is the count", nil, see{backlog: 23}, 5},
		{"ten each at a target of five: twice as many", nil, see{backlog: 40, serving: 4}, 8},
		{"rounded up", nil, see{backlog: 41, serving: 4}, 9},
		{"within a hundredth of the target", nil, see{backlog: 504, serving: 100}, 100},
		{"down to nothing", nil, see{serving: 4}, 0},
		{"a member that drains blocks a rise", nil, see{backlog: 400, serving: 4, draining: 1}, 4},
		{"a launch that nobody has seen yet blocks too", nil, see{backlog: 400, serving: 4, unseen: 1, desired: 5}, 5},
		{"an action 299 s ago blocks", muster.Recent{ago(299*time.Second, 2, 4)}, see{backlog: 400, serving: 4}, 4},
		{"one 300 s ago does not", muster.Recent{ago(300*time.Second, 2, 4)}, see{backlog: 400, serving: 4}, 80},
	} {
		t.Run(row.name, func(t *testing.T) {
			if d := nomad.Decide(row.see.at(t0), row.recent); d.Desired != row.want {
				t.Errorf("%d, want %d\n%s", d.Desired, row.want, d.Sentence())
			}
		})
	}
}

func TestNomadLooksEveryTenSecondsAndThenWaitsFiveMinutes(t *testing.T) {
	script := func(second int) see {
		if second < 15 {
			return see{}
		}
		return see{backlog: float64(20 + second)}
	}
	expect(t, built(t, "nomad", 0, time.Minute, 0).run(700, script), []change{{20, 8}, {320, 68}, {620, 128}})
}

func TestBuildkiteGrowsAndLetsInstancesLeave(t *testing.T) {
	buildkite := Buildkite{Cooldown: 300 * time.Second}
	for _, row := range []struct {
		name   string
		recent muster.Recent
		see    see
		want   int
	}{
		{"an agent for each job that waits or runs", nil, see{backlog: 5, inFlight: 2, serving: 2, busy: 2}, 7},
		{"four agents on an instance", nil, see{backlog: 9, slots: 4}, 3},
		{"never down", nil, see{serving: 9}, 9},
		{"a rise waits five minutes for the next", muster.Recent{ago(4*time.Minute, 2, 4)},
			see{backlog: 50, serving: 4}, 4},
		{"and no longer", muster.Recent{ago(5*time.Minute, 2, 4)}, see{backlog: 50, serving: 4}, 50},
		{"a thousand at most", nil, see{backlog: 5000}, 1000},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := buildkite.Decide(row.see.at(t0), row.recent)
			if d.Desired != row.want || d.Floor != 0 {
				t.Errorf("%d, floor %d, want %d and floor 0\n%s", d.Desired, d.Floor, row.want, d.Sentence())
			}
		})
	}
}

func TestPractoByItsReadme(t *testing.T) {
	for _, row := range []struct {
		name   string
		p      Practo
		recent muster.Recent
		see    see
		want   int
	}{
		{"200 messages at 20 each are 10 workers", Practo{Target: 20}, nil, see{backlog: 90, inFlight: 110, serving: 2},
			10},
		{"300 a minute of half a second: at least 3", Practo{Target: 20, Processing: 500 * time.Millisecond}, nil,
			see{serving: 1, rate: 5}, 3},
		{"the floor holds with a small backlog", Practo{Target: 20, Processing: 500 * time.Millisecond}, nil,
			see{backlog: 1, serving: 1, rate: 5}, 3},
		{"workers of two slots halve the floor", Practo{Target: 20, Processing: time.Second}, nil,
			see{serving: 1, rate: 6, slots: 2}, 3},
		{"a tenth more is too small a change", Practo{Target: 1}, nil, see{backlog: 110, serving: 100}, 100},
		{"a little more is made", Practo{Target: 1}, nil, see{backlog: 111, serving: 100}, 111},
		{"falls at once when nothing ever changed", Practo{Target: 1, Delay: 10 * time.Minute}, nil, see{serving: 9},
			0},
		{"not within ten minutes of a rise", Practo{Target: 1, Delay: 10 * time.Minute},
			muster.Recent{ago(9*time.Minute, 1, 9)}, see{serving: 9}, 9},
		{"nor of a fall", Practo{Target: 1, Delay: 10 * time.Minute}, muster.Recent{ago(9*time.Minute, 12, 9)},
			see{serving: 9}, 9},
		{"rises wait for nothing", Practo{Target: 1, Delay: 10 * time.Minute}, muster.Recent{ago(time.Minute, 1, 9)},
			see{backlog: 12, serving: 9}, 12},
		{"the maximum wins over the floor", Practo{Target: 1, Processing: time.Second}, nil,
			see{serving: 1, rate: 50, max: 20}, 20},
		{"no fall while the arrival rate is unknown", Practo{Target: 1}, nil, see{serving: 9, noRate: true}, 9},
	} {
		t.Run(row.name, func(t *testing.T) {
			if d := row.p.Decide(row.see.at(t0), row.recent); d.Desired != row.want {
				t.Errorf("%d, want %d\n%s", d.Desired, row.want, d.Sentence())
			}
		})
	}
}

func TestQueueTimeStepsByOne(t *testing.T) {
	script := func(second int) see {
		switch {
		case second < 150:
			return see{backlog: 9, age: 200, inFlight: 1} // above half of five minutes
		case second < 300:
			return see{backlog: 9, age: 100, inFlight: 1} // in the range, 30 s to 150 s
		}
		return see{backlog: 1, age: 10} // below it
	}
	// Up at once, then once a minute; below the range from 300 on, down at 900 and ten minutes later again.
	expect(t, built(t, "queue-time", 0, 0, 1).run(1600, script),
		[]change{{0, 2}, {60, 3}, {120, 4}, {900, 3}, {1500, 2}})
}

func TestQueueTimeHoldsAnUnknownAgeAndCountsAnew(t *testing.T) {
	script := func(second int) see { return see{noAge: second >= 300 && second < 310} }
	expect(t, built(t, "queue-time", 0, 0, 3).run(1000, script), []change{{910, 2}})
}

func TestLaravelDrainsTheMoreTheLaterItIs(t *testing.T) {
	// 100 messages of 1 s, goal 30 s.
	for _, row := range []struct {
		name string
		age  float64
		want float64
	}{
		{"an age nobody knows: within the whole goal", 0, 100.0 / 30},
		{"before half of the goal nothing is urgent", 14, 0},
		{"at half of it: what is left", 15, 100.0 / 15},
		{"at four fifths", 24, 100.0 / 6 * (1 + 8*0.09)},
		{"at the goal: one each, and 1 + 8/4 times that", 30, 100 * 3},
		{"past it the urgency ends at five", 300, 100 * 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := draining(100, row.age, 30, 1); math.Abs(got-row.want) > 1e-9 {
				t.Errorf("%v slots, want %v", got, row.want)
			}
		})
	}
	if got := draining(0, 100, 30, 1); got != 0 {
		t.Errorf("an empty queue wants %v slots", got)
	}
}

func TestLaravelEstimatesArrivalsFromTheBacklog(t *testing.T) {
	// every makes looks five seconds apart.
	every := func(done float64, backlogs ...float64) []look {
		var looks []look
		for i, b := range backlogs {
			looks = append(looks, look{at: 1000 + 5*float64(i), backlog: b, done: done})
		}
		return looks
	}
	for _, row := range []struct {
		name  string
		looks []look
		age   float64
		want  float64
	}{
		{"a first look knows only what finishes", every(3, 50), 0, 3},
		{"growth by 10/s twice, the newer twice as heavy: still 10/s more", every(3, 0, 50, 100), 0, 13},
		{"growth of 4/s and then 10/s: (2x4 + 4x10) / 6 = 8 more", every(3, 0, 20, 70), 0, 11},
		{"a small change is not trusted", every(3, 10, 12), 0, 3},
		{"a shrinking backlog cannot make arrivals negative", every(3, 100, 50, 0), 0, 0},
		{"nothing finishes: the backlog over the goal", every(0, 60), 0, 2},
		{"the same when it is older than half the goal: at most twice that", every(0, 60), 45, 4},
		{"two messages are no rate", every(0, 2), 0, 0},
		{"a line that does not fit is not: growth by 10, 0, 10, 0, 10, 0", every(3, 0, 50, 50, 100, 100, 150, 150), 0,
			3 + 10*42.0/126},
		// Rates 2, 4, ... 12 at -25, -20, ... 0: the line reads 12 + 60 x 0.4 = 36 a minute ahead. The growth is
		// weighted (2x2 + 4x4 + 8x6 + 16x8 + 32x10 + 64x12) / 126 = 10.19; half of each.
		{"a line that fits is drawn out by a minute", every(0, 0, 10, 30, 60, 100, 150, 210), 0,
			0.5*36 + 0.5*1284.0/126},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := arrivalRate(row.looks, row.age, 30); math.Abs(got-row.want) > 1e-9 {
				t.Errorf("%v per second, want %v", got, row.want)
			}
		})
	}
}

func TestLaravelThroughputIsWhatCameAndIsGone(t *testing.T) {
	now := look{at: 1000, total: 160}
	for _, row := range []struct {
		name  string
		looks []look
		rate  float64
		want  float64
	}{
		{"nothing to compare with: as much as came", nil, 4, 4},
		{"60 more than a minute ago: one a second less", []look{{at: 940, total: 100}}, 4, 3},
		{"what was before that minute does not count", []look{{at: 900}, {at: 940, total: 100}}, 4, 3},
		{"a backlog that fell: more than came", []look{{at: 980, total: 200}}, 4, 6},
		{"never negative", []look{{at: 980}}, 4, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := throughput(see{rate: row.rate}.at(t0), row.looks, now); got != row.want {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
	if got := throughput(see{rate: 4, noRate: true}.at(t0), nil, now); got != 0 {
		t.Errorf("%v of an unknown rate, want 0", got)
	}
}

func TestLaravelSizes(t *testing.T) {
	laravel := Laravel{Share: 0.1, Cooldown: time.Minute} // 30 s of five minutes
	for _, row := range []struct {
		name   string
		recent muster.Recent
		see    see
		want   int
	}{
		{"one message and nobody there: one worker", nil, see{backlog: 1, age: 1, mpd: time.Second}, 1},
		{"nothing to do", nil, see{serving: 1, mpd: time.Second}, 0},
		{"five a second of two seconds: ten", nil, see{serving: 2, rate: 5, mpd: 2 * time.Second}, 10},
		{"the same on workers of four slots: three", nil, see{serving: 2, rate: 5, mpd: 2 * time.Second, slots: 4}, 3},
		{"nine in ten busy and no more wanted: one more", nil,
			see{inFlight: 9, serving: 10, busy: 9, rate: 1, mpd: time.Second}, 11},
		{"at most a quarter fewer", nil, see{serving: 10, rate: 1, mpd: time.Second}, 7},
		{"no fall within a minute of a rise", muster.Recent{ago(59*time.Second, 5, 10)},
			see{serving: 10, rate: 1, mpd: time.Second}, 10},
		{"another fall within a minute of a fall", muster.Recent{ago(59*time.Second, 12, 10)},
			see{serving: 10, rate: 1, mpd: time.Second}, 7},
		{"another fall although a rise before it is less than a minute old",
			muster.Recent{ago(50*time.Second, 5, 12), ago(20*time.Second, 12, 10)},
			see{serving: 10, rate: 1, mpd: time.Second}, 7},
		{"no rise within a minute of a fall", muster.Recent{ago(59*time.Second, 12, 10)},
			see{serving: 10, rate: 20, mpd: time.Second}, 10},
		{"unless the goal is missed", muster.Recent{ago(59*time.Second, 12, 10)},
			see{backlog: 1, age: 31, serving: 10, rate: 20, mpd: time.Second}, 20},
		{"the fallback duration is two seconds", nil, see{serving: 2, rate: 5}, 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			if d := laravel.Decide(row.see.at(t0), row.recent); d.Desired != row.want {
				t.Errorf("%d, want %d\n%s", d.Desired, row.want, d.Sentence())
			}
		})
	}
}

func TestLaravelTakesTheStartOfAWorkerOffTheGoal(t *testing.T) {
	o := see{backlog: 60, mpd: time.Second, noAge: true}.at(t0)
	laravel := Laravel{Share: 0.1} // 30 s
	for _, row := range []struct {
		name string
		boot muster.Estimate
		want int
	}{
		{"two seconds until it was measured: 60 in 28 s", muster.Estimate{}, 3},
		{"and until it was measured five times", muster.Estimate{Known: true, Count: 4, MeanSeconds: 10}, 3},
		{"ten seconds: 60 in 20 s", muster.Estimate{Known: true, Count: 5, MeanSeconds: 10}, 3},
		{"twenty seconds: 60 in 10 s", muster.Estimate{Known: true, Count: 5, MeanSeconds: 20}, 6},
		{"longer than the goal: in one second", muster.Estimate{Known: true, Count: 5, MeanSeconds: 90}, 60},
	} {
		o.Boot = row.boot
		if d := laravel.Decide(o, nil); d.Desired != row.want {
			t.Errorf("%s: %d, want %d\n%s", row.name, d.Desired, row.want, d.Sentence())
		}
	}
}

func TestLaravelFallsByOneWhileTheThroughputIsSteady(t *testing.T) {
	looks := []look{{done: 5}, {done: 5.1}, {done: 4.9}}
	was := notes{{Name: keptTarget, Value: 9}}
	for _, row := range []struct {
		name  string
		kept  notes
		looks []look
		n     int
		want  int
	}{
		{"steady", was, looks, 3, 8},
		{"rises are free", was, looks, 12, 12},
		{"two looks say nothing", was, looks[:2], 3, 3},
		{"a throughput that varies", was, []look{{done: 5}, {done: 9}, {done: 1}}, 3, 3},
		{"the first target", nil, looks, 3, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := smooth(row.kept, row.looks, row.n); got != row.want {
				t.Errorf("%d, want %d", got, row.want)
			}
		})
	}
}
