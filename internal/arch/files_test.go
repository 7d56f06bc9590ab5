package arch_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// maxTracked bounds a file that is kept in the repository, and maxPicture a picture of the documentation, in bytes.
const (
	maxTracked = 256 << 10
	maxPicture = 150_000
)

// TestNoProgramIsKept holds that what is kept in the repository is text that somebody wrote, and not what a build made
// of it. Test data may be bytes, and so may the pictures that scripts/pictures takes: a reader cannot build them.
func TestNoProgramIsKept(t *testing.T) {
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Skipf("there is no git, or this is no clone: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		binary := bytes.IndexByte(text, 0) >= 0 && !strings.Contains(name, "testdata/")
		most := maxTracked
		if strings.HasPrefix(name, "docs/pictures/") && strings.HasSuffix(name, ".png") {
			binary, most = false, maxPicture
		}
		if len(text) > most || binary {
			t.Errorf("%s has %d bytes, binary: %t.\nwhy: a clone holds what people wrote; the rest is built from it. "+
				"fix: git rm --cached it, and name it in .gitignore", name, len(text), binary)
		}
	}
}
