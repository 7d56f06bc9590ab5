package world

import (
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of parameters in docs/simulation.md anew")

const parametersTable = "| parameter | meaning |\n|---|---|\n"

func TestTheDocumentationTellsEveryParameter(t *testing.T) {
	const path = "../../docs/simulation.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, p := range Parameters() {
		want.WriteString("| `" + p.Name + "=" + strings.ReplaceAll(p.Value, "|", "\\|") + "` | " +
			strings.ReplaceAll(p.What, "|", "\\|") + " |\n")
	}
	before, rest, found := strings.Cut(string(text), parametersTable)
	if !found {
		t.Fatalf("%s has no table that begins with\n%s", path, parametersTable)
	}
	table, after, _ := strings.Cut(rest, "\n\n")
	table = strings.TrimPrefix(table+"\n", "\n")
	if table == want.String() {
		return
	}
	if !*update {
		t.Fatalf("%s lists other parameters than there are; go test ./sim/world -run Parameter -update writes it "+
			"again; want\n%s", path, want.String())
	}
	if strings.HasPrefix(rest, "\n") { // the table is empty
		after = strings.TrimPrefix(rest, "\n")
	}
	if err := os.WriteFile(path, []byte(before+parametersTable+want.String()+"\n"+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestEveryParameterCanBeSet(t *testing.T) {
	for _, p := range Parameters() {
		value := map[string]string{"DURATION": "3s", "SHARE": "0.25", "PER_HOUR": "2", "COUNT": "3", "NUMBER": "0.5",
			"true|false": "true",
			"DATE":       "2026-02-03T04:05:06Z", "DURATION|DURATION|...": "1s|2s"}[p.Value]
		var w, untouched World
		if err := w.Set(p.Name, value); err != nil {
			t.Errorf("%s=%s: %v", p.Name, value, err)
		}
		if checked, err := w.Check(); err != nil {
			t.Errorf("%s=%s is refused: %v (%+v)", p.Name, value, err, checked)
		}
		if same(w, untouched) {
			t.Errorf("%s=%s changes nothing", p.Name, value)
		}
		if err := w.Set(p.Name, "nonsense!"); err == nil || !strings.Contains(err.Error(), p.Name) ||
			!strings.Contains(err.Error(), "allowed is") {
			t.Errorf("%s: found %v for a value that cannot be, want its name and what is allowed", p.Name, err)
		}
	}
}

func same(a, b World) bool { return reflect.DeepEqual(a, b) }
