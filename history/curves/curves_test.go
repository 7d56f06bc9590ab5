package curves_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-scale/muster/history/curves"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// open opens the curves at path, in memory for an empty one.
func open(t testing.TB, path string) *curves.Store {
	t.Helper()
	s, moved, err := curves.Open(t.Context(), path)
	if err != nil || moved != "" {
		t.Fatalf("found %v, moved %q", err, moved)
	}
	t.Cleanup(func() { s.Close(context.Background(), t0) })
	return s
}

// sample returns a sample with a backlog and an age.
func sample(backlog, age float64) curves.Sample {
	s := curves.NewSample()
	s[curves.Backlog], s[curves.OldestAge], s[curves.Desired] = backlog, age, 3
	return s
}

// column reads one column of the fleet a.
func column(t testing.TB, s *curves.Store, c curves.Column, from, to, now time.Time, points int) ([]float64,
	time.Duration) {
	t.Helper()
	w, err := s.Read(t.Context(), "a", from, to, now, points)
	if err != nil {
		t.Fatal(err)
	}
	var all []float64
	for _, v := range w.Values {
		all = append(all, v[c])
	}
	return all, w.Step
}

func equal(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: found %v, want %v", what, got, want)
	}
	for i := range got {
		if got[i] != want[i] && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
			t.Fatalf("%s: found %v, want %v", what, got, want)
		}
	}
}

func TestCountsAreMeansAndAgesTheLargest(t *testing.T) {
	s := open(t, "")
	s.Add("a", t0, sample(10, 5))
	s.Add("a", t0.Add(2*time.Second), sample(20, 9))
	s.Add("a", t0.Add(4*time.Second), sample(30, 1))
	s.Add("a", t0.Add(6*time.Second), sample(40, 2))
	now := t0.Add(8 * time.Second)
	backlog, step := column(t, s, curves.Backlog, t0, now, now, 2)
	equal(t, "the backlog", backlog, 15, 35)
	age, _ := column(t, s, curves.OldestAge, t0, now, now, 2)
	equal(t, "the oldest age", age, 9, 2)
	if step != 4*time.Second {
		t.Errorf("the values have a width of %s", step)
	}
}

func TestUnknownStaysUnknown(t *testing.T) {
	s := open(t, "")
	nan := math.NaN()
	s.Add("a", t0, sample(10, 5))
	s.Add("a", t0.Add(2*time.Second), sample(nan, nan)) // the queue could not be read
	s.Add("a", t0.Add(8*time.Second), sample(0, 0))     // and nothing was measured in between
	now := t0.Add(10 * time.Second)
	if err := s.Flush(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	backlog, _ := column(t, s, curves.Backlog, t0, now, now, 5)
	equal(t, "the backlog", backlog, 10, nan, nan, nan, 0)
	desired, _ := column(t, s, curves.Desired, t0, now, now, 5)
	equal(t, "the desired count", desired, 3, 3, nan, nan, 3)
	coarse, _ := column(t, s, curves.Backlog, t0, now, now, 1)
	equal(t, "the mean of the known values", coarse, 5)
	other, err := s.Read(t.Context(), "b", t0, now, now, 5)
	if err != nil || len(other.Values) != 5 || !math.IsNaN(other.Values[0][curves.Desired]) {
		t.Errorf("a fleet without samples has %v, %v", other.Values, err)
	}
}

func TestARestartContinuesABucket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "curves.db")
	s := open(t, path)
	s.Add("a", t0, sample(10, 5))
	s.Add("a", t0.Add(time.Second), sample(20, 5))
	if err := s.Close(t.Context(), t0.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	again := open(t, path)
	again.Add("a", t0.Add(90*time.Minute), sample(60, 9)) // another hour, so the first one is complete
	again.Add("a", t0.Add(30*time.Minute), sample(60, 9)) // the clock was set back
	now := t0.Add(2 * time.Hour)
	got, _ := column(t, again, curves.Backlog, t0, t0.Add(time.Hour), now.Add(30*24*time.Hour), 1)
	equal(t, "the hour", got, 30)
}

