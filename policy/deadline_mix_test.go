package policy_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
)

// ofClass is a class that takes so long, with so many messages measured in all and lately.
func ofClass(name string, seconds float64, ever int64, lately float64) muster.Class {
	return muster.Class{Name: name, Finished: lately,
		Processing: muster.Estimate{Known: true, Count: ever, MeanSeconds: seconds, P50Seconds: seconds,
			P95Seconds: seconds, P99Seconds: seconds}}
}

// mixed is a fleet whose messages take 1 s but for one in twenty, which takes 30 s: 200 of them wait, and 4 workers are
// busy.
func mixed(long, short float64) muster.Observation {
	s := see{backlog: 200, inFlight: 4, busy: 4, slots: 1, latency: 2 * time.Minute}
	work := muster.Estimate{Known: true, Count: 2000, MeanSeconds: 2.45, P50Seconds: 1, P95Seconds: 30, P99Seconds: 30}
	o := waits(s.at(work), []muster.Waiting{{AgeSeconds: 20, Messages: 200}})
	o.Classes = []muster.Class{ofClass("long", 30, 100, long), ofClass("short", 1, 1900, short)}
	return o
}

func term(t *testing.T, o muster.Observation, name string) float64 {
	t.Helper()
	for _, v := range deadline(t, 1).Decide(o, nil).Trail[0].In {
		if v.Name == name {
			return v.Value
		}
	}
	return -1
}

func TestDeadlinePlansWithTheMixOfTheLastMinutes(t *testing.T) {
	for _, row := range []struct {
		name          string
		long, short   float64
		least, most   float64 // the mean that is planned with
		leastMessages int
	}{
		{"as ever", 5, 95, 2.2, 2.7, 0},
		{"half of them are long now", 50, 50, 13, 16, 0},
		{"none of them is", 0, 100, 1, 1.3, 0},
		{"one long one of two says little", 1, 1, 3, 7, 0},
		{"nothing ended lately", 0, 0, 2.2, 2.7, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := mixed(row.long, row.short)
			if mean := term(t, o, "mpd_s"); mean < row.least || mean > row.most {
				t.Errorf("it plans with a mean of %v s, want %v to %v", mean, row.least, row.most)
			}
			if classes := term(t, o, "classes"); classes != 2 {
				t.Errorf("the term tells of %v classes, want 2", classes)
			}
		})
	}
}

// More long messages are no longer ones: what few messages exceed is still what few long ones exceed.
func TestDeadlineDoesNotTakeMoreLongMessagesForLongerOnes(t *testing.T) {
	o := mixed(50, 50)
	if tail := term(t, o, "service_s"); math.Abs(tail-30) > 1e-9 {
		t.Errorf("it plans with %v s for a message, want 30", tail)
	}
	o.Classes = nil
	o.Pace = muster.Pace{Finished: 100, Seconds: 50*30 + 50}
	if tail := term(t, o, "service_s"); tail < 60 {
		t.Errorf("without classes it plans with %v s: the test would prove nothing", tail)
	}
}

func TestARareClassDoesNotMakeTheTail(t *testing.T) {
	o := mixed(0, 100)
	o.Classes[0].Processing.Count = 2
	if tail := term(t, o, "service_s"); tail > 2 {
		t.Errorf("one message in a thousand is long, and it plans with %v s for each", tail)
	}
}

// A class that is between one message in a hundred and three counts by how far it is: no message more or less of it
// changes the plan at once.
func TestTheTailOfAClassThatIsSeldomComesByDegrees(t *testing.T) {
	last := 0.0
	for long := 0.0; long <= 60; long++ {
		o := mixed(long, 940)
		o.Classes[0].Processing.Count, o.Classes[1].Processing.Count = 30, 970
		tail := term(t, o, "service_s")
		if tail < last || tail > last+3 {
			t.Errorf("with %v long messages of %v it plans with %v s, with one less %v s", long, 940+long, tail, last)
		}
		last = max(tail, 1)
	}
	if last < 29 {
		t.Errorf("with one in seventeen it plans with %v s, want 30", last)
	}
}

