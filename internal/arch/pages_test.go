package arch_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	// linked is a link of a page to a file of the repository or to a heading, not to a site.
	linked = regexp.MustCompile(`\]\(([^()\s:]+)\)`)
	// fenced is a block of code, inCode a span of it: what looks like a link there is none.
	fenced = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	inCode = regexp.MustCompile("`[^`\n]+`")
	// heading is a line that others can link to.
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// pages returns the Markdown of the repository by the path of the page from its root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	// New pages count before they are committed.
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Skipf("there is no git, or this is no clone: %v", err)
	}
	all := map[string]string{}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		all[name] = fenced.ReplaceAllString(string(text), "")
	}
	return all
}

// TestTheIndexListsEveryPageOnce holds docs/README.md to the pages in its folder.
func TestTheIndexListsEveryPageOnce(t *testing.T) {
	all := pages(t)
	listed := map[string]int{}
	for _, l := range linked.FindAllStringSubmatch(all["docs/README.md"], -1) {
		listed[l[1]]++
	}
	for name := range all {
		if base := path.Base(name); path.Dir(name) == "docs" && base != "README.md" && listed[base] != 1 {
			t.Errorf("docs/README.md lists %s %d times.\nwhy: a page that is not in the index is not found. fix: give "+
				"it one row, in the part where a reader needs it", base, listed[base])
		}
	}
	if !strings.Contains(all["README.md"], "(docs/README.md)") {
		t.Error("README.md does not link to docs/README.md.\nwhy: readers begin there. fix: link to it")
	}
}

// TestNoLinkIsDead follows every link between pages, to their headings too.
func TestNoLinkIsDead(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		for _, l := range linked.FindAllStringSubmatch(inCode.ReplaceAllString(text, ""), -1) {
			file, anchor, _ := strings.Cut(l[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join("../..", target)); err != nil {
				t.Errorf("%s links to %s, which does not exist.\nwhy: a reader ends there. fix: name what is meant",
					name, l[1])
				continue
			}
			if page, ok := all[target]; ok && anchor != "" && !anchors(page)[anchor] {
				t.Errorf("%s links to %s, and %s has no such heading.\nwhy: a reader lands at the top of the page and "+
					"searches. fix: name a heading that is there", name, l[1], target)
			}
		}
	}
}

// anchors returns the names by which the headings of a page are linked to: small letters, digits, and hyphens for
// blanks.
func anchors(page string) map[string]bool {
	all := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(page, -1) {
		all[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(h[1]))] = true
	}
	return all
}
