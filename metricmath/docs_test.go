package metricmath_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/muster-scale/muster/metricmath"
)

// blocks are the texts of the documentation's code blocks of one kind.
func blocks(t *testing.T, kind string) (all []string) {
	t.Helper()
	page, err := os.ReadFile("../docs/metric-math.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(page), "```"+kind+"\n")[1:] {
		text, _, closed := strings.Cut(part, "```")
		if !closed {
			t.Fatalf("a block of %s is never closed", kind)
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		t.Fatalf("no block of %s: the test looks in the wrong place", kind)
	}
	return all
}

// A block has lines "metric = points", "id := expression" and "expression -> what it gives".
func TestTheExamplesOfTheDocumentation(t *testing.T) {
	for _, block := range blocks(t, "metric-math") {
		var metrics []string
		var parts []metricmath.Query
		for _, l := range strings.Split(strings.TrimSpace(block), "\n") {
			if id, text, defines := strings.Cut(l, " := "); defines {
				parts = append(parts, expression(id, text))
				continue
			}
			text, want, shows := strings.Cut(l, " -> ")
			if !shows {
				metrics = append(metrics, strings.Replace(l, " =", "", 1))
				continue
			}
			queries, in, end := given(t, strings.Join(metrics, ";"))
			queries = append(append(queries, parts...), returning(expression("shown", text)))
			p, err := metricmath.Compile(queries, metricmath.Options{Use: metricmath.ForGraph})
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if v, reason := p.Evaluate(in, end); shown(v) != want {
				t.Errorf("%s gives %s (%s), the page says %s", text, shown(v), reason, want)
			}
		}
	}
}

func TestTheListOfTheDocumentation(t *testing.T) {
	for _, block := range blocks(t, "json") {
		var list []metricmath.Query
		if err := json.Unmarshal([]byte(block), &list); err != nil {
			t.Fatal(err)
		}
		p, err := metricmath.Compile(list, metricmath.Options{StrictReturnData: true})
		if err != nil {
			t.Fatal(err)
		}
		if notes := p.Notes(); len(notes) != 1 || notes[0].Query != "workers" {
			t.Errorf("found the notes %q, expected the one on Sum", notes)
		}
	}
}

func TestTheErrorsOfTheDocumentation(t *testing.T) {
	for _, block := range blocks(t, "errors") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		var metrics []string
		for _, id := range strings.Fields(strings.TrimPrefix(lines[0], "metrics ")) {
			metrics = append(metrics, id+" 1")
		}
		for _, l := range lines[1:] {
			text, want, _ := strings.Cut(l, ": ")
			if got := computed(t, strings.Join(metrics, ";"), text, metricmath.Options{}); got != "refused: result: "+
				want {
				t.Errorf("%s gives\n%s\nthe page says\n%s", text, got, want)
			}
		}
	}
}
