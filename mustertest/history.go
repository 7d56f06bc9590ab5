package mustertest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster"
)

// This file has the contract of histories and what its rules share; the rules themselves are in history_rules.go. A
// history is the controller's only memory, so a lost, doubled or reordered record is a wrong decision after a
// restart.

// noon is the time of the first record of each test, with nanoseconds that must survive.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 123456789, time.UTC)

// HistoryConformance holds a [muster.History] to its contract. open returns an empty history and closes it with
// t.Cleanup.
func HistoryConformance(t *testing.T, open func(t *testing.T) muster.History) {
	rules := []struct {
		rule string
		test func(t *testing.T, h muster.History)
	}{
		{"a new stream begins at sequence 0 of epoch 1", beginsAtZero},
		{"records come back in order, with their positions", keepsOrder},
		{"times come back in UTC, to the nanosecond", keepsInstants},
		{"an append after any other position is a conflict", conditional},
		{"an append to a stream without a writer is a conflict", needsBegin},
		{"the older of two writers is fenced off", fencesWriters},
		{"an append is all or none", allOrNone},
		{"what is not allowed is refused with a reason", refuses},
		{"shared content comes back with each record that had it", sharesContent},
		{"what was handed on may not change the history", keepsCopies},
		{"reading starts at a time, whatever the clock did", readsSince},
		{"reading stops when yield says so", stopsReading},
		{"streams of different fleets do not touch each other", separatesFleets},
		{"of many writers after one position, one wins", oneWinner},
		{"readers see whole appends while a writer writes", concurrentReaders},
	}
	for _, r := range rules {
		t.Run(r.rule, func(t *testing.T) { r.test(t, open(t)) })
	}
}

// HistoryDurability holds a durable [muster.History] to what must survive a restart. open opens the history that is
// kept in a directory; close closes it.
func HistoryDurability(t *testing.T, open func(t *testing.T, dir string) (h muster.History, close func())) {
	dir := t.TempDir()
	// The first life of the history: two records.
	h, end := open(t, dir)
	p := begin(t, h, "a")
	p = appendTo(t, h, "a", p, record(0, "one"), record(time.Second, "two"))
	before := readAll(t, h, "a")
	end()

	// Opened again, the history must hold the same records, and the former writer must be fenced off.
	h, end = open(t, dir)
	defer end()
	if diff := cmp.Diff(before, readAll(t, h, "a")); diff != "" {
		t.Errorf("records before and after the end differ (-before +after):\n%s", diff)
	}
	again := begin(t, h, "a")
	if want := (muster.Position{Epoch: p.Epoch + 1, Seq: p.Seq}); again != want {
		t.Errorf("Begin after the end = %+v, want %+v", again, want)
	}
	wantConflict(t, h, "a", p)
	appendTo(t, h, "a", again, record(2*time.Second, "three"))
}

// record returns a record some time after noon, with a text as its body.
func record(after time.Duration, text string) muster.Record {
	return muster.Record{At: noon.Add(after), Kind: muster.Changed, Body: fmt.Appendf(nil, "%q", text)}
}

// begin begins a stream as a new writer and fails the test on an error.
func begin(t *testing.T, h muster.History, fleet string) muster.Position {
	t.Helper()
	p, err := h.Begin(t.Context(), fleet)
	if err != nil {
		t.Fatalf("Begin(%q): %v", fleet, err)
	}
	return p
}

// appendTo appends records and checks that the position moves by their number.
func appendTo(t *testing.T, h muster.History, fleet string, after muster.Position,
	records ...muster.Record) muster.Position {
	t.Helper()
	p, err := h.Append(t.Context(), fleet, after, records...)
	if err != nil {
		t.Fatalf("Append(%q, %+v): %v", fleet, after, err)
	}
	if want := (muster.Position{Epoch: after.Epoch, Seq: after.Seq + int64(len(records))}); p != want {
		t.Fatalf("Append(%q, %+v) of %d records = %+v, want %+v", fleet, after, len(records), p, want)
	}
	return p
}

// wantConflict checks that an append after a position is refused as a conflict and changes nothing.
func wantConflict(t *testing.T, h muster.History, fleet string, after muster.Position) {
	t.Helper()
	// The whole stream is compared, because a refused append may have changed any record.
	before := readAll(t, h, fleet)
	if _, err := h.Append(t.Context(), fleet, after, record(0, "never")); !errors.Is(err, muster.ErrConflict) {
		t.Errorf("Append(%q, %+v): found error %v, want ErrConflict", fleet, after, err)
	}
	if diff := cmp.Diff(before, readAll(t, h, fleet)); diff != "" {
		t.Errorf("a conflict changed the stream (-before +after):\n%s", diff)
	}
}

// readAll returns all records of a stream.
func readAll(t *testing.T, h muster.History, fleet string) []muster.Record {
	t.Helper()
	return readFrom(t, h, fleet, time.Time{})
}

// readFrom returns the records of a stream from a time on.
func readFrom(t *testing.T, h muster.History, fleet string, since time.Time) []muster.Record {
	t.Helper()
	var all []muster.Record
	if err := h.Read(t.Context(), fleet, since, func(r muster.Record) bool {
		all = append(all, r)
		return true
	}); err != nil {
		t.Fatalf("Read(%q): %v", fleet, err)
	}
	return all
}

// texts returns the bodies of records as one line.
func texts(records []muster.Record) string {
	var all []string
	for _, r := range records {
		all = append(all, strings.Trim(string(r.Body), `"`))
	}
	return strings.Join(all, " ")
}
