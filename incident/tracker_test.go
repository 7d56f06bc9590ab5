package incident

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
)

// start is the time at which the tests begin.
func start() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// blind is a view of a fleet whose members cannot be listed, or can.
func blind(at time.Time, is bool) View {
	return View{At: at, Fleets: []Fleet{{Name: "thumbs", Observed: true, Observation: muster.Observation{
		Capacity: muster.Capacity{Known: !is, Reason: "the service does not answer"}}}}}
}

// play steps a tracker once a second; present tells at which seconds the condition is. It returns the notices as text,
// each with its second.
func play(seconds int, present func(second int) bool) (told []string, t Tracker) {
	for s := range seconds {
		var notices []Notice
		t, notices = t.Step(blind(start().Add(time.Duration(s)*time.Second), present(s)))
		for _, n := range notices {
			told = append(told, fmt.Sprintf("%s at %d", n.Event, s))
		}
	}
	return told, t
}

func TestAnIncidentIsToldOnceAndSoIsItsEnd(t *testing.T) {
	// signal_unknown opens after a minute and ends after three minutes without it.
	told, tracker := play(600, func(s int) bool { return s >= 10 && s < 100 })
	if want := []string{"opened at 70", "ended at 279"}; !reflect.DeepEqual(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if len(tracker.Open()) != 0 || len(tracker.Recent) != 1 {
		t.Fatalf("open %+v, recent %+v", tracker.Open(), tracker.Recent)
	}
	i := tracker.Recent[0]
	if !i.BeganAt.Equal(start().Add(10*time.Second)) || !i.EndedAt.Equal(start().Add(99*time.Second)) {
		t.Errorf("it lasted from %s to %s, want the first and the last time it was present", i.BeganAt, i.EndedAt)
	}
}

func TestShortBlipsAreNoIncident(t *testing.T) {
	if told, tracker := play(7200, func(s int) bool { return s%60 < 20 }); told != nil || len(tracker.Standing) > 1 {
		t.Errorf("20 s of each minute were told: %q", told)
	}
}

func TestAFlappingConditionIsOneIncident(t *testing.T) {
	told, _ := play(7200, func(s int) bool { return s < 3600 && s%60 < 40 })
	if len(told) != 2 {
		t.Errorf("an hour of 40 s in each minute was told as %q, want one opening and one end", told)
	}
}

func TestWhatIsUnknownNeitherOpensNorEnds(t *testing.T) {
	told, tracker := play(100, func(int) bool { return true })
	if len(told) != 1 {
		t.Fatalf("told %q", told)
	}
	for s := range 3600 {
		v := View{At: start().Add(time.Duration(100+s) * time.Second), Fleets: []Fleet{{Name: "thumbs"}}}
		var notices []Notice
		if tracker, notices = tracker.Step(v); notices != nil {
			t.Fatalf("a fleet that is not observed was told of after %d s: %+v", s, notices)
		}
	}
	// A fleet that no longer exists has no incident.
	ended := false
	for s := range 600 {
		var notices []Notice
		tracker, notices = tracker.Step(View{At: start().Add(time.Duration(3700+s) * time.Second)})
		ended = ended || len(notices) == 1 && notices[0].Event == Ended
	}
	if !ended {
		t.Error("the incident of a removed fleet never ended")
	}
}

func TestARestartTellsNothingAnewAndTellsTheEnd(t *testing.T) {
	_, before := play(100, func(int) bool { return true })
	text, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	var tracker Tracker
	if err := json.Unmarshal(text, &tracker); err != nil {
		t.Fatal(err)
	}
	tracker = tracker.Restored()
	if !reflect.DeepEqual(tracker.Open(), before.Open()) {
		t.Fatalf("a restart changed what is open:\n%+v\n%+v", tracker.Open(), before.Open())
	}
	var told []Event
	for s := range 400 {
		var notices []Notice
		// An hour of downtime: present for 100 s, then away.
		tracker, notices = tracker.Step(blind(start().Add(time.Duration(3600+s)*time.Second), s < 100))
		for _, n := range notices {
			told = append(told, n.Event)
		}
	}
	if !reflect.DeepEqual(told, []Event{Ended}) {
		t.Errorf("told %q after a restart, want the end alone", told)
	}
}

func TestAMachineThatSleptEndsNothing(t *testing.T) {
	_, tracker := play(100, func(int) bool { return true })
	next, notices := tracker.Step(blind(start().Add(time.Hour), false))
	if notices != nil || len(next.Open()) != 1 {
		t.Errorf("one step after an hour ended the incident: %+v", notices)
	}
	if _, notices = next.Step(blind(start(), false)); notices != nil {
		t.Errorf("a clock that was set back told %+v", notices)
	}
}

// TestOpeningsAndEndsAlternate holds for any pattern: openings and ends alternate, the tracker is bounded, a step
// changes no earlier tracker, and a copy through JSON goes on the same.
func TestOpeningsAndEndsAlternate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tracker Tracker
		open, at := false, start()
		for range rapid.IntRange(1, 60).Draw(t, "phases") {
			present := rapid.Bool().Draw(t, "present")
			step := time.Duration(rapid.IntRange(0, 20).Draw(t, "step")) * time.Second
			for range rapid.IntRange(1, 40).Draw(t, "steps") {
				at = at.Add(step)
				before, _ := json.Marshal(tracker)
				next, notices := tracker.Step(blind(at, present))
				if after, _ := json.Marshal(tracker); string(before) != string(after) {
					t.Fatal("a step changed the tracker that it was given")
				}
				for _, n := range notices {
					if (n.Event == Opened) == open {
						t.Fatalf("%s while open is %v", n.Event, open)
					}
					open = !open
				}
				if len(next.Open()) > 1 || (len(next.Open()) == 1) != open || len(next.Recent) > MaxRecent {
					t.Fatalf("open %+v, told %v", next.Open(), open)
				}
				tracker = next
			}
		}
	})
}

func TestConditionsAreBounded(t *testing.T) {
	v := View{At: start()}
	for i := range MaxStanding + 50 {
		v.Fleets = append(v.Fleets, Fleet{Name: fmt.Sprintf("f%05d", i), Trouble: "it fails"})
	}
	var tracker Tracker
	if tracker, _ = tracker.Step(v); len(tracker.Standing) != MaxStanding {
		t.Errorf("found %d watched conditions, want %d", len(tracker.Standing), MaxStanding)
	}
	for s := range 60 {
		v.At = start().Add(time.Duration(s) * time.Second)
		tracker, _ = tracker.Step(v)
	}
	for s := range 200 {
		tracker, _ = tracker.Step(View{At: v.At.Add(time.Duration(s) * time.Second)})
	}
	if len(tracker.Recent) != MaxRecent || len(tracker.Standing) != 0 {
		t.Errorf("found %d recent and %d watched, want %d and 0", len(tracker.Recent), len(tracker.Standing), MaxRecent)
	}
}
