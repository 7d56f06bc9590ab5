package kinds_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/kinds"
)

var update = flag.Bool("update", false, "write the reference page anew")

const introduction = `# Configuration reference

Every key of the configuration. Written from the declarations that the file is read with, by ` + "`go test ./kinds -update`" + `; do not edit.
[configuration.md](configuration.md) explains them by an example.
`

func TestTheReferencePageTellsTheKeysThatThereAre(t *testing.T) {
	page := filepath.Join("..", "docs", "configuration-reference.md")
	want := introduction + config.Reference(kinds.Table().Config())
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/configuration-reference.md tells other keys than there are\n\tfix: go test ./kinds -update")
	}
}

// TestEachRowIsWhole holds what the types do not: that rows differ, and that what they make agrees with them.
func TestEachRowIsWhole(t *testing.T) {
	table, seen := kinds.Table(), map[string]bool{}
	once := func(key string) {
		if seen[key] {
			t.Errorf("two rows have the key %q", key)
		}
		seen[key] = true
	}
	for i, r := range table.Members {
		once(r.Key)
		facts := r.New().Facts()
		if facts.Key != r.Key || (r.Key == "") != (i == 0) || (r.What == "") != (i == 0) || facts.Local &&
			facts.Remote {
			t.Errorf("row %d of the kinds of fleets has the key %q and the facts %+v", i, r.Key, facts)
		}
		if a, b := r.New(), r.New(); i > 0 && a == b {
			t.Errorf("%s: two fleets would share one statement", r.Key)
		}
	}
	for _, r := range table.Signals {
		once(r.Key)
		names := keys.Names(r.New().Keys())
		if r.What == "" || len(names) == 0 || r.New().Place() == "" {
			t.Errorf("the signal %s has the keys %v", r.Key, names)
		}
	}
	for _, r := range table.Sizers {
		once(r.Key)
	}
	for _, r := range table.Channels {
		once(r.Key)
		if r.What == "" || r.New() == r.New() {
			t.Errorf("the channel %s has no description, or two channels would share one statement", r.Key)
		}
	}
	for _, text := range []string{"jobs", "jobs.fifo", "https://sqs.eu-west-1.amazonaws.com/1/jobs",
		"http://127.0.0.1:9324/0/jobs", ""} {
		takes := 0
		for _, r := range table.Queues {
			if r.Takes(text) {
				takes++
			}
		}
		if takes != 1 {
			t.Errorf("%q is taken by %d kinds of queues, want one", text, takes)
		}
	}
}
