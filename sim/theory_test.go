package sim

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/trace"
)

// The laws of queues are known exactly. Here the whole simulator, with its controller, roster and leases, is held to
// them:
//
//  1. A recursion of a few lines computes the wait of every message of a trace. Over many messages its mean is that of
//     the closed formula: the recursion is right.
//  2. The simulator gives the messages of a trace the waits of the recursion, to the nanosecond: the simulator is
//     right.
//
// A mean that is simulated alone wanders too much: at a load of 0.9 a wait is known to 1 % only after tens of millions
// of messages. With MUSTER_SLOW=1 the simulator runs that long: ten minutes of a core, so go test needs -timeout 60m.

// shareOf widens a tolerance as it must be where fewer messages are drawn, because the race detector looks on.
func shareOf(tolerance float64) float64 {
	if slowdown > 1 {
		return 4 * tolerance
	}
	return tolerance
}

// slow tells whether tests that take minutes run.
func slow() bool { return os.Getenv("MUSTER_SLOW") == "1" }

// law draws service times of the given mean.
type law struct {
	name string
	cv   float64
	draw func(r *rand.Rand) float64 // of mean 1
}

func deterministic() law { return law{"deterministic", 0, func(*rand.Rand) float64 { return 1 }} }
func exponential() law   { return law{"exponential", 1, (*rand.Rand).ExpFloat64} }
func lognormal(cv float64) law {
	v := math.Log1p(cv * cv)
	return law{fmt.Sprintf("lognormal cv %g", cv), cv,
		func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()*math.Sqrt(v) - v/2) }}
}

// stream is a Poisson process of n messages with services of a law, beginning at the instant from.
type stream struct {
	r         *rand.Rand
	left      int
	at        time.Duration
	gap, mean time.Duration
	law       law
}

func newStream(seed uint64, n int, from, gap, mean time.Duration, l law) *stream {
	return &stream{r: rand.New(rand.NewPCG(seed, 77)), left: n, at: from, gap: gap, mean: mean, law: l}
}

func (s *stream) Next() (trace.Message, error) {
	if s.left == 0 {
		return trace.Message{}, io.EOF
	}
	s.left--
	s.at += time.Duration(s.r.ExpFloat64() * float64(s.gap))
	return trace.Message{Arrival: s.at, Service: time.Duration(s.law.draw(s.r) * float64(s.mean))}, nil
}

// poisson is a stream as a trace.
func poisson(seed uint64, n int, from, gap, mean time.Duration, l law) trace.Trace {
	return trace.Trace{Name: l.name, Open: func() (trace.Reader, error) {
		return newStream(seed, n, from, gap, mean, l),
			nil
	}}
}

// erlangC is the mean wait in an M/M/k queue: C(k, a) / (k mu - lambda) with the offered load a = lambda / mu and
// Erlang's probability C of a wait, by the recursion for B.
func erlangC(k int, load float64, service time.Duration) time.Duration {
	a := load * float64(k)
	b := 1.0
	for n := 1; n <= k; n++ {
		b = a * b / (float64(n) + a*b)
	}
	c := b / (1 - load*(1-b))
	return time.Duration(c / (float64(k) * (1 - load)) * float64(service))
}

// pollaczek is the mean wait in an M/G/1 queue: load / (1 - load) * (1 + cv^2) / 2 services.
func pollaczek(load, cv float64, service time.Duration) time.Duration {
	return time.Duration(load / (1 - load) * (1 + cv*cv) / 2 * float64(service))
}

// freeAt are the instants at which k workers become free, ascending: the recursion of Kiefer and Wolfowitz.
type freeAt []time.Duration

// serve gives a message to the worker that is free first, and returns how long it waited.
func (f freeAt) serve(m trace.Message) (wait time.Duration) {
	start := max(m.Arrival, f[0])
	end := start + m.Service
	i := 1
	for ; i < len(f) && f[i] < end; i++ {
		f[i-1] = f[i]
	}
	f[i-1] = end
	return start - m.Arrival
}

// path is what came of a stream: its own moments, and the waits by a recursion.
type path struct {
	n                        int
	last                     time.Duration
	services, squares, waits float64 // sums, in nanoseconds
}

