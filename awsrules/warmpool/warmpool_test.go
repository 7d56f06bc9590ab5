package warmpool

import "testing"

// The rows are the examples of the user guide, and the extremes around them.
func TestAPoolHasItsPublishedSize(t *testing.T) {
	for _, c := range []struct {
		name          string
		pool          Pool
		desired, want int
	}{
		{"by default up to the maximum size of the group", Pool{Prepared: 10}, 8, 2},
		{"a group at its maximum has an empty pool", Pool{Prepared: 10}, 10, 0},
		{"a stated prepared capacity in place of the maximum", Pool{Prepared: 12}, 8, 4},
		{"a prepared capacity below the desired capacity", Pool{Prepared: 6}, 8, 0},
		{"the least size counts where the other is smaller", Pool{Min: 5, Prepared: 10}, 8, 5},
		{"the least size does not count where the other is larger", Pool{Min: 1, Prepared: 10}, 4, 6},
		{"both equal: the same at any size", Of(3), 100, 3},
		{"both equal, and an empty group", Of(3), 0, 3},
		{"no pool", Pool{}, 7, 0},
	} {
		if got := c.pool.Size(c.desired); got != c.want {
			t.Errorf("%s: found a pool of %d, want %d", c.name, got, c.want)
		}
	}
}

func TestAPoolLaunchesWhatItLacksAndEndsWhatIsTooMuch(t *testing.T) {
	p := Pool{Prepared: 10}
	for have, want := range map[int]int{0: 2, 1: 1, 2: 0, 5: -3} {
		if got := p.Lacks(8, have); got != want {
			t.Errorf("with %d instances the pool lacks %d, want %d", have, got, want)
		}
	}
}
