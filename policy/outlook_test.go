package policy_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/policy/outlook"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
)

// takes is the estimate of a work with the given mean and deviation, in seconds.
func takes(mean, deviation float64) muster.Estimate {
	return muster.Estimate{Known: true, Count: 1000, MeanSeconds: mean, P50Seconds: mean,
		P95Seconds: mean + 1.7*deviation, P99Seconds: mean + 2.5*deviation}
}

// at builds the observation of a fleet whose work takes so long, with a boot time of 90 s.
func (s see) at(work muster.Estimate, coming ...muster.Coming) muster.Observation {
	o := s.observation()
	o.Processing = work
	o.Boot = muster.Estimate{Known: true, Prior: true, MeanSeconds: 90, P50Seconds: 90, P95Seconds: 90, P99Seconds: 90}
	o.Coming = coming
	return o
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: found %.5g, want %.5g within %g", what, got, want, within)
	}
}

func TestTheOutlookOfAMessageThatArrivesNow(t *testing.T) {
	exponential, steady := takes(10, 10), takes(10, 0)
	for _, row := range []struct {
		name    string
		o       muster.Observation
		workers int
		seconds float64 // to the half percent
	}{
		{"a slot is free: its work alone", see{latency: time.Minute, idle: 1, busy: 3, inFlight: 3}.at(steady), 4, 10},
		{"one slot, none waits: the rest of the work in hand, half of it",
			see{latency: time.Minute, busy: 1, inFlight: 1}.at(steady), 1, 5 + 10},
		{"one slot, exponential work: the rest is as long as all of it",
			see{latency: time.Minute, busy: 1, inFlight: 1}.at(exponential), 1, 10 + 10},
		{"one slot, three before it", see{latency: time.Minute, busy: 1, inFlight: 1, backlog: 3}.at(steady), 1,
			5 + 30 + 10},
		{"four slots, exponential work, nine before it: ten ends at 2.5 s each",
			see{latency: time.Minute, busy: 4, inFlight: 4, backlog: 9}.at(exponential), 4, 25 + 10},
		{"workers of four slots", see{latency: time.Minute, busy: 1, slots: 4, inFlight: 4, backlog: 9}.at(exponential),
			1, 25 + 10},
		{"what waits takes the free slots first", see{latency: time.Minute, idle: 2, busy: 2, inFlight: 2,
			backlog: 2}.at(exponential), 4, 2.5 + 10},
		{"nobody there: the boot", see{latency: time.Minute}.at(steady), 1, 90 + 10},
		{"one boots since a minute",
			see{latency: time.Minute, pending: 1}.at(steady, muster.Coming{AgeSeconds: 60, Members: 1}), 1, 30 + 10},
		{"one boots, and nobody says since when", see{latency: time.Minute, pending: 1}.at(steady), 1, 90 + 10},
		{"one is a minute overdue: a minute more",
			see{latency: time.Minute, pending: 1}.at(steady, muster.Coming{AgeSeconds: 150, Members: 1}), 1, 60 + 10},
		{"the idle one goes first", see{latency: time.Minute, idle: 1, busy: 1, inFlight: 1}.at(exponential), 1,
			10 + 10},
		{"then the one that boots", see{latency: time.Minute, busy: 1, inFlight: 1, pending: 1}.at(exponential,
			muster.Coming{AgeSeconds: 85, Members: 1}), 1, 10 + 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			x := outlook.Of(row.o, row.workers)
			if !x.Now.Known || x.Workers != row.workers || outlook.ArrivingNow(row.o, row.workers) != x.Now {
				t.Fatalf("found %+v", x)
			}
			near(t, "expected seconds", x.Now.Seconds, row.seconds, row.seconds*0.005)
		})
	}
}