// follow puts a stream through a recursion.
func follow(s *stream, serve func(trace.Message) time.Duration) path {
	p := path{n: s.left}
	begin := s.at
	for range p.n {
		m, _ := s.Next()
		p.last = m.Arrival - begin
		p.services += float64(m.Service)
		p.squares += float64(m.Service) * float64(m.Service)
		p.waits += float64(serve(m))
	}
	return p
}

// The rate of arrivals, and the moments of the services, as they were drawn. A formula that is given these instead of
// those that were asked for has that part of the chance taken out.
func (p path) mean() float64          { return p.services / float64(p.n) }
func (p path) load(k int) float64     { return p.services / float64(p.last) / float64(k) }
func (p path) cv() float64            { return math.Sqrt(max(0, p.squares/float64(p.n)/(p.mean()*p.mean())-1)) }
func (p path) meanWait() float64      { return p.waits / float64(p.n) / 1e9 }
func (p path) service() time.Duration { return time.Duration(p.mean()) }

// standing are the settings of a fleet of exactly k workers, by a schedule.
func standing(t testing.TB, k int) controller.Settings {
	s, err := controller.NewSettings(controller.Settings{
		Fleet: "f", Queues: []string{"q"}, Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99},
		Spec:   policy.Spec{Name: "schedule", Intervals: []policy.Interval{{From: "00:00", To: "24:00", Workers: k}}},
		Limits: muster.Limits{Min: k, Max: k, LaunchesPerHour: 1000}, Poll: 10 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func near(t *testing.T, what string, found, want, share float64) {
	t.Helper()
	off := found/want - 1
	t.Logf("%s: %.6g, want %.6g: %+.3f %%", what, found, want, 100*off)
	if !(math.Abs(off) <= share) {
		t.Errorf("%s: found %.6g, want %.6g within %g %%", what, found, want, 100*share)
	}
}

func TestAStandingFleetWaitsAsTheLawsOfQueuesSay(t *testing.T) {
	const service = 10 * time.Millisecond
	type formula = func(p path, k int) float64
	byErlang := func(p path, k int) float64 { return erlangC(k, p.load(k), p.service()).Seconds() }
	byPollaczek := func(p path, _ int) float64 { return pollaczek(p.load(1), p.cv(), p.service()).Seconds() }
	for _, q := range []struct {
		k        int
		law      law
		formulas []formula
		millions [3]int // of messages until the mean is known to half a percent or better, for each load
	}{
		{1, exponential(), []formula{byErlang, byPollaczek}, [3]int{5, 5, 20}},
		{4, exponential(), []formula{byErlang}, [3]int{10, 10, 20}},
		{16, exponential(), []formula{byErlang}, [3]int{40, 20, 20}},
		{1, deterministic(), []formula{byPollaczek}, [3]int{5, 5, 10}},
		{1, lognormal(2), []formula{byPollaczek}, [3]int{20, 20, 40}},
	} {
		for i, load := range []float64{0.5, 0.7, 0.9} {
			t.Run(fmt.Sprintf("%d workers, %s, load %g", q.k, q.law.name, load), func(t *testing.T) {
				gap := time.Duration(float64(service) / (load * float64(q.k)))
				recursion := func(seed uint64, n int) path {
					return follow(newStream(seed, n, time.Minute, gap, service, q.law), make(freeAt, q.k).serve)
				}
				enough := q.millions[i] * 1_000_000
				long := recursion(1, enough/slowdown)
				for _, formula := range q.formulas {
					near(t, "mean wait in s by the recursion and by the formula", long.meanWait(), formula(long, q.k),
						shareOf(0.01))
				}

				n := 100_000 / slowdown
				if slow() {
					n = enough
				}
				res, err := Run(Options{Settings: standing(t, q.k),
					Trace: poisson(2, n, time.Minute, gap, service, q.law)})
				if err != nil {
					t.Fatal(err)
				}
				same := recursion(2, n)
				near(t, "mean wait in s by the simulator and by the recursion", res.MeanWait, same.meanWait(), 1e-12)
				if slow() {
					near(t, "mean wait in s by the simulator and by the formula", res.MeanWait,
						q.formulas[0](same, q.k), 0.01)
				}
				if res.Messages != int64(n) || res.PeakWorkers != q.k || len(res.Faults) > 0 {
					t.Errorf("found %d messages, %d workers, faults %v; want %d, %d and none", res.Messages,
						res.PeakWorkers, res.Faults, n, q.k)
				}
			})
		}
	}
}

// lingers is how long a worker without work stays although it is to leave at once: its receive call waits that long.
const lingers = time.Second

// setUp is the mean time in the system, by the recursion, of a queue whose only worker leaves when nothing is left to
// do and is launched again, which takes a time of its own, at the next arrival.
type setUp struct {
	free time.Duration // when the worker has finished what it has
	boot func() time.Duration
}

func (s *setUp) serve(m trace.Message) (wait time.Duration) {
	start := max(m.Arrival, s.free)
	if m.Arrival > s.free+lingers {
		start += s.boot()
	}
	s.free = start + m.Service
	return start - m.Arrival
}

// setUpWait is the mean wait in an M/M/1 queue with exponential set-up of the given mean: load / (mu - lambda) +
// set-up.
//
// A worker that lingers meets an arrival before it is gone with the probability 1 - p, p = exp(-lambda * lingers). The
// first message of a busy time then waits for a set-up with the probability p only, and the second term is by the
// theorem for queues with an exceptional first service (2 E[D] + lambda E[D^2]) / (2 + 2 lambda E[D]), with D the
// set-up or nothing.
func setUpWait(lambda, service, boot float64) float64 {
	p := math.Exp(-lambda * lingers.Seconds())
	load := lambda * service
	return load*service/(1-load) + p*boot*(1+lambda*boot)/(1+p*lambda*boot)
}

func TestAWorkerThatIsLaunchedForEachBusyTimeWaitsAsTheLawSays(t *testing.T) {
	const service = 100 * time.Second
	for _, q := range []struct {
		load float64
		boot time.Duration
	}{{0.3, 10 * service}, {0.5, 2 * service}, {0.7, service / 2}, {0.8, 3 * service}} {
		t.Run(fmt.Sprintf("load %g, set-up %s", q.load, q.boot), func(t *testing.T) {
			gap := time.Duration(float64(service) / q.load)
			boot := Draw{Mean: q.boot, Exponential: true}
			recursion := func(seed uint64, n int) path {
				chance := newChance(seed).boot
				return follow(newStream(seed, n, time.Minute, gap, service, exponential()),
					(&setUp{free: -time.Hour, boot: func() time.Duration { return boot.Next(chance) }}).serve)
			}
			long := recursion(1, 5_000_000/slowdown)
			want := setUpWait(1/gap.Seconds(), service.Seconds(), q.boot.Seconds())
			near(t, "mean wait in s by the recursion and by the formula", long.meanWait(), want, shareOf(0.01))
			near(t, "formula with and without lingering", want, q.load/(1-q.load)*service.Seconds()+q.boot.Seconds(),
				0.01)

			n := 20_000 / slowdown
			if slow() {
				n = 2_000_000
			}
			s, err := controller.NewSettings(controller.Settings{
				Fleet: "f", Queues: []string{"q"}, Objective: muster.Objective{Latency: time.Hour, Quantile: 0.99},
				Spec:   policy.Spec{Name: "exact"},
				Limits: muster.Limits{Max: 1, LaunchesPerHour: 1_000_000}, Poll: 5 * time.Minute,
				BootPrior: 24 * time.Hour,
			})
			if err != nil {
				t.Fatal(err)
			}
			w := World{Boot: boot, IdleStop: 1, Visibility: 2 * lingers, Wakes: true, ReportEvery: 5 * time.Second}
			res, err := Run(Options{Settings: s, World: w,
				Trace: poisson(2, n, time.Minute, gap, service, exponential()), Seed: 2})
			if err != nil {
				t.Fatal(err)
			}
			near(t, "mean wait in s by the simulator and by the recursion", res.MeanWait, recursion(2, n).meanWait(),
				1e-5)
			if res.PeakWorkers != 1 || len(res.Faults) > 0 {
				t.Errorf("found %d workers at a time, faults %v; want 1 and none", res.PeakWorkers, res.Faults)
			}
			if slow() {
				near(t, "mean wait in s by the simulator alone", res.MeanWait, want, 0.01)
			}
		})
	}
}
