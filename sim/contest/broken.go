package contest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-scale/muster/sim/scoring"
)

// Broken returns an error when a run has a fault. Its figures mean nothing then.
func Broken(results []scoring.Result) error {
	for _, r := range results {
		if len(r.Faults) > 0 {
			return fmt.Errorf("%s on %s, seed %d: the simulator violated an invariant, please report it: %s",
				r.Policy, r.Trace, r.Seed, strings.Join(slices.Compact(r.Faults), "; "))
		}
	}
	return nil
}
