package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
	"github.com/muster-scale/muster/tree"
)

// shape is a kind of tree.
type shape struct {
	name string
	grow func(d dice) trace.Message
}

// lasting draws a lognormal duration.
func (d dice) lasting(mean time.Duration, cv float64) time.Duration {
	return world.Draw{Mean: mean, CV: cv}.Next(d.Rand)
}

// shapes are the trees that the goals are measured on.
func shapes() []shape {
	leaves := func(d dice, n int, mean time.Duration, cv float64) (all []trace.Message) {
		for range n {
			all = append(all, trace.Message{Service: d.lasting(mean, cv)})
		}
		return all
	}
	return []shape{
		{"wide", func(d dice) trace.Message { // 50 folders of 20 to 60 files
			root := trace.Message{Service: d.lasting(5*time.Second, 0.3)}
			for range 50 {
				root.Children = append(root.Children,
					trace.Message{Service: d.lasting(5*time.Second, 0.3),
						Children: leaves(d, d.between(20, 60), 10*time.Second, 0.5)})
			}
			return root
		}},
		{"deep", func(d dice) trace.Message { // a dozen at a time, 36 levels down
			below := leaves(d, 12, 10*time.Second, 0.3)
			for range 35 {
				level := leaves(d, 12, 10*time.Second, 0.3)
				for _, child := range below {
					i := d.IntN(len(level))
					level[i].Children = append(level[i].Children, child)
				}
				below = level
			}
			return trace.Message{Service: 10 * time.Second, Children: below}
		}},
		{"skewed", func(d dice) trace.Message { // nearly everything is below one of twenty
			root := trace.Message{Service: d.lasting(5*time.Second, 1), Children: leaves(d, 19, 20*time.Second, 1)}
			var grow func(level int) trace.Message
			grow = func(level int) trace.Message {
				m := trace.Message{Service: d.lasting(8*time.Second, 1)}
				for n := d.between(2, 4); level > 0 && n > 0; n-- {
					m.Children = append(m.Children, grow(level-1))
				}
				return m
			}
			root.Children = append(root.Children, grow(6))
			return root
		}},
		{"slow", func(d dice) trace.Message { // three children each, of a minute or so
			var grow func(level int) trace.Message
			grow = func(level int) trace.Message {
				m := trace.Message{Service: d.lasting(60*time.Second, 0.4)}
				for n := 3; level > 0 && n > 0; n-- {
					m.Children = append(m.Children, grow(level-1))
				}
				return m
			}
			return grow(4)
		}},
		{"account", func(d dice) trace.Message { // a bucket: prefixes of all sizes, some of them dozens of levels deep
			var grow func(level int) trace.Message
			grow = func(level int) trace.Message {
				m := trace.Message{Service: d.lasting(15*time.Second, 1)}
				if level == 0 {
					return m
				}
				n := 1
				switch {
				case level > 28:
					n = d.between(2, 5)
				case d.IntN(5) == 0:
					n = d.between(0, 5)
				}
				for range n {
					below := level - 1
					if d.IntN(6) == 0 {
						below = min(below, d.IntN(6))
					}
					m.Children = append(m.Children, grow(below))
				}
				return m
			}
			return grow(32)
		}},
	}
}

// treeNode is one node of a tree whose durations are known. Its place in a list comes after that of its parent.
type treeNode struct {
	parent  int
	service float64
	// earliest is when it can begin, after the root's begin; tail is the longest way from its begin to an end.
	earliest, tail float64
}

// treeNodes lists the nodes of a tree.
func treeNodes(root trace.Message) []treeNode {
	var all []treeNode
	var list func(m trace.Message, parent int)
	list = func(m trace.Message, parent int) {
		j := treeNode{parent: parent, service: m.Service.Seconds()}
		if parent >= 0 {
			j.earliest = all[parent].earliest + all[parent].service + m.Arrival.Seconds()
		}
		at := len(all)
		all = append(all, j)
		for _, c := range m.Children {
			list(c, at)
		}
	}
	list(root, -1)
	for i := len(all) - 1; i >= 0; i-- {
		all[i].tail += all[i].service
		if p := all[i].parent; p >= 0 {
			all[p].tail = math.Max(all[p].tail, all[i].tail)
		}
	}
	return all
}

// sumOf returns the work of all nodes, and that of the longest way.
func sumOf(all []treeNode) (work, span float64) {
	for _, j := range all {
		work += j.service
	}
	return work, all[0].tail
}

