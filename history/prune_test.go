package history_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/series"
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

// taught is a learned record of one message that took so many seconds, and of one boot.
func taught(t testing.TB, at time.Time, seconds, boot int) muster.Record {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"processing": series.Add(series.Durations{}, time.Duration(seconds)*time.Second),
		"boots":      series.Add(series.Durations{}, time.Duration(boot)*time.Second),
		"warm_boots": series.Add(series.Durations{}, time.Duration(boot)*time.Millisecond),
		"unknown":    "field",
	})
	if err != nil {
		t.Fatal(err)
	}
	return record(at, muster.Learned, string(body))
}

func TestOldRecordsGoAndTheNewestOfEachKindStays(t *testing.T) {
	both(t, func(t *testing.T, h store) {
		old := noon.Add(-8 * 24 * time.Hour)
		shared := func(r muster.Record, content string) muster.Record { r.Shared = []byte(content); return r }
		p := fill(t, h, "a",
			shared(record(old, muster.Decided, `1`), `"gone"`),
			shared(record(old, muster.Decided, `2`), `"kept"`),
			record(old, muster.Intended, `3`),
			record(old, muster.Changed, `4`),
			record(noon.Add(-6*24*time.Hour), muster.Changed, `5`),
			record(old, muster.Learned, `6`))
		fill(t, h, "b", record(old, muster.Changed, `1`))
		if got, want := prune(t, h, noon, 0), (history.Pruned{Removed: 2, Shared: 1}); got != want {
			t.Errorf("Prune = %+v, want %+v", got, want)
		}
		var left []string
		for _, r := range read(t, h, "a") {
			left = append(left, fmt.Sprintf("%d:%s%s", r.Position.Seq, r.Body, r.Shared))
		}
		if got, want := strings.Join(left, " "), `2:2"kept" 3:3 5:5 6:6`; got != want {
			t.Errorf("left are %s, want %s", got, want)
		}
		if got := read(t, h, "b"); len(got) != 1 {
			t.Errorf("of the other fleet %d records are left, want its only one", len(got))
		}
		if _, err := h.Append(t.Context(), "a", p, record(noon, muster.Changed, `7`)); err != nil {
			t.Errorf("after Prune the stream is elsewhere: %v", err)
		}
		if got := prune(t, h, noon, 0); got != (history.Pruned{}) {
			t.Errorf("a second Prune = %+v, want nothing to do", got)
		}
	})
}

func TestLearnedRecordsAreFoldedByTheHour(t *testing.T) {
	both(t, func(t *testing.T, h store) {
		ten := noon.Add(-26 * time.Hour) // 10:00 of the day before
		fill(t, h, "a",
			taught(t, ten.Add(-time.Nanosecond), 1, 10),
			taught(t, ten, 2, 20),
			record(ten, muster.Changed, `"untouched"`),
			taught(t, ten.Add(59*time.Minute), 4, 40),
			record(ten, muster.Learned, `"not durations"`),
			record(ten, muster.Learned, `{"processing":{"count":-5}}`),
			taught(t, ten.Add(30*time.Minute), 3, 30),
			taught(t, ten.Add(2*time.Hour), 5, 50), // within the last day
			taught(t, ten.Add(2*time.Hour), 6, 60))
		before := read(t, h, "a")
		if got, want := prune(t, h, noon, 0), (history.Pruned{Folded: 2}); got != want {
			t.Errorf("Prune = %+v, want %+v", got, want)
		}
		after := read(t, h, "a")
		var folded muster.Record
		var seqs []int64
		for _, r := range after {
			seqs = append(seqs, r.Position.Seq)
			if r.Position.Seq == 7 {
				folded = r
			} else if diff := cmp.Diff(before[r.Position.Seq-1], r); diff != "" {
				t.Errorf("record %d changed (-before +after):\n%s", r.Position.Seq, diff)
			}
		}
		if want := []int64{1, 3, 5, 6, 7, 8, 9}; !cmp.Equal(seqs, want) {
			t.Fatalf("left are records %d, want %d", seqs, want)
		}
		want := map[string]series.Durations{
			"processing": series.Add(series.Durations{}, 2*time.Second, 3*time.Second, 4*time.Second),
			"boots":      series.Add(series.Durations{}, 20*time.Second, 30*time.Second, 40*time.Second),
			"warm_boots": series.Add(series.Durations{}, 20*time.Millisecond, 30*time.Millisecond, 40*time.Millisecond),
		}
		var got map[string]series.Durations
		if err := json.Unmarshal(folded.Body, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the folded record (-want +got):\n%s", diff)
		}
		if got := prune(t, h, noon.Add(time.Minute), 0); got != (history.Pruned{}) {
			t.Errorf("a second Prune = %+v, want nothing to do", got)
		}
	})
}

func TestPruneTouchesABoundedNumberOfRecordsAtOnce(t *testing.T) {
	h := openFile(t, filepath.Join(t.TempDir(), "history.db"), history.Options{})
	var records []muster.Record
	for i := range 6000 {
		records = append(records, record(noon.Add(-9*24*time.Hour), muster.Changed, `1`),
			taught(t, noon.Add(-48*time.Hour+time.Duration(i)*time.Millisecond), 1, 1))
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
	records = append(records, taught(t, noon.Add(-40*time.Hour), 1, 1), taught(t, noon.Add(-40*time.Hour), 1, 1))
	fill(t, h, "a", records...)
	if got, want := prune(t, h, noon, 0), (history.Pruned{Folded: 1}); got != want {
		t.Errorf("Prune = %+v, want %+v", got, want)
	}
}

func TestPruneRefusesWhatItCannotMean(t *testing.T) {
	both(t, func(t *testing.T, h store) {
		for _, keep := range []time.Duration{-time.Hour, time.Minute, 10_000 * time.Hour} {
			if _, err := h.Prune(t.Context(), noon, keep); err == nil {
				t.Errorf("keeping %s was taken", keep)
			}
		}
		if _, err := h.Prune(t.Context(), time.Time{}, 0); err == nil {
			t.Error("the zero instant was taken")
		}
	})
}
