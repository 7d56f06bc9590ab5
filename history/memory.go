package history

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history/internal/rules"
)

// memoryBytes bounds the contents of a [Memory], so that a long simulation ends with an error and not with the system's
// memory.
const memoryBytes = 256 << 20

// recordBytes is the approximate size of a record without its body.
const recordBytes = 200

// Memory is a [muster.History] without a disk: it ends with the process. Otherwise it follows the contract of
// [History]. Several goroutines may use it.
type Memory struct {
	mu      sync.RWMutex
	streams map[string]*stream
	// shared holds each distinct shared content once.
	shared map[[sha256.Size]byte][]byte
	bytes  int
}

// stream is the records of one fleet.
type stream struct {
	// at is the epoch, and the sequence number of the last record. folded is the time before which learned records are
	// folded, in nanoseconds.
	at      muster.Position
	folded  int64
	records []muster.Record // by sequence number
}

// NewMemory returns an empty history in memory.
func NewMemory() *Memory {
	return &Memory{streams: map[string]*stream{}, shared: map[[sha256.Size]byte][]byte{}}
}

// Close does nothing; it makes a Memory interchangeable with a [History].
func (m *Memory) Close() error { return nil }

// Begin implements [muster.History].
func (m *Memory) Begin(ctx context.Context, fleet string) (muster.Position, error) {
	if err := cmp.Or(ctx.Err(), rules.CheckFleet(fleet)); err != nil {
		return muster.Position{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.streams[fleet]
	if s == nil {
		s = &stream{}
		m.streams[fleet] = s
	}
	s.at.Epoch++
	return s.at, nil
}

// Append implements [muster.History].
func (m *Memory) Append(ctx context.Context, fleet string, after muster.Position,
	records ...muster.Record) (muster.Position, error) {
	if err := cmp.Or(ctx.Err(), rules.CheckAppend(fleet, records)); err != nil {
		return muster.Position{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.streams[fleet]
	if s == nil {
		return muster.Position{}, rules.Conflict(fleet, after, muster.Position{})
	}
	if s.at != after {
		return muster.Position{}, rules.Conflict(fleet, after, s.at)
	}
	more := 0
	for _, r := range records {
		more += recordBytes + len(r.Body) + len(r.Shared)
	}
	if m.bytes+more > memoryBytes {
		return muster.Position{}, fmt.Errorf("append to fleet %q: history in memory: %w: found %d bytes, %d are "+
			"allowed; keep less history, or keep it on disk",
			fleet, ErrFull, m.bytes+more, memoryBytes)
	}
	for _, r := range records {
		s.at.Seq++
		s.records = append(s.records, m.kept(s.at, r))
	}
	return s.at, nil
}

// kept returns r as stored at the position p, and counts its bytes.
func (m *Memory) kept(p muster.Position, r muster.Record) muster.Record {
	r.Position, r.At = p, rules.Instant(r.At.UnixNano())
	r.Body = orNone(bytes.Clone(r.Body))
	r.Shared = m.once(bytes.Clone(r.Shared))
	m.bytes += recordBytes + len(r.Body)
	return r
}

// once returns the single copy of a shared content.
func (m *Memory) once(content []byte) []byte {
	if len(content) == 0 {
		return nil
	}
	hash := sha256.Sum256(content)
	one, ok := m.shared[hash]
	if !ok {
		one = content
		m.shared[hash] = one
		m.bytes += len(one)
	}
	return one
}

// Read implements [muster.History]; yield may call any method.
func (m *Memory) Read(ctx context.Context, fleet string, since time.Time, yield func(muster.Record) bool) error {
	for _, r := range m.of(fleet) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("read the records of fleet %q: %w", fleet, err)
		}
		if !r.At.Before(since) && !yield(r) {
			return nil
		}
	}
	return nil
}

// Last returns up to n records of a fleet, newest first, of the given kinds or of all. n is 1 to [MaxLast].
func (m *Memory) Last(ctx context.Context, fleet string, n int, kinds ...muster.RecordKind) ([]muster.Record, error) {
	if err := cmp.Or(ctx.Err(), rules.CheckLast(n)); err != nil {
		return nil, err
	}
	var last []muster.Record
	for _, r := range slices.Backward(m.of(fleet)) {
		if len(last) < n && (len(kinds) == 0 || slices.Contains(kinds, r.Kind)) {
			last = append(last, r)
		}
	}
	return last, nil
}

// Get returns the record of a fleet with the given sequence number, or [ErrNoRecord].
func (m *Memory) Get(ctx context.Context, fleet string, seq int64) (muster.Record, error) {
	if err := ctx.Err(); err != nil {
		return muster.Record{}, err
	}
	records := m.of(fleet)
	i, ok := bySeq(records, seq)
	if !ok {
		return muster.Record{}, rules.NoRecord(fleet, seq)
	}
	return records[i], nil
}

// Fleets returns the names of the fleets that have a stream, sorted.
func (m *Memory) Fleets(ctx context.Context) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Sorted(maps.Keys(m.streams)), ctx.Err()
}

// Prune does what [History.Prune] does, in one call.
func (m *Memory) Prune(ctx context.Context, now time.Time, keep time.Duration) (Pruned, error) {
	before, err := rules.Cutoffs(now, keep)
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return Pruned{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var p Pruned
	for _, s := range m.streams {
		p.Removed += s.removeOld(before)
		p.Folded += s.foldLearned(before.Fold)
	}
	shared := len(m.shared)
	m.recount()
	p.Shared = shared - len(m.shared)
	return p, nil
}

// of returns the current records of a fleet. They never change: appends go behind them, and Prune makes a new slice.
func (m *Memory) of(fleet string) []muster.Record {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if s := m.streams[fleet]; s != nil {
		return s.records
	}
	return nil
}

// removeOld is removeOld of a database, and removes all old records at once.
func (s *stream) removeOld(before rules.Cutoff) int {
	newest := map[muster.RecordKind]int64{}
	for _, r := range s.records {
		newest[r.Kind] = r.Position.Seq
	}
	kept := slices.DeleteFunc(slices.Clone(s.records), func(r muster.Record) bool {
		return before.Old(r.Kind, r.At.UnixNano()) && r.Position.Seq != newest[r.Kind]
	})
	removed := len(s.records) - len(kept)
	s.records = kept
	return removed
}

// foldLearned is foldLearned of a database. It sorts by time, because the clock may have been set back between appends.
func (s *stream) foldLearned(boundary int64) int {
	if boundary <= s.folded {
		return 0
	}
	var rows []rules.Lesson
	for _, r := range s.records {
		if at := r.At.UnixNano(); r.Kind == muster.Learned && at >= s.folded && at < boundary {
			rows = append(rows, rules.Lesson{Seq: r.Position.Seq, At: at, Body: r.Body})
		}
	}
	slices.SortStableFunc(rows, func(a, b rules.Lesson) int { return cmp.Compare(a.At, b.At) })
	f := rules.FoldHours(rows, boundary, false)
	s.folded = f.Until
	records := slices.Clone(s.records)
	for seq, body := range f.Bodies {
		if i, ok := bySeq(records, seq); ok {
			records[i].Body = body
		}
	}
	gone := map[int64]bool{}
	for _, seq := range f.Gone {
		gone[seq] = true
	}
	s.records = slices.DeleteFunc(records, func(r muster.Record) bool { return gone[r.Position.Seq] })
	return len(f.Gone)
}

// recount drops shared contents without records and recomputes the bytes.
func (m *Memory) recount() {
	m.shared, m.bytes = map[[sha256.Size]byte][]byte{}, 0
	for _, s := range m.streams {
		for i, r := range s.records {
			s.records[i].Shared = m.once(r.Shared)
			m.bytes += recordBytes + len(r.Body)
		}
	}
}

// bySeq returns the place of a sequence number among records, which are sorted by it.
func bySeq(records []muster.Record, seq int64) (int, bool) {
	return slices.BinarySearchFunc(records, seq,
		func(r muster.Record, seq int64) int { return cmp.Compare(r.Position.Seq, seq) })
}
