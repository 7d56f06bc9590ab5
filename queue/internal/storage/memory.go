package storage

import (
	"maps"
	"slices"
	"sync"

	"github.com/muster-scale/muster/queue/internal/machine"
)

// MemoryStore keeps everything in memory. It is the store of an ephemeral service, and the oracle with
// which tests compare SqliteStore. Like a file it can be loaded again after Close. It is safe for
// concurrent use.
type MemoryStore struct {
	Mu       sync.RWMutex
	limit    int64 // of Used, in bytes
	Used     int64
	Messages map[uint64]memoryRow
	queues   map[uint32]machine.QueueRow
	Dedup    map[dedupID]machine.DedupRow
	Moves    map[uint64]machine.MoveRow
	secret   []byte
	epoch    uint64
}

// dedupID is the key of a deduplication row.
type dedupID struct {
	queue uint32
	key   string
}

// dedupSize is the approximate memory of a deduplication row, in bytes. The key is held twice, by map
// and row.
func dedupSize(d *machine.DedupRow) int64 { return machine.RecordOverhead + 2*int64(len(d.Key)) }

// memoryRow is a message with its content.
type memoryRow struct {
	machine.Row
	*machine.Record
}

// NewMemoryStore returns an empty store for about limit bytes of messages. secret is the key of the
// receipt handles.
func NewMemoryStore(limit int64, secret []byte) *MemoryStore {
	return &MemoryStore{
		limit: limit, secret: secret, Messages: map[uint64]memoryRow{}, queues: map[uint32]machine.QueueRow{},
		Dedup: map[dedupID]machine.DedupRow{}, Moves: map[uint64]machine.MoveRow{},
	}
}

// Commit applies ops, all or none: only operations that need memory can be refused, and they are
// checked first.
func (m *MemoryStore) Commit(ops []machine.Op) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	var more int64
	for i := range ops {
		switch ops[i].Kind {
		// A batch is refused as a whole, since the writer can undo only whole groups.
		case machine.OpInsert:
			more += ops[i].Record.Size()
		case machine.OpPutDedup:
			more += dedupSize(ops[i].Dedup)
		}
	}
	if more > 0 && m.Used+more > m.limit {
		return ErrStorageFull
	}
	for i := range ops {
		m.apply(&ops[i])
	}
	return nil
}

// apply applies one operation. An update or move of a message that is gone does nothing, as in SQL.
func (m *MemoryStore) apply(o *machine.Op) {
	switch o.Kind {
	case machine.OpInsert:
		m.Messages[o.Row.Seq] = memoryRow{o.Row, o.Record}
		m.Used += o.Record.Size()
	case machine.OpUpdate:
		if old, ok := m.Messages[o.Row.Seq]; ok {
			m.Messages[o.Row.Seq] = memoryRow{o.Row, old.Record}
		}
	case machine.OpMove:
		if old, ok := m.Messages[o.Seq]; ok {
			// Readers may hold the old record, so it is copied.
			moved := *old.Record
			moved.Source = o.Source
			delete(m.Messages, o.Seq)
			m.Messages[o.Row.Seq] = memoryRow{o.Row, &moved}
			m.Used += moved.Size() - old.Size()
		}
	case machine.OpRemove:
		if old, ok := m.Messages[o.Seq]; ok {
			delete(m.Messages, o.Seq)
			m.Used -= old.Size()
		}
	case machine.OpPutQueue:
		m.queues[o.Queue.ID] = *o.Queue
	case machine.OpDropQueue:
		delete(m.queues, o.Queue.ID)
		maps.DeleteFunc(m.Moves, func(_ uint64, r machine.MoveRow) bool { return r.Queue == o.Queue.ID })
	case machine.OpPutMove:
		m.Moves[o.Move.ID] = *o.Move
	case machine.OpDropMove:
		delete(m.Moves, o.Move.ID)
	case machine.OpPutDedup, machine.OpDropDedup:
		m.applyDedup(o)
	}
}

// applyDedup applies an operation on deduplication. A drop counts only for the same message: the key
// may have been used again since.
func (m *MemoryStore) applyDedup(o *machine.Op) {
	id := dedupID{o.Dedup.Queue, o.Dedup.Key}
	old, ok := m.Dedup[id]
	if o.Kind == machine.OpDropDedup && (!ok || old.Seq != o.Dedup.Seq) {
		return
	}
	if ok {
		delete(m.Dedup, id)
		m.Used -= dedupSize(&old)
	}
	if o.Kind == machine.OpPutDedup {
		m.Dedup[id] = *o.Dedup
		m.Used += dedupSize(o.Dedup)
	}
}

// Load visits the messages by sequence and counts the opening.
func (m *MemoryStore) Load(begin func(machine.Saved) error, visit func(machine.Row, machine.Label) error) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.epoch++
	if err := begin(m.saved()); err != nil {
		return err
	}
	for _, seq := range slices.Sorted(maps.Keys(m.Messages)) {
		r := m.Messages[seq]
		if err := visit(r.Row, machine.Label{Group: r.Group, Source: r.Source}); err != nil {
			return err
		}
	}
	return nil
}

// saved returns everything but messages.
func (m *MemoryStore) saved() machine.Saved {
	kept := machine.Saved{Secret: m.secret, Epoch: m.epoch}
	for _, id := range slices.Sorted(maps.Keys(m.queues)) {
		kept.Queues = append(kept.Queues, m.queues[id])
	}
	for _, id := range slices.Sorted(maps.Keys(m.Moves)) {
		kept.Moves = append(kept.Moves, m.Moves[id])
	}
	for _, d := range m.Dedup {
		kept.Dedup = append(kept.Dedup, d)
	}
	return kept
}

// Close does nothing.
func (m *MemoryStore) Close() error { return nil }

// Record returns the content of a message.
func (m *MemoryStore) Record(seq uint64) (*machine.Record, error) {
	m.Mu.RLock()
	defer m.Mu.RUnlock()
	return m.Messages[seq].Record, nil
}
