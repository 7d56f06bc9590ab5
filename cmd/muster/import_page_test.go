package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/config/foreign"
)

// TestTheImportPageShowsWhatImportWrites keeps docs/import.md true: the second block is what import writes of the
// first.
func TestTheImportPageShowsWhatImportWrites(t *testing.T) {
	page := read(t, "../../docs/import.md")
	template := block(page, "```yaml")
	_, rest, _ := strings.Cut(page, template)
	written := block(rest, "```yaml")
	r, err := foreign.Read(foreign.File{Name: "template.yaml", Text: []byte(template)})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(r.YAML()), written); d != "" {
		t.Errorf("docs/import.md shows another configuration (-written +shown):\n%s", d)
	}
}
