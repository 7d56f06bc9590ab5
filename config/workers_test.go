package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-scale/muster/config"
)

func TestWhatDoesTheWorkOfAPart(t *testing.T) {
	for _, row := range []struct {
		name, fleet, part string
		command           string
		http              string
		lines             bool
		batch             int
	}{
		{"the fleet's command", "command: x", "slots: 2", "x", "", false, 1},
		{"the fleet's URL", "http: 'http://127.0.0.1:1/'", "slots: 2", "", "http://127.0.0.1:1/", false, 1},
		{"a URL in place of the fleet's command", "command: x, json_lines: true", "http: 'http://[::1]:1/w'", "",
			"http://[::1]:1/w", false, 1},
		{"a command in place of the fleet's URL", "http: 'http://localhost:1/'", "command: y", "y", "", false, 1},
		{"the fleet's batch", "command: x, json_lines: true, batch: 3", "slots: 2", "x", "", true, 3},
		{"a batch of its own", "command: x, json_lines: true, batch: 3", "http: 'http://127.0.0.1/', batch: 10", "",
			"http://127.0.0.1/", false, 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := parse(t, "version: 1\nfleets: [{name: f, queue: q, max: 3, workers: {"+row.fleet+
				"}, split: [{name: a, weight: 1, workers: {"+row.part+
				"}}, {name: b, weight: 1}]}]").Fleets[0].Split[0].Workers
			command := ""
			if len(w.Command) > 0 {
				command = w.Command[0]
			}
			if command != row.command || w.HTTP != row.http || w.JSONLines != row.lines || w.Batch != row.batch {
				t.Errorf("found the command %q, the URL %q, JSON lines %t and a batch of %d; want %q, %q, %t and %d",
					command, w.HTTP, w.JSONLines, w.Batch, row.command, row.http, row.lines, row.batch)
			}
		})
	}
}

func TestWhereMessagesGoThatUsedUpTheirAttempts(t *testing.T) {
	const queues = "queues: [{name: q, dead_letter: {queue: of-the-queue, after: 9}}, {name: other}]\n"
	for _, row := range []struct {
		name, fleet string
		want        config.QueueRef
	}{
		{"nowhere, when nobody counts", "queue: q, workers: {command: x}", config.QueueRef{}},
		{"where the queue's own dead letters go", "queue: q, workers: {command: x, max_attempts: 3}",
			config.QueueRef{Name: "of-the-queue"}},
		{"where it is stated", "queue: q, workers: {command: x, max_attempts: 3, dead_letter: here}",
			config.QueueRef{Name: "here"}},
		{"a queue on SQS", "queue: 'https://sqs.eu-west-1.amazonaws.com/1/q', workers: {command: x, max_attempts: 3, " +
			"dead_letter: 'https://sqs.eu-west-1.amazonaws.com/1/d'}",
			config.QueueRef{Name: "d", URL: "https://sqs.eu-west-1.amazonaws.com/1/d", Region: "eu-west-1",
				Remote: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := parse(t, "version: 1\n"+queues+"fleets: [{name: f, max: 3, "+row.fleet+
				"}]").Fleets[0].Workers.DeadLetter; got != row.want {
				t.Errorf("found %+v, want %+v", got, row.want)
			}
		})
	}
}

// Workers are told the variables of their command in one variable of their own, which cannot be of any length.
func TestVariablesAreBoundedTogether(t *testing.T) {
	for _, row := range []struct {
		name  string
		count int
		right bool
	}{{"96 KiB", 3, true}, {"more", 4, false}} {
		t.Run(row.name, func(t *testing.T) {
			var env []string
			for i := range row.count {
				env = append(env, fmt.Sprintf("'V%d=%s'", i, strings.Repeat("x", 32<<10-8)))
			}
			text := "version: 1\nfleets: [{name: f, queue: q, max: 1, workers: {command: x, env: [" +
				strings.Join(env, ", ") + "]}}]"
			_, err := config.Parse("m.yaml", []byte(text), lookup, all)
			if (err == nil) != row.right {
				t.Errorf("found %.300v, want right: %t", err, row.right)
			}
		})
	}
}
