package arch_test

import (
	"strconv"
	"strings"
	"testing"
)

// maxCommand bounds the lines of a file of commands beside tests: it has one command, or what a group of them shares.
const maxCommand = 320

func TestACommandIsFlagsAndCalls(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
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
}
