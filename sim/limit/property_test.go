package limit

import (
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/trace"
	"pgregory.net/rapid"
)

// small draws a problem with up to twenty messages and every kind of limit.
func small(t *rapid.T) Problem {
	var all []trace.Message
	at := 0
	for range rapid.IntRange(1, 20).Draw(t, "messages") {
		at += rapid.SampledFrom([]int{0, 0, 1, 3, 20}).Draw(t, "gap")
		all = append(all, trace.Message{Arrival: time.Duration(at) * time.Second,
			Service: time.Duration(rapid.IntRange(0, 12).Draw(t, "service")) * time.Second})
	}
	p := Problem{
		Trace:    trace.Of("small", all...),
		Latency:  time.Duration(rapid.IntRange(1, 30).Draw(t, "latency")) * time.Second,
		Quantile: rapid.SampledFrom([]float64{0.5, 0.9, 0.99, 1}).Draw(t, "quantile"),
		Boot:     time.Duration(rapid.IntRange(0, 20).Draw(t, "boot")) * time.Second,
		Slots:    rapid.IntRange(1, 3).Draw(t, "slots"),
		Min:      rapid.IntRange(0, 2).Draw(t, "min"), Shed: rapid.Bool().Draw(t, "shed"),
	}
	if rapid.Bool().Draw(t, "limited") {
		p.Max = p.Min + rapid.IntRange(1, 4).Draw(t, "more")
	}
	return p
}

func TestNoBoundIsAboveASchedule(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := small(r)
		start := rapid.SampledFrom([]Start{Prescient, Causal}).Draw(r, "start")
		s, err := Oracle(p, start)
		if err != nil {
			r.Fatal(err)
		}
		f, err := Read(p)
		if err != nil {
			r.Fatal(err)
		}
		for _, b := range each(r, f, start, 60) {
			if s.Kept && (b.WorkerSeconds > s.WorkerSeconds || b.Unreachable) {
				r.Fatalf("bound %+v is above what a schedule pays: %+v", b, s)
			}
		}
	})
}

// With a longer objective there is more freedom, with a longer boot less. All services fit into the shorter objective,
// so that the same messages count.
func TestBoundsFollowTheObjectiveAndTheBoot(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := small(r)
		p.Latency += 12 * time.Second
		longer := p
		longer.Latency += time.Duration(rapid.IntRange(0, 30).Draw(r, "more latency")) * time.Second
		slower := p
		slower.Boot += time.Duration(rapid.IntRange(0, 30).Draw(r, "more boot")) * time.Second
		bounds := func(p Problem) []Bound {
			f, err := Read(p)
			if err != nil {
				r.Fatal(err)
			}
			return []Bound{f.Work(), f.Rush(Prescient), f.Rush(Causal), f.Lull()}
		}
		// The best fee is found by a search that ends within a millionth.
		const near = 1 + 1e-6
		for i, b := range bounds(p) {
			if l := bounds(longer)[i]; !b.Unreachable && l.WorkerSeconds > near*b.WorkerSeconds {
				r.Errorf("%s rises from %v to %v with the objective", b.Method, b.WorkerSeconds, l.WorkerSeconds)
			}
			if s := bounds(slower)[i]; !s.Unreachable && near*s.WorkerSeconds < b.WorkerSeconds {
				r.Errorf("%s falls from %v to %v with the boot", b.Method, b.WorkerSeconds, s.WorkerSeconds)
			}
		}
	})
}

func TestPricesStayFairWithALongerBoot(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := small(r)
		f, err := Read(p)
		if err != nil {
			r.Fatal(err)
		}
		for f.length() > 60 {
			f = f.wider()
		}
		before, err := f.Prices(Prescient, 200)
		if err != nil {
			r.Fatal(err)
		}
		slower := *f
		slower.problem.Boot += time.Duration(rapid.IntRange(0, 30).Draw(r, "more boot")) * time.Second
		after, err := Check(&slower, *before.Certificate)
		if err != nil || after.WorkerSeconds < before.WorkerSeconds {
			r.Fatalf("the same prices prove %v, then %v with a longer boot: %v", before.WorkerSeconds,
				after.WorkerSeconds, err)
		}
	})
}

