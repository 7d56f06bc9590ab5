package trace

import "strings"

// Generated tells whether a trace of that name depends on a seed: it is that of a generator or a scenario, and not of a
// file.
func Generated(name string) bool {
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
