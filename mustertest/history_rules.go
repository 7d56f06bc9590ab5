package mustertest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

// This file has the rules of HistoryConformance, in the order of its table.

// beginsAtZero: a new stream has the first epoch, and an unknown one reads as empty.
func beginsAtZero(t *testing.T, h muster.History) {
	if got, want := begin(t, h, "a"), (muster.Position{Epoch: 1}); got != want {
		t.Errorf("Begin = %+v, want %+v", got, want)
	}
	if got := readAll(t, h, "a"); len(got) > 0 {
		t.Errorf("a new stream has records: %v", got)
	}
	if got := readAll(t, h, "never begun"); len(got) > 0 {
		t.Errorf("a stream without a writer has records: %v", got)
	}
}

// keepsOrder: records come back as they were appended, numbered from 1.
func keepsOrder(t *testing.T, h muster.History) {
	p := begin(t, h, "a")
	p = appendTo(t, h, "a", p)
	p = appendTo(t, h, "a", p, record(0, "one"), record(0, "two"))
	appendTo(t, h, "a", p, record(time.Minute, "three"))
	got := readAll(t, h, "a")
	if texts(got) != "one two three" {
		t.Errorf("read %q, want \"one two three\"", texts(got))
	}
	for i, r := range got {
		if want := (muster.Position{Epoch: 1, Seq: int64(i) + 1}); r.Position != want {
			t.Errorf("record %d has position %+v, want %+v", i, r.Position, want)
		}
	}
}

// keepsInstants: a recomputed decision must give equal bytes, so no nanosecond may be lost and no zone kept.
func keepsInstants(t *testing.T, h muster.History) {
	far := time.FixedZone("far", 5*60*60)
	r := record(0, "one")
	r.At = r.At.In(far)
	appendTo(t, h, "a", begin(t, h, "a"), r)
	if got := readAll(t, h, "a")[0].At; got != noon {
		t.Errorf("read the instant %v, want %v", got, noon)
	}
}

// conditional: an append names the position that it follows. Every other position is a conflict, a later one, one of
// another epoch and one that never was. An append of no records checks the position too.
func conditional(t *testing.T, h muster.History) {
	p := begin(t, h, "a")
	next := appendTo(t, h, "a", p, record(0, "one"))
	for _, after := range []muster.Position{p, {Epoch: next.Epoch, Seq: next.Seq + 1},
		{Epoch: next.Epoch + 1, Seq: next.Seq},
		{Epoch: 0, Seq: next.Seq}, {}, {Epoch: -1, Seq: -1}} {
		wantConflict(t, h, "a", after)
	}
	if _, err := h.Append(t.Context(), "a", p); !errors.Is(err, muster.ErrConflict) {
		t.Errorf("appending nothing after an old position: found error %v, want ErrConflict", err)
	}
	appendTo(t, h, "a", next, record(0, "two"))
}

// needsBegin: only Begin gives the right to write.
func needsBegin(t *testing.T, h muster.History) {
	wantConflict(t, h, "a", muster.Position{})
	wantConflict(t, h, "a", muster.Position{Epoch: 1})
}

// fencesWriters: a second controller on one fleet takes over with a higher epoch, and the first one learns of it at
// its next append. Guessing the new sequence does not help the older one: its epoch is wrong.
func fencesWriters(t *testing.T, h muster.History) {
	older := begin(t, h, "a")
	older = appendTo(t, h, "a", older, record(0, "one"))
	newer := begin(t, h, "a")
	if want := (muster.Position{Epoch: older.Epoch + 1, Seq: older.Seq}); newer != want {
		t.Fatalf("the second Begin = %+v, want %+v", newer, want)
	}
	wantConflict(t, h, "a", older)
	newer = appendTo(t, h, "a", newer, record(0, "two"))
	wantConflict(t, h, "a", older)
	wantConflict(t, h, "a", muster.Position{Epoch: older.Epoch, Seq: newer.Seq})
	if got := readAll(t, h, "a"); texts(got) != "one two" || got[0].Position.Epoch != 1 || got[1].Position.Epoch != 2 {
		t.Errorf("read %+v, want one of epoch 1 and two of epoch 2", got)
	}
}

// allOrNone: a decision and its effects are appended together and must never be half there. After a refusal the
// position is still the former one.
func allOrNone(t *testing.T, h muster.History) {
	p := begin(t, h, "a")
	bad := record(0, "bad")
	bad.Kind = ""
	if _, err := h.Append(t.Context(), "a", p, record(0, "one"), bad); err == nil {
		t.Fatal("a record without kind was taken")
	}
	if got := readAll(t, h, "a"); len(got) > 0 {
		t.Errorf("a refused append left %q", texts(got))
	}
	appendTo(t, h, "a", p, record(0, "one"))
}

// refuses: a record without a time, with a body that is not JSON, or too large to be read back is refused when it is
// written, with a reason. Names of fleets and the number of records in an append have bounds too.
func refuses(t *testing.T, h muster.History) {
	p := begin(t, h, "a")
	for name, change := range map[string]func(*muster.Record){
		"no instant":                     func(r *muster.Record) { r.At = time.Time{} },
		"an instant beyond the calendar": func(r *muster.Record) { r.At = r.At.AddDate(1000, 0, 0) },
		"a body that is not JSON":        func(r *muster.Record) { r.Body = []byte("{") },
		"a body without end": func(r *muster.Record) {
			r.Body = fmt.Appendf(nil, "%q",
				strings.Repeat("x", 2<<20))
		},
		"shared content without end": func(r *muster.Record) {
			r.Shared = fmt.Appendf(nil, "%q",
				strings.Repeat("x", 2<<20))
		},
	} {
		r := record(0, "one")
		change(&r)
		if _, err := h.Append(t.Context(), "a", p, r); err == nil || errors.Is(err, muster.ErrConflict) {
			t.Errorf("%s: found error %v, want one that says why", name, err)
		}
	}
	if _, err := h.Append(t.Context(), "a", p, make([]muster.Record, 100_000)...); err == nil {
		t.Error("an append without end was taken")
	}
	for _, fleet := range []string{"", strings.Repeat("x", 1000)} {
		if _, err := h.Begin(t.Context(), fleet); err == nil {
			t.Errorf("a fleet with a name of %d bytes was taken", len(fleet))
		}
	}
}

