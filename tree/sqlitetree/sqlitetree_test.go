package sqlitetree_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/sqlitetree"
)

var at = time.Unix(1_800_000_000, 0).UTC()

func open(t testing.TB, path string) *sqlitetree.Store {
	t.Helper()
	s, err := sqlitetree.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestTheFileIsAStoreOfTrees(t *testing.T) {
	mustertest.TreeStoreConformance(t,
		func(t *testing.T) tree.Store { return open(t, filepath.Join(t.TempDir(), "trees.db")) })
}

func TestWhatIsKeptIsThereAfterOpeningAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "trees.db")
	s := open(t, path)
	spec := tree.Spec{ID: "t", Queue: "q", Node: tree.Child{Key: "0", Body: "b"}}
	submit := func(v tree.View) (tree.Change, error) {
		c, _, err := tree.Submit(v, spec, at)
		return c, err
	}
	if err := s.Step(t.Context(), tree.SubmitWant(spec), submit); err != nil {
		t.Fatal(err)
	}
	before, err := s.Roots(t.Context())
	if err != nil || len(before) != 1 || before[0].Counts.Out != 1 {
		t.Fatalf("found %+v, %v", before, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := open(t, path).Roots(t.Context())
	if diff := cmp.Diff(before, after); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
	if stat, err := os.Stat(path); err != nil || stat.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v; want 0600", stat.Mode(), err)
	}
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"another program's": func(path string) error { return exec1(path, "CREATE TABLE a (b)") },
		"a newer one": func(path string) error {
			return exec1(path, "PRAGMA application_id = 0x4d755472; PRAGMA user_version = 2")
		},
		"no SQLite": func(path string) error {
			return os.WriteFile(path, bytes.Repeat([]byte("text "), 1000),
				0o600)
		},
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "trees.db")
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(path)
			s, err := sqlitetree.Open(path)
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("it was changed")
			}
			if !strings.Contains(err.Error(), path) {
				t.Errorf("the error does not name the file: %v", err)
			}
		})
	}
}

func exec1(path, statement string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.Exec(statement)
	return errors.Join(err, db.Close())
}

// TestManyProcessesCountTogether lets processes count in one file at once: each begins and finishes its own nodes.
func TestManyProcessesCountTogether(t *testing.T) {
	const processes, each = 4, 25
	if path := os.Getenv("TREES_TO_COUNT_IN"); path != "" {
		countIn(t, path, os.Getenv("TREES_TO_COUNT"), each)
		return
	}
	path := filepath.Join(t.TempDir(), "trees.db")
	var all sync.WaitGroup
	for i := range processes {
		all.Go(func() {
			c := exec.Command(os.Args[0], "-test.run=^TestManyProcessesCountTogether$", "-test.count=1")
			c.Env = append(os.Environ(), "TREES_TO_COUNT_IN="+path, fmt.Sprint("TREES_TO_COUNT=", i))
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", i, err, out)
			}
		})
	}
	all.Wait()
	roots, err := open(t, path).Roots(t.Context())
	if err != nil || len(roots) != 1 {
		t.Fatalf("found %v, %v", roots, err)
	}
	if want := (tree.Counts{Created: 1 + processes*each, Done: processes * each, Out: 1}); roots[0].Counts != want {
		t.Errorf("counted %+v, want %+v", roots[0].Counts, want)
	}
}

func countIn(t *testing.T, path, name string, n int) {
	s := open(t, path)
	spec := tree.Spec{ID: "t", Queue: "q", Node: tree.Child{Key: "0"}}
	var root tree.Root
	do := func(want tree.Want, step func(tree.View) (tree.Change, tree.Outcome, error)) {
		t.Helper()
		if err := s.Step(t.Context(), want, func(v tree.View) (tree.Change, error) {
			c, o, err := step(v)
			root = o.Root
			return c, err
		}); err != nil {
			t.Fatal(err)
		}
	}
	do(tree.SubmitWant(spec), func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Submit(v, spec, at) })
	parent := tree.NodeID("t", tree.ID{}, "0", false)
	for i := range n {
		key := fmt.Sprint(name, "-", i)
		id := tree.NodeID("t", parent, key, false)
		r := tree.Registration{Root: root, Parent: parent, Children: []tree.Child{{Key: key}}}
		do(r.Want(), func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Register(v, r) })
		do(tree.BeginWant("t", id), func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Begin(v, at) })
		do(tree.SettleWant("t", id), func(v tree.View) (tree.Change, tree.Outcome, error) {
			return tree.Finish(v, tree.Result{At: at})
		})
	}
}

// BenchmarkNode is one leaf from its registration to its end: three steps, each of them synced to the disk.
func BenchmarkNode(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "trees.db"))
	spec := tree.Spec{ID: "t", Queue: "q", Node: tree.Child{Key: "0"},
		Limits: tree.Limits{FanOut: tree.MaxNodes, Nodes: tree.MaxNodes}}
	var root tree.Root
	do := func(want tree.Want, step func(tree.View) (tree.Change, tree.Outcome, error)) {
		if err := s.Step(b.Context(), want, func(v tree.View) (tree.Change, error) {
			c, o, err := step(v)
			root = o.Root
			return c, err
		}); err != nil {
			b.Fatal(err)
		}
	}
	do(tree.SubmitWant(spec), func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Submit(v, spec, at) })
	parent := tree.NodeID("t", tree.ID{}, "0", false)
	for i := 0; b.Loop(); i++ {
		key := fmt.Sprint(i)
		id := tree.NodeID("t", parent, key, false)
		r := tree.Registration{Root: root, Parent: parent, Children: []tree.Child{{Key: key}}}
		do(r.Want(), func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Register(v, r) })
		do(tree.BeginWant("t", id), func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Begin(v, at) })
		do(tree.SettleWant("t", id), func(v tree.View) (tree.Change, tree.Outcome, error) {
			return tree.Finish(v, tree.Result{At: at})
		})
	}
}
