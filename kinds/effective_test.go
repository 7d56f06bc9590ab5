package kinds_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/muster-scale/muster/kinds"
)

const stated = `version: 1
dashboard: {prefix: /muster, peek: false, read_only: false}
queues:
  - name: jobs
    visibility: 1m
notify:
  - name: pager
    webhook: {url: "https://hooks.example/secret"}
fleets:
  - name: thumbs
    queue: jobs
    max: 7 # of this machine
    workers:
      command: [convert, "${PART}"]
      env: [TOKEN=secret]
  - name: measured
    queues:
      - jobs3
    max: 1
    policy:
      name: largest
      largest:
        - exact
        - {name: backlog-per-worker, acceptable: 7}
    prometheus:
      url: https://prometheus.example
      token: secret
      backlog: sum(waiting)
    workers:
      command: [cat]
      env:
        - TOKEN=secret
  - name: shell
    queue: jobs2
    max: 1
    workers: {command: [sh, -c, "sleep 1; cat"]}
`

func TestTheEffectiveValuesHaveTheirLines(t *testing.T) {
	t.Setenv("PART", "a secret")
	c, err := kinds.Parse("muster.yaml", []byte(stated))
	if err != nil {
		t.Fatal(err)
	}
	before, _ := kinds.Parse("muster.yaml", []byte(stated))
	type value struct {
		text string
		line int
	}
	found := map[string]value{}
	for _, e := range c.Effective(kinds.Table().Config()) {
		found[e.Path] = value{e.Text, e.Line}
		t.Logf("%+v", e)
	}
	for path, want := range map[string]value{
		"listen.api":                {"127.0.0.1:9325", 0},
		"dashboard.prefix":          {"/muster", 2},
		"dashboard.peek":            {"false", 2},
		"dashboard.read_only":       {"false", 2},
		"queues[0].visibility":      {"1m", 5},
		"queues[0].retention":       {"96h", 0},
		"notify[0].name":            {"pager", 7},
		"notify[0].webhook.url":     {"(hidden)", 8},
		"fleets[0].name":            {"thumbs", 10},
		"fleets[0].max":             {"7", 12},
		"fleets[0].workers.command": {`[convert, "${PART}"]`, 14},
		"fleets[0].workers.env":     {"(hidden)", 15},
		"fleets[0].policy":          {"deadline", 0},

		"fleets[1].queues[0]":                    {"jobs3", 18},
		"fleets[1].policy.name":                  {"largest", 21},
		"fleets[1].policy.largest[0]":            {"exact", 23},
		"fleets[1].policy.largest[1].acceptable": {"7", 24},
		"fleets[1].prometheus.token":             {"(hidden)", 27},
		"fleets[1].prometheus.backlog":           {"sum(waiting)", 28},
		"fleets[1].workers.env":                  {"(hidden)", 32},

		"fleets[2].workers.command": {`[sh, -c, "sleep 1; cat"]`, 36},
	} {
		if found[path] != want {
			t.Errorf("%s: found %+v, want %+v", path, found[path], want)
		}
	}
	for path, v := range found {
		if strings.Contains(v.text, "secret") {
			t.Errorf("%s shows a secret: %q", path, v.text)
		}
	}
	if !reflect.DeepEqual(c.Fleets, before.Fleets) || !reflect.DeepEqual(c.Notify, before.Notify) {
		t.Error("reading the values changed the configuration")
	}
}
