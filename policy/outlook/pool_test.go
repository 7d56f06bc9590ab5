package outlook

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/durations"
)

func boots(seconds float64) muster.Estimate {
	return muster.Estimate{Known: true, Prior: true, MeanSeconds: seconds, P50Seconds: seconds, P95Seconds: seconds,
		P99Seconds: seconds}
}

func TestWorkersThatComeFromThePoolAreExpectedSooner(t *testing.T) {
	o := muster.Observation{
		Poll: time.Second, Objective: muster.Objective{Latency: 300 * time.Second, Quantile: 0.99}, Boot: boots(90),
		Pool:     &muster.Pool{Boot: boots(15)},
		Capacity: muster.Capacity{Known: true, Booting: 3, SlotsPerWorker: 1},
		Coming:   []muster.Coming{{AgeSeconds: 10, Members: 3, Warm: 2}},
	}
	w := newWaitModel(o, durations.Work{Mean: 10}, 6)
	if want := []pendingSlots{{5, 2}, {80, 1}, {90, 3}}; !slices.Equal(w.pending, want) {
		t.Fatalf("the outlook expects %+v, want %+v", w.pending, want)
	}
}

// The page with the formulas gives this example.
func TestArithmeticOfTheLongRun(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "arithmetic.md"))
	if err != nil {
		t.Fatal(err)
	}
	w := waitModel{mean: 10, variation: 1, latency: 300}
	long := w.longRun(muster.Arrivals{Known: true, FiveMinutes: 0.3}, 4)
	worked := fmt.Sprintf("*Worked*: 4 slots of which 3 are busy on average make a message wait with the probability "+
		"%s; with work of 10 s that varies by as much, messages take %s s in the long run.",
		render.Number(math.Round(erlangC(4, 3)*1000)/1000), render.Number(math.Round(long.Seconds*10)/10))
	if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), worked) {
		t.Errorf("docs/arithmetic.md does not say what the code computes:\n%s", worked)
	}
}