// leastCost is a bound that no schedule is below which ends the tree within so many seconds, in worker-seconds from
// launch to end: the work, and a boot for each worker. No work begins before the first boot is over. How many workers
// there must be follows from what must be done between two instants however the nodes are put off or hurried (Fernandez
// and Bussell, 1973).
func leastCost(all []treeNode, boot, within float64) float64 {
	work, _ := sumOf(all)
	const grid = 48
	at := func(i int) float64 { return boot + (within-boot)*float64(i)/grid }
	must := make([][grid + 1]float64, grid)
	for _, j := range all {
		end, begin := boot+j.earliest+j.service, within-j.tail // the earliest end and the latest begin
		for a := range grid {
			if end <= at(a) {
				break
			}
			for b := grid; b > a && begin < at(b); b-- {
				must[a][b] += math.Min(math.Min(j.service, at(b)-at(a)), math.Min(end-at(a), at(b)-begin))
			}
		}
	}
	workers := 1.0
	for a := range must {
		for b := a + 1; b <= grid; b++ {
			workers = math.Max(workers, math.Ceil(must[a][b]/(at(b)-at(a))-1e-9))
		}
	}
	return work + workers*boot
}

// treeRun is what a tree came to under a policy, in proportion to its bounds.
type treeRun struct {
	nodes               int
	bound, time, cost   float64
	wait                float64 // the mean, in seconds
	launches, reversals int
}

// treeBoot and treeWorkers are the world that the goals are for: each worker has one slot.
const treeBoot, treeWorkers = 30 * time.Second, 40

func runTree(t testing.TB, s shape, spec policy.Spec, workers int, seed uint64, foresee bool) treeRun {
	return runTreeLike(t, s, spec, workers, seed, foresee, nil)
}

// runTreeLike is runTree of a tree that is like an earlier one with the given levels.
func runTreeLike(t testing.TB, s shape, spec policy.Spec, workers int, seed uint64, foresee bool,
	before []tree.Level) treeRun {
	root := s.grow(dice{rand.New(rand.NewPCG(seed, 0x7ee))})
	all := treeNodes(root)
	work, span := sumOf(all)
	settings, err := controller.NewSettings(controller.Settings{
		Fleet: "f", Queues: []string{"q"}, Spec: spec,
		Objective: muster.Objective{Latency: 5 * time.Minute, Quantile: 0.95},
		Limits:    muster.Limits{Max: workers, LaunchesPerHour: 10_000}, BootPrior: treeBoot,
	})
	if err != nil {
		t.Fatal(err)
	}
	last := time.Duration(0)
	res := ran(t, Options{
		Settings: settings, Trace: trace.Of(s.name, root), Seed: seed, before: before,
		World: world.World{Boot: world.Draw{Mean: treeBoot}, Wakes: true, IdleStop: 10 * time.Second,
			Exit: 100 * time.Millisecond, Trees: foresee},
		Finished: func(_, finished time.Duration) { last = max(last, finished) },
	})
	bound := treeBoot.Seconds() + math.Max(span, work/float64(workers))
	return treeRun{
		nodes: len(all), bound: bound, time: last.Seconds() / bound,
		cost: res.WorkerSeconds / leastCost(all, treeBoot.Seconds(), last.Seconds()),
		wait: res.MeanWait, launches: res.Launches, reversals: res.Reversals,
	}
}

