package learning

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

func TestTheQuickFormOfARecordIsThatOfTheLibrary(t *testing.T) {
	at, quick := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 0
	rapid.Check(t, func(t *rapid.T) {
		usually := rapid.Bool().Draw(t, "usually") // what is rare comes in half of the cases
		l := Flush{Learned: Learned{Arrived: rapid.Float64Range(0, 1e22).Draw(t, "arrived"),
			Finished: rapid.Float64Range(0, 1e9).Draw(t, "finished")}}
		if rapid.Bool().Draw(t, "counts") {
			l.Arrived = float64(rapid.IntRange(0, 1e6).Draw(t, "whole"))
		}
		if l.Arrived > 0 {
			l.Since = at.Add(time.Duration(rapid.Int64().Draw(t, "since") % int64(time.Hour)))
			if !usually && rapid.Bool().Draw(t, "elsewhere") {
				l.Since = l.Since.In(time.FixedZone("", rapid.IntRange(-1, 1).Draw(t, "hours")*3600))
			}
		}
		for range rapid.IntRange(0, 4).Draw(t, "durations") {
			l.Processing = series.Add(l.Processing,
				time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "took")))
		}
		if !usually && rapid.Bool().Draw(t, "booted") {
			l.Boots = series.Add(l.Boots, time.Second)
		}
		if !usually && rapid.Bool().Draw(t, "booted from the pool") {
			l.WarmBoots = series.Add(l.WarmBoots, time.Second)
		}
		if l.Processing.Count > 0 && rapid.Bool().Draw(t, "sent at a known time") {
			l.Ended = float64(l.Processing.Count)
			l.InTime = float64(rapid.Int64Range(0, l.Processing.Count).Draw(t, "in time"))
		}
		if !usually && rapid.Bool().Draw(t, "failed") {
			l.Failed, l.Failing = 1, series.Add(l.Failing, time.Second)
		}
		if !usually && rapid.Bool().Draw(t, "dead letters") {
			l.Dead = 1
		}
		if rapid.Bool().Draw(t, "measured") {
			l.Usage = protocol.Usage{Calls: 3, WallSeconds: rapid.Float64Range(0, 1e5).Draw(t, "wall"),
				CPUSeconds: 1.5, PeakBytes: rapid.Int64Range(0, 9).Draw(t, "peak"),
				Cores: rapid.SampledFrom([]float64{0, 0.5, 2}).Draw(t, "cores"), MemoryBytes: 7}
		}
		l.Counted = !usually && rapid.IntRange(0, 3).Draw(t, "counted") == 0
		recorded := l.Learned
		recorded.Sent = map[string]float64{}
		for range rapid.IntRange(0, 2).Draw(t, "queues") {
			queue := rapid.StringOfN(rapid.SampledFrom([]rune("ab-_.\"<\u2028\u00e9")), 0, 5, -1).Draw(t, "queue")
			recorded.Sent[queue] = rapid.Float64Range(0, 1e22).Draw(t, "sent")
			l.sent = l.sent.with(queue, counted{n: recorded.Sent[queue]})
		}
		slow := func(l Flush) string {
			text, err := json.Marshal(l.Body())
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		want, err := json.Marshal(recorded)
		if err != nil {
			t.Fatal(err)
		}
		got, usual := l.appendJSON(nil)
		if usual {
			quick++
		}
		if usual && string(got) != string(want) || slow(l) != string(want) {
			t.Fatalf("found %s\nwant  %s", got, want)
		}
	})
	if quick == 0 {
		t.Error("nothing was written quickly")
	}
	l := Flush{Learned{Processing: series.Add(series.Durations{}, time.Second), Arrived: 4, Since: at, Finished: 2},
		totals{{"q", counted{n: 4}}}}
	if _, usual := l.appendJSON(nil); !usual {
		t.Error("what fleets learn all the time is not written quickly")
	}
}
