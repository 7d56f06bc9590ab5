package main

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Fifty messages at once, 300 s, a boot of 90 s: of 25 s a worker that is launched at once works 8, of 50 s 4.
func TestWhatNobodyCanBeatWithAWrongFigure(t *testing.T) {
	g := guess{messages: 50, slots: 1, latency: 300, boot: 90}
	for _, row := range []struct {
		name         string
		stated, each float64
		want         float64
		none         bool
	}{
		{"the figure is right: the optimum", 25, 25, 1, false},
		{"12.5 s were stated: five at once are paid for by the tenth, and three more of 4 each when none of 12.5 s " +
			"has ended", 12.5, 25, (8*90 + 1250) / 1880.0, false},
		{"50 s were stated: eleven at once, six more if none of 25 s has ended", 50, 25, (11*90 + 1250) / 1880.0,
			false},
		{"25 s were stated: nine at once, and fourteen of one each when it shows", 25, 50, (23*90 + 2500) / 3670.0,
			false},
		{"100 s were stated: a launch when it shows is too late, so all 25 at once", 100, 50, (25*90 + 2500) / 3670.0,
			false},
		{"whoever is sure of 50 s and finds 100 s is late whatever is done", 50, 100, 0, true},
		{"no message fits", 25, 250, 0, true},
	} {
		got, ok := g.least(row.stated, row.each)
		if ok == row.none || math.Abs(got-row.want) > 1e-9 {
			t.Errorf("%s: found %v, %v; want %v", row.name, got, ok, row.want)
		}
	}
}

func TestNobodyBeatsTheOptimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := guess{messages: rapid.IntRange(1, 80).Draw(t, "messages"), slots: rapid.IntRange(1, 4).Draw(t, "slots"),
			latency: rapid.Float64Range(10, 900).Draw(t, "latency"), boot: rapid.Float64Range(1, 300).Draw(t, "boot")}
		stated, each := rapid.Float64Range(1, 200).Draw(t, "stated"), rapid.Float64Range(1, 200).Draw(t, "each")
		if ratio, ok := g.least(stated, each); ok && ratio < 1-1e-9 {
			t.Fatalf("found %v times the optimum", ratio)
		}
		if _, possible := g.optimum(each); possible {
			if ratio, ok := g.least(each, each); !ok || math.Abs(ratio-1) > 1e-9 {
				t.Fatalf("found %v, %v for a figure that is right; want 1", ratio, ok)
			}
		}
	})
}
