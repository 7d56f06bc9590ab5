package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/fleet/delegate"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/sqlitetree"
)

// plantTree puts a tree into a file, in the state that change leaves it in.
func plantTree(t *testing.T, path, id, queue string, change func(*tree.Root)) {
	t.Helper()
	s, err := sqlitetree.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	spec := tree.Spec{ID: id, Queue: queue, Node: tree.Child{Key: "0"}}
	err = s.Step(t.Context(), tree.SubmitWant(spec), func(v tree.View) (tree.Change, error) {
		c, _, err := tree.Submit(v, spec, time.Now().UTC())
		if change != nil {
			change(&c.Root)
		}
		return c, err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestUpForeseesTheTreesOfItsQueues(t *testing.T) {
	const jobs = "http://127.0.0.1:9324/000000000000/jobs"
	path := filepath.Join(t.TempDir(), "trees.db")
	f := newTreeReader(path)
	t.Cleanup(func() { f.close() })
	look := func(queues ...config.QueueRef) muster.Expected {
		f.at = time.Time{} // as if it were read long ago
		return f.of(queues)(t.Context())
	}
	embedded := config.QueueRef{Name: "jobs"}
	if e := look(embedded); !e.Known || e.Trees != 0 {
		t.Errorf("without a file: %+v", e)
	}
	plantTree(t, path, "here", jobs, nil)
	plantTree(t, path, "ended", jobs, func(r *tree.Root) { r.State = tree.Complete })
	plantTree(t, path, "paused", jobs,
		func(r *tree.Root) { r.State, r.Reason = tree.Paused, `it was "state":"running" for long` })
	plantTree(t, path, "cloud", "https://sqs.eu-central-1.amazonaws.com/000000000000/jobs", nil)
	for _, row := range []struct {
		name   string
		queues []config.QueueRef
		want   int
	}{
		{"the embedded queue", []config.QueueRef{embedded}, 1},
		{"another queue", []config.QueueRef{{Name: "other"}}, 0},
		{"a queue of the cloud",
			[]config.QueueRef{{Name: "jobs", URL: "https://sqs.eu-central-1.amazonaws.com/000000000000/jobs"}}, 1},
		{"both", []config.QueueRef{embedded,
			{Name: "x", URL: "https://sqs.eu-central-1.amazonaws.com/000000000000/jobs"}}, 2},
	} {
		if e := look(row.queues...); !e.Known || e.Trees != row.want {
			t.Errorf("%s: %+v, want %d trees", row.name, e, row.want)
		}
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if e := look(embedded); !e.Known || e.Trees != 0 {
		t.Errorf("the file was moved away: %+v", e)
	}
	if err := os.WriteFile(path,
		[]byte("this is no file of trees, and long enough to be taken for one that is damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if e := look(embedded); e.Known || !strings.Contains(e.Reason, path) || e.At.IsZero() {
		t.Errorf("a file that cannot be read must be unknown, with the reason: %+v", e)
	}
	if err := os.Rename(path+".old", path); err != nil {
		t.Fatal(err)
	}
	if e := look(embedded); !e.Known || e.Trees != 1 {
		t.Errorf("the file is back: %+v", e)
	}
}

func TestOneReadingServesAllFleetsAndWaitsForNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trees.db")
	f := newTreeReader(path)
	t.Cleanup(func() { f.close() })
	jobs := f.of([]config.QueueRef{{Name: "jobs"}})
	jobs(t.Context())
	plantTree(t, path, "late", "http://127.0.0.1:9324/000000000000/jobs", nil)
	f.at = time.Now().UTC().Add(fileEvery) // the clock was set back: read anew
	if e := jobs(t.Context()); e.Trees != 1 {
		t.Fatalf("found %+v", e)
	}
	at := f.at
	if e := f.of([]config.QueueRef{{Name: "other"}})(t.Context()); !e.At.Equal(at) && e.At.Sub(at) < fileEvery {
		t.Errorf("it was read again after %s, and %s is soon enough", e.At.Sub(at), fileEvery)
	}
	f.reading <- struct{}{} // somebody reads, and goes on for long
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if e := jobs(ctx); e.Known || e.At.IsZero() {
		t.Errorf("found %+v, want unknown", e)
	}
	<-f.reading
}

// TestAFileThatNobodyWritesIsNotReadAgain takes the store away from under the reader: what is unchanged needs none.
func TestAFileThatNobodyWritesIsNotReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trees.db")
	plantTree(t, path, "one", "http://127.0.0.1:9324/000000000000/jobs", nil)
	long := time.Now().Add(-time.Hour)
	age := func() {
		for _, name := range []string{path, path + "-wal"} {
			if err := os.Chtimes(name, long, long); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
	f := newTreeReader(path)
	t.Cleanup(func() { f.close() })
	reads := 0
	look := func() muster.Expected {
		f.at = time.Time{}
		before := f.roots
		e := f.of([]config.QueueRef{{Name: "jobs"}})(t.Context())
		if len(f.roots) > 0 && (len(before) == 0 || &before[0] != &f.roots[0]) {
			reads++
		}
		return e
	}
	look()
	age()
	look() // written when is new
	reads = 0
	for range 3 {
		if e := look(); !e.Known || e.Trees != 1 {
			t.Errorf("found %+v", e)
		}
	}
	if reads != 0 {
		t.Errorf("an unchanged file was read %d times", reads)
	}
	plantTree(t, path, "two", "http://127.0.0.1:9324/000000000000/jobs", nil)
	if e := look(); e.Trees != 2 || reads != 1 {
		t.Errorf("after a change: %+v, read %d times", e, reads)
	}
}

// A program that gives Go a place to spare, as muster up does, says how many cores there are.
func TestLocalWorkersShareTheCoresThatThereAre(t *testing.T) {
	c, err := kinds.Parse("muster.yaml", []byte("version: 1\nfleets:\n"+
		"  - {name: jobs, queue: jobs, objective: {latency: 1m}, max: 9, workers: {command: [cat]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for cores, want := range map[int]int{0: host.Cores(), 7: 7} {
		a := App{options: Options{Cores: cores}}
		settings, err := a.liveSettings(c.Fleets[0])
		if err != nil || settings.Cores != want {
			t.Errorf("told of %d cores, workers share %d, want %d: %v", cores, settings.Cores, want, err)
		}
	}
}

// In shadow nothing is handed to AWS, whatever the configuration delegates.
func TestAShadowTakesAFleetThatDelegates(t *testing.T) {
	f := config.Fleet{Name: "jobs", Sizer: &delegate.Config{}}
	f.Policy.Delegate = &policy.Delegation{}
	got := (Options{Shadow: true}).shadowed(f)
	if !got.Policy.Shadow || got.Sizer != nil || got.Policy.Delegate != nil {
		t.Errorf("found %+v, want a fleet in shadow that delegates nothing", got)
	}
	if got := (Options{}).shadowed(f); got.Policy.Shadow || got.Sizer == nil {
		t.Errorf("without a shadow: found %+v, want the fleet as it is", got)
	}
}
