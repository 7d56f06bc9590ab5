package work

import (
	"strings"

	"github.com/muster-scale/muster/internal/misuse"
)

// SortVariables puts the variables that the command gets where they belong: those with a value are set, others are
// passed on.
func (m *Execution) SortVariables() error {
	var names []string
	for _, v := range m.Command.Env {
		name, _, set := strings.Cut(v, "=")
		switch {
		case !set:
			names = append(names, v)
		case name == "" || strings.HasPrefix(name, "MUSTER_"):
			return misuse.Errorf("--env: found a value for %q, allowed is a name that does not begin with MUSTER_",
				name)
		default:
			m.Command.Set = append(m.Command.Set, v)
		}
	}
	m.Command.Env = names
	return nil
}
