// Package historytest holds every store of histories to what Muster needs of it beside the port [muster.History]:
// finding single records, and pruning.
//
// A store runs two suites in its tests, beside mustertest.HistoryConformance:
//
//	historytest.Conformance(t, open)           // rules, one test each
//	historytest.AgreesWithMemory(t, o)         // random operations, compared with the history in memory
//
// open returns an empty store and closes it with t.Cleanup. The history in memory is the oracle: it is short enough to
// be read, and the conformance suites hold it to the same rules.
package historytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/series"
)

// Store is a history with all that Muster uses of it.
type Store interface {
	muster.History
	Finder
	Keeper
}

// Finder finds single records.
type Finder interface {
	Last(ctx context.Context, fleet string, n int, kinds ...muster.RecordKind) ([]muster.Record, error)
	Before(ctx context.Context, fleet string, seq int64, n int, kinds ...muster.RecordKind) ([]muster.Record, error)
	Get(ctx context.Context, fleet string, seq int64) (muster.Record, error)
}

// Keeper knows the streams, and removes what is old.
type Keeper interface {
	Fleets(ctx context.Context) ([]string, error)
	Prune(ctx context.Context, now time.Time, keep time.Duration) (history.Pruned, error)
}

// noon is the time around which the tests happen.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// Conformance holds a store to its rules. open returns an empty one and closes it with t.Cleanup.
func Conformance(t *testing.T, open func(t *testing.T) Store) {
	for _, r := range []struct {
		rule string
		test func(t *testing.T, h Store)
	}{
		{"the last records come newest first, of all kinds or of some", findsTheLast},
		{"a record is found by its sequence number, others are not", findsByNumber},
		{"the fleets with a stream are listed", listsFleets},
		{"the largest record comes back byte for byte", keepsLargeRecords},
		{"a large append is read back whole", keepsLargeAppends},
		{"old records go, and the newest of each kind stays", removesOld},
		{"learned records are folded by the hour", foldsHours},
		{"a long stream is pruned, in as many calls as that takes", prunesInParts},
		{"what pruning cannot mean is refused", refusesToPrune},
	} {
		t.Run(r.rule, func(t *testing.T) { r.test(t, open(t)) })
	}
}

// Record returns a record of a kind.
func Record(at time.Time, kind muster.RecordKind, body string) muster.Record {
	return muster.Record{At: at, Kind: kind, Body: []byte(body)}
}

// Learned is a learned record of one message that took so many seconds, and of one boot.
func Learned(t testing.TB, at time.Time, seconds, boot int) muster.Record {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"processing": series.Add(series.Durations{}, time.Duration(seconds)*time.Second),
		"boots":      series.Add(series.Durations{}, time.Duration(boot)*time.Second),
		"warm_boots": series.Add(series.Durations{}, time.Duration(boot)*time.Millisecond),
		"unknown":    "field",
	})
	if err != nil {
		t.Fatal(err)
	}
	return Record(at, muster.Learned, string(body))
}

