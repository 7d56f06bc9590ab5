package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/tree"
)

// levelsOf counts the nodes of a tree that was worked on, by depth.
func levelsOf(root trace.Message) []tree.Level {
	var levels []tree.Level
	for level := []trace.Message{root}; len(level) > 0; {
		l := tree.Level{Created: int64(len(level)), Done: int64(len(level))}
		var below []trace.Message
		for _, m := range level {
			l.Bred += int64(len(m.Children))
			l.BredSquares += int64(len(m.Children)) * int64(len(m.Children))
			below = append(below, m.Children...)
		}
		levels, level = append(levels, l), below
	}
	return levels
}

// TestATreeLikeAnEarlierOneIsDoneSooner works on trees of which the shape is known from another of their kind.
func TestATreeLikeAnEarlierOneIsDoneSooner(t *testing.T) {
	// What each may take at the most, and how much sooner it must be done, both in proportion to the least.
	may := map[string]struct{ time, cost, sooner float64 }{
		"wide": {1.15, 1.2, 0.02}, "slow": {1.15, 1.2, 0.08}, "skewed": {1.35, 1.2, 0.06},
		"deep": {1.15, 1.7, 0.04}, // what the levels have on average is spread over time more than they are
	}
	for _, s := range shapes() {
		most, listed := may[s.name]
		if !listed {
			continue // the bound is reached without
		}
		var alone, like treeRun
		for seed := uint64(1); seed <= 5; seed++ {
			earlier := s.grow(dice{rand.New(rand.NewPCG(seed+100, 0x7ee))})
			all := treeNodes(earlier)
			work, _ := sumOf(all)
			spec := policy.Spec{Name: "exact",
				Processing: time.Duration(work / float64(len(all)) * float64(time.Second))}
			for _, x := range []*treeRun{&alone, &like} {
				var before []tree.Level
				if x == &like {
					before = levelsOf(earlier)
				}
				run := runTreeLike(t, s, spec, treeWorkers, seed, true, before)
				x.time, x.cost = x.time+run.time/5, x.cost+run.cost/5
			}
		}
		if like.time > most.time || like.cost > most.cost || like.time > alone.time-most.sooner {
			t.Errorf("%s: time %.3f and cost %.3f, want at most %v and %v, and a time at least %v below %.3f", s.name,
				like.time, like.cost, most.time, most.cost, most.sooner, alone.time)
		}
		t.Logf("%-8s time %.2f and cost %.2f, alone %.2f and %.2f", s.name, like.time, like.cost, alone.time,
			alone.cost)
	}
}
