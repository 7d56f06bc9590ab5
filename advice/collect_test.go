package advice_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/advice"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func record(t *testing.T, kind muster.RecordKind, minutes float64, body any) muster.Record {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return muster.Record{At: noon.Add(time.Duration(minutes * float64(time.Minute))), Kind: kind, Body: text}
}

// sized is a decision on a fleet with two members of two slots each.
func sized(t *testing.T, minutes float64, busy, wish int, oldest muster.Sample) muster.Record {
	t.Helper()
	return record(t, muster.Decided, minutes, controller.Decided{
		Observation: muster.Observation{Limits: muster.Limits{Max: 3},
			Queues:   []muster.QueueObservation{{Queue: "q", OldestAge: oldest}},
			Capacity: muster.Capacity{Known: true, Busy: 2, Slots: 4, BusySlots: busy}},
		Decision: muster.Decision{Wish: wish, Desired: 2}})
}

func TestAWindowIsMeasuredFromItsRecords(t *testing.T) {
	unknown, old := muster.Unknown(noon, "no age"), muster.Measured(noon, 90)
	lost := controller.Changed{What: roster.HadIncident, Incident: &protocol.Incident{Kind: protocol.LeaseLost}}
	other := controller.Changed{What: roster.HadIncident, Incident: &protocol.Incident{Kind: protocol.DeleteFailed}}
	c := advice.NewCollector(noon, noon.Add(time.Hour), 2)
	for _, r := range []muster.Record{
		sized(t, -1, 4, 99, old), // before the window
		sized(t, 0, 4, 2, unknown),
		sized(t, 2, 0, 7, old), // above the maximum for two minutes
		sized(t, 4, 2, 2, old), // and then silence, which counts as nothing
		sized(t, 30, 3, 2, old),
		sized(t, 31, 0, 2, unknown),
		record(t, muster.Changed, 31, lost), record(t, muster.Changed, 31, other),
		record(t, muster.Learned, 31, learning.Learned{Processing: took(3, time.Second), Boots: took(1, time.Minute),
			Ended: 3, InTime: 2, Usage: protocol.Usage{Calls: 3, WallSeconds: 3, CPUSeconds: 1}}),
		record(t, muster.Learned, 32, learning.Learned{Ended: 1, InTime: 4, Usage: protocol.Usage{Calls: 1,
			CPUSeconds: -1}}), // what cannot be measured
		{At: noon.Add(33 * time.Minute), Kind: muster.Decided, Body: []byte("{")},
	} {
		if !c.Add(r) {
			t.Fatalf("the record at %s ended the window", r.At)
		}
	}
	if c.Add(sized(t, 61, 4, 99, old)) {
		t.Error("a record after the window did not end it")
	}
	m := c.Measured()
	// Five minutes are covered: 2 with 4 busy slots, 2 with none, 1 with 3; 28 minutes of silence are not.
	if m.Covered != 5*time.Minute || m.AtMax != 2*time.Minute || m.PeakSize != 7 || m.PeakBusy != 4 {
		t.Errorf("found %s covered, %s at the maximum, a peak of %d members and %d busy slots", m.Covered, m.AtMax,
			m.PeakSize, m.PeakBusy)
	}
	if want := (2*4 + 3.0) / (5 * 4); math.Abs(m.Utilization-want) > 1e-9 || m.SlotsPerMember != 2 ||
		math.Abs(m.MeanBusy-11.0/5) > 1e-9 {
		t.Errorf("found a utilization of %v, %v slots on a member and %v busy, want %v, 2 and 2.2", m.Utilization,
			m.SlotsPerMember, m.MeanBusy, want)
	}
	if m.Oldest != 90*time.Second || !m.OldestKnown || m.LeasesLost != 1 || m.Ended != 3 || m.InTime != 2 ||
		m.Usage.Calls != 3 || m.Processing.Count != 3 || m.Boots.Count != 1 {
		t.Errorf("found %+v", m)
	}
	if again := c.Measured(); again.Covered != m.Covered || again.Utilization != m.Utilization {
		t.Errorf("measured again: %+v", again)
	}
}

// A fleet of short work is decided on when messages come and when they are gone, so its recorded decisions see no busy
// slot.
func TestBusySlotsAreCountedByDurations(t *testing.T) {
	measured := func(batch int) advice.Measured {
		c := advice.NewCollector(noon, noon.Add(time.Hour), batch)
		old := learning.Learned{Processing: took(999, time.Second)}
		c.Add(record(t, muster.Learned, 0, old)) // its time has no decision, so its slots are not known
		for minute := range 6 {
			at := float64(minute)
			c.Add(sized(t, at, 0, 2, muster.Unknown(noon, "no age")))
			c.Add(record(t, muster.Learned, at, learning.Learned{Processing: took(30, time.Second),
				Failing: took(10, time.Second)}))
		}
		c.Add(record(t, muster.Learned, 30, old))
		return c.Measured()
	}
	// Six records of 40 s in five minutes of four slots.
	if m := measured(1); math.Abs(m.Utilization-240.0/1200) > 1e-9 || math.Abs(m.MeanBusy-240.0/300) > 1e-9 {
		t.Errorf("found a utilization of %v and %v busy slots, want 0.2 and 0.8", m.Utilization, m.MeanBusy)
	}
	if m := measured(10); m.Utilization != 0 {
		t.Errorf("batches: found a utilization of %v, but durations in a slot overlap", m.Utilization)
	}
}
