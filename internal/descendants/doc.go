// Package descendants finds and kills processes that left the process group of the program that started
// them, as a daemon does that calls setsid. A worker uses it so that a job leaves nothing behind.
//
// On Linux a process can become the parent of every process below it whose own parent has ended (a
// child subreaper, prctl(2)). It then finds such processes among its children. [Adopt] requests this.
// [Mark] makes a variable for the environment of a program, which its descendants inherit. [End] kills
// adopted processes with that mark, [EndAll] all children. [Zombies] collects those that ended by
// themselves.
//
// On other systems such processes become children of the system's first process and cannot be told from
// others. There Adopt does nothing, and a process that leaves its group escapes.
//
// The package does not end a program itself; package worker/execution does that by its process group.
package descendants

import (
	"crypto/rand"
	"strings"
)

// Variable is the environment variable that marks the processes of one run of a program. A process that
// clears its environment loses the mark; only [EndAll] finds it.
const Variable = "MUSTER_RUN"

// Mark returns a new mark, as NAME=value for an environment.
func Mark() string { return Variable + "=" + rand.Text() }

// marked says whether an environment, as /proc shows it, has the mark, or any mark if mark is empty.
func marked(environment, mark string) bool {
	for text := range strings.SplitSeq(environment, "\x00") {
		if mark == "" && strings.HasPrefix(text, Variable+"=") || mark != "" && text == mark {
			return true
		}
	}
	return false
}
