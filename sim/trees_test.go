package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/trace"
)

// shape is a kind of tree.
type shape struct {
	name string
	grow func(d dice) trace.Message
}

// lasting draws a lognormal duration.
func (d dice) lasting(mean time.Duration, cv float64) time.Duration {
	return Draw{Mean: mean, CV: cv}.Next(d.Rand)
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
				root.Children = append(root.Children, trace.Message{Service: d.lasting(5*time.Second, 0.3), Children: leaves(d, d.between(20, 60), 10*time.Second, 0.5)})
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

func workOf(all []treeNode) (work, span float64) {
	for _, j := range all {
		work += j.service
	}
	return work, all[0].tail
}

// leastCost is a bound that no schedule is below which ends the tree within so many seconds, in worker-seconds from launch to end:
// the work, and a boot for each worker. No work begins before the first boot is over. How many workers there must be
// follows from what must be done between two instants however the nodes are put off or hurried (Fernandez and Bussell, 1973).
func leastCost(all []treeNode, boot, within float64) float64 {
	work, _ := workOf(all)
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

// treeRun is what a tree came to under a policy.
type treeRun struct {
	shape, policy string
	nodes         int
	// time and cost are in proportion to their bounds; without is the same without the outlook.
	seconds, bound, time, cost float64
	launches, reversals        int
}

const treeBoot, treeWorkers = 30 * time.Second, 40

func runTree(t testing.TB, s shape, spec policy.Spec, latency time.Duration, seed uint64, foresee bool) treeRun {
	d := dice{rand.New(rand.NewPCG(seed, 0x7ee))}
	root := s.grow(d)
	all := treeNodes(root)
	work, span := workOf(all)
	settings, err := controller.NewSettings(controller.Settings{
		Fleet: "f", Queues: []string{"q"}, Spec: spec, Objective: muster.Objective{Latency: latency, Quantile: 0.95},
		Limits: muster.Limits{Max: treeWorkers, LaunchesPerHour: 10_000}, BootPrior: treeBoot,
	})
	if err != nil {
		t.Fatal(err)
	}
	last := time.Duration(0)
	res := ran(t, Options{
		Settings: settings, Trace: trace.Of(s.name, root), Seed: seed,
		World:    World{Boot: Draw{Mean: treeBoot}, Wakes: true, IdleStop: 10 * time.Second, Exit: 100 * time.Millisecond, Trees: foresee},
		Finished: func(_, finished time.Duration) { last = max(last, finished) },
	})
	bound := treeBoot.Seconds() + math.Max(span, work/treeWorkers)
	return treeRun{
		shape: s.name, policy: spec.Name, nodes: len(all), seconds: last.Seconds(), bound: bound, time: last.Seconds() / bound,
		cost: res.WorkerSeconds / leastCost(all, treeBoot.Seconds(), last.Seconds()), launches: res.Launches, reversals: res.Reversals,
	}
}

func TestTreesSuite(t *testing.T) {
	for _, s := range shapes() {
		for _, spec := range []policy.Spec{{Name: "exact"}, {Name: "deadline"}} {
			for _, foresee := range []bool{false, true} {
				var times, costs []float64
				var r treeRun
				l, rev := 0, 0
				for seed := uint64(1); seed <= 5; seed++ {
					r = runTree(t, s, spec, 45*time.Second, seed, foresee)
					times, costs = append(times, r.time), append(costs, r.cost)
					l += r.launches
					rev += r.reversals
				}
				slices.Sort(times)
				slices.Sort(costs)
				fmt.Printf("%-8s %-9s foresee=%-5v nodes %5d bound %6.0f time %.2f..%.2f..%.2f cost %.2f..%.2f..%.2f launches %d reversals %d\n", s.name, spec.Name, foresee, r.nodes, r.bound,
					times[0], times[2], times[4], costs[0], costs[2], costs[4], l/5, rev/5)
			}
		}
	}
}
