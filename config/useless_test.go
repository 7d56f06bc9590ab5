package config_test

import (
	"strings"
	"testing"

	"github.com/muster-scale/muster/config"
)

// A command that cannot be meant is refused on a queue where other programs wait for the outcome, and nowhere else.
func TestACommandThatCannotBeMeantIsRefusedOnSQS(t *testing.T) {
	const sqs, own = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders", "orders"
	for _, row := range []struct{ name, queue, rest, want string }{
		{"false", sqs, `workers: {command: ["false"]}`, "fails: every message would go to the dead-letter queue"},
		{"false by its path", sqs, `workers: {command: [/bin/false]}`, "fails: every message"},
		{"true", sqs, `workers: {command: ["true"]}`, "does nothing: every message would be deleted unprocessed"},
		{"false in a shell", sqs, `workers: {command: [sh, -c, " false; "]}`, "fails: every message"},
		{"an exit in a shell", sqs, `workers: {command: [bash, -c, exit 1]}`, "fails: every message"},
		{"nothing in a shell", sqs, `workers: {command: [sh, -c, ""]}`, "does nothing: every message would be " +
			"deleted unprocessed"},
		{"blanks", sqs, `workers: {command: [" "]}`, "names no program"},
		{"an empty program", sqs, `workers: {command: [""]}`, "found no program"},
		{"no command", sqs, ``, "found no command"},
		{"a word in angle brackets", sqs, `workers: {command: ["<program>"]}`, `has the placeholder "<program>"`},
		{"an argument in angle brackets", sqs, `workers: {command: [./work, "<your queue>"]}`,
			`has the placeholder "<your queue>"`},
		{"a word to replace", sqs, `workers: {command: [CHANGE_ME]}`, `has the placeholder "CHANGE_ME"`},
		{"a path to replace", sqs, `workers: {command: [/path/to/worker]}`, `has the placeholder "/path/to/worker"`},
		{"dots", sqs, `workers: {command: ["..."]}`, `has the placeholder "..."`},
		{"in a part", sqs, `split: [{name: a, weight: 1, workers: {command: [cat]}}, {name: b, weight: 1, workers: {command: ["false"]}}]`, "fails: every message"},
		{"also in shadow", sqs, `shadow: true, workers: {command: ["false"]}`, "fails: every message"},

		{"false on a queue of its own", own, `workers: {command: ["false"]}`, ""},
		{"no command in shadow", sqs, `shadow: true`, ""},
		{"slots and no command in shadow", sqs, `shadow: true, workers: {slots: 3}`, ""},
		{"a program", sqs, `workers: {command: [./false-positives, --todo]}`, ""},
		{"an argument that is a word for later", sqs, `workers: {command: [./notes, todo]}`, ""},
		{"a shell that does something", sqs, `workers: {command: [sh, -c, "false || work"]}`, ""},
		{"a redirection in a shell", sqs, `workers: {command: [sh, -c, "cat >>log"]}`, ""},
		{"a URL", sqs, `workers: {http: "http://127.0.0.1:8080/"}`, ""},
		{"no command without a queue, in shadow", "",
			`shadow: true, policy: {name: schedule, intervals: [{from: "08:00", to: "09:00", workers: 1}]}`, ""},
		{"an empty program in shadow", sqs, `shadow: true, workers: {command: [""]}`, "found no program"},
	} {
		t.Run(row.name, func(t *testing.T) {
			text := "version: 1\nfleets: [{name: f, max: 3"
			for _, part := range []string{queueKey(row.queue), row.rest} {
				if part != "" {
					text += ", " + part
				}
			}
			text += "}]\n"
			_, err := config.Parse("muster.yaml", []byte(text), func(string) (string, bool) { return "", false }, all)
			switch {
			case row.want == "" && err != nil:
				t.Errorf("found\n%v\nexpected no fault in\n%s", err, text)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
				t.Errorf("found %v, expected %q in\n%s", err, row.want, text)
			}
		})
	}
}

func queueKey(queue string) string {
	if queue == "" {
		return ""
	}
	return `queue: "` + queue + `"`
}
