package historytest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history"
)

// Against says how to compare a store with the history in memory.
type Against struct {
	// Open returns an empty store, for each try.
	Open func(rt *rapid.T) Store
	// Reopen closes the store and opens it again; nil for a store without anything to close.
	Reopen func(rt *rapid.T, h Store) Store
	// PruneAfter is the least time between two prunings that a store carries out; zero for any.
	PruneAfter time.Duration
	// CopiesShared is true for a store that keeps shared content with each record, and so never removes any.
	CopiesShared bool
}

// AgreesWithMemory runs random operations on a store and on the history in memory, and compares every answer.
func AgreesWithMemory(t *testing.T, a Against) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{t: t, against: a, store: a.Open(rt), memory: history.NewMemory(), known: []muster.Position{{}},
			now: noon}
		actions := map[string]func(*rapid.T){
			"begin": m.begin, "append": m.append, "prune": m.prune, "get": m.get, "compare": m.compare,
		}
		if a.Reopen != nil {
			actions["reopen"] = func(rt *rapid.T) { m.store = a.Reopen(rt, m.store) }
		}
		rt.Repeat(actions)
		m.compare(rt)
	})
}

// machine drives the two histories.
type machine struct {
	t       *testing.T
	against Against
	store   Store
	memory  *history.Memory
	// known are the positions ever returned, to append after.
	known []muster.Position
	now   time.Time
}

func fleet(rt *rapid.T) string { return rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "fleet") }

// begin lets a new writer take over a stream.
func (m *machine) begin(rt *rapid.T) {
	name := fleet(rt)
	p, err := m.store.Begin(m.t.Context(), name)
	q, errMemory := m.memory.Begin(m.t.Context(), name)
	same(rt, p, q, err, errMemory)
	m.known = append(m.known, p)
}

// append appends after the newest position, or after any that there ever was: then both must refuse.
func (m *machine) append(rt *rapid.T) {
	name := fleet(rt)
	after := rapid.SampledFrom(m.known).Draw(rt, "after")
	if rapid.Bool().Draw(rt, "newest") {
		after = m.known[len(m.known)-1]
	}
	records := rapid.SliceOfN(rapid.Custom(m.record), 0, 5).Draw(rt, "records")
	m.now = m.now.Add(time.Duration(rapid.IntRange(0, 2).Draw(rt, "hours")) * time.Hour)
	p, err := m.store.Append(m.t.Context(), name, after, records...)
	q, errMemory := m.memory.Append(m.t.Context(), name, after, records...)
	same(rt, p, q, err, errMemory)
	if err == nil {
		m.known = append(m.known, p)
	}
}

// record draws a record. One in five has no kind, so that the whole append must be refused.
func (m *machine) record(rt *rapid.T) muster.Record {
	at := m.now.Add(-time.Duration(rapid.IntRange(0, 200).Draw(rt, "minutes")) * time.Minute)
	var r muster.Record
	if rapid.Bool().Draw(rt, "learned") {
		r = Learned(m.t, at, rapid.IntRange(0, 100).Draw(rt, "seconds"), 1)
	} else {
		kind := rapid.SampledFrom([]muster.RecordKind{"", muster.Decided, muster.Decided, muster.Changed,
			muster.Changed}).Draw(rt, "kind")
		r = Record(at, kind, fmt.Sprint(rapid.Int().Draw(rt, "body")))
	}
	if n := rapid.IntRange(0, 3).Draw(rt, "shared"); n > 0 {
		r.Shared = fmt.Append(nil, n)
	}
	return r
}

// prune prunes both, sometimes as if a day had passed. The counts must agree, too.
func (m *machine) prune(rt *rapid.T) {
	m.now = m.now.Add(m.against.PruneAfter +
		time.Duration(rapid.SampledFrom([]int{0, 23, 24, 25}).Draw(rt, "hours"))*time.Hour)
	keep := time.Duration(rapid.SampledFrom([]int{0, 0, 2, 25, 48}).Draw(rt, "keep")) * time.Hour
	p, err := m.store.Prune(m.t.Context(), m.now, keep)
	q, errMemory := m.memory.Prune(m.t.Context(), m.now, keep)
	if m.against.CopiesShared {
		q.Shared = 0
	}
	same(rt, p, q, err, errMemory)
}

// get looks for one record, also for those that were removed or never written.
func (m *machine) get(rt *rapid.T) {
	name, seq := fleet(rt), rapid.Int64Range(-1, 30).Draw(rt, "seq")
	r, err := m.store.Get(m.t.Context(), name, seq)
	q, errMemory := m.memory.Get(m.t.Context(), name, seq)
	same(rt, r, q, err, errMemory)
	if errors.Is(err, history.ErrNoRecord) != errors.Is(errMemory, history.ErrNoRecord) {
		rt.Fatalf("found errors %v and %v", err, errMemory)
	}
}

// compare reads both histories whole and in part.
func (m *machine) compare(rt *rapid.T) {
	since := m.now.Add(-time.Duration(rapid.IntRange(0, 300).Draw(rt, "since")) * time.Minute)
	n := rapid.IntRange(0, 20).Draw(rt, "last")
	kinds := rapid.SampledFrom([][]muster.RecordKind{nil, {muster.Decided}, {muster.Learned, muster.Changed}}).Draw(rt,
		"kinds")
	names, err := m.store.Fleets(m.t.Context())
	namesMemory, errMemory := m.memory.Fleets(m.t.Context())
	same(rt, names, namesMemory, err, errMemory)
	for _, name := range []string{"a", "b"} {
		same(rt, read(m.t, m.store, name), read(m.t, m.memory, name), nil, nil)
		same(rt, m.since(rt, m.store, name, since), m.since(rt, m.memory, name, since), nil, nil)
		p, err := m.store.Last(m.t.Context(), name, n, kinds...)
		q, errMemory := m.memory.Last(m.t.Context(), name, n, kinds...)
		same(rt, p, q, err, errMemory)
	}
}

// since returns the records of a fleet from a time on.
func (m *machine) since(rt *rapid.T, h muster.History, name string, since time.Time) (found []muster.Record) {
	if err := h.Read(m.t.Context(), name, since,
		func(r muster.Record) bool { found = append(found, r); return true }); err != nil {
		rt.Fatal(err)
	}
	return found
}

// same compares two answers. The texts of errors may differ: each store says where it keeps its records.
func same(rt *rapid.T, store, memory any, err, errMemory error) {
	rt.Helper()
	if (err == nil) != (errMemory == nil) || errors.Is(err, muster.ErrConflict) != errors.Is(errMemory,
		muster.ErrConflict) {
		rt.Fatalf("the store gives error %v, the memory %v", err, errMemory)
	}
	if diff := cmp.Diff(store, memory); diff != "" {
		rt.Fatalf("store and memory differ (-store +memory):\n%s", diff)
	}
}
