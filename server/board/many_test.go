package board_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/server/board"
)

// other is a fleet under another name, which shows another fleet's outcomes.
type other struct {
	*fleet
	name string
	late time.Duration
}

// Last implements [server.Fleet].
func (o other) Last() (controller.Outcome, bool) {
	last, seen := o.fleet.Last()
	last.Observation.At = last.Observation.At.Add(o.late)
	return last, seen
}

// crowd is a world with 1,000 fleets that look like thumbs.
func crowd(t testing.TB) (*world, map[string]server.Fleet) {
	w := newWorld(t)
	w.advance(3, 1)
	all := map[string]server.Fleet{}
	for i := range 1000 {
		name := fmt.Sprintf("fleet-%04d", i)
		all[name] = other{fleet: w.thumbs, name: name}
	}
	w.live = board.New(board.Options{Fleets: func() map[string]server.Fleet { return all }, History: w.past,
		Now: w.clock})
	w.serves = server.New(server.Options{Token: w.token, Fleets: func() map[string]server.Fleet { return all },
		Routes: w.live.Routes()})
	return w, all
}

func TestAThousandFleetsAreSentAsDifferences(t *testing.T) {
	w, all := crowd(t)
	whole := w.ask("GET", "/v1/board", "").Body.Len()
	cursor := get[board.Board](w, "/v1/board").Cursor
	for i := range 10 {
		name := fmt.Sprintf("fleet-%04d", i)
		all[name] = other{fleet: w.blind, name: name, late: time.Second}
	}
	answer := w.ask("GET", "/v1/board?since="+cursor, "")
	var got struct {
		Events []struct {
			Event string
			Data  board.Change
		}
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || len(got.Events) != 1 {
		t.Fatalf("found %d events, %v", len(got.Events), err)
	}
	if n := len(got.Events[0].Data.Fleets); n != 10 {
		t.Errorf("10 fleets changed, and %d are sent", n)
	}
	if answer.Body.Len() > whole/50 {
		t.Errorf("the change has %d bytes, the board %d", answer.Body.Len(), whole)
	}
}

// BenchmarkAThousandFleets is one update of 1,000 fleets, all of which changed.
func BenchmarkAThousandFleets(b *testing.B) {
	w, all := crowd(b)
	w.ask("GET", "/v1/board", "")
	late := time.Duration(0)
	cursor := get[board.Board](w, "/v1/board").Cursor
	b.ReportAllocs()
	for b.Loop() {
		late += time.Second
		for name := range all {
			all[name] = other{fleet: w.thumbs, name: name, late: late}
		}
		w.ask("GET", "/v1/board?since="+cursor, "")
	}
}

// BenchmarkSamples takes a sample of each of 1,000 fleets.
func BenchmarkSamples(b *testing.B) {
	w, _ := crowd(b)
	for b.Loop() {
		w.live.Samples(t0)
	}
}
