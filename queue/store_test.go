package queue

import (
	"fmt"
	"os"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func mustSQLite(t *testing.T, dir string) *sqliteStore {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := openSQLite(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// TestSQLiteAndMemoryHoldTheSame commits the same random operations to both.
func TestSQLiteAndMemoryHoldTheSame(t *testing.T) {
	dir := t.TempDir()
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		if runs > 15 {
			return // each run makes a file; these are enough
		}
		sub := fmt.Sprintf("%s/%d", dir, runs)
		db := mustSQLite(t, sub)
		defer db.Close()
		memory := newMemoryStore(1<<30, []byte("secret"))
		w := newWorld(rt, memory, db)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			w.now += int64(rapid.SampledFrom([]int{0, 1, 31_000, 400_000}).Draw(rt, "wait"))
			w.step()
		}
		w.st.flush()
		w.st.sweep(sweepRows)
		w.commit()
		w.reopen()
		for _, q := range w.st.names {
			for e := range q.all {
				seq := e.seq
				a, errA := memory.Record(seq)
				b, errB := db.Record(seq)
				if diff := gocmp.Diff(a, b, gocmp.AllowUnexported(record{})); diff != "" || errA != nil || errB != nil {
					rt.Fatalf("content of %d differs: %v %v\n%s", seq, errA, errB, diff)
				}
			}
		}
	})
}
