package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// plant makes a small tree and returns its place.
func plant(t *testing.T) string {
	t.Helper()
	from := t.TempDir()
	for name, text := range map[string]string{"a.txt": "a", "d/b.txt": "bb", "d/e/c.txt": "", "f/g/h/i": "i"} {
		if err := os.MkdirAll(filepath.Join(from, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return from
}

func TestANodeIsOneDirectory(t *testing.T) {
	from, to, sums := plant(t), t.TempDir(), t.TempDir()
	t.Setenv("MUSTER_TREE_DEPTH_LEFT", "3")
	t.Setenv("MUSTER_TREE_NODE", "n1")
	var out bytes.Buffer
	if err := copyNode(strings.NewReader("d"), &out, from, to, sums); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "{\"key\":\"d/e\"}\n" {
		t.Errorf("the children are %s", got)
	}
	if b, err := os.ReadFile(filepath.Join(to, "d/b.txt")); string(b) != "bb" {
		t.Errorf("the copy holds %q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(to, "d/e")); err == nil {
		t.Error("the child was copied too")
	}
	if list, _ := os.ReadDir(filepath.Join(to, "d")); len(list) != 1 {
		t.Errorf("found %v in the copy, want b.txt alone", list)
	}
}

func TestWithoutDepthEverythingBelowIsCopied(t *testing.T) {
	from, to, sums := plant(t), t.TempDir(), t.TempDir()
	t.Setenv("MUSTER_TREE_DEPTH_LEFT", "0")
	var out bytes.Buffer
	for range 2 { // the second time does no harm
		if err := copyNode(strings.NewReader(".\n"), &out, from, to, sums); err != nil {
			t.Fatal(err)
		}
	}
	if err := compare(&out, to, sums); err != nil ||
		out.String() != "4 files of 4 bytes: all as their checksums say\n" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
	if err := os.WriteFile(filepath.Join(to, "d/b.txt"), []byte("bx"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := compare(&out, to, sums); err == nil || !strings.Contains(err.Error(), "d/b.txt") {
		t.Errorf("a file that changed is found with %v", err)
	}
}

func TestNothingOutsideIsRead(t *testing.T) {
	from, to, sums := plant(t), t.TempDir(), t.TempDir()
	if err := os.Symlink("/etc", filepath.Join(from, "etc")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../x", "/etc", "d//e", "", "etc", strings.Repeat("a", 5000)} {
		if err := copyNode(strings.NewReader(name), &bytes.Buffer{}, from, to, sums); err == nil {
			t.Errorf("%.20q was copied", name)
		}
	}
}
