package server_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTheAPIPageNamesEveryRoute compares docs/api.md and docs/queues.md with the routes that the code registers.
func TestTheAPIPageNamesEveryRoute(t *testing.T) {
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	pages := read("../docs/api.md") + read("../docs/queues.md")
	named := strings.NewReplacer("{queue}", "NAME", "{fleet}", "NAME", "{id}", "ID", "{member}", "MEMBER")
	all := regexp.MustCompile(`"(GET|POST|PUT|DELETE) (/[^"]+)"`).FindAllStringSubmatch(read("server.go"), -1)
	if len(all) < 11 {
		t.Fatalf("found %d routes in server.go: the test looks in the wrong place", len(all))
	}
	for _, route := range all {
		if !strings.Contains(pages, route[1]+" "+named.Replace(route[2])) {
			t.Errorf("docs/api.md does not name %s %s", route[1], route[2])
		}
	}
}
