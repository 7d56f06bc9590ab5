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
	// TreesEach gives each waiting node of a tree a slot, like any message.
	TreesEach = "each"
	// TreesWhole gives a tree the slots that it can use by the time a worker launched now takes messages.
	TreesWhole = "whole"
)

// DefaultFirst is the default of [Spec].First: the slots of a tree of which only the root is known.
const DefaultFirst = 12

// checkTrees returns the faults of Trees and First.
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

// maxFirst bounds [Spec].First.
const maxFirst = 10_000

// buildExact builds exact from a checked Spec.
func buildExact(s Spec) muster.Policy {
	if s.Trees != TreesWhole {
		return planning.Exact{}
	}
	return planning.Exact{Whole: true, First: cmp.Or(s.First, DefaultFirst)}
}
