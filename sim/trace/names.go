package trace

import "strings"

// Generated tells whether the trace of that name depends on a seed: it comes from a generator or a scenario, and not
// from a file.
func Generated(name string) bool {
	// A generated trace has the text of its specification as its name. Scenarios have names of their own.
	base, _, _ := strings.Cut(name, ":")
	if _, ok := FindScenario(name); ok {
		return true
	}
	for _, g := range Generators() {
		if g.Name == base {
			return true
		}
	}
	return false
}

// ScenarioNames returns the names of the scenarios, in their order.
func ScenarioNames() (names []string) {
	for _, s := range Scenarios() {
		names = append(names, s.Name)
	}
	return names
}
