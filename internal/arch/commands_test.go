package arch_test

import (
	"strconv"
	"strings"
	"testing"
)

// maxCommand bounds the lines of a file of commands beside tests: it has one command, or what a group of them shares.
// maxCommands bounds the lines of code, without comments and empty lines, of all commands of the program together.
const (
	maxCommand  = 320
	maxCommands = 4500
)

func TestACommandIsFlagsAndCalls(t *testing.T) {
	program := 0
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if s.pkg == "cmd/muster" || strings.HasPrefix(s.pkg, "cmd/muster/") {
			program += s.lines - commentLines(s) - strings.Count(s.text, "\n\n")
		}
		if strings.HasPrefix(s.pkg, "cmd/") && s.lines > maxCommand {
			t.Errorf("%s has %d lines, at most %d are allowed.\nwhy: a command is flags and calls. "+
				"fix: move what it does to a package of its own", s.path, s.lines, maxCommand)
		}
		for _, i := range s.syntax.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			if strings.HasPrefix(path, "github.com/spf13/") && !strings.HasPrefix(s.pkg, "cmd/") {
				t.Errorf("%s imports %s.\nwhy: what a command does can be used and tested without its command line. "+
					"fix: take values and an io.Writer, return values and errors, and read flags in cmd", s.path, path)
			}
		}
	}
	if program > maxCommands {
		t.Errorf("the commands have %d lines of code, at most %d are allowed.\nwhy: what a command does is of use "+
			"elsewhere too. fix: move it below app", program, maxCommands)
	}
}
