package quiet

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

func TestHeadroomOfAnOverloadEndsWithItsWorth(t *testing.T) {
	usual, overload := Headroom{Workers: 4, Worth: 600, Last: 1000}, Headroom{8, 600, 1000, true}
	for _, row := range []struct {
		name           string
		kept, measured Headroom
		quiet          float64
		want           Headroom
	}{
		{"an overload replaces headroom of the same moment", usual, overload, 0, overload},
		{"an arrival that is seen late renews the usual headroom", usual, Headroom{1, 600, 2000, false}, 90,
			Headroom{4, 600, 2000, false}},
		{"and not that of an overload", overload, Headroom{1, 600, 2000, false}, 90, Headroom{1, 600, 2000, false}},
		{"no message since", overload, Headroom{1, 600, 1005, false}, 0, overload},
		{"overloaded again", overload, Headroom{8, 600, 2000, true}, 0, Headroom{8, 600, 2000, true}},
	} {
		if got := row.kept.Next(row.measured, row.quiet); got != row.want {
			t.Errorf("%s: found %+v, want %+v", row.name, got, row.want)
		}
	}
}

// Decisions keep three decimals. A small headroom must not look changed because of that.
func TestASmallHeadroomIsKeptAsItIs(t *testing.T) {
	for _, workers := range []float64{0.0006, 0.0014, 0.0016, 0.0024, 1.23456} {
		measured := func(last float64) Headroom { return Headroom{workers, 600.00049, last, false} }
		first := Headroom{}.Next(measured(1000), 0)
		recent := muster.Recent{}.With(muster.Decision{Kept: first.Kept()}, time.Minute)
		if next := HeadroomOf(recent).Next(measured(1030), 0); next != first {
			t.Errorf("%+v is kept, and half a minute later %+v", first, next)
		}
	}
}

func TestHeadroomSurvivesADecision(t *testing.T) {
	for _, want := range []Headroom{{}, {4, 600, 1000, false}, {8, 600, 1000, true}} {
		recent := muster.Recent{}.With(muster.Decision{Kept: want.Kept()}, time.Minute)
		if got := HeadroomOf(recent); got != want {
			t.Errorf("found %+v, want %+v", got, want)
		}
	}
}