func TestTheChanceOfBeingInTime(t *testing.T) {
	for _, row := range []struct {
		name   string
		o      muster.Observation
		least  float64
		most   float64
		late   float64
		within float64
	}{
		{"work of 10 s at once, for 11 s", see{latency: 11 * time.Second, idle: 1}.at(takes(10, 0)), 1, 1, 0, 0},
		{"work of 10 s at once, for 9 s", see{latency: 9 * time.Second, idle: 1}.at(takes(10, 0)), 0, 0, 0, 0},
		// The logarithm of lognormal work of variation 1 has the deviation sqrt(ln 2): P(x <= 2.5 mean) = Phi(1.517).
		{"lognormal work of variation 1, for 25 s", see{latency: 25 * time.Second, idle: 1}.at(takes(10, 10)), 0.934,
			0.937, 0, 0},
		{"after a boot of 90 s, for 99 s", see{latency: 99 * time.Second}.at(takes(10, 0)), 0, 0, 0, 0},
		{"after a boot of 90 s, for 102 s", see{latency: 102 * time.Second}.at(takes(10, 0)), 1, 1, 0, 0},
		// All of this wait ends where the sum over it does.
		{"behind fifteen on fourteen slots", see{latency: 5 * time.Second, busy: 7, slots: 2, inFlight: 11, backlog: 15,
			pending: 1}.at(takes(1.5, 0)), 1, 1, 0, 0},
		{"on one busy slot half of ten are late for 60 s",
			see{latency: 60 * time.Second, busy: 1, inFlight: 1, backlog: 10}.at(takes(10, 0)), 0, 0, 5, 1.3},
	} {
		t.Run(row.name, func(t *testing.T) {
			x := outlook.Of(row.o, max(1, row.o.Capacity.Active()))
			if !x.Now.Known || x.Now.InTime < row.least-1e-9 || x.Now.InTime > row.most+1e-9 {
				t.Errorf("found %+v, want a chance from %g to %g", x.Now, row.least, row.most)
			}
			near(t, "late", x.Late, row.late, row.within)
		})
	}
}

func TestTheOutlookInTheLongRunIsThatOfTheLawsOfQueues(t *testing.T) {
	for _, row := range []struct {
		name            string
		rate            float64
		workers         int
		work            muster.Estimate
		seconds, inTime float64
	}{
		{"M/M/1 at 0.5: twice the work", 0.05, 1, takes(10, 10), 20, -1},
		{"M/D/1 at 0.5: half as long a wait", 0.05, 1, takes(10, 0), 15, -1},
		{"M/M/2 at 0.5 each: work / (1 - 1/4)", 0.1, 2, takes(10, 10), 13.3333, -1},
		{"M/M/4 at 0.9 each: C = 0.7878, 19.69 s of wait", 0.36, 4, takes(10, 10), 29.694, -1},
		{"nothing arrives", 0, 3, takes(10, 0), 10, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := see{latency: 30 * time.Second}.at(row.work)
			o.Arrivals = muster.Arrivals{Known: true, FiveMinutes: row.rate}
			x := outlook.Of(o, row.workers)
			if !x.Steady.Known {
				t.Fatalf("found %+v", x.Steady)
			}
			near(t, "expected seconds", x.Steady.Seconds, row.seconds, row.seconds*0.005)
			if row.inTime >= 0 {
				near(t, "in time", x.Steady.InTime, row.inTime, 0.001)
			}
		})
	}
}

func TestAnOutlookThatNobodyCanGiveSaysWhy(t *testing.T) {
	busy := see{latency: time.Minute, busy: 2, inFlight: 2}
	rate := func(o muster.Observation, perSecond float64) muster.Observation {
		o.Arrivals = muster.Arrivals{Known: true, FiveMinutes: perSecond}
		return o
	}
	for _, row := range []struct {
		name        string
		o           muster.Observation
		workers     int
		now, steady string // what the reason holds; empty: it is known
	}{
		{"nothing was measured", rate(busy.at(muster.Estimate{}), 1), 2, "not known yet", "not known yet"},
		{"no worker", rate(busy.at(takes(1, 0)), 1), 0, "without a worker", "without a worker"},
		{"no backlog", rate(see{latency: time.Minute, busy: 2, noBacklog: true}.at(takes(1, 0)), 1), 2,
			"did not answer", ""},
		{"no listing", rate(see{latency: time.Minute, busy: 2, noListing: true}.at(takes(1, 0)), 1), 2,
			"could not be listed", ""},
		{"arrivals were not counted", busy.at(takes(1, 0)), 2, "", "arrivals"},
		{"more work than slots", rate(busy.at(takes(1, 0)), 2.5), 2, "", "work for 2.5 slots arrives and there are 2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			x := outlook.Of(row.o, row.workers)
			reasons := []string{row.now, row.steady}
			for i, e := range []outlook.Expectation{x.Now, x.Steady} {
				if e.Known != (reasons[i] == "") || !strings.Contains(e.Reason, reasons[i]) || !e.Known &&
					(e.Seconds != 0 || e.InTime != 0) {
					t.Errorf("found %+v, want the reason %q", e, reasons[i])
				}
			}
		})
	}
}

