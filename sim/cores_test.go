package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/internal/laws"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// ends replays messages on a fleet of k workers that are there from the start and share cores, and returns when each
// finished.
func ends(t *testing.T, k int, w world.World, messages ...trace.Message) (string, scoring.Result) {
	t.Helper()
	var all []string
	from := messages[0].Arrival
	res, err := Run(Options{
		Settings: standing(t, k), World: w, Seed: 1, Trace: trace.Of("m", messages...),
		Finished: func(_, at time.Duration) { all = append(all, (at - from).Round(time.Microsecond).String()) },
	})
	if err != nil || len(res.Faults) > 0 {
		t.Fatal(err, res.Faults)
	}
	return strings.Join(all, " "), res
}

func TestBusyWorkersShareTheCores(t *testing.T) {
	const minute = time.Minute // by then all workers take messages
	work := func(at, service int) trace.Message {
		return trace.Message{Arrival: minute + time.Duration(at)*time.Second,
			Service: time.Duration(service) * time.Second}
	}
	three := []trace.Message{work(0, 10), work(0, 10), work(0, 10)}
	for _, row := range []struct {
		name     string
		workers  int
		world    world.World
		messages []trace.Message
		want     string
	}{
		{"enough cores", 3, world.World{}, three, "10s 10s 10s"},
		{"as many as works", 3, world.World{Cores: 3}, three, "10s 10s 10s"},
		{"two for three works", 3, world.World{Cores: 2}, three, "15s 15s 15s"},
		{"one for three works", 3, world.World{Cores: 1}, three, "30s 30s 30s"},
		{"workers that are idle take no core", 9, world.World{Cores: 3}, three, "10s 10s 10s"},
		{"slots share them as workers do", 1, world.World{Cores: 1, Slots: 3}, three, "30s 30s 30s"},
		{"fewer workers than works finish the first sooner, and all no later", 1, world.World{Cores: 1}, three,
			"10s 20s 30s"},
		{"one that comes later slows down the first, and is alone at its end", 2, world.World{Cores: 1},
			[]trace.Message{work(0, 10), work(5, 10)}, "15s 20s"},
		{"a short one is through while a long one goes on", 2, world.World{Cores: 1},
			[]trace.Message{work(0, 10), work(0, 1)}, "2s 11s"},
		{"handing over takes no core", 2, world.World{Cores: 1, Handover: 5 * time.Second},
			[]trace.Message{work(0, 10), work(0, 10)}, "20s 20s"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, res := ends(t, row.workers, row.world, row.messages...)
			if got != row.want {
				t.Errorf("finished after %s, want %s", got, row.want)
			}
			if row.world.Handover == 0 && res.MeanWait > 0 && row.workers >= len(row.messages) {
				t.Errorf("messages waited %v s, though there was a worker for each: what takes long is the work",
					res.MeanWait)
			}
		})
	}
}

// With a worker for each message and one core the mean time of a message is E[S] / (1 - load), whatever the law of the
// work (M/G/1 with processor sharing).
func TestSharedCoresKeepTheLawOfProcessorSharing(t *testing.T) {
	messages := 50_000
	if testing.Short() || slowdown > 1 {
		messages = 10_000
	}
	for _, q := range []struct {
		law  laws.Law
		load float64
	}{{laws.Exponential(), 0.5}, {laws.Deterministic(), 0.7}, {laws.Lognormal(2), 0.5}} {
		t.Run(fmt.Sprintf("%s, load %g", q.law.Name, q.load), func(t *testing.T) {
			const service = 100 * time.Millisecond
			gap := time.Duration(float64(service) / q.load)
			p := laws.Follow(laws.NewStream(1, messages, time.Minute, gap, service, q.law),
				func(trace.Message) time.Duration { return 0 })
			res, err := Run(Options{
				Settings: standing(t, 40), World: world.World{Cores: 1, ReportEvery: time.Minute}, Seed: 1,
				Trace: laws.Poisson(1, messages, time.Minute, gap, service, q.law),
			})
			if err != nil || len(res.Faults) > 0 {
				t.Fatal(err, res.Faults)
			}
			near(t, "mean time in s", res.MeanTime, p.Mean()/1e9/(1-p.Load(1)), shareOf(0.05))
		})
	}
}
