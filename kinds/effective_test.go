package kinds_test

import (
	"reflect"
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
		"notify[0].webhook":         {"(hidden)", 8},
		"fleets[0].name":            {"thumbs", 10},
		"fleets[0].max":             {"7", 12},
		"fleets[0].workers.command": {`[convert, "${PART}"]`, 14},
		"fleets[0].workers.env":     {"(hidden)", 15},
		"fleets[1].workers.command": {`[sh, -c, "sleep 1; cat"]`, 19},
	} {
		if found[path] != want {
			t.Errorf("%s: found %+v, want %+v", path, found[path], want)
		}
	}
	if !reflect.DeepEqual(c.Fleets, before.Fleets) || !reflect.DeepEqual(c.Notify, before.Notify) {
		t.Error("reading the values changed the configuration")
	}
}
