package stepscaling

import (
	"math"
	"testing"
)

func TestPercentagesAreRoundedAsPublished(t *testing.T) {
	for _, row := range []struct {
		name     string
		capacity int
		percent  float64
		least    int
		want     int
	}{
		{"12.7 is 12", 100, 12.7, 0, 112},
		{"0.67 is 1", 10, 6.7, 0, 11},
		{"-0.58 is -1", 10, -5.8, 0, 9},
		{"-6.67 is -6", 100, -6.67, 0, 94},
		{"nothing is nothing", 10, 0, 0, 10},
		{"all of one", 1, -100, 0, 0},
		{"below zero is zero", 4, -300, 0, 0},
		{"68.99999999999999 is 69", 375, 18.4, 0, 444},
		{"a percentage of nothing is nothing", 0, 50, 0, 0},
		{"the least magnitude: a quarter of 4 is 1, made 2", 4, 25, 2, 6},
		{"downwards too", 4, -25, 2, 2},
		{"a percentage above it counts", 10, 50, 2, 15},
		{"and it lifts a capacity off zero", 0, 50, 1, 1},
	} {
		c := Change{Type: PercentChangeInCapacity, Adjustment: row.percent, MinMagnitude: row.least}
		if got := c.Of(row.capacity); got != row.want {
			t.Errorf("%s: %g %% of %d, at least %d: %d, want %d", row.name, row.percent, row.capacity, row.least, got,
				row.want)
		}
	}
}

func TestTheOtherTypesAreNumbersOfInstances(t *testing.T) {
	for _, row := range []struct {
		change         Change
		capacity, want int
	}{
		{Change{Type: ChangeInCapacity, Adjustment: 3}, 10, 13},
		{Change{Type: ChangeInCapacity, Adjustment: -3}, 2, 0},
		{Change{Type: ExactCapacity, Adjustment: 7}, 10, 7},
		{Change{Type: ExactCapacity, Adjustment: -7}, 10, 0},
		{Change{Type: ChangeInCapacity, Adjustment: 1e300}, 10, math.MaxInt32},
	} {
		if got := row.change.Of(row.capacity); got != row.want {
			t.Errorf("%+v of %d: %d, want %d", row.change, row.capacity, got, row.want)
		}
	}
}

// TestTheBoundNearerToTheThresholdIsIncluded holds the published example: an alarm at 50 with +10 % from 60 and +30 %
// from 70, and one at 50 with -10 % up to 40 and -30 % up to 30.
func TestTheBoundNearerToTheThresholdIsIncluded(t *testing.T) {
	percent := func(lower, upper, by float64) Step {
		return Step{Lower: lower, Upper: upper, Change: Change{Type: PercentChangeInCapacity, Adjustment: by}}
	}
	out := []Step{percent(0, 10, 0), percent(10, 20, 10), percent(20, math.Inf(1), 30)}
	in := []Step{percent(-10, 0, 0), percent(-20, -10, -10), percent(math.Inf(-1), -20, -30)}
	for _, row := range []struct {
		metric float64
		steps  []Step
		want   float64
	}{
		{50, out, 0}, {59.9, out, 0}, {60, out, 10}, {69.9, out, 10}, {70, out, 30}, {1000, out, 30},
		{50, in, 0}, {40.1, in, 0}, {40, in, -10}, {30.1, in, -10}, {30, in, -30}, {0, in, -30},
	} {
		s, k := Find(row.steps, row.metric-50)
		if k < 0 || s.Change.Adjustment != row.want {
			t.Errorf("a metric of %g: step %d with %g %%, want %g %%", row.metric, k, s.Change.Adjustment, row.want)
		}
	}
	if _, k := Find(out, -1); k >= 0 {
		t.Errorf("a metric below the threshold is in step %d, want none", k)
	}
}
