package limit

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/trace"
)

func burst(n int, service time.Duration) trace.Trace {
	all := make([]trace.Message, n)
	for i := range all {
		all[i].Service = service
	}
	return trace.Of("burst", all...)
}

// The test of the dynamic target: 50 messages at once, an objective of 300 s, a boot of 90 s, one slot. Within 300 s a
// worker finishes 12 messages of 25 s or 6 of 50 s; if it is launched with the first message, 8 or 4.
func TestBurstsAreExact(t *testing.T) {
	for _, row := range []struct {
		name    string
		service time.Duration
		start   Start
		workers int
		want    float64
	}{
		{"25 s, launched ahead", 25 * time.Second, Prescient, 5, 1700},
		{"50 s, launched ahead", 50 * time.Second, Prescient, 9, 3310},
		{"25 s, launched with the first message", 25 * time.Second, Causal, 7, 1880},
		{"50 s, launched with the first message", 50 * time.Second, Causal, 13, 3670},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := Problem{Trace: burst(50, row.service), Latency: 300 * time.Second, Quantile: 0.99,
				Boot: 90 * time.Second, Slots: 1}
			f, err := Read(p)
			if err != nil {
				t.Fatal(err)
			}
			l, err := Strongest(f, 0)
			if err != nil {
				t.Fatal(err)
			}
			bound := map[Start]Bound{Prescient: l.Prescient, Causal: l.Causal}[row.start]
			if bound.WorkerSeconds > row.want || bound.WorkerSeconds < row.want-1e-3 {
				t.Errorf("%s bound is %v, want %v", bound.Method, bound.WorkerSeconds, row.want)
			}
			s, err := Oracle(p, row.start)
			if err != nil {
				t.Fatal(err)
			}
			if s.WorkerSeconds != row.want || s.Workers != row.workers || !s.Kept {
				t.Errorf("the best schedule is %+v, want %v worker-seconds with %d workers", s, row.want, row.workers)
			}
			b, _ := f.Prices(row.start, 0)
			t.Log(b.WorkerSeconds, b.Method)
		})
	}
}
