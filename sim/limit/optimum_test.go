package limit

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/trace"
	"pgregory.net/rapid"
)

// optimum returns the least worker-seconds of any schedule of a few messages whose times are whole seconds, by trying
// every beginning of each message and every way to share them out, with one or more slots. It knows neither Min nor Max
// nor Shed. Whole seconds are enough: with the order of all beginnings and ends fixed, the cost is linear in the
// beginnings, and every constraint bounds one of them or a difference of two by whole seconds.
func optimum(t *testing.T, p Problem, start Start) float64 {
	var all []trace.Message
	if err := p.Trace.Each(func(m trace.Message) bool { all = append(all, m); return true }); err != nil {
		t.Fatal(err)
	}
	b := brute{slots: p.Slots, boot: whole(p.Boot), best: math.MaxInt, begins: make([]int, len(all)),
		workers: make([]int, len(all))}
	attainable, ready := int64(0), math.MinInt
	if start == Causal {
		ready = whole(all[0].Arrival + p.Boot)
	}
	end := whole(all[len(all)-1].Arrival) + b.boot
	for _, m := range all {
		end += whole(m.Service)
		if m.Service <= p.Latency {
			attainable++
		}
	}
	b.late = int(int64(len(all)) - attainable + p.excused(attainable))
	for _, m := range all {
		a, s := whole(m.Arrival), whole(m.Service)
		b.jobs = append(b.jobs, bruteJob{first: max(a, ready), due: a + whole(p.Latency) - s, last: end, service: s})
	}
	b.place(0)
	if b.best == math.MaxInt {
		return math.Inf(1)
	}
	return float64(b.best)
}

func whole(d time.Duration) int { return int(d / time.Second) }

type bruteJob struct{ first, due, last, service int }

type brute struct {
	slots, boot, late, best int
	jobs                    []bruteJob
	begins, workers         []int
}

// place tries every beginning of job j.
func (b *brute) place(j int) {
	if j == len(b.jobs) {
		b.share(0, 0)
		return
	}
	last := b.jobs[j].due
	if b.late > 0 {
		last = max(last, b.jobs[j].last)
	}
	for at := b.jobs[j].first; at <= last; at++ {
		b.begins[j] = at
		if at > b.jobs[j].due {
			b.late--
			b.place(j + 1)
			b.late++
		} else {
			b.place(j + 1)
		}
	}
}

// share tries every worker for job j, where the first are in use.
func (b *brute) share(j, used int) {
	if j == len(b.jobs) {
		total := 0
		for w := range used {
			total += b.cost(w)
			if total >= b.best {
				return
			}
		}
		b.best = total
		return
	}
	for w := range used + 1 {
		b.workers[j] = w
		if b.fits(j, w) {
			b.share(j+1, max(used, w+1))
		}
	}
}

// fits tells whether worker w has a slot for job j beside those before it.
func (b *brute) fits(j, w int) bool {
	for _, at := range append([]int{b.begins[j]}, b.begins[:j]...) {
		busy := 0
		for i := range j + 1 {
			if b.workers[i] == w && b.begins[i] <= at && at < b.begins[i]+b.jobs[i].service {
				busy++
			}
		}
		if busy > b.slots {
			return false
		}
	}
	return true
}

// cost is what worker w costs: it stays through a gap that is shorter than a boot.
func (b *brute) cost(w int) int {
	var mine []int
	for j := range b.jobs {
		if b.workers[j] == w {
			mine = append(mine, j)
		}
	}
	slices.SortFunc(mine, func(i, j int) int { return b.begins[i] - b.begins[j] })
	total, end := b.boot, b.begins[mine[0]]
	for _, j := range mine {
		total += min(b.boot, max(0, b.begins[j]-end))
		stop := max(end, b.begins[j]+b.jobs[j].service)
		total, end = total+stop-max(end, min(b.begins[j], stop)), stop
	}
	return total
}

// tiny draws a problem that brute force can solve.
func tiny(t *rapid.T) Problem {
	n := rapid.IntRange(1, 4).Draw(t, "messages")
	longest := rapid.IntRange(1, 5).Draw(t, "longest")
	var all []trace.Message
	at := 0
	for i := range n {
		if i > 0 {
			at += rapid.SampledFrom([]int{0, 0, 1, 2, 4, 7, 12}).Draw(t, "gap")
		}
		all = append(all, trace.Message{Arrival: time.Duration(at) * time.Second,
			Service: time.Duration(rapid.IntRange(1, longest).Draw(t, "service")) * time.Second})
	}
	return Problem{
		Trace: trace.Of("tiny", all...), Latency: time.Duration(rapid.IntRange(2, 6).Draw(t, "latency")) * time.Second,
		Quantile: rapid.SampledFrom([]float64{0.6, 1, 1}).Draw(t, "quantile"),
		Boot:     time.Duration(rapid.IntRange(0, 8).Draw(t, "boot")) * time.Second,
		Slots:    rapid.IntRange(1, 2).Draw(t, "slots"),
	}
}

