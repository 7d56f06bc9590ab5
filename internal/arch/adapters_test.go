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
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/fleet/delegate"
	"github.com/muster-scale/muster/fleet/ecs"
	"github.com/muster-scale/muster/fleet/process"
	"github.com/muster-scale/muster/fleet/split"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/source/cloudwatch"
	"github.com/muster-scale/muster/source/embedded"
	"github.com/muster-scale/muster/source/sqs"
)

var update = flag.Bool("update", false, "write the table of adapters anew")

// adapter is a type that stands for a system outside.
type adapter struct {
	kind reflect.Type
	what string
}

func adapters() []adapter {
	return []adapter{
		{reflect.TypeFor[embedded.Source](), "queues of `muster up` itself"},
		{reflect.TypeFor[*sqs.Source](), "queues of Amazon SQS"},
		{reflect.TypeFor[*cloudwatch.Source](), "any metric or expression of CloudWatch"},
		{reflect.TypeFor[*process.Fleet](), "processes on this machine"},
		{reflect.TypeFor[*split.Fleet](), "several kinds of workers under one size"},
		{reflect.TypeFor[*asg.Fleet](), "EC2 Auto Scaling groups"},
		{reflect.TypeFor[*ecs.Service](), "services of Amazon ECS"},
		{reflect.TypeFor[*ecs.Tasks](), "tasks of Amazon ECS without a service"},
		{reflect.TypeFor[*delegate.Delegate](), "AWS's own target tracking"},
		{reflect.TypeFor[*history.History](), "one SQLite file"},
		{reflect.TypeFor[*history.Memory](), "nothing: for tests"},
	}
}

// port is an interface of the vocabulary and the suite of mustertest that holds it to its contract; an ability has none.
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
	b.WriteString("# Adapters\n\nWhat Muster observes, sizes and remembers with, and which abilities each has (`go doc " +
		"github.com/muster-scale/muster` explains them). Written by `go test ./internal/arch -update`; do not edit.\n\n" +
		"| adapter | for | port, and the suite of `mustertest` that holds it to its contract | abilities |\n|---|---|---|---|\n")
	for _, a := range adapters() {
		kind := a.kind
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		pkg := strings.TrimPrefix(kind.PkgPath(), "github.com/muster-scale/muster/")
		runs := suites(t, pkg)
		var held, able []string
		for _, p := range ports() {
			if !a.kind.Implements(p.kind) {
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
				t.Errorf("%s.%s is a %s, and its tests run none of %s\n\twhy: an adapter keeps the whole contract, also where nobody thought of it. fix: run the suite in a test of %s",
					pkg, kind.Name(), p.name, strings.Join(p.suite, ", "), pkg)
			}
			held = append(held, fmt.Sprintf("%s: `%s`", p.name, suite))
		}
		fmt.Fprintf(&b, "| `%s`.%s | %s | %s | %s |\n", pkg, kind.Name(), a.what, strings.Join(held, ", "), strings.Join(able, ", "))
	}
	page := filepath.Join("..", "..", "docs", "adapters.md")
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(page); err != nil || string(text) != b.String() {
		t.Errorf("docs/adapters.md tells other adapters than there are: %v\n\tfix: go test ./internal/arch -run Adapter -update", err)
	}
}
