package validate

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/app/demo"
)

func pair(real, simulated float64) [2][]demo.Result {
	r := []demo.Result{{Name: "test-1", Policy: "exact", WorkerSeconds: real, P95: 10}}
	s := []demo.Result{{Name: "test-1", Policy: "exact", WorkerSeconds: simulated, P95: 10}}
	return [2][]demo.Result{r, s}
}

func TestRepetitionsAreComparedPairByPair(t *testing.T) {
	for _, x := range []struct {
		name   string
		all    [][2][]demo.Result
		off    float64
		passes bool
	}{
		{"the same", [][2][]demo.Result{pair(100, 100)}, 0, true},
		{"a little more each time", [][2][]demo.Result{pair(100, 104), pair(200, 208), pair(50, 52)}, 0.04, true},
		{"one repetition went another way", [][2][]demo.Result{pair(100, 101), pair(100, 150), pair(100, 99)}, 0.01,
			true},
		{"most went another way", [][2][]demo.Result{pair(100, 90), pair(100, 92), pair(100, 100)}, -0.08, false},
		{"means that agree by chance", [][2][]demo.Result{pair(100, 120), pair(120, 145), pair(145, 100)}, 0.2, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			rows := compareDemos(x.all)
			if len(rows) != 2 || rows[0].Figure != "worker-seconds" || rows[0].Off < x.off-1e-9 ||
				rows[0].Off > x.off+1e-9 || rows[1].Off != 0 {
				t.Fatalf("found %+v, want a difference of %v in worker-seconds and none in p95", rows, x.off)
			}
			err := Disagreement(rows, 0.05)
			if (err == nil) != x.passes {
				t.Errorf("found %v, passes should be %v", err, x.passes)
			}
			if err != nil && !strings.Contains(err.Error(), "test-1 under exact: the simulator is off by") {
				t.Errorf("found %v, want it to say where", err)
			}
		})
	}
}

// What a simulated run is told is what it does: nothing is drawn, so it is the same each time.
func TestASimulatedDemoIsWhatItsCircumstancesMakeIt(t *testing.T) {
	_, runs := demo.Config(t.TempDir(), "muster")
	var c circumstances
	for range demo.Messages {
		c.sent = append(c.sent, 10*time.Millisecond)
		c.work = append(c.work, 1250*time.Millisecond)
	}
	c.boots = []time.Duration{demo.Boot}
	for _, r := range runs {
		if r.Test.Name != "test-1" {
			continue
		}
		first, err := simulateDemo(r, c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := simulateDemo(r, c)
		if err != nil || again != first {
			t.Errorf("%s: found %+v (%v), then %+v", r.Fleet.Name, first, err, again)
		}
		if first.Processed != demo.Messages || first.Twice > 0 || first.P95 <= 0 || first.WorkerSeconds < 50*1.25 {
			t.Errorf("%s: found %+v, want all messages once", r.Fleet.Name, first)
		}
		if r.Fleet.Policy.Name == "exact" && (first.PeakWorkers != demo.Max || first.P95 < 7 || first.P95 > 7.2) {
			t.Errorf("exact gives each message a worker up to %d, the second half waits for the first: found %+v",
				demo.Max, first)
		}
	}
}

func TestTheWayToTheNextMessageIsMeasured(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	for _, x := range []struct {
		name    string
		workers map[string][]time.Time
		want    time.Duration
	}{
		{"nobody worked", nil, 0},
		{"one message each tells nothing", map[string][]time.Time{"a": {at(0)}, "b": {at(9)}}, 0},
		{"the mean over all workers", map[string][]time.Time{"a": {at(300), at(100), at(200)}, "b": {at(50), at(110)}},
			86*time.Millisecond + 666*time.Microsecond + 666},
	} {
		if got := pace(x.workers); got != x.want {
			t.Errorf("%s: found %s, want %s", x.name, got, x.want)
		}
	}
}
