package queue

import (
	"fmt"
	"os"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage"
	"github.com/muster-scale/muster/queue/internal/writer"
)

func mustSQLite(t *testing.T, dir string) *storage.SqliteStore {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := storage.OpenSQLite(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// TestSQLiteAndMemoryHoldTheSame commits the same random operations to both:
// with a log that is never full, with one that is taken over all the time, and
// without any.
func TestSQLiteAndMemoryHoldTheSame(t *testing.T) {
	for name, size := range map[string]int64{"a log": 1 << 20, "a small log": 4096, "no log": 0} {
		t.Run(name, func(t *testing.T) { holdTheSame(t, size) })
	}
}

func holdTheSame(t *testing.T, logSize int64) {
	dir := t.TempDir()
	runs, logged := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		if runs > 15 {
			return // each run makes a file; these are enough
		}
		sub := fmt.Sprintf("%s/%d", dir, runs)
		db := mustSQLite(t, sub)
		defer db.Close()
		db.Log.Size, db.Log.After = logSize, 0
		memory := storage.NewMemoryStore(1<<30, []byte("secret"))
		w := newWorld(rt, memory, db)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			w.now += int64(rapid.SampledFrom([]int{0, 1, 31_000, 400_000}).Draw(rt, "wait"))
			w.step()
			if rapid.Bool().Draw(rt, "commit") {
				w.commit()
				sameRecords(rt, w, memory, db)
			}
		}
		w.st.Flush()
		w.st.Sweep(writer.SweepRows)
		w.commit()
		if db.Log.Number > 0 {
			logged++
		}
		w.reopen()
		sameRecords(rt, w, memory, db)
	})
	if logged > 0 != (logSize > 0) {
		t.Errorf("%d runs used the log", logged)
	}
}

func sameRecords(rt *rapid.T, w *world, memory *storage.MemoryStore, db *storage.SqliteStore) {
	for _, q := range w.st.Names {
		for e := range q.All {
			seq := e.Seq
			a, errA := memory.Record(seq)
			b, errB := db.Record(seq)
			if diff := gocmp.Diff(a, b, gocmp.AllowUnexported(machine.Record{})); diff != "" || errA != nil ||
				errB != nil {
				rt.Fatalf("content of %d differs: %v %v\n%s", seq, errA, errB, diff)
			}
		}
	}
}
