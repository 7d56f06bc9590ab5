package work

import (
	"strings"

	"github.com/muster-scale/muster/internal/misuse"
)

// SortVariables divides the command's variables: those with a value are set, the others are inherited.
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