// However a profile is coarsened, nothing is lost of what the bounds need to stay bounds.
func TestWiderSlotsKeepTheSums(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f, err := Read(small(r))
		if err != nil {
			r.Fatal(err)
		}
		w := f
		times := rapid.IntRange(1, 12).Draw(r, "times")
		for range times {
			w = w.wider()
		}
		first, last := map[int]time.Duration{}, map[int]time.Duration{}
		for g, s := range f.slots {
			if len(s.classes) > 0 {
				if _, seen := first[g>>times]; !seen {
					first[g>>times] = s.first
				}
				last[g>>times] = s.last
			}
		}
		for g, s := range w.slots {
			if len(s.classes) > 0 && (s.first != first[g] || s.last != last[g]) {
				r.Fatalf("arrivals in slot %d of time are from %v to %v, were from %v to %v", g, s.first, s.last,
					first[g], last[g])
			}
		}
		sum := func(f *Profile) (work time.Duration, count int64) {
			for _, s := range f.slots {
				work += s.beyond
				for _, c := range s.classes {
					work, count = work+c.work, count+c.count
					atoms := c.atoms()
					if atoms[0].work+atoms[1].work != c.work || atoms[0].work < 0 || atoms[1].work < 0 {
						r.Fatalf("atoms %v do not add up to %v", atoms, c.work)
					}
				}
			}
			return work, count
		}
		workBefore, countBefore := sum(f)
		workAfter, countAfter := sum(w)
		if workBefore != f.work || workAfter != f.work || countBefore != f.attainable || countAfter != f.attainable {
			r.Fatalf("work %v and %d messages become %v and %d; read were %v and %d", workBefore, countBefore,
				workAfter, countAfter, f.work, f.attainable)
		}
	})
}

// The audit is what makes a schedule an upper bound, so it has to refuse what is none.
func TestTheAuditRefusesWhatIsNoSchedule(t *testing.T) {
	const s = time.Second
	jobs := []job{{0, 4 * s, 6 * s}, {2 * s, 4 * s, 8 * s}}
	for _, row := range []struct {
		name   string
		places []placed
		ready  time.Duration
		max    int
		want   bill
		fault  bool
	}{
		{"one after the other", []placed{{0, 0}, {0, 4 * s}}, 0, 0, bill{13 * s, 0, 1, 1}, false},
		{"a gap as long as the boot", []placed{{0, 0}, {0, 9 * s}}, 0, 0, bill{18 * s, 1, 1, 1}, false},
		{"a gap longer than the boot", []placed{{0, 0}, {0, 13 * s}}, 0, 0, bill{18 * s, 1, 2, 1}, false},
		{"side by side", []placed{{0, 0}, {1, 2 * s}}, 0, 0, bill{18 * s, 0, 2, 2}, false},
		{"left undone", []placed{{0, 0}, {-1, 0}}, 0, 0, bill{9 * s, 1, 1, 1}, false},
		{"two in one slot", []placed{{0, 0}, {0, 3 * s}}, 0, 0, bill{}, true},
		{"before it arrives", []placed{{0, 0}, {1, s}}, 0, 0, bill{}, true},
		{"before the worker is ready", []placed{{0, 0}, {0, 4 * s}}, s, 0, bill{}, true},
		{"more workers than allowed", []placed{{0, 0}, {1, 2 * s}}, 0, 1, bill{}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := Problem{Trace: burst(2, s), Slots: 1, Boot: 5 * s, Max: row.max}
			got, err := audit(p, jobs, slices.Clone(row.places), row.ready, 2*s)
			if (err != nil) != row.fault || !row.fault && got != row.want {
				t.Errorf("the audit says %+v, %v; want %+v, fault %v", got, err, row.want, row.fault)
			}
		})
	}
}
