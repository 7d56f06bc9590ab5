package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/trace"
)

// ends replays messages on a fleet of k workers that are there from the start and share cores, and returns when each
// finished.
func ends(t *testing.T, k int, w World, messages ...trace.Message) (string, Result) {
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
		world    World
		messages []trace.Message
		want     string
	}{
		{"enough cores", 3, World{}, three, "10s 10s 10s"},
		{"as many as works", 3, World{Cores: 3}, three, "10s 10s 10s"},
		{"two for three works", 3, World{Cores: 2}, three, "15s 15s 15s"},
		{"one for three works", 3, World{Cores: 1}, three, "30s 30s 30s"},
		{"workers that are idle take no core", 9, World{Cores: 3}, three, "10s 10s 10s"},
		{"slots share them as workers do", 1, World{Cores: 1, Slots: 3}, three, "30s 30s 30s"},
		{"fewer workers than works finish the first sooner, and all no later", 1, World{Cores: 1}, three,
			"10s 20s 30s"},
		{"one that comes later slows down the first, and is alone at its end", 2, World{Cores: 1},
			[]trace.Message{work(0, 10), work(5, 10)}, "15s 20s"},
		{"a short one is through while a long one goes on", 2, World{Cores: 1},
			[]trace.Message{work(0, 10), work(0, 1)}, "2s 11s"},
		{"handing over takes no core", 2, World{Cores: 1, Handover: 5 * time.Second},
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

// A member that dies leaves its share to the others.
func TestAMemberThatDiesGivesItsShareBack(t *testing.T) {
	r, err := newRun(Options{Settings: standing(t, 2), World: World{Cores: 1}, Trace: trace.Of("m", trace.Message{})})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		ref := r.queue.add(message{service: int64(10 * time.Second)})
		r.works++
		r.members = append(r.members, &member{stage: working, held: []held{{ref, r.works}}})
		r.share(int32(i), ref, r.works)
	}
	r.now = int64(4 * time.Second) // each has done 2 s
	r.unshare(0)
	if e := r.nodes[slices.IndexFunc(r.nodes,
		func(e event) bool { return e.what == r.cores.turn })]; time.Duration(e.at) != 12*time.Second {
		t.Errorf("the other work ends at %s, want 12s", time.Duration(e.at))
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
		law  law
		load float64
	}{{exponential(), 0.5}, {deterministic(), 0.7}, {lognormal(2), 0.5}} {
		t.Run(fmt.Sprintf("%s, load %g", q.law.name, q.load), func(t *testing.T) {
			const service = 100 * time.Millisecond
			gap := time.Duration(float64(service) / q.load)
			p := follow(newStream(1, messages, time.Minute, gap, service, q.law),
				func(trace.Message) time.Duration { return 0 })
			res, err := Run(Options{
				Settings: standing(t, 40), World: World{Cores: 1, ReportEvery: time.Minute}, Seed: 1,
				Trace: poisson(1, messages, time.Minute, gap, service, q.law),
			})
			if err != nil || len(res.Faults) > 0 {
				t.Fatal(err, res.Faults)
			}
			near(t, "mean time in s", res.MeanTime, p.mean()/1e9/(1-p.load(1)), shareOf(0.05))
		})
	}
}
