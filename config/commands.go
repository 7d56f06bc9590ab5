package config

import (
	"fmt"
	"strings"

	"github.com/muster-scale/muster/config/keys"
)

// CheckCommands finds the program of each fleet with lookPath, which finds programs as [os/exec.LookPath] does, and
// returns [Faults] for those that are missing. A program given as a relative path starts from the directory of the
// file.
//
// It is no part of [Parse], because it does I/O and because a configuration is often checked on a machine that does not
// run it.
func CheckCommands(c *Config, lookPath func(string) (string, error)) error {
	// The faults go into a source of their own, so that c stays as Parse returned it.
	s := c.source.Again()
	for i, f := range c.Fleets {
		path := fmt.Sprintf("fleets[%d]", i)
		if !f.Local() {
			continue // its instances or tasks have their own programs
		}
		if len(f.Split) == 0 {
			c.checkProgram(s, path, f.Workers, lookPath)
		}
		for j, p := range f.Split {
			at := fmt.Sprintf("%s.split[%d]", path, j)
			if !s.Has(at + ".workers.command") {
				at = path // the part runs the fleet's command, so the fault belongs there
			}
			c.checkProgram(s, at, p.Workers, lookPath)
		}
	}
	return s.Err()
}

// checkProgram adds a fault when lookPath does not find the program of the workers that are stated below path.
func (c *Config) checkProgram(s *keys.Source, path string, w Workers, lookPath func(string) (string, error)) {
	if w.HTTP != "" || len(w.Command) == 0 {
		// A URL is not tried: the server may start later, and workers wait for it. A fleet in shadow mode needs no
		// command.
		return
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
	// The most frequent mistake is a whole command line as one text: "./resize.sh --fast".
	hint := ""
	if words := strings.Fields(w.Command[0]); len(w.Command) == 1 && len(words) > 1 && !s.Has(path+"[0]") {
		hint = fmt.Sprintf("a text is one word, the program; say [%s]", strings.Join(words, ", "))
	}
	s.Fault(path+"[0]", fmt.Sprintf("found the command %s, which cannot be run (%v), allowed is a program on this "+
		"machine", keys.Quote(program), err), hint)
}
