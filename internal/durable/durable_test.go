package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTheNameOfEachDirectoryIsSyncedBeforeTheNextIsMade lists what is done, in order, with paths below a new directory.
func TestTheNameOfEachDirectoryIsSyncedBeforeTheNextIsMade(t *testing.T) {
	for _, row := range []struct {
		name, there, dir string
		want             []string
	}{
		{"nothing is there", "", "a/b/c", []string{"sync ..", "make a", "sync .", "make a/b", "sync a", "make a/b/c",
			"sync a/b"}},
		{"the last one is missing", "a/b", "a/b/c", []string{"sync a", "make a/b/c", "sync a/b"}},
		{"all are there, made by who knows whom", "a/b/c", "a/b/c", []string{"sync a/b"}},
		{"a path that is not clean", "a", "a/./b//", []string{"sync .", "make a/b", "sync a"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.MkdirAll(filepath.Join(root, row.there), 0o700); err != nil {
				t.Fatal(err)
			}
			var got []string
			note := func(what, path string) {
				path, err := filepath.Rel(root, path)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, what+" "+path)
			}
			err := makeAll(root+"/"+row.dir, func(path string) error {
				note("make", path)
				return os.Mkdir(path, 0o700)
			}, func(path string) error {
				note("sync", path)
				return SyncDir(path)
			})
			if err != nil || !slices.Equal(got, row.want) {
				t.Errorf("did %q (%v), want %q", got, err, row.want)
			}
		})
	}
}

func TestADirectoryWhoseNameCannotBeSyncedIsAnError(t *testing.T) {
	broken := errors.New("input/output error")
	for _, row := range []struct {
		name  string
		exist bool
		fault error
		fine  bool
	}{
		{"a new one on a broken disk", false, broken, false},
		{"an old one on a broken disk", true, broken, false},
		{"a new one in a directory of which this user may not know the names", false, fs.ErrPermission, false},
		{"an old one in a directory of which this user may not know the names", true, fs.ErrPermission, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "data")
			if row.exist {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			err := makeAll(dir, func(path string) error { return os.Mkdir(path, 0o700) }, func(path string) error {
				if path == root {
					return row.fault
				}
				return nil
			})
			if (err == nil) != row.fine || err != nil && !errors.Is(err, row.fault) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestDirectoriesAreMadeForTheirOwner(t *testing.T) {
	root := t.TempDir()
	if err := MkdirAll(filepath.Join(root, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a", "a/b"} {
		if stat, err := os.Stat(filepath.Join(root, path)); err != nil || stat.Mode() != fs.ModeDir|0o700 {
			t.Errorf("%s: %v, %v", path, stat, err)
		}
	}
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "below")} {
		if err := MkdirAll(path, 0o700); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("a directory %s in the place of a file: error %v", path, err)
		}
	}
}

func TestAFileIsMadeOnceAndWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := Create(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second file of that name: error %v, want one that it exists", err)
	}
	stat, err := os.Stat(path)
	if err != nil || stat.Mode() != 0o600 {
		t.Errorf("mode %v, %v", stat.Mode(), err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "first" {
		t.Errorf("content %q, %v", b, err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("the directory holds %v, %v; want the file alone", left, err)
	}
	if err := Create(filepath.Join(path, "below"), nil); err == nil {
		t.Error("a file below a file was made")
	}
}
