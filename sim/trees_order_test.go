package sim

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// nodeEnd is a slot that is free, or a node that ends, at an instant.
type nodeEnd struct {
	at   float64
	node int
}

// nodeEnds is a heap of them, soonest first.
type nodeEnds []nodeEnd

func (e nodeEnds) Len() int           { return len(e) }
func (e nodeEnds) Less(i, j int) bool { return e[i].at < e[j].at }
func (e nodeEnds) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *nodeEnds) Push(x any)        { *e = append(*e, x.(nodeEnd)) }
func (e *nodeEnds) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// inTurn returns when the tree ends whose nodes are begun in the order in which they come, as a queue hands them out,
// by slots that are there from the given instants on. Children come when their parent ends.
func inTurn(all []treeNode, ready []float64) float64 {
	children := make([][]int, len(all))
	for i, n := range all[1:] {
		children[n.parent] = append(children[n.parent], i+1)
	}
	var free, running nodeEnds
	for _, at := range ready {
		heap.Push(&free, nodeEnd{at: at})
	}
	waiting, last := []nodeEnd{{node: 0}}, 0.0
	for len(waiting)+len(running) > 0 {
		if len(waiting) > 0 && len(free) > 0 {
			begin := math.Max(free[0].at, waiting[0].at)
			if len(running) == 0 || begin <= running[0].at {
				heap.Pop(&free)
				heap.Push(&running, nodeEnd{begin + all[waiting[0].node].service, waiting[0].node})
				waiting = waiting[1:]
				continue
			}
		}
		e := heap.Pop(&running).(nodeEnd)
		last = e.at
		heap.Push(&free, nodeEnd{at: e.at})
		for _, c := range children[e.node] {
			waiting = append(waiting, nodeEnd{e.at, c})
		}
	}
	return last
}

// allAt is slots that are all there from an instant on.
func allAt(at float64, slots int) []float64 { return slices.Repeat([]float64{at}, slots) }

// atOnce is how long the tree of a seed takes whose workers are all there when the first boot is over, in proportion to
// the least.
func atOnce(s shape, seed uint64) float64 {
	all := treeNodes(s.grow(dice{rand.New(rand.NewPCG(seed, 0x7ee))}))
	return inTurn(all, allAt(treeBoot.Seconds(), treeWorkers)) / leastTreeTime(all)
}

// leastTreeTime is a boot, and then the longer of the longest way and the work over all slots.
func leastTreeTime(all []treeNode) float64 {
	work, span := sumOf(all)
	return treeBoot.Seconds() + math.Max(span, work/treeWorkers)
}

// TestNoSizeIsInTimeForASkewedTree: with all workers there from the first boot on, which costs more than any rule may,
// a queue that hands nodes out as they come ends it after more than 1.15 of the least time. Fleets of any other growth
// are no sooner.
func TestNoSizeIsInTimeForASkewedTree(t *testing.T) {
	for _, s := range shapes() {
		if s.name != "skewed" {
			continue
		}
		var best []float64
		for seed := uint64(1); seed <= 9; seed++ {
			all, d := treeNodes(s.grow(dice{rand.New(rand.NewPCG(seed, 0x7ee))})),
				dice{rand.New(rand.NewPCG(seed, 0xf1ee7))}
			least := atOnce(s, seed)
			for range 20 {
				ready := allAt(treeBoot.Seconds(), treeWorkers)
				for i := range ready[1:] {
					ready[i+1] += maybe(d, d.share(100))
				}
				least = math.Min(least, inTurn(all, ready)/leastTreeTime(all))
			}
			best = append(best, least)
		}
		slices.Sort(best)
		t.Logf("the best of 21 fleets each, in the median: %.3f", best[len(best)/2])
		if median := best[len(best)/2]; median < 1.2 {
			t.Errorf("the best of many fleets takes %.3f of the least time, less than is said to be possible", median)
		}
	}
}

// TestInTurn is the order of a queue, on trees that can be followed by hand.
func TestInTurn(t *testing.T) {
	// A root of 2 s, three children of 3, 1 and 4 s, and a child of the second of 5 s.
	all := []treeNode{{parent: -1, service: 2}, {service: 3}, {service: 1}, {service: 4}, {parent: 2, service: 5}}
	for _, row := range []struct {
		name  string
		ready []float64
		want  float64
	}{
		{"one slot does all after another", allAt(10, 1), 25},
		{"two: 10-12; 12-15 and 12-13; 13-17; 15-20", allAt(10, 2), 20},
		{"as many as there are nodes: the longest way", allAt(10, 5), 18},
		{"one that comes late: 10-12, 12-15, 15-16; 16-20 and 16-21", []float64{10, 16}, 21},
	} {
		if got := inTurn(all, row.ready); math.Abs(got-row.want) > 1e-9 {
			t.Errorf("%s: ended at %v, want %v", row.name, got, row.want)
		}
	}
}
