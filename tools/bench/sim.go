package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/queueing"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// Part sim. Every lane runs in a process of its own on one core, and its figure is messages per second of processor
// time. The generator of the trace is part of each lane, as it is for SimPy.

const (
	// The queue M/M/k that we and SimPy run: sixteen workers, nine tenths of them busy.
	mmkServers = 16
	mmkService = 10 * time.Millisecond
	mmkRate    = 0.9 * mmkServers / 0.010 // per second

	// The trace of the full simulator: so many messages a second of 200 ms, sent for as long as the lane says.
	//
	// About 13 busy workers.
	fullRate    = 64
	fullService = 200 * time.Millisecond
	fullBoot    = 60 * time.Second
	dayMessages = fullRate * 86_400
)

// simulated is the result of one run, which is made in a process of its own.
type simulated struct {
	Messages int64 `json:"messages"`
	// Seconds are of processor time, with the garbage collection, on one core.
	Seconds  float64 `json:"seconds"`
	MeanWait float64 `json:"mean_wait_s"`
	// InTime is the share in time, Steps the number of controller steps.
	InTime float64 `json:"in_time_ratio"`
	Steps  int64   `json:"steps"`
	// Heap is the most memory in use that was seen during the run, in bytes; zero where nobody looked.
	Heap   int64    `json:"heap"`
	Faults []string `json:"faults"`
}

// rate is the number of messages per second of processor time.
func (s simulated) rate() float64 { return float64(s.Messages) / s.Seconds }

// simulator measures the simulator on one core, each lane in a process of its own, and SimPy beside it. The lanes
// differ in how much of the simulator runs: bare is only the queue and its draws, the others add controller, roster,
// leases and records.
func (b *bench) simulator() error {
	const million = 1_000_000
	bare, err := simulate("bare", 5*million)
	if err != nil {
		return err
	}
	b.page.goal("simulator without a controller, M/M/16, one core", ">= 1,000,000 messages/s", count(bare.rate())+
		" messages/s", bare.rate() >= million, "an event, a draw and a score for each message.")
	// The policies differ: deadline plans at each step, exact only counts.
	for _, name := range []string{"deadline", "exact"} {
		full, err := simulate(name, 2*million)
		if err != nil {
			return err
		}
		b.page.goal("simulator with leases, roster and records, policy "+name+", one core", ">= 300,000 messages/s",
			fmt.Sprintf("%s messages/s, %s steps", count(full.rate()), count(float64(full.Steps))),
			full.rate() >= 300_000,
			"every message changes what its worker says, and its report goes the way of production.")
	}
	// 5.5 million messages, as a busy user would replay.
	day, err := simulate("deadline", dayMessages)
	if err != nil {
		return err
	}
	b.page.goal(fmt.Sprintf("a day of %d messages a second, policy deadline, one core", fullRate), "< 20 s",
		fmt.Sprintf("%.1f s for %s messages", day.Seconds, count(float64(day.Messages))), day.Seconds < 20,
		"a step and a report of each worker every second.")
	if err := b.simulatedHeap(); err != nil {
		return err
	}
	return b.besideSimpy(bare)
}

// simulatedHeap compares the heap of a short run and of one ten times as long: a run must not keep what it has
// replayed.
func (b *bench) simulatedHeap() error {
	// Both are long enough for every window of the controller to be full.
	short, err := simulate("heap", 200_000)
	if err != nil {
		return err
	}
	long, err := simulate("heap", 2_000_000)
	if err != nil {
		return err
	}
	b.page.goal("memory of a run does not depend on its length", "2,000,000 messages <= 200,000 + 2 MB",
		fmt.Sprintf("%.2f MB of heap for 200,000 messages, %.2f MB for 2,000,000", float64(short.Heap)/1e6,
			float64(long.Heap)/1e6),
		long.Heap <= short.Heap+2e6, "something keeps what was replayed.")
	return nil
}

// besideSimpy runs the same queue in SimPy, and in the full simulator. The mean wait of each is on the page, so that a
// reader sees that both simulate the same queue.
func (b *bench) besideSimpy(bare simulated) error {
	const n = 200_000
	what, target := fmt.Sprintf("M/M/%d beside SimPy, one core", mmkServers), ">= 10 x SimPy"
	peer, err := b.simpy(n)
	if errors.Is(err, errNoPeer) {
		b.page.goals = append(b.page.goals, row(what, target, "-", "left out: "+err.Error()))
		return nil
	}
	if err != nil {
		return err
	}
	// More messages than in SimPy, because it takes less time.
	full, err := simulate("mmk", 2_000_000)
	if err != nil {
		return err
	}
	rate := float64(peer.Messages) / peer.Seconds
	b.page.goal(what, target, fmt.Sprintf("%.0f x without a controller, %.0f x with everything", bare.rate()/rate,
		full.rate()/rate), bare.rate() >= 10*rate, "SimPy is fast today.")
	b.page.note("Beside SimPy: %s does %s messages/s of the queue M/M/%d at a load of 0.9 and finds a mean wait of "+
		"%.2f ms over %s messages; the simulator does %s messages/s without a controller (%.2f ms over %s) and %s "+
		"messages/s with controller, roster, leases and records (%.2f ms over %s). Processor time, garbage "+
		"collection included; the draws are their own.",
		peer.Version, count(rate), mmkServers, peer.MeanWait*1e3, count(float64(peer.Messages)), count(bare.rate()),
		bare.MeanWait*1e3, count(float64(bare.Messages)), count(full.rate()), full.MeanWait*1e3,
		count(float64(full.Messages)))
	return nil
}

