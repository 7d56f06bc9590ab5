package config

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/muster-scale/muster/config/keys"
)

// This file recognizes commands that cannot be what the user wants: placeholders from a page that was copied, and
// programs that do nothing or always fail.

// checkUseless refuses a useless command for a queue on SQS, where other programs depend on the outcome. A command that
// fails every message sends them all to the dead-letter queue, and one that does nothing deletes them unprocessed. An
// embedded queue is exempt: people try Muster with such commands, and its messages are their own.
func (f *Fleet) checkUseless(s *keys.Source, at string, w *Workers) {
	if len(w.Command) == 0 || !slices.ContainsFunc(f.Queues, func(q QueueRef) bool { return !q.Own() }) {
		return
	}
	why := uselessBecause(w.Command)
	if why == "" {
		return
	}
	s.Fault(
		at+".command",
		fmt.Sprintf(
			"found the command %s for a queue on SQS, which %s, allowed is the program that handles a message",
			keys.Quote(
				strings.Join(w.Command, " "),
			),
			why,
		),
		"to only decide and record while another system sizes the fleet, leave the command out and state "+
			"shadow: true",
	)
}

// uselessBecause says why a command is useless; empty when it may be useful.
func uselessBecause(command []string) string {
	first := strings.TrimSpace(command[0])
	if rest, is := shellScript(command); is {
		words := strings.Fields(rest)
		if len(words) == 0 {
			return "does nothing: every message would be deleted unprocessed"
		}
		command, first = words, words[0]
		if first == "exit" {
			return exits(words)
		}
	}
	if placeholder(first) {
		return "has the placeholder " + keys.Quote(first) + " in place of a program: every message would fail"
	}
	if i := slices.IndexFunc(command, bracketed); i >= 0 {
		return "has the placeholder " + keys.Quote(command[i]) + ": every message would fail"
	}
	switch path.Base(first) {
	case ".":
		if command[0] != "" { // an empty program has a fault of its own
			return "names no program: every message would fail"
		}
	case "false":
		return "fails: every message would go to the dead-letter queue, or come again until it is too old"
	case "true", ":":
		return "does nothing: every message would be deleted unprocessed"
	}
	return ""
}

// exits says what the script "exit" or "exit STATUS" does to every message.
func exits(words []string) string {
	if len(words) == 1 || words[1] == "0" {
		return "does nothing: every message would be deleted unprocessed"
	}
	if len(words) == 2 {
		return "fails: every message would go to the dead-letter queue, or come again until it is too old"
	}
	return ""
}

// shellScript returns the script of a command like sh -c SCRIPT. is tells whether the command is one, with a script of
// a single simple command: a longer script may do anything, so it is not judged.
func shellScript(command []string) (script string, is bool) {
	if len(command) != 3 || command[1] != "-c" ||
		!slices.Contains([]string{"sh", "bash", "dash", "zsh", "ash"}, path.Base(command[0])) {
		return "", false
	}
	script = strings.Trim(strings.TrimSpace(command[2]), "; ")
	return script, !strings.ContainsAny(script, ";&|\n`$(")
}

// placeholder tells whether a program is a placeholder that was never replaced: <program>, your-command, CHANGEME,
// ./path/to/worker.
func placeholder(program string) bool {
	bare := strings.NewReplacer("-", "", "_", "", ".", "", "/", "").Replace(strings.ToLower(program))
	words := []string{
		"changeme", "todo", "fixme", "replaceme", "placeholder", "yourcommand", "yourprogram", "yourworker",
		"yourscript", "yourcommandhere",
	}
	return bracketed(program) || slices.Contains(words, bare) || bare == "" && strings.Contains(program, "...") ||
		strings.HasPrefix(strings.TrimLeft(program, "./"), "path/to/")
}

// bracketed tells whether a word is a name in angle brackets, such as <program>.
func bracketed(word string) bool {
	inner, opened := strings.CutPrefix(word, "<")
	inner, closed := strings.CutSuffix(inner, ">")
	return opened && closed && inner != "" && keys.Consists(strings.ReplaceAll(inner, " ", ""), "-_.")
}
