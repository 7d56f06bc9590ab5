package board_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/server/board"
)

// sorted lists the ids of decisions, those of one instant by their id.
func sorted(all []board.Short) (ids []string) {
	for _, d := range all {
		ids = append(ids, d.At.Format("05.000 ")+d.ID)
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids
}

func TestDecisionsOfAllFleetsAreOneList(t *testing.T) {
	w := told(t)
	var want []board.Short
	for _, fleet := range []string{"thumbs", "blind", "fresh"} {
		want = append(want, get[board.Decisions](w, "/v1/fleets/"+fleet+"/decisions?limit=500").Decisions...)
	}
	got := get[board.Decisions](w, "/v1/board/decisions?limit=500")
	if diff := cmp.Diff(sorted(want), sorted(got.Decisions)); diff != "" || got.Next != "" || got.Cut {
		t.Errorf("next %q, cut %v (-fleet by fleet +all):\n%s", got.Next, got.Cut, diff)
	}
	if !slices.IsSortedFunc(got.Decisions, func(a, b board.Short) int { return b.At.Compare(a.At) }) {
		t.Errorf("the list is not sorted: %v", sorted(got.Decisions))
	}
	of := map[string]int{}
	for _, d := range got.Decisions {
		of[d.Fleet]++
	}
	if of["thumbs"] < 3 || of["blind"] < 1 {
		t.Fatalf("found %v: the test would prove nothing", of)
	}
	var paged []board.Short
	for next, pages := "", 0; ; pages++ {
		a := get[board.Decisions](w, "/v1/board/decisions?limit=1&before="+url.QueryEscape(next))
		paged = append(paged, a.Decisions...)
		if next = a.Next; next == "" || pages > 100 {
			break
		}
	}
	if diff := cmp.Diff(sorted(want), sorted(paged)); diff != "" {
		t.Errorf("page by page (-all at once +paged):\n%s", diff)
	}
	for query, selects := range map[string]func(board.Short) bool{
		"changes=1":            func(d board.Short) bool { return d.Previous != d.Desired },
		"verdict=hold":         func(d board.Short) bool { return d.Verdict == "hold" },
		"q=HOLDING":            func(d board.Short) bool { return strings.Contains(d.Sentence, "holding") },
		"until=" + stamp(3):    func(d board.Short) bool { return d.At.Before(t0.Add(3 * time.Second)) },
		"since=" + stamp(3):    func(d board.Short) bool { return !d.At.Before(t0.Add(3 * time.Second)) },
		"reason=no-such-thing": func(board.Short) bool { return false },
	} {
		chosen := slices.DeleteFunc(slices.Clone(want), func(d board.Short) bool { return !selects(d) })
		got := get[board.Decisions](w, "/v1/board/decisions?limit=500&"+query).Decisions
		if diff := cmp.Diff(sorted(chosen), sorted(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

// stamp is a time some seconds after t0.
func stamp(seconds int) string {
	return t0.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339)
}

// TestAListOfAllFleetsIsBounded: with 1,000 fleets, a filter that nothing matches ends and says so.
func TestAListOfAllFleetsIsBounded(t *testing.T) {
	w, all := crowd(t)
	for name := range all {
		p, err := w.past.Begin(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		var records []muster.Record
		for second := range 12 {
			at := t0.Add(time.Duration(second) * time.Second)
			body, err := json.Marshal(map[string]any{"decision": muster.Decision{Fleet: name, At: at, Desired: second}})
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, muster.Record{At: at, Kind: muster.Decided, Body: body})
		}
		if _, err := w.past.Append(t.Context(), name, p, records...); err != nil {
			t.Fatal(err)
		}
	}
	a := get[board.Decisions](w, "/v1/board/decisions")
	if len(a.Decisions) != 1000 || a.Next != t0.Add(11*time.Second).Format(time.RFC3339Nano) || a.Cut {
		t.Errorf("found %d decisions of one instant, next %q, cut %v", len(a.Decisions), a.Next, a.Cut)
	}
	began := time.Now()
	a = get[board.Decisions](w, "/v1/board/decisions?q=nothing-says-this")
	t.Logf("a search without a result takes %s", time.Since(began))
	if len(a.Decisions) > 0 || !a.Cut {
		t.Errorf("found %d decisions, cut %v", len(a.Decisions), a.Cut)
	}
}

func TestTwoOfFromToAndWindowMakeASpan(t *testing.T) {
	w := told(t)
	for query, want := range map[string][2]int{
		"window=4s":                            {1, 5},
		"from=" + stamp(1):                     {1, 5},
		"from=" + stamp(1) + "&window=3s":      {1, 4},
		"to=" + stamp(4) + "&window=3s":        {1, 4},
		"from=" + stamp(2) + "&to=" + stamp(4): {2, 4},
		"to=" + stamp(4):                       {4 - 3600, 4},
		"from=" + stamp(-40) + "&window=1m":    {-40, 20},
	} {
		got := get[board.Series](w, "/v1/fleets/thumbs/series?"+query)
		if from, to := got.From.Sub(t0).Seconds(), got.To.Sub(t0).Seconds(); from != float64(want[0]) ||
			to != float64(want[1]) {
			t.Errorf("%s: found %v s to %v s, want %v", query, from, to, want)
		}
	}
	all := "/v1/fleets/thumbs/series?window=1m&from=" + stamp(1) + "&to=" + stamp(2)
	if answer := w.ask("GET", all, ""); answer.Code != 400 || !strings.Contains(answer.Body.String(), "leave one out") {
		t.Errorf("all three: found %d %s", answer.Code, answer.Body)
	}
}
