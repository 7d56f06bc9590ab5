package quiet_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/quiet"
	"github.com/muster-scale/muster/policy/internal/rules"
	"pgregory.net/rapid"
)

// after plays quiet times of so many seconds, one after the other, with a message between them, and returns what is
// known of them. worth is for how long workers are worth their idle time.
func after(worth float64, gaps ...float64) (q quiet.Times) {
	arrived := 1e9
	for _, gap := range gaps {
		q = q.Next(arrived, quiet.From(worth), worth) // it is quiet
		arrived += gap
		q = q.Next(arrived, 0, worth) // a message came
	}
	return q
}

func TestWorkersStayThroughQuietTimesAsLongAsThatHasPaid(t *testing.T) {
	for _, row := range []struct {
		name  string
		worth float64
		gaps  []float64
		want  bool
	}{
		{"nothing is known", 100, nil, true},
		{"one in vain may be an exception", 100, []float64{1000}, true},
		{"two in vain", 100, []float64{1000, 1000}, false},
		{"messages come soon", 100, []float64{30, 30, 30, 30, 30, 30}, true},
		{"they come as late as the workers are worth", 100, []float64{99, 99, 99, 99, 99, 99}, true},
		{"half of them come soon", 100, []float64{20, 1000, 20, 1000, 20, 1000, 20, 1000, 20}, true},
		{"a third of them comes late", 100, []float64{90, 1000, 1000, 90, 1000, 1000, 90, 1000, 1000}, false},
		{"it has paid again since", 100, []float64{1000, 1000, 1000, 20, 20, 20, 20, 20}, true},
		{"workers of little worth stay: arrivals are not known so exactly", 15, []float64{1000, 1000, 1000}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			if q := after(row.worth, row.gaps...); q.Pay() != row.want {
				t.Errorf("paid: %v, want %v; %+v", q.Pay(), row.want, q)
			}
		})
	}
}

// A message within a busy time is no quiet time, and one quiet time is counted once, however often it is seen.
func TestAQuietTimeIsCountedOnceAndOnlyIfItIsOne(t *testing.T) {
	q := quiet.Times{}
	for n := range 600 { // a message every nine seconds
		second := float64(n)
		q = q.Next(1e9+9*math.Floor(second/9), math.Mod(second, 9), 300)
	}
	if q != (quiet.Times{}) {
		t.Errorf("a busy time left %+v", q)
	}
	for quiet := range 400 {
		q = q.Next(2e9, float64(quiet), 300)
	}
	if q.Since != 2e9 || q.Idle != 0 {
		t.Errorf("during a quiet time: %+v, want since 2e9 and nothing counted", q)
	}
	if q = q.Next(2e9+400, 0, 300); q.Idle != 1 || q.Useful != 0 || q.Since != 0 {
		t.Errorf("after 400 s, with workers worth 300: %+v, want idle 1 and useful 0", q)
	}
}

// No quiet time counts for more than one, and both sums stay bounded.
func TestQuietTimesCountForAtMostOneEach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gaps := rapid.SliceOf(rapid.Float64Range(20, 1e6)).Draw(t, "gaps")
		q := after(rapid.Float64Range(20, 1e5).Draw(t, "worth"), gaps...)
		if most := 1 / (1 - 0.85); q.Useful < 0 || q.Useful > most || q.Idle < 0 || q.Idle > most {
			t.Fatalf("%+v, want both within 0 and %v", q, most)
		}
	})
}

// What is kept of quiet times comes back as it was.
func TestQuietTimesSurviveADecision(t *testing.T) {
	q := after(100, 1000, 20, 50)
	q.Since, q.Worth = 1e9, 100
	d := muster.Decision{Kept: slices.Concat(quiet.Headroom{}.Kept(), q.Kept())}
	got := quiet.TimesOf(muster.Recent{}.With(d, time.Minute))
	if math.Abs(got.Useful-rules.Round3(q.Useful)) > 1e-9 || got.Since != q.Since || got.Worth != q.Worth ||
		math.Abs(got.Idle-rules.Round3(q.Idle)) > 1e-9 {
		t.Errorf("kept %+v, found %+v", q, got)
	}
}