// each returns every bound of a profile on at most 2000 slots of time, and on at most as many as given.
func each(t interface{ Fatal(...any) }, f *Profile, start Start, slots int) []Bound {
	for f.length() > 2000 {
		f = f.wider()
	}
	narrow := f
	for narrow.length() > slots {
		narrow = narrow.wider()
	}
	priced, err := narrow.Prices(start, 200)
	if err != nil {
		t.Fatal(err)
	}
	return []Bound{f.Work(), f.Rush(start), f.Lull(), f.Crews(start), narrow.Rush(start), narrow.Lull(),
		narrow.Crews(start), priced}
}

func TestNoBoundIsAboveTheOptimum(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := tiny(r)
		start := rapid.SampledFrom([]Start{Prescient, Causal}).Draw(r, "start")
		f, err := Read(p)
		if err != nil {
			r.Fatal(err)
		}
		best := optimum(t, p, start)
		for _, b := range each(r, f, start, 60) {
			if b.WorkerSeconds > best || b.Unreachable && !math.IsInf(best, 1) {
				r.Fatalf("bound %+v is above the optimum, %v", b, best)
			}
		}
		s, err := Oracle(p, start)
		if err != nil {
			r.Fatal(err)
		}
		if s.Kept && s.WorkerSeconds < best {
			r.Fatalf("schedule %+v is below the optimum, %v", s, best)
		}
	})
}

// Small cases in which the best bound has to be near the optimum, each for a reason of its own.
func TestBoundsAreTight(t *testing.T) {
	const s = time.Second
	message := func(at, service time.Duration) trace.Message { return trace.Message{Arrival: at, Service: service} }
	for _, row := range []struct {
		name     string
		messages []trace.Message
		latency  time.Duration
		boot     time.Duration
		method   string
		optimum  float64
		share    float64
	}{
		{"one message", []trace.Message{message(0, 3*s)}, 5 * s, 4 * s, "work", 7, 1},
		{"a gap longer than a boot", []trace.Message{message(0, 2*s), message(20*s, 2*s)}, 4 * s, 5 * s, "lull", 14, 1},
		{"a gap shorter than a boot", []trace.Message{message(0, 2*s), message(9*s, 2*s)}, 4 * s, 6 * s, "lull", 15, 1},
		{"two at once that do not fit one after the other", []trace.Message{message(0, 3*s), message(0, 3*s)}, 5 * s,
			4 * s, "rush", 14, 1},
		{"three at once of which two fit", []trace.Message{message(0, 3*s), message(0, 3*s), message(0, 3*s)}, 7 * s,
			4 * s, "rush", 17, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := Problem{Trace: trace.Of(row.name, row.messages...), Latency: row.latency, Quantile: 1, Boot: row.boot,
				Slots: 1}
			if best := optimum(t, p, Prescient); best != row.optimum {
				t.Fatalf("the optimum is %v, want %v", best, row.optimum)
			}
			f, err := Read(p)
			if err != nil {
				t.Fatal(err)
			}
			l, err := Strongest(f, 300)
			if err != nil {
				t.Fatal(err)
			}
			if got := l.Prescient; got.WorkerSeconds < row.share*row.optimum-1e-6 || got.WorkerSeconds > row.optimum ||
				got.Method != row.method {
				t.Errorf("the bound is %v by %s, want %v of %v by %s", got.WorkerSeconds, got.Method, row.share,
					row.optimum, row.method)
			}
			if s, err := Oracle(p, Prescient); err != nil || s.WorkerSeconds > 1.01*row.optimum {
				t.Errorf("the schedule is %+v, %v, want about %v worker-seconds", s, err, row.optimum)
			}
		})
	}
}

// Late work may fill idle time, so idle time beside it costs nothing.
func TestLateWorkFillsIdleTime(t *testing.T) {
	const s = time.Second
	p := Problem{
		Trace: trace.Of("filled", trace.Message{Service: 2 * s}, trace.Message{Service: 5 * s},
			trace.Message{Arrival: 9 * s, Service: 2 * s}),
		Latency: 4 * s, Quantile: 1, Boot: 6 * s, Slots: 1,
	}
	if best := optimum(t, p, Prescient); best != 15 {
		t.Fatalf("the optimum is %v, want 15: a boot, and nine seconds without a gap", best)
	}
	f, err := Read(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range each(t, f, Prescient, 60) {
		if b.WorkerSeconds > 15 {
			t.Errorf("bound %+v is above the optimum, 15", b)
		}
	}
}

// One of 91 messages may be late, the long one. Three groups of thirty short ones arrive at 0 s, 15 s and 27 s. A
// worker that serves the first group until its deadline, 6 s, and another that serves the second from 20.7 s until 21
// s, then the long message, and then the third group, are never idle: two boots and 6.9 s.
func TestAnExcusedMessageFillsIdleTime(t *testing.T) {
	all := []trace.Message{{Service: 6 * time.Second}}
	for _, at := range []time.Duration{0, 15 * time.Second, 27 * time.Second} {
		for range 30 {
			all = append(all, trace.Message{Arrival: at, Service: 10 * time.Millisecond})
		}
	}
	p := Problem{Trace: trace.Of("filled", all...), Latency: 6 * time.Second, Quantile: 0.985, Boot: 8 * time.Second,
		Slots: 1}
	f, err := Read(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range each(t, f, Prescient, 60) {
		if b.WorkerSeconds > 22.9 {
			t.Errorf("bound %+v is above what a schedule pays, 22.9", b)
		}
	}
}
