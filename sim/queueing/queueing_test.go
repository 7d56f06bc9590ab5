package queueing

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/internal/laws"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// near fails the test where found is further from want than the given share of it.
func near(t *testing.T, what string, found, want, share float64) {
	t.Helper()
	off := found/want - 1
	t.Logf("%s: %.6g, want %.6g: %+.3f %%", what, found, want, 100*off)
	if !(math.Abs(off) <= share) {
		t.Errorf("%s: found %.6g, want %.6g within %g %%", what, found, want, 100*share)
	}
}

func ran(t testing.TB, o Options) scoring.Result {
	t.Helper()
	res, err := Run(o)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Faults) > 0 {
		t.Errorf("found faults: %v", res.Faults)
	}
	return res
}

func TestAFleetWaitsAsTheLawsOfQueuesSay(t *testing.T) {
	const service, n = 10 * time.Millisecond, 500_000
	for _, q := range []struct {
		k     int
		load  float64
		share float64 // how far the mean of so few messages may be off
	}{{1, 0.5, 0.02}, {1, 0.9, 0.06}, {4, 0.7, 0.03}, {16, 0.9, 0.1}} {
		t.Run(fmt.Sprintf("%d workers, load %g", q.k, q.load), func(t *testing.T) {
			gap := time.Duration(float64(service) / (q.load * float64(q.k)))
			res := ran(t, Options{Trace: laws.Poisson(2, n, time.Minute, gap, service, laws.Exponential()),
				Latency: time.Minute, Size: FixedSize(q.k), Max: q.k})
			p := laws.Follow(laws.NewStream(2, n, time.Minute, gap, service, laws.Exponential()), make(laws.FreeAt,
				q.k).Serve)
			near(t, "mean wait in s by the kernel and by the recursion", res.MeanWait, p.MeanWait(), 1e-12)
			near(t, "mean wait in s by the kernel and by the formula", res.MeanWait,
				laws.ErlangC(q.k, p.Load(q.k), p.Service()).Seconds(), q.share)
			if res.Messages != n || res.PeakWorkers != q.k || res.Launches != q.k || res.Unfinished != 0 {
				t.Errorf("found %+v", res)
			}
		})
	}
}

func TestAFleetIsAsLargeAsItIsAskedToBe(t *testing.T) {
	rows := trace.Trace{Name: "rows", Open: func() (trace.Reader, error) {
		return &rowsReader{{0, 10 * time.Second}, {0, 10 * time.Second}, {time.Minute, 10 * time.Second}}, nil
	}}
	for _, q := range []struct {
		name          string
		o             Options
		seconds, p99  float64
		launches, top int
	}{
		{"one member does one after the other", Options{Size: FixedSize(1), Max: 1}, 70, 20, 1, 1},
		{"with two slots both at once", Options{Size: FixedSize(1), Max: 1, Slots: 2}, 70, 10, 1, 1},
		{"one for each message, gone when idle",
			Options{Size: DelayedOff(1), Max: 9, Boot: world.Draw{Mean: 5 * time.Second}}, 45, 15, 3, 2},
		{"no more than the maximum", Options{Size: DelayedOff(1), Max: 1, Boot: world.Draw{Mean: 5 * time.Second}}, 40,
			25, 2, 1},
		{"idle members stay as long as they are told to",
			Options{Size: DelayedOff(1), Max: 9, IdleStop: 20 * time.Second}, 90, 10, 3, 2},
		{"and are used again", Options{Size: DelayedOff(1), Max: 9, IdleStop: 55 * time.Second}, 190, 10, 2, 2},
		{"the minimum never leaves", Options{Size: DelayedOff(1), Min: 1, Max: 9}, 80, 10, 2, 2},
	} {
		t.Run(q.name, func(t *testing.T) {
			q.o.Trace, q.o.Latency = rows, time.Minute
			res := ran(t, q.o)
			if math.Abs(res.WorkerSeconds-q.seconds) > 1e-6 || math.Abs(res.P99-q.p99) > 0.01*q.p99 ||
				res.Launches != q.launches || res.PeakWorkers != q.top || res.Messages != 3 {
				t.Errorf("found %v worker-seconds, p99 %v s, %d launches, peak %d; want %v, %v, %d, %d",
					res.WorkerSeconds, res.P99, res.Launches, res.PeakWorkers,
					q.seconds, q.p99, q.launches, q.top)
			}
		})
	}
}

// rowsReader reads messages given as arrival and service.
type rowsReader [][2]time.Duration

func (r *rowsReader) Next() (trace.Message, error) {
	if len(*r) == 0 {
		return (&laws.Stream{}).Next()
	}
	m := (*r)[0]
	*r = (*r)[1:]
	return trace.Message{Arrival: m[0], Service: m[1]}, nil
}

func TestWhatARunCannotBeIsSaid(t *testing.T) {
	good := func() Options {
		return Options{Trace: laws.Poisson(1, 10, 0, time.Second, time.Second, laws.Exponential()), Size: FixedSize(1),
			Max: 1}
	}
	for _, q := range []struct {
		name, want string
		change     func(*Options)
	}{
		{"no size", "found no size function", func(o *Options) { o.Size = nil }},
		{"no room", "found 1 slots, sizes from 0 to 0", func(o *Options) { o.Max = 0 }},
		{"a boot of no length", "boot: found a mean of -1s", func(o *Options) { o.Boot.Mean = -time.Second }},
		{"an empty trace", "the trace is empty",
			func(o *Options) { o.Trace = laws.Poisson(1, 0, 0, 1, 1, laws.Exponential()) }},
		{"a tree", "neither groups nor children", func(o *Options) {
			o.Trace.Open = func() (trace.Reader,
				error) {
				return &oneReader{m: trace.Message{Children: []trace.Message{{}}}}, nil
			}
		}},
	} {
		t.Run(q.name, func(t *testing.T) {
			o := good()
			q.change(&o)
			if _, err := Run(o); err == nil || !strings.Contains(err.Error(), q.want) {
				t.Errorf("found %v, want %q", err, q.want)
			}
		})
	}
}

// oneReader reads one message.
type oneReader struct {
	m    trace.Message
	read bool
}

func (r *oneReader) Next() (trace.Message, error) {
	if r.read {
		return (&laws.Stream{}).Next()
	}
	r.read = true
	return r.m, nil
}
