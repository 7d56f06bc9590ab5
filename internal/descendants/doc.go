// Package descendants ends processes that left the group of the program that started them, as one does that calls
// setsid.
//
// On Linux a process can ask to become the parent of every process below it whose own parent has ended (a child
// subreaper). It then finds those that were left behind among its children: [Adopt] asks for it, and [End] ends what
// carries the mark of a program that is over. On other systems such processes belong to the system's first process at
// once and cannot be told from others; there Adopt does nothing, and what leaves its group escapes.
package descendants

import (
	"crypto/rand"
	"strings"
)

// Variable is the environment variable that marks the processes of one run of a program. They inherit it; a process
// that clears its environment has no mark, and is found by [EndAll] alone.
const Variable = "MUSTER_RUN"

// Mark returns a new mark, as NAME=value for an environment.
func Mark() string { return Variable + "=" + rand.Text() }

// marked tells whether an environment, as /proc shows it, has the mark, or any mark where none is given.
func marked(environment, mark string) bool {
	for text := range strings.SplitSeq(environment, "\x00") {
		if mark == "" && strings.HasPrefix(text, Variable+"=") || mark != "" && text == mark {
			return true
		}
	}
	return false
}