// sharesContent: content that several records share is stored once, in one append or over several. A reader gets it
// with each of them.
func sharesContent(t *testing.T, h muster.History) {
	var records []muster.Record
	for i, shared := range []string{`{"p":1}`, `{"p":1}`, "", `{"p":2}`, `{"p":1}`} {
		r := record(0, fmt.Sprint(i))
		r.Shared = []byte(shared)
		records = append(records, r)
	}
	p := appendTo(t, h, "a", begin(t, h, "a"), records[:3]...)
	appendTo(t, h, "a", p, records[3:]...)
	for i, r := range readAll(t, h, "a") {
		if string(r.Shared) != string(records[i].Shared) {
			t.Errorf("record %d has shared content %q, want %q", i, r.Shared, records[i].Shared)
		}
	}
}

// keepsCopies: the caller may reuse its buffers as soon as Append has returned.
func keepsCopies(t *testing.T, h muster.History) {
	r := record(0, "one")
	r.Shared = []byte(`"shared"`)
	appendTo(t, h, "a", begin(t, h, "a"), r)
	copy(r.Body, `"two`)
	copy(r.Shared, `"SHARED`)
	if got := readAll(t, h, "a")[0]; string(got.Body) != `"one"` || string(got.Shared) != `"shared"` {
		t.Errorf("after its owner changed the buffers, the history holds %s and %s", got.Body, got.Shared)
	}
}

// readsSince: a reader gets every record that is not older than a time, in the order of appending. Clocks step back,
// so a later record may be older than an earlier one: a search for the first match would lose records.
func readsSince(t *testing.T, h muster.History) {
	appendTo(t, h, "a", begin(t, h, "a"), record(0, "zero"), record(3*time.Second, "three"), record(time.Second, "one"),
		record(4*time.Second, "four"), record(2*time.Second, "two"))
	for since, want := range map[time.Duration]string{
		0: "zero three one four two", 1: "three one four two", 2 * time.Second: "three four two",
		4 * time.Second: "four", 5 * time.Second: "",
	} {
		if got := texts(readFrom(t, h, "a", noon.Add(since))); got != want {
			t.Errorf("since %s: read %q, want %q", since, got, want)
		}
	}
}

// stopsReading: a reader that has enough costs no more.
func stopsReading(t *testing.T, h muster.History) {
	appendTo(t, h, "a", begin(t, h, "a"), record(0, "one"), record(0, "two"), record(0, "three"))
	calls := 0
	if err := h.Read(t.Context(), "a", noon, func(muster.Record) bool { calls++; return calls < 2 }); err != nil ||
		calls != 2 {
		t.Errorf("yield was called %d times with error %v, want 2 calls", calls, err)
	}
}

// separatesFleets: a position of one stream is worth nothing in another.
func separatesFleets(t *testing.T, h muster.History) {
	a, b := begin(t, h, "a"), begin(t, h, "b")
	a = appendTo(t, h, "a", a, record(0, "of-a"))
	begin(t, h, "b")
	appendTo(t, h, "a", a, record(0, "of-a-too"))
	wantConflict(t, h, "b", b)
	if got := texts(readAll(t, h, "a")); got != "of-a of-a-too" {
		t.Errorf("stream a holds %q", got)
	}
	if got := readAll(t, h, "b"); len(got) > 0 {
		t.Errorf("stream b holds %q", texts(got))
	}
}

// oneWinner: of several writers that append after one position at the same time, exactly one succeeds, and the others
// get ErrConflict. Nothing of theirs is in the stream.
func oneWinner(t *testing.T, h muster.History) {
	p := begin(t, h, "a")
	const writers = 8
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() { _, errs[i] = h.Append(t.Context(), "a", p, record(0, fmt.Sprint(i)), record(0, fmt.Sprint(i))) })
	}
	wg.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner >= 0:
			t.Errorf("writers %d and %d both won", winner, i)
		case err == nil:
			winner = i
		case !errors.Is(err, muster.ErrConflict):
			t.Errorf("writer %d: found error %v, want ErrConflict", i, err)
		}
	}
	if got, want := texts(readAll(t, h, "a")), fmt.Sprintf("%d %d", winner, winner); got != want {
		t.Errorf("the stream holds %q, want %q", got, want)
	}
}

// concurrentReaders: while a writer appends three records at a time, readers never see part of an append, nor fewer
// records than they saw before.
func concurrentReaders(t *testing.T, h muster.History) {
	const appends, batch = 20, 3
	p := begin(t, h, "a")
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			seen := 0
			for {
				n := 0
				if err := h.Read(t.Context(), "a", noon, func(r muster.Record) bool {
					n++
					return r.Position.Seq == int64(n)
				}); err != nil {
					t.Errorf("Read while writing: %v", err)
					return
				}
				// A reader that stopped early, at a wrong sequence, counts too few and fails here as well.
				if n%batch != 0 || n < seen {
					t.Errorf("a reader saw %d records after %d, want whole appends of %d and never fewer", n, seen,
						batch)
					return
				}
				seen = n
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range appends {
		r := record(0, fmt.Sprint(i))
		p = appendTo(t, h, "a", p, r, r, r)
	}
	close(done)
	wg.Wait()
}
