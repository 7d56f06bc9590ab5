package arch_test

import (
	"strconv"
	"strings"
	"testing"
)

// maxCommand bounds the lines of cmd/muster beside tests: it has one small file for each command.
const maxCommand = 4500

func TestACommandIsFlagsAndCalls(t *testing.T) {
	lines := 0
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if s.pkg == "cmd/muster" {
			lines += s.lines
		}
		for _, i := range s.syntax.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			if strings.HasPrefix(path, "github.com/spf13/") && !strings.HasPrefix(s.pkg, "cmd/") {
				t.Errorf("%s imports %s.\nwhy: what a command does can be used and tested without its command line. "+
					"fix: take values and an io.Writer, return values and errors, and read flags in cmd", s.path, path)
			}
		}
	}
	if lines > maxCommand {
		t.Errorf("cmd/muster has %d lines beside tests, at most %d are allowed.\nwhy: a package is about one thing. "+
			"fix: move what a command does to a package of its own", lines, maxCommand)
	}
}
