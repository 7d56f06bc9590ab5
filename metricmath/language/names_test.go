package language

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every function has its row in the documentation's table and in a table of tests; nothing else is there.
func TestEveryFunctionIsDocumentedAndTested(t *testing.T) {
	page, err := os.ReadFile("../../docs/metric-math.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| function | takes |")
	table, _, found := strings.Cut(table, "\n\n")
	if !found {
		t.Fatal("the page has no table of functions")
	}
	var tests strings.Builder
	for _, name := range []string{"functions_test.go", "search_test.go"} {
		text, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	for _, f := range functionNames() {
		word := regexp.MustCompile(`\b` + f + `\b`)
		if !word.MatchString(table) {
			t.Errorf("the page has no row for %s", f)
		}
		if !regexp.MustCompile(`\b` + f + `\(`).MatchString(tests.String()) {
			t.Errorf("no test calls %s", f)
		}
	}
	for _, w := range regexp.MustCompile(`\b[A-Z][A-Z_0-9]{2,}\b`).FindAllString(table, -1) {
		if !slices.Contains(functionNames(), w) && !slices.Contains(words, w) && w != "UTC" {
			t.Errorf("the page has a row for %s, which is no function", w)
		}
	}
}
