package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/muster-scale/muster/tools/bench/reaction"
)

// Part treesuite. Its figures are made by tests, which also hold the goals; so a figure on the page and a test cannot
// disagree.

// Goals of trees: the time over a boot and the longer of the longest way and the work over all slots, and the cost over
// the least that anyone pays who is as soon.
const (
	mostTreeTime = 1.15
	mostTreeCost = 1.2
)

// whySkewed says why the one tree misses its goal that does.
const whySkewed = "a queue hands nodes out as they come, and no size changes the order: with all workers there at " +
	"once it is 1.22 x; see docs/trees.md."

// treeSuite plays the simulated trees, and counts one of a million nodes under repeated messages and crashes. Both are
// tests, which judge every run; this part puts their figures beside the goals. Of the million a short run counts a
// tenth.
func (b *bench) treeSuite() error {
	lines, err := tested("./sim", "TestTreesAreDoneSoonAndAtLittleCost")
	if err != nil {
		return err
	}
	found := 0
	for _, line := range lines {
		var shape string
		var nodes, launches int
		var time, cost float64
		_, after, _ := strings.Cut(line, ": whole ")
		// Only lines with all five figures are results; the test prints others, too.
		if n, _ := fmt.Sscanf(after, "%s %d nodes, time %f, cost %f, %d launches", &shape, &nodes, &time, &cost,
			&launches); n != 5 {
			continue
		}
		found++
		b.page.goal(fmt.Sprintf("simulated tree *%s* of %d nodes, policy exact with trees: whole, median of 3", shape,
			nodes),
			fmt.Sprintf("time <= %.2f x, cost <= %.1f x the least", mostTreeTime, mostTreeCost),
			fmt.Sprintf("time %.2f x, cost %.2f x", time, cost),
			time <= mostTreeTime && cost <= mostTreeCost, whySkewed)
	}
	if found == 0 {
		return fmt.Errorf("read the figures of the simulated trees: found none in %q", lines)
	}
	// The same test in both cases, with a variable for the number.
	count := "100000"
	if b.full {
		count = "1000000"
	}
	lines, err = tested("./tree", "TestAMillionNodesAreCountedExactly", "MUSTER_TREE_NODES="+count)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if _, says, ok := strings.Cut(line, "_test.go:"); ok && strings.Contains(says, " nodes in ") {
			_, says, _ = strings.Cut(says, ": ")
			b.page.goal("a tree counted while a fifth of its messages comes twice or more and workers crash at random",
				"exactly", says, true, "")
			return nil
		}
	}
	return fmt.Errorf("read the figures of the counted tree: found none in %q", lines)
}

// reaction is part reaction. Its figures are made by a test, too.
func (b *bench) reaction() error {
	lines, err := tested(reaction.Where, reaction.Test, reaction.Rounds)
	if err != nil {
		return err
	}
	rows, err := reaction.Rows(lines)
	for _, r := range rows {
		b.page.goal(r.What, r.Goal, r.Found, r.Met, reaction.Why)
	}
	return err
}

// tested runs a test of this project and returns its output line by line. A test that fails is an error, so a figure of
// a broken tree never gets on the page.
func tested(where, name string, env ...string) ([]string, error) {
	c := exec.Command("go", "test", "-count=1", "-v", "-run", "^"+name+"$", where)
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("run %s in %s: %w\n%s", name, where, err, out)
	}
	return strings.Split(string(out), "\n"), nil
}