func TestAReadHasAtMostTheWantedValues(t *testing.T) {
	s := open(t, "")
	now := t0.Add(100 * 24 * time.Hour)
	for _, window := range []time.Duration{time.Second, time.Minute, 17 * time.Minute, time.Hour, 5 * time.Hour,
		24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 99 * 24 * time.Hour} {
		for _, points := range []int{1, 2, 60, 599, curves.MaxPoints} {
			from := now.Add(-window - 777*time.Millisecond)
			w, err := s.Read(t.Context(), "a", from, now, now, points)
			if err != nil || len(w.Values) > points || len(w.Values) == 0 {
				t.Errorf("%s in %d points: found %d, %v", window, points, len(w.Values), err)
			}
			if w.From.After(from) || w.From.Add(time.Duration(len(w.Values))*w.Step).Before(now) {
				t.Errorf("%s in %d points: the values cover %s and %d times %s", window, points, w.From, len(w.Values),
					w.Step)
			}
		}
	}
	for _, points := range []int{0, -1, curves.MaxPoints + 1} {
		if _, err := s.Read(t.Context(), "a", t0, now, now, points); err == nil {
			t.Errorf("%d points are read", points)
		}
	}
	if _, err := s.Read(t.Context(), "a", now, t0, now, 10); err == nil {
		t.Error("a window that ends before it begins is read")
	}
}

func TestADamagedFileIsMovedAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "curves.db")
	if err := os.WriteFile(path, []byte("this is no database, and long enough to be read as one: "+
		string(make([]byte, 4096))), 0o600); err != nil {
		t.Fatal(err)
	}
	s, moved, err := curves.Open(t.Context(), path)
	if err != nil || moved != path+".damaged" {
		t.Fatalf("found %v, moved %q", err, moved)
	}
	s.Close(t.Context(), t0)
	if _, err := os.Stat(moved); err != nil {
		t.Error(err)
	}
}

// month fills a store with 30 days of one fleet, a sample every two minutes.
func month(t testing.TB, path string) (*curves.Store, time.Time) {
	s := open(t, path)
	end := t0.Add(30 * 24 * time.Hour)
	for at := t0; at.Before(end); at = at.Add(2 * time.Minute) {
		day := float64(at.Sub(t0)) / float64(24*time.Hour)
		s.Add("a", at, sample(100*(1+math.Sin(2*math.Pi*day)), 5))
		if at.Minute() == 0 && at.Second() == 0 {
			if err := s.Flush(t.Context(), at); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s, end
}

func TestThirtyDaysAnswerInTime(t *testing.T) {
	s, end := month(t, filepath.Join(t.TempDir(), "curves.db"))
	for _, days := range []int{1, 7, 14, 30} {
		var got []float64
		var step time.Duration
		took := time.Hour
		for range 5 { // the machine is shared: the best of a few reads counts
			began := time.Now()
			got, step = column(t, s, curves.Backlog, end.Add(time.Duration(-days)*24*time.Hour), end, end, 600)
			took = min(took, time.Since(began))
		}
		known := 0
		for _, v := range got {
			if !math.IsNaN(v) {
				known++
			}
		}
		t.Logf("%d days in %d values of %s took %s", days, len(got), step, took)
		if known < len(got)-2 || len(got) < 150 {
			t.Errorf("%d days: %d of %d values are known", days, known, len(got))
		}
		if took > 200*time.Millisecond {
			t.Errorf("%d days took %s, the page waits for at most 200 ms", days, took)
		}
	}
}

func TestTheFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "curves.db")
	s, end := month(t, path)
	if err := s.Close(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	stat, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if stat.Size() > 2<<20 {
		t.Errorf("the curves of one fleet take %d bytes", stat.Size())
	}
}

func BenchmarkThirtyDays(b *testing.B) {
	s, end := month(b, filepath.Join(b.TempDir(), "curves.db"))
	for b.Loop() {
		if _, err := s.Read(b.Context(), "a", end.Add(-30*24*time.Hour), end, end, 600); err != nil {
			b.Fatal(err)
		}
	}
}
