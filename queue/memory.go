package queue

import (
	"maps"
	"slices"
	"sync"

	"github.com/muster-scale/muster/queue/internal/machine"
)

// memoryStore keeps everything in memory: the store of an ephemeral service,
// and the oracle the SQLite store is tested against. Like a file, it may be
// loaded again after Close.
type memoryStore struct {
	mu       sync.RWMutex
	limit    int64 // bytes
	used     int64
	messages map[uint64]memoryRow
	queues   map[uint32]machine.QueueRow
	dedup    map[dedupID]machine.DedupRow
	moves    map[uint64]machine.MoveRow
	secret   []byte
	epoch    uint64
}

type dedupID struct {
	queue uint32
	key   string
}

// dedupSize is what a row costs in memory, roughly.
func dedupSize(d *machine.DedupRow) int64 { return machine.RecordOverhead + 2*int64(len(d.Key)) }

type memoryRow struct {
	machine.Row
	*machine.Record
}

func newMemoryStore(limit int64, secret []byte) *memoryStore {
	return &memoryStore{
		limit: limit, secret: secret, messages: map[uint64]memoryRow{}, queues: map[uint32]machine.QueueRow{},
		dedup: map[dedupID]machine.DedupRow{}, moves: map[uint64]machine.MoveRow{},
	}
}

// Commit applies ops. It is all or nothing because only inserts can be refused.
func (m *memoryStore) Commit(ops []machine.Op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var more int64
	for i := range ops {
		switch ops[i].Kind {
		case machine.OpInsert:
			more += ops[i].Record.Size()
		case machine.OpPutDedup:
			more += dedupSize(ops[i].Dedup)
		}
	}
	if more > 0 && m.used+more > m.limit {
		return ErrStorageFull
	}
	for i := range ops {
		m.apply(&ops[i])
	}
	return nil
}

func (m *memoryStore) apply(o *machine.Op) {
	switch o.Kind {
	case machine.OpInsert:
		m.messages[o.Row.Seq] = memoryRow{o.Row, o.Record}
		m.used += o.Record.Size()
	case machine.OpUpdate:
		if old, ok := m.messages[o.Row.Seq]; ok {
			m.messages[o.Row.Seq] = memoryRow{o.Row, old.Record}
		}
	case machine.OpMove:
		if old, ok := m.messages[o.Seq]; ok {
			moved := *old.Record
			moved.Source = o.Source
			delete(m.messages, o.Seq)
			m.messages[o.Row.Seq] = memoryRow{o.Row, &moved}
			m.used += moved.Size() - old.Size()
		}
	case machine.OpRemove:
		if old, ok := m.messages[o.Seq]; ok {
			delete(m.messages, o.Seq)
			m.used -= old.Size()
		}
	case machine.OpPutQueue:
		m.queues[o.Queue.ID] = *o.Queue
	case machine.OpDropQueue:
		delete(m.queues, o.Queue.ID)
		maps.DeleteFunc(m.moves, func(_ uint64, r machine.MoveRow) bool { return r.Queue == o.Queue.ID })
	case machine.OpPutMove:
		m.moves[o.Move.ID] = *o.Move
	case machine.OpDropMove:
		delete(m.moves, o.Move.ID)
	case machine.OpPutDedup, machine.OpDropDedup:
		m.applyDedup(o)
	}
}

func (m *memoryStore) applyDedup(o *machine.Op) {
	id := dedupID{o.Dedup.Queue, o.Dedup.Key}
	old, ok := m.dedup[id]
	if o.Kind == machine.OpDropDedup && (!ok || old.Seq != o.Dedup.Seq) {
		return
	}
	if ok {
		delete(m.dedup, id)
		m.used -= dedupSize(&old)
	}
	if o.Kind == machine.OpPutDedup {
		m.dedup[id] = *o.Dedup
		m.used += dedupSize(o.Dedup)
	}
}

// Load visits the messages in order and counts the opening.
func (m *memoryStore) Load(begin func(machine.Saved) error, visit func(machine.Row, machine.Label) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.epoch++
	if err := begin(m.saved()); err != nil {
		return err
	}
	for _, seq := range slices.Sorted(maps.Keys(m.messages)) {
		r := m.messages[seq]
		if err := visit(r.Row, machine.Label{Group: r.Group, Source: r.Source}); err != nil {
			return err
		}
	}
	return nil
}

func (m *memoryStore) saved() machine.Saved {
	kept := machine.Saved{Secret: m.secret, Epoch: m.epoch}
	for _, id := range slices.Sorted(maps.Keys(m.queues)) {
		kept.Queues = append(kept.Queues, m.queues[id])
	}
	for _, id := range slices.Sorted(maps.Keys(m.moves)) {
		kept.Moves = append(kept.Moves, m.moves[id])
	}
	for _, d := range m.dedup {
		kept.Dedup = append(kept.Dedup, d)
	}
	return kept
}

// Close does nothing.
func (m *memoryStore) Close() error { return nil }

// Record returns the content of a message.
func (m *memoryStore) Record(seq uint64) (*machine.Record, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.messages[seq].Record, nil
}
