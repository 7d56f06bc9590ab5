package arch_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// numbered is how the file of a record is called.
	numbered = regexp.MustCompile(`^(\d{4})-[a-z0-9-]+\.md$`)
	// superseded is the remark below the title of a record that no longer holds, or not all of it. Its links come
	// before the colon.
	superseded = regexp.MustCompile(`^Superseded( in part)? by (\[[^:]*): \S`)
	// recorded is a link from one record to another.
	recorded = regexp.MustCompile(`\[(\d{4})\]\(([^)]*)\)`)
)

// TestASupersededDecisionSaysByWhat holds what docs/decisions/README.md promises: the index lists every record, a
// remark below a title names the records that replace it, and the index repeats it.
func TestASupersededDecisionSaysByWhat(t *testing.T) {
	const folder = "../../docs/decisions"
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	index, found := rows(read("README.md")), 0
	for _, e := range entries {
		name := numbered.FindStringSubmatch(e.Name())
		if name == nil {
			continue
		}
		found++
		row := index[name[1]]
		if !strings.Contains(row, "("+e.Name()+")") {
			t.Errorf("docs/decisions/README.md does not list %s.\nwhy: readers look for a decision in the index. "+
				"fix: add a row", e.Name())
		}
		_, body, _ := strings.Cut(read(e.Name()), "\n\n")
		remark, _, _ := strings.Cut(body, "\n\n")
		remark = strings.ReplaceAll(remark, "\n", " ")
		by := superseded.FindStringSubmatch(remark)
		switch {
		case by == nil && strings.HasPrefix(remark, "Superseded"):
			t.Errorf("%s: its remark is %q.\nwhy: a reader must find what holds instead. fix: write \"Superseded by "+
				"[NNNN](NNNN-name.md): why\", with \"in part\" where the rest holds", e.Name(), remark)
		case by == nil && strings.Contains(row, "; superseded"):
			t.Errorf("the index says %q, and %s does not.\nwhy: who reads the record alone takes it for true. fix: "+
				"say so below its title, or take it out of the index", row, e.Name())
		case by == nil:
			continue
		}
		if by != nil {
			replaced(t, folder, e.Name(), row, by)
		}
	}
	if found < 20 {
		t.Fatalf("found %d records in %s: the test looks in the wrong place", found, folder)
	}
}

// replaced checks the records that a remark names, and that the row of the index names the same.
func replaced(t *testing.T, folder, name, row string, by []string) {
	t.Helper()
	links := recorded.FindAllStringSubmatch(by[2], -1)
	if len(links) == 0 {
		t.Errorf("%s: %q names no record.\nwhy: a reader must find what holds instead. fix: link to it as "+
			"[NNNN](NNNN-name.md)", name, by[0])
	}
	_, says, _ := strings.Cut(row, "; superseded"+by[1]+" by ")
	for _, link := range links {
		if _, err := os.Stat(filepath.Join(folder, link[2])); err != nil || !strings.HasPrefix(link[2], link[1]+"-") {
			t.Errorf("%s is superseded by %s, and there is no record %s.\nwhy: a reader must find what holds "+
				"instead. fix: name a record that exists", name, link[0], link[2])
		}
		if !strings.Contains(says, link[1]) {
			t.Errorf("docs/decisions/README.md does not say that %s is superseded%s by %s.\nwhy: readers look for a "+
				"decision in the index. fix: end its row with \"; superseded%s by %s\"", name, by[1], link[1], by[1],
				link[1])
		}
	}
}

// rows are the lines of the index by the number of their record.
func rows(index string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(index) {
		if rest, ok := strings.CutPrefix(line, "| ["); ok && len(rest) > 4 {
			all[rest[:4]] = line
		}
	}
	return all
}