func TestFewMessagesArePlannedWithTheLongestClassThatIsNotRare(t *testing.T) {
	for _, row := range []struct {
		name        string
		long, short int64
		want        float64
	}{{"two in a hundred are long", 20, 980, 30}, {"one in two hundred is", 5, 995, 1}} {
		o := waits(mixed(0, 0), []muster.Waiting{{AgeSeconds: 1, Messages: 2}})
		o.Classes[0].Processing.Count, o.Classes[1].Processing.Count = row.long, row.short
		if tail := term(t, o, "service_s"); math.Abs(tail-row.want) > 2 {
			t.Errorf("%s, and it plans with %v s for the two that wait, want about %v", row.name, tail, row.want)
		}
	}
}

// An objective that leaves time to launch for most messages may leave none for those of a class.
func TestHeadroomIsKeptForAClassThatLeavesNoTimeToLaunch(t *testing.T) {
	o := mixed(5, 95)
	o.Processing.P95Seconds, o.Processing.P99Seconds = 2, 2
	o.Boot = muster.Estimate{Known: true, Count: 10, MeanSeconds: 92, P95Seconds: 92}
	o = waits(o, nil)
	o.Capacity.Busy, o.Capacity.BusySlots, o.Capacity.Slots, o.Queues[0].InFlight.Value = 0, 0, 0, 0
	o.Arrivals = muster.Arrivals{Known: true, TenSeconds: 1, Minute: 1, FiveMinutes: 1, Hour: 1,
		Busiest: []muster.Busiest{{OverSeconds: 5, Messages: 60, Rooms: [4]float64{60, 60, 60, 60}}}}
	p := deadline(t, 1)
	with := p.Decide(o, nil)
	o.Classes = nil
	if without := p.Decide(o, nil); with.Desired < 1 || without.Desired > 0 {
		t.Errorf("%d workers are kept, and %d without classes; want some and none\n%s\n%s", with.Desired,
			without.Desired, with.Sentence(), without.Sentence())
	}
}

// A fleet of one class, or with a class of which nothing was measured, is a fleet without.
func TestDeadlineWithoutTwoClassesIsAsWithoutAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, o := ruled(t), prospects().Draw(t, "see")
		without, err := json.Marshal(p.Decide(o, nil))
		if err != nil {
			t.Fatal(err)
		}
		one := ofClass("one", rapid.Float64Range(0, 100).Draw(t, "seconds"), rapid.Int64Range(1, 1000).Draw(t, "count"),
			rapid.Float64Range(0, 100).Draw(t, "lately"))
		for _, classes := range [][]muster.Class{{one}, {one, {Name: "unknown"}},
			{{Name: "prior", Processing: muster.Estimate{Known: true, Prior: true, MeanSeconds: 1}}, one}} {
			o.Classes = classes
			with, err := json.Marshal(p.Decide(o, nil))
			if err != nil {
				t.Fatal(err)
			}
			if string(with) != string(without) {
				t.Fatalf("%d classes change\n%s\nto\n%s", len(classes), without, with)
			}
		}
	})
}

func TestDeadlineWithAnyClassesStaysWithinItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, o := ruled(t), prospects().Draw(t, "see")
		for i := range rapid.IntRange(2, 18).Draw(t, "classes") {
			seconds := rapid.SampledFrom([]float64{0, 1e-5, 0.1, 3, 50, 4000, 3e7}).Draw(t, "seconds")
			c := ofClass(string(rune('a'+i)), seconds, rapid.Int64Range(1, 1e9).Draw(t, "count"),
				rapid.SampledFrom([]float64{0, 0.5, 7, 1e6}).Draw(t, "lately"))
			o.Classes = append(o.Classes, c)
		}
		d := p.Decide(o, nil)
		if d.Desired < o.Limits.Min || d.Desired > o.Limits.Max || d.Floor > d.Desired {
			t.Fatalf("desired %d, floor %d: %s", d.Desired, d.Floor, d.Sentence())
		}
		if _, err := json.Marshal(d); err != nil {
			t.Fatalf("the decision has a number that is none: %v", err)
		}
	})
}
