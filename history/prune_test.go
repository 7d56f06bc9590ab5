package history_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/history/historytest"
)

// both runs a test against the file and the memory.
func both(t *testing.T, test func(t *testing.T, h store)) {
	t.Run("file", func(t *testing.T) {
		test(t, openFile(t, filepath.Join(t.TempDir(), "history.db"), history.Options{}))
	})
	t.Run("memory", func(t *testing.T) { test(t, history.NewMemory()) })
}

func prune(t *testing.T, h store, now time.Time, keep time.Duration) history.Pruned {
	t.Helper()
	var sum history.Pruned
	for range 1000 {
		p, err := h.Prune(t.Context(), now, keep)
		if err != nil {
			t.Fatal(err)
		}
		sum.Removed, sum.Folded, sum.Shared = sum.Removed+p.Removed, sum.Folded+p.Folded, sum.Shared+p.Shared
		if !p.More {
			return sum
		}
	}
	t.Fatal("Prune asks for another call without end")
	return sum
}

func read(t *testing.T, h muster.History, fleet string) []muster.Record {
	t.Helper()
	var all []muster.Record
	if err := h.Read(t.Context(), fleet, time.Time{},
		func(r muster.Record) bool { all = append(all, r); return true }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPruneTouchesABoundedNumberOfRecordsAtOnce(t *testing.T) {
	h := openFile(t, filepath.Join(t.TempDir(), "history.db"), history.Options{})
	var records []muster.Record
	for i := range 6000 {
		records = append(records, record(noon.Add(-9*24*time.Hour), muster.Changed, `1`),
			historytest.Learned(t, noon.Add(-48*time.Hour+time.Duration(i)*time.Millisecond), 1, 1))
	}
	fill(t, h, "a", records...)
	first, err := h.Prune(t.Context(), noon, 0)
	if err != nil || !first.More || first.Removed > 5000 || first.Folded > 5000 || first.Removed == 0 ||
		first.Folded == 0 {
		t.Errorf("the first Prune = %+v, %v, want a part of the work and more to do", first, err)
	}
	rest := prune(t, h, noon, 0)
	if first.Removed+rest.Removed != 5999 || first.Folded+rest.Folded != 5999 {
		t.Errorf("removed %d and folded %d in all, want 5999 of each", first.Removed+rest.Removed,
			first.Folded+rest.Folded)
	}
	learned, err := h.Last(t.Context(), "a", 10, muster.Learned)
	if err != nil || len(learned) != 1 ||
		!strings.Contains(string(learned[0].Body), `"processing":{"count":6000,"sum_s":6000`) {
		t.Errorf("left of what was learned: %v, %v, want one record of 6000 messages", learned, err)
	}
}

func TestAnHourThatCannotBeFoldedHoldsNothingUp(t *testing.T) {
	h := openFile(t, filepath.Join(t.TempDir(), "history.db"), history.Options{})
	var records []muster.Record
	for range 5001 {
		records = append(records, record(noon.Add(-48*time.Hour), muster.Learned, `"not durations"`))
	}
	one := historytest.Learned(t, noon.Add(-40*time.Hour), 1, 1)
	records = append(records, one, one)
	fill(t, h, "a", records...)
	if got, want := prune(t, h, noon, 0), (history.Pruned{Folded: 1}); got != want {
		t.Errorf("Prune = %+v, want %+v", got, want)
	}
}
