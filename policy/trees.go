package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/planning"
)

// The choices of [Spec.Trees].
const (
	// TreesEach has a slot for each node of a tree that waits, as for any message.
	TreesEach = "each"
	// TreesWhole has the slots that the tree can use once a worker that is launched now is there.
	TreesWhole = "whole"
)

// DefaultFirst is how many slots a tree of which only the root is known gets with [TreesWhole].
const DefaultFirst = 12

func (s Spec) checkTrees() []error {
	var faults []error
	switch {
	case !slices.Contains([]string{"", TreesEach, TreesWhole}, s.Trees):
		faults = append(faults, &Fault{"policy.trees", strconv.Quote(s.Trees), TreesEach + ", " + TreesWhole})
	case s.Trees == TreesWhole && s.Name != "exact":
		faults = append(faults, &Fault{"policy.trees", TreesWhole + " with " + s.Name, TreesWhole + " with exact"})
	}
	switch {
	case s.First < 0 || s.First > maxFirst:
		faults = append(faults, &Fault{"policy.first", fmt.Sprint(s.First), fmt.Sprintf("1 to %d slots", maxFirst)})
	case s.First > 0 && s.Trees != TreesWhole:
		faults = append(faults, &Fault{"policy.first", fmt.Sprint(s.First) + " without trees: " + TreesWhole,
			"a number of slots with trees: " + TreesWhole})
	}
	return faults
}

// maxFirst is the most slots that a tree may get of which only the root is known.
const maxFirst = 10_000

func buildExact(s Spec) muster.Policy {
	if s.Trees != TreesWhole {
		return planning.Exact{}
	}
	return planning.Exact{Whole: true, First: cmp.Or(s.First, DefaultFirst)}
}
