package sim

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/trace"
)

func bareRun(t testing.TB, o BareOptions) Result {
	t.Helper()
	res, err := Bare(o)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Faults) > 0 {
		t.Errorf("found faults: %v", res.Faults)
	}
	return res
}

func TestABareFleetWaitsAsTheLawsOfQueuesSay(t *testing.T) {
	const service, n = 10 * time.Millisecond, 500_000
	for _, q := range []struct {
		k     int
		load  float64
		share float64 // how far the mean of so few messages may be off
	}{{1, 0.5, 0.02}, {1, 0.9, 0.06}, {4, 0.7, 0.03}, {16, 0.9, 0.1}} {
		t.Run(fmt.Sprintf("%d workers, load %g", q.k, q.load), func(t *testing.T) {
			gap := time.Duration(float64(service) / (q.load * float64(q.k)))
			res := bareRun(t, BareOptions{Trace: poisson(2, n, time.Minute, gap, service, exponential()),
				Latency: time.Minute, Size: FixedSize(q.k), Max: q.k})
			p := follow(newStream(2, n, time.Minute, gap, service, exponential()), make(freeAt, q.k).serve)
			near(t, "mean wait in s by the kernel and by the recursion", res.MeanWait, p.meanWait(), 1e-12)
			near(t, "mean wait in s by the kernel and by the formula", res.MeanWait,
				erlangC(q.k, p.load(q.k), p.service()).Seconds(), q.share)
			if res.Messages != n || res.PeakWorkers != q.k || res.Launches != q.k || res.Unfinished != 0 {
				t.Errorf("found %+v", res)
			}
		})
	}
}

func TestTheBareKernelAndTheFullSimulatorAgree(t *testing.T) {
	const boot, service, n = 20 * time.Second, 2 * time.Second, 50_000
	for _, q := range []struct {
		name  string
		slots int
		bare  BareOptions
		full  func(t testing.TB) (controller.Settings, World)
		share float64
	}{
		{"a fixed fleet", 1, BareOptions{Size: FixedSize(20), Max: 20},
			func(t testing.TB) (controller.Settings, World) { return standing(t, 20), World{} }, 1e-12},
		{"a fixed fleet with several slots", 4, BareOptions{Size: FixedSize(5), Max: 5},
			func(t testing.TB) (controller.Settings, World) { return standing(t, 5), World{} }, 1e-3},
		// Whom a message goes to is drawn: in turns nobody would ever be idle for long, and the receive calls of the
		// full simulator come to their turns otherwise. A launch for each message that finds no worker, by a controller
		// that looks when a message comes; its answers take until its next step, 50 ms later at most.
		{"a worker for each message", 1, BareOptions{Size: DelayedOff(1), Max: 500, Boot: Draw{Mean: boot},
			IdleStop: 30 * time.Second, Random: true}, func(t testing.TB) (controller.Settings, World) {
			s, err := controller.NewSettings(controller.Settings{
				Fleet: "f", Queues: []string{"q"}, Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99},
				Spec:   policy.Spec{Name: "exact"},
				Limits: muster.Limits{Max: 500, LaunchesPerHour: 1_000_000}, BootPrior: boot,
			})
			if err != nil {
				t.Fatal(err)
			}
			return s, World{Boot: Draw{Mean: boot}, IdleStop: 30 * time.Second, Wakes: true, Random: true}
		}, 0.02},
	} {
		t.Run(q.name, func(t *testing.T) {
			tr := poisson(3, n, time.Minute, 120*time.Millisecond, service, exponential())
			settings, w := q.full(t)
			w.Slots, settings.Slots = q.slots, q.slots
			full := ran(t, Options{Settings: settings, World: w, Trace: tr, Seed: 1})
			o := q.bare
			o.Trace, o.Seed, o.Slots, o.Latency = tr, 1, q.slots, time.Minute
			bare := bareRun(t, o)
			near(t, "mean wait in s", bare.MeanWait, full.MeanWait, q.share)
			near(t, "p95 in s", bare.P95, full.P95, max(q.share, 0.005))
			near(t, "busy seconds", bare.BusySeconds, full.BusySeconds, 1e-9)
			if q.bare.Boot.Mean > 0 {
				near(t, "worker-seconds", bare.WorkerSeconds, full.WorkerSeconds, q.share)
			}
			if bare.Messages != full.Messages {
				t.Errorf("found %d and %d messages", bare.Messages, full.Messages)
			}
		})
	}
}

func TestABareFleetIsAsLargeAsItIsAskedToBe(t *testing.T) {
	rows := trace.Trace{Name: "rows", Open: func() (trace.Reader, error) {
		return &rowsReader{{0, 10 * time.Second}, {0, 10 * time.Second}, {time.Minute, 10 * time.Second}}, nil
	}}
	for _, q := range []struct {
		name          string
		o             BareOptions
		seconds, p99  float64
		launches, top int
	}{
		{"one member does one after the other", BareOptions{Size: FixedSize(1), Max: 1}, 70, 20, 1, 1},
		{"with two slots both at once", BareOptions{Size: FixedSize(1), Max: 1, Slots: 2}, 70, 10, 1, 1},
		{"one for each message, gone when idle",
			BareOptions{Size: DelayedOff(1), Max: 9, Boot: Draw{Mean: 5 * time.Second}}, 45, 15, 3, 2},
		{"no more than the maximum", BareOptions{Size: DelayedOff(1), Max: 1, Boot: Draw{Mean: 5 * time.Second}}, 40,
			25, 2, 1},
		{"idle members stay as long as they are told to",
			BareOptions{Size: DelayedOff(1), Max: 9, IdleStop: 20 * time.Second}, 90, 10, 3, 2},
		{"and are used again", BareOptions{Size: DelayedOff(1), Max: 9, IdleStop: 55 * time.Second}, 190, 10, 2, 2},
		{"the minimum never leaves", BareOptions{Size: DelayedOff(1), Min: 1, Max: 9}, 80, 10, 2, 2},
	} {
		t.Run(q.name, func(t *testing.T) {
			q.o.Trace, q.o.Latency = rows, time.Minute
			res := bareRun(t, q.o)
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
		return (&stream{}).Next()
	}
	m := (*r)[0]
	*r = (*r)[1:]
	return trace.Message{Arrival: m[0], Service: m[1]}, nil
}

func TestWhatABareRunCannotBeIsSaid(t *testing.T) {
	good := func() BareOptions {
		return BareOptions{Trace: poisson(1, 10, 0, time.Second, time.Second, exponential()), Size: FixedSize(1),
			Max: 1}
	}
	for _, q := range []struct {
		name, want string
		change     func(*BareOptions)
	}{
		{"no size", "found no size function", func(o *BareOptions) { o.Size = nil }},
		{"no room", "found 1 slots, sizes from 0 to 0", func(o *BareOptions) { o.Max = 0 }},
		{"a boot of no length", "boot: found a mean of -1s", func(o *BareOptions) { o.Boot.Mean = -time.Second }},
		{"an empty trace", "the trace is empty",
			func(o *BareOptions) { o.Trace = poisson(1, 0, 0, 1, 1, exponential()) }},
		{"a tree", "neither groups nor children", func(o *BareOptions) {
			o.Trace.Open = func() (trace.Reader,
				error) {
				return &oneReader{m: trace.Message{Children: []trace.Message{{}}}}, nil
			}
		}},
	} {
		t.Run(q.name, func(t *testing.T) {
			o := good()
			q.change(&o)
			if _, err := Bare(o); err == nil || !strings.Contains(err.Error(), q.want) {
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
		return (&stream{}).Next()
	}
	r.read = true
	return r.m, nil
}
