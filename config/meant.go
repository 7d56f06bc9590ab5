package config

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/muster-scale/muster/config/keys"
)

// checkMeant refuses a command that cannot be meant for a queue on SQS. There other programs wait for the outcome: a
// command that fails every message sends them all to the dead-letter queue, and one that does nothing deletes them
// undone. A queue of muster up itself holds nothing else than what its user sent to try.
func (f *Fleet) checkMeant(s *keys.Source, at string, w *Workers) {
	if len(w.Command) == 0 || !slices.ContainsFunc(f.Queues, func(q QueueRef) bool { return !q.Own() }) {
		return
	}
	why := notMeant(w.Command)
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
		"to decide and record beside the system that sizes the fleet today, leave the command out and state "+
			"shadow: true",
	)
}

// notMeant says why a command cannot be meant; empty when it can.
func notMeant(command []string) string {
	first := strings.TrimSpace(command[0])
	if rest, is := shellScript(command); is {
		words := strings.Fields(rest)
		if len(words) == 0 {
			return "does nothing: every message would be deleted undone"
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
		if command[0] != "" { // without a word it is a fault of its own
			return "names no program: every message would fail"
		}
	case "false":
		return "fails: every message would go to the dead-letter queue, or come again until it is too old"
	case "true", ":":
		return "does nothing: every message would be deleted undone"
	}
	return ""
}

// exits says what a script that only exits makes of a message.
func exits(words []string) string {
	if len(words) == 1 || words[1] == "0" {
		return "does nothing: every message would be deleted undone"
	}
	if len(words) == 2 {
		return "fails: every message would go to the dead-letter queue, or come again until it is too old"
	}
	return ""
}

// shellScript is the text that a shell is given with -c, unless it is more than one simple command.
func shellScript(command []string) (script string, is bool) {
	if len(command) != 3 || command[1] != "-c" ||
		!slices.Contains([]string{"sh", "bash", "dash", "zsh", "ash"}, path.Base(command[0])) {
		return "", false
	}
	script = strings.Trim(strings.TrimSpace(command[2]), "; ")
	return script, !strings.ContainsAny(script, ";&|\n`$(")
}

// placeholder tells whether a program stands in the place of one that was to be written: <program>, your-command,
// CHANGEME, ./path/to/worker.
func placeholder(program string) bool {
	bare := strings.NewReplacer("-", "", "_", "", ".", "", "/", "").Replace(strings.ToLower(program))
	words := []string{
		"changeme", "todo", "fixme", "replaceme", "placeholder", "yourcommand", "yourprogram", "yourworker",
		"yourscript", "yourcommandhere",
	}
	return bracketed(program) || slices.Contains(words, bare) || bare == "" && strings.Contains(program, "...") ||
		strings.HasPrefix(strings.TrimLeft(program, "./"), "path/to/")
}

// bracketed tells whether a word is a name in angle brackets, as <program>.
func bracketed(word string) bool {
	inner, opened := strings.CutPrefix(word, "<")
	inner, closed := strings.CutSuffix(inner, ">")
	return opened && closed && inner != "" && keys.Consists(strings.ReplaceAll(inner, " ", ""), "-_.")
}
