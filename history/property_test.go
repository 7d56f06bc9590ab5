package history_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history"
)

// TestFileAndMemoryAgree runs random operations on the file, which is closed and opened again at random, and on the
// memory, and compares every answer.
func TestFileAndMemoryAgree(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			rt.Fatal(err)
		}
		m := &machine{t: t, path: filepath.Join(dir, "history.db"), memory: history.NewMemory(),
			known: []muster.Position{{}}, now: noon}
		m.open(rt)
		defer func() { m.file.Close() }()
		rt.Repeat(map[string]func(*rapid.T){
			"begin": m.begin, "append": m.append, "prune": m.prune, "reopen": m.reopen, "get": m.get,
			"compare": m.compare,
		})
		m.compare(rt)
	})
}

// machine drives the two histories.
type machine struct {
	t      *testing.T
	path   string
	file   *history.History
	memory *history.Memory
	// known are the positions ever returned, to append after.
	known []muster.Position
	now   time.Time
}

func (m *machine) open(rt *rapid.T) {
	var err error
	if m.file, err = history.Open(m.path, history.Options{}); err != nil {
		rt.Fatal(err)
	}
}

func (m *machine) reopen(rt *rapid.T) {
	if err := m.file.Close(); err != nil {
		rt.Fatal(err)
	}
	m.open(rt)
}

func fleet(rt *rapid.T) string { return rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "fleet") }

func (m *machine) begin(rt *rapid.T) {
	name := fleet(rt)
	p, err := m.file.Begin(m.t.Context(), name)
	q, errMemory := m.memory.Begin(m.t.Context(), name)
	same(rt, p, q, err, errMemory)
	m.known = append(m.known, p)
}

func (m *machine) append(rt *rapid.T) {
	name := fleet(rt)
	after := rapid.SampledFrom(m.known).Draw(rt, "after")
	if rapid.Bool().Draw(rt, "newest") {
		after = m.known[len(m.known)-1]
	}
	records := rapid.SliceOfN(rapid.Custom(m.record), 0, 5).Draw(rt, "records")
	m.now = m.now.Add(time.Duration(rapid.IntRange(0, 2).Draw(rt, "hours")) * time.Hour)
	p, err := m.file.Append(m.t.Context(), name, after, records...)
	q, errMemory := m.memory.Append(m.t.Context(), name, after, records...)
	same(rt, p, q, err, errMemory)
	if err == nil {
		m.known = append(m.known, p)
	}
}

func (m *machine) record(rt *rapid.T) muster.Record {
	at := m.now.Add(-time.Duration(rapid.IntRange(0, 200).Draw(rt, "minutes")) * time.Minute)
	var r muster.Record
	if rapid.Bool().Draw(rt, "learned") {
		r = taught(m.t, at, rapid.IntRange(0, 100).Draw(rt, "seconds"), 1)
	} else {
		kind := rapid.SampledFrom([]muster.RecordKind{"", muster.Decided, muster.Decided, muster.Changed,
			muster.Changed}).Draw(rt, "kind")
		r = record(at, kind, fmt.Sprint(rapid.Int().Draw(rt, "body")))
	}
	if n := rapid.IntRange(0, 3).Draw(rt, "shared"); n > 0 {
		r.Shared = fmt.Append(nil, n)
	}
	return r
}

func (m *machine) prune(rt *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.SampledFrom([]int{0, 23, 24, 25}).Draw(rt, "hours")) * time.Hour)
	keep := time.Duration(rapid.SampledFrom([]int{0, 0, 2, 25, 48}).Draw(rt, "keep")) * time.Hour
	p, err := m.file.Prune(m.t.Context(), m.now, keep)
	q, errMemory := m.memory.Prune(m.t.Context(), m.now, keep)
	same(rt, p, q, err, errMemory)
}

func (m *machine) get(rt *rapid.T) {
	name, seq := fleet(rt), rapid.Int64Range(-1, 30).Draw(rt, "seq")
	r, err := m.file.Get(m.t.Context(), name, seq)
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
	names, err := m.file.Fleets(m.t.Context())
	namesMemory, errMemory := m.memory.Fleets(m.t.Context())
	same(rt, names, namesMemory, err, errMemory)
	for _, name := range []string{"a", "b"} {
		same(rt, read(m.t, m.file, name), read(m.t, m.memory, name), nil, nil)
		same(rt, m.since(rt, m.file, name, since), m.since(rt, m.memory, name, since), nil, nil)
		p, err := m.file.Last(m.t.Context(), name, n, kinds...)
		q, errMemory := m.memory.Last(m.t.Context(), name, n, kinds...)
		same(rt, p, q, err, errMemory)
	}
}

func (m *machine) since(rt *rapid.T, h muster.History, name string, since time.Time) (found []muster.Record) {
	if err := h.Read(m.t.Context(), name, since,
		func(r muster.Record) bool { found = append(found, r); return true }); err != nil {
		rt.Fatal(err)
	}
	return found
}

func same(rt *rapid.T, file, memory any, err, errMemory error) {
	rt.Helper()
	if (err == nil) != (errMemory == nil) || errors.Is(err, muster.ErrConflict) != errors.Is(errMemory,
		muster.ErrConflict) {
		rt.Fatalf("the file gives error %v, the memory %v", err, errMemory)
	}
	if diff := cmp.Diff(file, memory); diff != "" {
		rt.Fatalf("file and memory differ (-file +memory):\n%s", diff)
	}
}
