package config

import (
	"fmt"
	"strings"
)

// CheckCommands looks for the program of each fleet with lookPath, which finds programs as [os/exec.LookPath] does, and
// returns [Faults] for those that are not there. A program given as a relative path starts from the directory of the
// file.
func CheckCommands(c *Config, lookPath func(string) (string, error)) error {
	// The faults of this look are its own: c stays as it is.
	s := &source{name: c.source.name, lines: c.source.lines, places: c.source.places}
	for i, f := range c.Fleets {
		program := f.Workers.Command[0]
		if strings.ContainsRune(program, '/') {
			program = c.under(program)
		}
		_, err := lookPath(program)
		if err == nil {
			continue
		}
		path := fmt.Sprintf("fleets[%d].workers.command", i)
		hint := ""
		if words := strings.Fields(f.Workers.Command[0]); len(f.Workers.Command) == 1 && len(words) > 1 && !s.has(path+"[0]") {
			hint = fmt.Sprintf("a text is one word, the program; say [%s]", strings.Join(words, ", "))
		}
		s.fault(path+"[0]", fmt.Sprintf("found the command %s, which cannot be run (%v), allowed is a program on this machine", quote(program), err), hint)
	}
	if len(s.faults) == 0 {
		return nil
	}
	return s.sorted()
}
