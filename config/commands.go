package config

import (
	"fmt"
	"strings"

	"github.com/muster-scale/muster/config/keys"
)

// CheckCommands looks for the program of each fleet with lookPath, which finds programs as [os/exec.LookPath] does, and
// returns [Faults] for those that are not there. A program given as a relative path starts from the directory of the
// file.
func CheckCommands(c *Config, lookPath func(string) (string, error)) error {
	// The faults of this look are its own: c stays as it is.
	s := c.source.Again()
	for i, f := range c.Fleets {
		path := fmt.Sprintf("fleets[%d]", i)
		if !f.Local() {
			continue // its instances or tasks have their own programs
		}
		if len(f.Split) == 0 {
			c.look(s, path, f.Workers, lookPath)
		}
		for j, p := range f.Split {
			at := fmt.Sprintf("%s.split[%d]", path, j)
			if !s.Has(at + ".workers.command") {
				at = path
			}
			c.look(s, at, p.Workers, lookPath)
		}
	}
	return s.Err()
}

// look looks for the program of the workers stated below path.
func (c *Config) look(s *keys.Source, path string, w Workers, lookPath func(string) (string, error)) {
	if w.HTTP != "" || len(w.Command) == 0 {
		return // whether a server listens there, workers see when it matters; a fleet in shadow needs no command
	}
	program := w.Command[0]
	if strings.ContainsRune(program, '/') {
		program = c.under(program)
	}
	_, err := lookPath(program)
	if err == nil {
		return
	}
	path += ".workers.command"
	hint := ""
	if words := strings.Fields(w.Command[0]); len(w.Command) == 1 && len(words) > 1 && !s.Has(path+"[0]") {
		hint = fmt.Sprintf("a text is one word, the program; say [%s]", strings.Join(words, ", "))
	}
	s.Fault(path+"[0]", fmt.Sprintf("found the command %s, which cannot be run (%v), allowed is a program on this "+
		"machine", keys.Quote(program), err), hint)
}