// medianOf returns the run with the middle figures of several seeds.
func medianOf(t testing.TB, s shape, spec policy.Spec, seeds uint64, foresee bool) treeRun {
	var all []treeRun
	for seed := uint64(1); seed <= seeds; seed++ {
		x := runTree(t, s, spec, treeWorkers, seed, foresee)
		if x.time < 1 || x.cost < 1-1e-9 {
			t.Errorf("%s, seed %d: time %.3f, cost %.3f; none can be below its bound", s.name, seed, x.time, x.cost)
		}
		all = append(all, x)
	}
	figure := func(of func(treeRun) float64) float64 {
		values := make([]float64, 0, len(all))
		for _, x := range all {
			values = append(values, of(x))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return treeRun{
		nodes:     int(figure(func(x treeRun) float64 { return float64(x.nodes) })),
		bound:     figure(func(x treeRun) float64 { return x.bound }),
		time:      figure(func(x treeRun) float64 { return x.time }),
		cost:      figure(func(x treeRun) float64 { return x.cost }),
		launches:  int(figure(func(x treeRun) float64 { return float64(x.launches) })),
		reversals: int(figure(func(x treeRun) float64 { return float64(x.reversals) })),
	}
}

// wholeTrees is the policy that the goals are for, eachNode the one that has a slot for each node that waits.
func wholeTrees() policy.Spec { return policy.Spec{Name: "exact", Trees: policy.TreesWhole} }
func eachNode() policy.Spec   { return policy.Spec{Name: "exact"} }

// TestTreesAreDoneSoonAndAtLittleCost holds the policy exact to what a tree may take, in proportion to the time that no
// schedule is below and to the cost that none which is as soon is below. Sized for whole trees it meets both goals, but
// for a time that no size makes shorter than 1.2: see TestNoSizeIsInTimeForASkewedTree. With MUSTER_TREES set it prints
// the tables of docs/trees.md.
func TestTreesAreDoneSoonAndAtLittleCost(t *testing.T) {
	const goalTime, goalCost = 1.15, 1.2
	type most struct{ time, cost float64 }
	goals := most{goalTime, goalCost}
	if os.Getenv("MUSTER_TREES") != "" {
		printTrees(t)
	}
	for _, row := range []struct {
		spec policy.Spec
		may  map[string]most // where it is not the goals
	}{
		{wholeTrees(), map[string]most{"skewed": {1.38,
			goalCost}}}, // in the queue's order 1.22 with all workers there at once
		{eachNode(), map[string]most{
			"slow":   {1.18, goalCost}, // four levels in a row begin with a boot
			"deep":   {goalTime, 1.4},  // a dozen nodes at a time come in twos and threes, and each gets a worker
			"skewed": {1.5, goalCost},  // two boots are half of its time: no policy can know before how large it is
		}},
	} {
		for _, s := range shapes() {
			if s.name == "account" && (slowdown > 1 || row.spec.Trees == "") {
				// it takes long, and shows nothing with the race detector or of this policy that the others do not
				continue
			}
			may, listed := row.may[s.name]
			if !listed {
				may = goals
			}
			x := medianOf(t, s, row.spec, 3, true)
			t.Logf("%-5s %-8s %5d nodes, time %.2f, cost %.2f, %d launches", row.spec.Trees, s.name, x.nodes, x.time,
				x.cost, x.launches)
			if x.time > may.time || x.cost > may.cost || x.reversals > 1 {
				t.Errorf("%s: time %.3f, cost %.3f, %d reversals; want at most %v, %v and 1", s.name, x.time, x.cost,
					x.reversals, may.time, may.cost)
			}
		}
	}
}

// printTrees prints what all shapes take under the policies, with and without the outlook, and by the number of first
// slots.
func printTrees(t *testing.T) {
	fmt.Println("| shape | nodes | least, s | all at once | policy | time | cost | launches | without the outlook |")
	fmt.Println("| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | --- |")
	for _, s := range shapes() {
		var once []float64
		for seed := uint64(1); seed <= 9; seed++ {
			once = append(once, atOnce(s, seed))
		}
		slices.Sort(once)
		for _, spec := range []policy.Spec{wholeTrees(), eachNode(), {Name: "deadline"}} {
			x, without, name := medianOf(t, s, spec, 9, true), "", spec.Name
			if spec.Trees != "" {
				name += ", trees: " + spec.Trees
			} else {
				w := medianOf(t, s, spec, 9, false)
				without = fmt.Sprintf("%.2f, %.2f, %d", w.time, w.cost, w.launches)
			}
			fmt.Printf("| %s | %d | %.0f | %.2f | %s | %.2f | %.2f | %d | %s |\n", s.name, x.nodes, x.bound,
				once[len(once)/2], name, x.time, x.cost, x.launches, without)
		}
	}
	fmt.Println("| first | wide | deep | skewed | slow | account |\n| ---: | --- | --- | --- | --- | --- |")
	for _, first := range []int{1, 4, 8, 12, 16, 24} {
		fmt.Printf("| %d |", first)
		for _, s := range shapes() {
			spec := wholeTrees()
			spec.First = first
			x := medianOf(t, s, spec, 9, true)
			fmt.Printf(" %.2f, %.2f |", x.time, x.cost)
		}
		fmt.Println()
	}
}

// TestTheOutlookHasWorkersReadyForANextLevel: nodes take as long as two boots, and there may be as many workers as
// nodes. How long a whole tree takes, its slowest node decides; what the outlook saves is waiting.
func TestTheOutlookHasWorkersReadyForANextLevel(t *testing.T) {
	s := shape{"steady", func(d dice) trace.Message {
		var grow func(level int) trace.Message
		grow = func(level int) trace.Message {
			m := trace.Message{Service: d.lasting(60*time.Second, 0.3)}
			for n := 10; level > 0 && n > 0; n-- {
				m.Children = append(m.Children, grow(level-1))
			}
			return m
		}
		return grow(2)
	}}
	var with, without treeRun
	for seed := uint64(1); seed <= 10; seed++ {
		for _, x := range []*treeRun{&with, &without} {
			run := runTree(t, s, policy.Spec{Name: "exact"}, 200, seed, x == &with)
			x.time, x.cost, x.wait = x.time+run.time/10, x.cost+run.cost/10, x.wait+run.wait/10
		}
	}
	t.Logf("wait %.2f s, time %.3f, cost %.3f with the outlook; %.2f s, %.3f and %.3f without", with.wait, with.time,
		with.cost, without.wait, without.time, without.cost)
	if with.wait > 0.93*without.wait || with.time > without.time || with.cost > 1.03*without.cost {
		t.Error("want waits shorter by 7 % at least, no longer a time, and a cost at most 3 % higher")
	}
}
