package arch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/history/dynamohistory"
	"github.com/muster-scale/muster/history/pghistory"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds"
)

var update = flag.Bool("update", false, "write the table of adapters anew")

// adapters are those of all kinds, and of what the past is kept in.
func adapters() []kind.Adapter {
	return append(kinds.Table().Adapters(), kind.AdapterFor[*history.History]("one SQLite file"),
		kind.AdapterFor[*history.Memory]("nothing: for tests"),
		kind.AdapterFor[*dynamohistory.Store]("a DynamoDB table"),
		kind.AdapterFor[*pghistory.Store]("a PostgreSQL database"))
}

// port is an interface of the vocabulary and the suite of mustertest that holds it to its contract; an ability has
// none.
type port struct {
	name  string
	kind  reflect.Type
	suite []string
}

func ports() []port {
	return []port{
		{"Source", reflect.TypeFor[muster.Source](), []string{"SourceConformance"}},
		{"Fleet", reflect.TypeFor[muster.Fleet](), []string{"FleetConformance", "ServiceConformance"}},
		{"History", reflect.TypeFor[muster.History](), []string{"HistoryConformance"}},
		{"Notifier", reflect.TypeFor[muster.Notifier](), nil}, {"Expecter", reflect.TypeFor[muster.Expecter](), nil},
		{"Releaser", reflect.TypeFor[muster.Releaser](), nil}, {"Protector", reflect.TypeFor[muster.Protector](), nil},
		{"WarmPool", reflect.TypeFor[muster.WarmPool](), nil}, {"Trimmer", reflect.TypeFor[muster.Trimmer](), nil},
		{"Delegator", reflect.TypeFor[muster.Delegator](), nil},
	}
}

// suites are the conformance suites that the tests of a package run.
func suites(t *testing.T, pkg string) map[string]bool {
	files, err := filepath.Glob(filepath.Join("..", "..", pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, rest := range strings.Split(string(text), "mustertest.")[1:] {
			if call, _, ok := strings.Cut(rest, "("); ok && strings.HasSuffix(call, "Conformance") {
				found[call] = true
			}
		}
	}
	return found
}

func TestEachAdapterRunsTheSuiteOfItsPort(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Adapters\n\nWhat Muster observes, sizes and remembers with, and which abilities each has (`go " +
		"doc github.com/muster-scale/muster` explains them). Written by `go test ./internal/arch -update`; do not " +
		"edit.\n\n" +
		"| adapter | for | port, and the suite of `mustertest` that holds it to its contract | abilities " +
		"|\n|---|---|---|---|\n")
	for _, a := range adapters() {
		of := a.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		pkg := strings.TrimPrefix(of.PkgPath(), "github.com/muster-scale/muster/")
		runs := suites(t, pkg)
		var held, able []string
		for _, p := range ports() {
			if !a.Type.Implements(p.kind) {
				continue
			}
			if p.suite == nil {
				able = append(able, p.name)
				continue
			}
			suite := ""
			for _, s := range p.suite {
				if runs[s] {
					suite = s
				}
			}
			if suite == "" {
				t.Errorf("%s.%s is a %s, and its tests run none of %s\n\twhy: an adapter keeps the whole contract, "+
					"also where nobody thought of it. fix: run the suite in a test of %s",
					pkg, of.Name(), p.name, strings.Join(p.suite, ", "), pkg)
			}
			held = append(held, fmt.Sprintf("%s: `%s`", p.name, suite))
		}
		fmt.Fprintf(&b, "| `%s`.%s | %s | %s | %s |\n", pkg, of.Name(), a.For, strings.Join(held, ", "),
			strings.Join(able, ", "))
	}
	page := filepath.Join("..", "..", "docs", "adapters.md")
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != b.String() {
		t.Error("docs/adapters.md tells other adapters than there are\n\tfix: go test ./internal/arch -run Adapter " +
			"-update")
	}
}