// simulate makes a run in a process of its own, on one core. A run with faults, or with another number of messages, is
// an error: a fast simulator that loses messages would win.
func simulate(kind string, n int) (s simulated, err error) {
	c, err := startRole("simulate", kind, strconv.Itoa(n))
	if err != nil {
		return s, err
	}
	if err := errors.Join(json.Unmarshal([]byte(c.says), &s), c.end()); err != nil {
		return s, fmt.Errorf("simulate %s: %w", kind, err)
	}
	// The simulator checks its own promises, such as that no message is lost.
	if len(s.Faults) > 0 || s.Messages != int64(n) {
		return s, fmt.Errorf("simulate %s: found %d messages, want %d, and these faults: %v", kind, s.Messages, n,
			s.Faults)
	}
	return s, nil
}

// simulateOnce is the role that makes one run.
func simulateOnce(args []string, out io.Writer) error {
	if path := os.Getenv("BENCH_SIMULATOR_PROFILE"); path != "" {
		stop, err := profile(path)
		if err != nil {
			return err
		}
		defer stop()
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	// One core, because the goals are per core.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400) // as muster simulate does
	var most int64
	begin, err := host.OwnTime()
	if err != nil {
		return err
	}
	var r scoring.Result
	// mmk has a fixed number of workers, because SimPy has; heap looks at the memory meanwhile, which takes time.
	switch kind := args[0]; kind {
	case "bare":
		r, err = queueing.Run(queueing.Options{Trace: poisson(n, mmkRate, mmkService, nil), Seed: 1,
			Latency: time.Second,
			Size:    queueing.FixedSize(mmkServers), Max: mmkServers})
	case "mmk":
		r, err = fullRun(policy.Spec{Name: "schedule",
			Intervals: []policy.Interval{{From: "00:00", To: "24:00", Workers: mmkServers}}}, mmkServers, 0,
			poisson(n, mmkRate, mmkService, nil))
	case "heap":
		r, err = fullRun(policy.Spec{Name: "deadline"}, 500, fullBoot,
			poisson(n, fullRate, fullService, func() { most = max(most, heap()) }))
	default:
		r, err = fullRun(policy.Spec{Name: kind}, 500, fullBoot, poisson(n, fullRate, fullService, nil))
	}
	if err != nil {
		return err
	}
	end, err := host.OwnTime()
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(simulated{Messages: r.Messages, Seconds: (end - begin).Seconds(),
		MeanWait: r.MeanWait, InTime: r.InTimeRatio, Steps: r.Steps, Heap: most, Faults: r.Faults})
}

// fullRun replays a trace with the whole production controller. The queue is polled each second, and workers report
// each second.
func fullRun(spec policy.Spec, most int, boot time.Duration, t trace.Trace) (scoring.Result, error) {
	s, err := controller.NewSettings(controller.Settings{
		Fleet: "fleet", Queues: []string{"queue"}, Spec: spec,
		Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99},
		Limits:    muster.Limits{Max: most, LaunchesPerHour: 1_000_000}, BootPrior: max(time.Second, boot),
		Poll: time.Second,
	})
	if err != nil {
		return scoring.Result{}, err
	}
	return sim.Run(sim.Options{Settings: s, World: world.World{Boot: world.Draw{Mean: boot},
		IdleStop: idleStop(spec.Name)},
		Trace: t, Seed: 1})
}

// idleStop is the idle time after which workers of a policy stop. exact never lowers the desired count itself; its
// workers stop when idle.
func idleStop(policy string) time.Duration {
	if policy == "exact" {
		return 30 * time.Second
	}
	return 0
}

// poisson is a Poisson process of n messages with exponential services. sometimes is called every hundred thousand
// messages; it may be nil.
func poisson(n int, perSecond float64, mean time.Duration, sometimes func()) trace.Trace {
	return trace.Trace{Name: "poisson", Open: func() (trace.Reader, error) {
		return &process{r: rand.New(rand.NewPCG(1, 1)), left: n, gap: float64(time.Second) / perSecond,
			mean: float64(mean), sometimes: sometimes}, nil
	}}
}

// process is a reader of a Poisson process. It draws each message when it is read, so the trace takes no memory.
type process struct {
	r         *rand.Rand
	left      int
	at        time.Duration
	gap, mean float64
	sometimes func()
}

// Next implements [trace.Reader].
func (p *process) Next() (trace.Message, error) {
	if p.left == 0 {
		return trace.Message{}, io.EOF
	}
	if p.left--; p.sometimes != nil && p.left%100_000 == 0 {
		p.sometimes()
	}
	p.at += time.Duration(p.r.ExpFloat64() * p.gap)
	return trace.Message{Arrival: p.at, Service: time.Duration(p.r.ExpFloat64() * p.mean)}, nil
}
