package series_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster/series"
)

// Of 1,000 durations two are an hour long, and the others two seconds: 7.16 of the 9.196 s of the mean lie beyond ten
// times the 99th percentile.
func TestHowMuchOfAMeanHung(t *testing.T) {
	all := slices.Repeat([]time.Duration{2 * time.Second}, 998)
	at := time.Unix(1e9, 0)
	w, _ := series.Window{Length: time.Hour}.Add(at, series.Add(series.Durations{}, all...)).At(at)
	if w.Hung() != 0 {
		t.Errorf("%v s of the mean hung, want none of equal durations", w.Hung())
	}
	w = w.Add(at, series.Add(series.Durations{}, time.Hour, time.Hour))
	w, e := w.At(at)
	if want := 2 * (3600 - 20.0) / 1000; math.Abs(w.Hung()-want) > 0.03*want || w.Hung() > e.MeanSeconds {
		t.Errorf("%v s of a mean of %v s hung, want %v", w.Hung(), e.MeanSeconds, want)
	}
	if w, _ = w.At(at.Add(2 * time.Hour)); w.Hung() != 0 {
		t.Errorf("%v s hung of what is forgotten", w.Hung())
	}
}