// fill begins the stream of a fleet and appends the records, so many at once.
func fill(t *testing.T, h muster.History, fleet string, atOnce int, records ...muster.Record) muster.Position {
	t.Helper()
	p, err := h.Begin(t.Context(), fleet)
	for chunk := range slices.Chunk(records, atOnce) {
		if err == nil {
			p, err = h.Append(t.Context(), fleet, p, chunk...)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// prune prunes until nothing is left to do, and returns the sum.
func prune(t *testing.T, h Store, now time.Time, keep time.Duration) (sum history.Pruned) {
	t.Helper()
	for range 1000 {
		p, err := h.Prune(t.Context(), now, keep)
		if err != nil {
			t.Fatal(err)
		}
		sum.Removed, sum.Folded, sum.Shared = sum.Removed+p.Removed, sum.Folded+p.Folded, sum.Shared+p.Shared
		if !p.More {
			return sum
		}
	}
	t.Fatal("Prune asks for another call without end")
	return sum
}

// read returns all records of a fleet.
func read(t *testing.T, h muster.History, fleet string) (all []muster.Record) {
	t.Helper()
	if err := h.Read(t.Context(), fleet, time.Time{}, func(r muster.Record) bool {
		all = append(all, r)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// brief is records as a text: sequence numbers, bodies and shared contents.
func brief(records []muster.Record) string {
	var all []string
	for _, r := range records {
		all = append(all, fmt.Sprintf("%d:%s%s", r.Position.Seq, r.Body, r.Shared))
	}
	return strings.Join(all, " ")
}

// findsTheLast: status and explain read the newest records, and must not miss one because it was appended together with
// others, or because records of other kinds are newer.
func findsTheLast(t *testing.T, h Store) {
	// Appends of four records, so that the last three are not one append.
	var records []muster.Record
	for i := range 30 {
		kind := muster.Decided
		if i%3 == 0 {
			kind = muster.Changed
		}
		records = append(records, Record(noon, kind, fmt.Sprint(i)))
	}
	fill(t, h, "a", 4, records...)
	for want, call := range map[string][]muster.RecordKind{
		"30:29 29:28 28:27": nil, "28:27 25:24 22:21": {muster.Changed}, "": {muster.Learned},
		"30:29 29:28 27:26": {muster.Decided, muster.Learned},
	} {
		if got, err := h.Last(t.Context(), "a", 3, call...); err != nil || brief(got) != want {
			t.Errorf("the last 3 of %q are %s, %v; want %s", call, brief(got), err, want)
		}
	}
	for seq, want := range map[int64]string{31: "30:29 29:28 28:27", 15: "14:13 13:12 12:11", 2: "1:0", 1: "", 0: "",
		-5: ""} {
		if got, err := h.Before(t.Context(), "a", seq, 3); err != nil || brief(got) != want {
			t.Errorf("the last 3 before %d are %s, %v; want %s", seq, brief(got), err, want)
		}
	}
	if got, err := h.Before(t.Context(), "a", 25, 2, muster.Changed); err != nil || brief(got) != "22:21 19:18" {
		t.Errorf("the last 2 changes before 25 are %s, %v", brief(got), err)
	}
	if got, err := h.Last(t.Context(), "never begun", 3); err != nil || len(got) > 0 {
		t.Errorf("a fleet without a stream has the last records %v, %v", got, err)
	}
	for _, n := range []int{0, -1, history.MaxLast + 1} {
		if _, err := h.Last(t.Context(), "a", n); err == nil {
			t.Errorf("the last %d records were read", n)
		}
	}
}

// findsByNumber: a decision is quoted by its sequence number, so that number finds this record or none. The error says
// which of both, because a removed record is no failure.
func findsByNumber(t *testing.T, h Store) {
	var records []muster.Record
	for i := range 10 {
		records = append(records, Record(noon.Add(time.Duration(i)), muster.Changed, fmt.Sprint(i)))
	}
	fill(t, h, "a", 4, records...)
	all := read(t, h, "a")
	for seq := int64(-1); seq < 13; seq++ {
		got, err := h.Get(t.Context(), "a", seq)
		if seq < 1 || seq > 10 {
			if !errors.Is(err, history.ErrNoRecord) {
				t.Errorf("record %d: found %v, %v; want ErrNoRecord", seq, got, err)
			}
			continue
		}
		if diff := cmp.Diff(all[seq-1], got); err != nil || diff != "" {
			t.Errorf("record %d: %v (-read +got):\n%s", seq, err, diff)
		}
	}
}

// listsFleets: pruning goes through all streams, so none may be missing from the list. Names may contain any character,
// also those that a store uses in its keys.
func listsFleets(t *testing.T, h Store) {
	for _, name := range []string{"b", "a#1", "a", "fleets", "b"} {
		fill(t, h, name, 1)
	}
	got, err := h.Fleets(t.Context())
	if want := []string{"a", "a#1", "b", "fleets"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("found %q, %v; want %q", got, err, want)
	}
}

// noise returns JSON of n bytes that cannot be compressed well.
func noise(n int) []byte {
	// 64 letters need no escape in JSON, and compression saves a quarter at most.
	const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-"
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	b[0], b[n-1] = '"', '"'
	return b
}

// keepsLargeRecords: a store may have a bound for what it writes at once, such as DynamoDB's 400 KB. A record up to the
// bounds of package history must come back all the same, and byte for byte, or a decision cannot be recomputed.
func keepsLargeRecords(t *testing.T, h Store) {
	large := muster.Record{At: noon, Kind: muster.Decided, Body: noise(history.MaxBody),
		Shared: noise(history.MaxShared)}
	p := fill(t, h, "a", 1, large, Record(noon, muster.Changed, "{ \"spaces\" :\t1 }"))
	if got := read(t, h, "a"); len(got) != 2 || string(got[0].Body) != string(large.Body) ||
		string(got[0].Shared) != string(large.Shared) || string(got[1].Body) != "{ \"spaces\" :\t1 }" {
		t.Errorf("of two records, one of 2 MiB, came back %d", len(got))
	}
	if _, err := h.Append(t.Context(), "a", p, large); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Last(t.Context(), "a", 1); err != nil || string(got[0].Body) != string(large.Body) {
		t.Errorf("the last record, of 2 MiB, did not come back: %v", err)
	}
}

// keepsLargeAppends: when a network fails, thousands of members are lost in one step, and their changes are one append.
func keepsLargeAppends(t *testing.T, h Store) {
	var records []muster.Record
	for i := range 5000 {
		records = append(records, Record(noon, muster.Changed, fmt.Sprintf(`{"member":"i-%017x","what":"lost"}`, i)))
	}
	fill(t, h, "a", len(records), records...)
	got := read(t, h, "a")
	if len(got) != len(records) {
		t.Fatalf("read %d records of %d", len(got), len(records))
	}
	for i, r := range got {
		if string(r.Body) != string(records[i].Body) || r.Position.Seq != int64(i)+1 {
			t.Fatalf("record %d is %s at %+v", i, r.Body, r.Position)
		}
	}
}

// removesOld: what a restart continues from is the newest record of each kind, so that record stays, however old it is.
// Shared content stays as long as a record has it.
func removesOld(t *testing.T, h Store) {
	// Older than the default of seven days; the record of six days ago is not.
	old := noon.Add(-8 * 24 * time.Hour)
	shared := func(r muster.Record, content string) muster.Record { r.Shared = []byte(content); return r }
	p := fill(t, h, "a", 3,
		shared(Record(old, muster.Decided, `1`), `"gone"`),
		shared(Record(old, muster.Decided, `2`), `"kept"`),
		Record(old, muster.Intended, `3`),
		Record(old, muster.Changed, `4`),
		Record(noon.Add(-6*24*time.Hour), muster.Changed, `5`),
		Record(old, muster.Learned, `6`))
	fill(t, h, "b", 1, Record(old, muster.Changed, `1`))
	if got := prune(t, h, noon, 0); got.Removed != 2 || got.Folded != 0 {
		t.Errorf("Prune = %+v, want 2 records removed", got)
	}
	if got, want := brief(read(t, h, "a")), `2:2"kept" 3:3 5:5 6:6`; got != want {
		t.Errorf("left are %s, want %s", got, want)
	}
	if got := read(t, h, "b"); len(got) != 1 {
		t.Errorf("of the other fleet %d records are left, want its only one", len(got))
	}
	if _, err := h.Append(t.Context(), "a", p, Record(noon, muster.Changed, `7`)); err != nil {
		t.Errorf("after Prune the stream is elsewhere: %v", err)
	}
	if got, want := brief(read(t, h, "a")), `2:2"kept" 3:3 5:5 6:6 7:7`; got != want {
		t.Errorf("after an append there are %s, want %s", got, want)
	}
	if got := prune(t, h, noon, 0); got != (history.Pruned{}) {
		t.Errorf("a second Prune = %+v, want nothing to do", got)
	}
}

// foldsHours: forecasts read weeks of learned records, and need one for each hour. What cannot be read as durations
// stays as it is, because a newer version may have written it.
func foldsHours(t *testing.T, h Store) {
	ten := noon.Add(-26 * time.Hour) // 10:00 of the day before
	fill(t, h, "a", 2,
		Learned(t, ten.Add(-time.Nanosecond), 1, 10),
		Learned(t, ten, 2, 20),
		Record(ten, muster.Changed, `"untouched"`),
		Learned(t, ten.Add(59*time.Minute), 4, 40),
		Record(ten, muster.Learned, `"not durations"`),
		Record(ten, muster.Learned, `{"processing":{"count":-5}}`),
		Learned(t, ten.Add(30*time.Minute), 3, 30),
		Learned(t, ten.Add(2*time.Hour), 5, 50), // within the last day
		Learned(t, ten.Add(2*time.Hour), 6, 60))
	before := read(t, h, "a")
	if got := prune(t, h, noon, 0); got.Removed != 0 || got.Folded != 2 {
		t.Errorf("Prune = %+v, want 2 records folded", got)
	}
	var folded muster.Record
	var seqs []int64
	for _, r := range read(t, h, "a") {
		seqs = append(seqs, r.Position.Seq)
		if r.Position.Seq == 7 {
			folded = r
		} else if diff := cmp.Diff(before[r.Position.Seq-1], r); diff != "" {
			t.Errorf("record %d changed (-before +after):\n%s", r.Position.Seq, diff)
		}
	}
	if want := []int64{1, 3, 5, 6, 7, 8, 9}; !cmp.Equal(seqs, want) {
		t.Fatalf("left are records %d, want %d", seqs, want)
	}
	want := map[string]series.Durations{
		"processing": series.Add(series.Durations{}, 2*time.Second, 3*time.Second, 4*time.Second),
		"boots":      series.Add(series.Durations{}, 20*time.Second, 30*time.Second, 40*time.Second),
		"warm_boots": series.Add(series.Durations{}, 20*time.Millisecond, 30*time.Millisecond, 40*time.Millisecond),
	}
	var got map[string]series.Durations
	if err := json.Unmarshal(folded.Body, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the folded record (-want +got):\n%s", diff)
	}
	if got := prune(t, h, noon.Add(time.Minute), 0); got != (history.Pruned{}) {
		t.Errorf("a second Prune = %+v, want nothing to do", got)
	}
}

// prunesInParts: a controller prunes while it runs, so one call must not hold up appends. All calls together must do
// the whole work without losing a duration.
func prunesInParts(t *testing.T, h Store) {
	var records []muster.Record
	// More than one call handles (5000 rows of each kind), all of one hour: the second call begins in its middle.
	for i := range 6000 {
		records = append(records, Record(noon.Add(-9*24*time.Hour), muster.Changed, `1`),
			Learned(t, noon.Add(-48*time.Hour+time.Duration(i)*time.Millisecond), 1, 1))
	}
	fill(t, h, "a", 200, records...)
	first, err := h.Prune(t.Context(), noon, 0)
	if err != nil || first.More && (first.Removed > 5200 || first.Folded > 5200) || first.Removed == 0 ||
		first.Folded == 0 {
		t.Errorf("the first Prune = %+v, %v, want the whole work, or a part of it and more to do", first, err)
	}
	rest := prune(t, h, noon, 0)
	if first.Removed+rest.Removed != 5999 {
		t.Errorf("removed %d records in all, want 5999", first.Removed+rest.Removed)
	}
	var processing series.Durations
	left, err := h.Last(t.Context(), "a", 20, muster.Learned)
	for _, r := range left {
		var body struct{ Processing series.Durations }
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		processing = series.Merge(processing, body.Processing)
	}
	// Each call may leave one record of the hour, because the next one goes on behind it.
	if err != nil || len(left) > 4 || processing.Count != 6000 {
		t.Errorf("left of what was learned: %d records of %d messages, %v; want at most 4 of 6000", len(left),
			processing.Count, err)
	}
}

// refusesToPrune: a wrong unit in a configuration must not remove everything.
func refusesToPrune(t *testing.T, h Store) {
	for _, keep := range []time.Duration{-time.Hour, time.Minute, 10_000 * time.Hour} {
		if _, err := h.Prune(t.Context(), noon, keep); err == nil {
			t.Errorf("keeping %s was taken", keep)
		}
	}
	if _, err := h.Prune(t.Context(), time.Time{}, 0); err == nil {
		t.Error("the zero instant was taken")
	}
}