// prospects draws observations with ages, workers on their way, spread and arrivals.
func prospects() *rapid.Generator[muster.Observation] {
	return rapid.Custom(func(t *rapid.T) muster.Observation {
		s := see{
			inFlight: float64(rapid.IntRange(0, 20).Draw(t, "in flight")), idle: rapid.IntRange(0, 9).Draw(t, "idle"),
			busy:    rapid.IntRange(0, 9).Draw(t, "busy"),
			pending: rapid.IntRange(0, 9).Draw(t, "pending"), slots: rapid.IntRange(1, 4).Draw(t, "slots"),
			latency: time.Duration(rapid.IntRange(5, 600).Draw(t, "latency")) * time.Second,
		}
		mean := rapid.Float64Range(0.05, 60).Draw(t, "mean")
		work := takes(mean, mean*rapid.Float64Range(0, 1.5).Draw(t, "variation"))
		var groups []muster.Waiting
		age := rapid.Float64Range(0, 700).Draw(t, "oldest")
		for range rapid.IntRange(0, 4).Draw(t, "groups") {
			n := float64(rapid.IntRange(1, 60).Draw(t, "waiting"))
			groups = append(groups, muster.Waiting{AgeSeconds: age, Messages: n})
			s.backlog += n
			age *= rapid.Float64Range(0, 1).Draw(t, "younger")
		}
		var coming []muster.Coming
		if s.pending > 0 {
			coming = []muster.Coming{{AgeSeconds: rapid.Float64Range(0, 150).Draw(t, "boots since"),
				Members: s.pending}}
		}
		o := s.at(work, coming...)
		o.Waiting = groups
		if rapid.Bool().Draw(t, "a warm pool") {
			o.Pool = &muster.Pool{Ready: rapid.IntRange(0, 9).Draw(t, "ready")}
			if boot := rapid.Float64Range(0.1, 200).Draw(t, "warm boot"); rapid.Bool().Draw(t,
				"warm boots were measured") {
				o.Pool.Boot = muster.Estimate{Known: true, Count: 3, MeanSeconds: boot, P50Seconds: boot,
					P95Seconds: boot * 1.2, P99Seconds: boot * 1.3}
			}
			for i := range o.Coming {
				o.Coming[i].Warm = rapid.IntRange(0, o.Coming[i].Members).Draw(t, "coming from it")
			}
		}
		rate := rapid.Float64Range(0, 3).Draw(t, "rate")
		o.Arrivals = muster.Arrivals{Known: rapid.Bool().Draw(t, "arrivals known"), TenSeconds: rate, Minute: rate,
			FiveMinutes: rate, Hour: rate}
		for i := range o.Queues {
			oldest := 0.0
			if len(groups) > 0 {
				oldest = groups[0].AgeSeconds
			}
			o.Queues[i].OldestAge = muster.Measured(t0, oldest)
		}
		return o
	})
}

func TestAWorkerMoreNeverMakesTheOutlookWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, n := prospects().Draw(t, "see"), rapid.IntRange(1, 40).Draw(t, "workers")
		a, b := outlook.Of(o, n), outlook.Of(o, n+1)
		const rounding = 0.01 // sums over cells of different widths
		for what, x := range map[string][2]outlook.Expectation{"now": {a.Now, b.Now}, "steady": {a.Steady, b.Steady}} {
			fewer, more := x[0], x[1]
			if fewer.Known && !more.Known {
				t.Fatalf("%s: with %d %+v, with one more %+v", what, n, fewer, more)
			}
			if fewer.Known && (more.Seconds > fewer.Seconds*(1+rounding)+1e-9 || more.InTime < fewer.InTime-rounding) {
				t.Fatalf("%s: with %d %+v, with one more %+v", what, n, fewer, more)
			}
			if more.Known && (more.Seconds < o.Processing.MeanSeconds*0.999 || more.InTime < 0 || more.InTime > 1 ||
				math.IsNaN(more.InTime) || math.IsInf(more.Seconds, 0)) {
				t.Fatalf("%s: %+v with a mean work of %v", what, more, o.Processing.MeanSeconds)
			}
		}
		if backlog := o.Backlog().Value; b.Late > a.Late*(1+rounding)+rounding || b.Late < 0 ||
			a.Late > backlog*(1+1e-9) {
			t.Fatalf("of %v waiting %v are late with %d, %v with one more", backlog, a.Late, n, b.Late)
		}
	})
}

func BenchmarkArrivingNow(b *testing.B) {
	o := see{latency: time.Minute, busy: 9, inFlight: 9, backlog: 100}.at(takes(10, 8))
	for b.Loop() {
		outlook.ArrivingNow(o, 12)
	}
}

func BenchmarkOutlook(b *testing.B) {
	o := see{latency: time.Minute, busy: 9, inFlight: 9, backlog: 10_000}.at(takes(10, 8))
	for i := range muster.MaxGroups {
		o.Waiting = append(o.Waiting,
			muster.Waiting{AgeSeconds: float64(60 - i), Messages: 10_000.0 / muster.MaxGroups})
		o.Coming = append(o.Coming, muster.Coming{AgeSeconds: float64(90 - 2*i), Members: 1})
	}
	for b.Loop() {
		outlook.Of(o, 50)
	}
}
