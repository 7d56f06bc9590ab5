package spot

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestInterruptionsComeAtTheirRate(t *testing.T) {
	draws := rand.New(rand.NewPCG(1, 2))
	const instances = 200_000
	var sum float64
	for range instances {
		sum += Until(4, Exponential(draws.Float64())).Hours()
	}
	if mean := sum / instances; math.Abs(mean-0.25) > 0.005 {
		t.Errorf("four interruptions an hour: found %.4f hours between them in the mean, want 0.25", mean)
	}
}

func TestAnInterruptionIsNeverBeforeTheLaunchAndNeverTooLate(t *testing.T) {
	for _, c := range []struct {
		name             string
		perHour, uniform float64
		want             time.Duration
	}{
		{"the smallest number", 2, 0, 0},
		{"the median", 1, 0.5, 2495330 * time.Millisecond},
		{"a rate of almost nothing", 1e-12, 0.5, longest},
	} {
		got := Until(c.perHour, Exponential(c.uniform))
		if d := got - c.want; d.Abs() > time.Millisecond {
			t.Errorf("%s: found %s, want %s", c.name, got, c.want)
		}
	}
}
