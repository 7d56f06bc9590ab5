package main

import (
	"os"
	"path/filepath"
	"testing"
)

// What another command measures stays on the page when this one writes it anew.
func TestThePartAboutDecisionsIsKept(t *testing.T) {
	for _, x := range []struct{ name, page, want string }{
		{"no page", "", ""},
		{"a page without", "# Benchmarks\n\n## The queue\n", ""},
		{"a page with", "# Benchmarks\n" + decisionsOn + "\n| a | b |\n", decisionsOn + "\n| a | b |\n"},
	} {
		path := filepath.Join(t.TempDir(), "benchmarks.md")
		if x.page != "" {
			if err := os.WriteFile(path, []byte(x.page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if found, err := decisions(path); err != nil || found != x.want {
			t.Errorf("%s: found %q, %v; want %q", x.name, found, err, x.want)
		}
	}
}
