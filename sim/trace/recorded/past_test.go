package recorded_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/trace/recorded"
)

// sized is a record of a decision with so many members, of which the desired count is another number.
func sized(t *testing.T, when time.Duration, members, desired int, objective time.Duration) muster.Record {
	t.Helper()
	q := muster.QueueObservation{Queue: "q", Sent: muster.Measured(at(when), 1000),
		Backlog: muster.Measured(at(when), 0), InFlight: muster.Measured(at(when), 0)}
	return record(t, muster.Decided, when, map[string]any{
		"observation": muster.Observation{Queues: []muster.QueueObservation{q},
			Objective: muster.Objective{Latency: objective, Quantile: 0.9},
			Capacity:  muster.Capacity{Known: members >= 0, Idle: max(0, members)}},
		"decision": muster.Decision{Previous: desired, Desired: desired}})
}

func TestAWindowKnowsWhatTheFleetWas(t *testing.T) {
	minute := time.Minute
	var records []muster.Record
	for k := range 60 {
		records = append(records, sized(t, time.Duration(k)*minute, 2, 2, minute))
	}
	records = append(records,
		record(t, muster.Learned, 59*minute, learning.Learned{Arrived: 20, Since: at(58 * minute), Ended: 20,
			InTime: 19, Boots: series.Add(series.Durations{}, 3*time.Second)}),
		sized(t, 60*minute, 2, 5, minute), sized(t, 61*minute, 5, 5, 2*minute), sized(t, 62*minute, -1, 5, 2*minute),
		sized(t, 63*minute, 1, 1, 2*minute))
	w := window(t, 0, 64*minute, records...)
	p := w.Past
	if p.Sized != 63*minute || p.MemberSeconds != 61*120+300+60 || p.Peak != 5 || p.Changes != 2 {
		t.Errorf("found %s of sizes, %v member-seconds, a peak of %d and %d changes; want 63 minutes, %d, 5 and 2",
			p.Sized, p.MemberSeconds, p.Peak, p.Changes, 61*120+300+60)
	}
	if p.Ended != 20 || p.InTime != 19 || p.Objective.Latency != 2*minute || !p.Other || w.Boots.Count != 1 {
		t.Errorf("found %+v and %d boots", p, w.Boots.Count)
	}
}

// A worker that stops by itself lowers the desired count, and no decision did.
func TestAWorkerThatStopsByItselfIsNoChangeOfSize(t *testing.T) {
	left := record(t, muster.Changed, 90*time.Second, controller.Changed{Member: "m", What: roster.Left, Desired: 1})
	for _, row := range []struct {
		name    string
		records []muster.Record
		want    int
	}{
		{"by itself", []muster.Record{left}, 0},
		{"by a decision", nil, 1},
	} {
		all := append([]muster.Record{sized(t, time.Minute, 2, 2, time.Minute)}, row.records...)
		all = append(all, sized(t, 2*time.Minute, 1, 1, time.Minute))
		if got := window(t, 0, 3*time.Minute, all...).Past.Changes; got != row.want {
			t.Errorf("%s: %d changes, want %d", row.name, got, row.want)
		}
	}
}

func TestATrimmedWindowHasRecordsAtBothEnds(t *testing.T) {
	hour := time.Hour
	var records []muster.Record
	for k := range 61 {
		records = append(records, sized(t, 10*hour+time.Duration(k)*time.Minute, 1, 1, time.Minute))
	}
	records = append(records, learned(t, 11*hour, 11*hour-10*time.Second, 7, time.Second))
	whole := window(t, 0, 24*hour, records...)
	w := whole.Trimmed()
	if !w.From.Equal(at(10*hour)) || !w.To.Equal(at(11*hour)) || w.Share() < 0.99 || len(w.Gaps) != 0 ||
		!w.AskedFrom.Equal(at(0)) {
		t.Errorf("found %s to %s, a share of %v and the gaps %v; want the recorded hour without a gap", w.From, w.To,
			w.Share(), w.Gaps)
	}
	was, is := messages(t, whole, recorded.Options{Seed: 1}), messages(t, w, recorded.Options{Seed: 1})
	if !slices.EqualFunc(was, is, func(a, b trace.Message) bool { return a.Arrival-10*hour == b.Arrival }) {
		t.Errorf("the messages are others:\n%v\n%v", was, is)
	}
	if notes := strings.Join(w.Notes(), "\n"); !strings.Contains(notes,
		"the window from 2026-03-01 12:00:00Z to 2026-03-02 12:00:00Z is incomplete: there are records from "+
			"2026-03-01 22:00:00Z to 2026-03-01 23:00:00Z only") || strings.Contains(notes, "not counted") {
		t.Errorf("the notes are\n%s", notes)
	}
	for name, same := range map[string]recorded.Window{
		"complete":                    window(t, 10*hour, 11*hour, records...),
		"a silent minute at each end": window(t, 10*hour-time.Minute, 11*hour+time.Minute, records...),
		"empty":                       window(t, 0, hour),
	} {
		if x := same.Trimmed(); !x.AskedFrom.IsZero() || !x.From.Equal(same.From) || !x.To.Equal(same.To) {
			t.Errorf("%s: found %s to %s", name, x.From, x.To)
		}
	}
}

// Decisions are kept for a week and folded records for weeks. Their five minutes were counted, too.
func TestFoldedRecordsSayThatArrivalsWereCounted(t *testing.T) {
	hour, minute := time.Hour, time.Minute
	var came []series.Came
	for k := range 12 {
		came = append(came, series.Came{From: at(hour + time.Duration(k)*5*minute).Unix(), Messages: int64(k % 3)})
	}
	w := window(t, 0, 3*hour, record(t, muster.Learned, 2*hour-minute, learning.Learned{Came: came,
		Processing: series.Add(series.Durations{}, time.Second)})).Trimmed()
	if w.Messages != 12 || w.Share() < 0.99 || !w.From.Equal(at(hour)) || !w.To.Equal(at(2*hour)) {
		t.Errorf("found %d messages from %s to %s, of which a share of %v is covered, with the gaps %v; want 12 in "+
			"one covered hour", w.Messages, w.From, w.To, w.Share(), w.Gaps)
	}
}

func TestTheNewestPartOfAWindowHasAtMostAsManyMessagesAsAskedFor(t *testing.T) {
	h := history.NewMemory()
	position, err := h.Begin(t.Context(), "fleet")
	if err != nil {
		t.Fatal(err)
	}
	var records []muster.Record
	for k := range 100 { // fewer and fewer
		when := time.Duration(k+1) * time.Minute
		records = append(records, learned(t, when, when-time.Minute, float64(200-2*k), time.Second))
	}
	if _, err := h.Append(t.Context(), "fleet", position, records...); err != nil {
		t.Fatal(err)
	}
	whole, err := recorded.Read(t.Context(), h, "fleet", at(0), at(100*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int64{3, 50, 1000, 5000, whole.Messages, 1e6} {
		w, err := recorded.Newest(t.Context(), h, whole, most)
		if least := min(most, whole.Messages) - 200; err != nil || w.Messages > most || w.Messages < least ||
			!w.To.Equal(whole.To) {
			t.Errorf("of %d messages at most %d: found %d until %s, %v", whole.Messages, most, w.Messages, w.To, err)
		}
	}
	if _, err := recorded.Newest(t.Context(), h, whole, 1); err == nil {
		t.Error("the newest minute has 2 messages, and one was promised")
	}
}
