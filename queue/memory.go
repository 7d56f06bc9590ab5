package queue

import (
	"maps"
	"slices"
	"sync"
)

// memoryStore keeps everything in memory: the store of an ephemeral service,
// and the oracle the SQLite store is tested against. Like a file, it may be
// loaded again after Close.
type memoryStore struct {
	mu       sync.RWMutex
	limit    int64 // bytes
	used     int64
	messages map[uint64]memoryRow
	queues   map[uint32]queueRow
	secret   []byte
	epoch    uint64
}

type memoryRow struct {
	row
	*record
}

func newMemoryStore(limit int64, secret []byte) *memoryStore {
	return &memoryStore{limit: limit, secret: secret, messages: map[uint64]memoryRow{}, queues: map[uint32]queueRow{}}
}

// Commit applies ops. It is all or nothing because only inserts can be refused.
func (m *memoryStore) Commit(ops []op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var more int64
	for i := range ops {
		if ops[i].kind == opInsert {
			more += ops[i].record.size()
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

func (m *memoryStore) apply(o *op) {
	switch o.kind {
	case opInsert:
		m.messages[o.row.seq] = memoryRow{o.row, o.record}
		m.used += o.record.size()
	case opUpdate:
		if old, ok := m.messages[o.row.seq]; ok {
			m.messages[o.row.seq] = memoryRow{o.row, old.record}
		}
	case opMove:
		if old, ok := m.messages[o.seq]; ok {
			moved := *old.record
			moved.source = o.source
			delete(m.messages, o.seq)
			m.messages[o.row.seq] = memoryRow{o.row, &moved}
			m.used += moved.size() - old.size()
		}
	case opRemove:
		if old, ok := m.messages[o.seq]; ok {
			delete(m.messages, o.seq)
			m.used -= old.size()
		}
	case opPutQueue:
		m.queues[o.queue.id] = *o.queue
	case opDropQueue:
		delete(m.queues, o.queue.id)
	}
}

// Load visits the messages in order and counts the opening.
func (m *memoryStore) Load(visit func(row)) (saved, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.epoch++
	for _, seq := range slices.Sorted(maps.Keys(m.messages)) {
		visit(m.messages[seq].row)
	}
	kept := saved{secret: m.secret, epoch: m.epoch}
	for _, id := range slices.Sorted(maps.Keys(m.queues)) {
		kept.queues = append(kept.queues, m.queues[id])
	}
	return kept, nil
}

// Close does nothing.
func (m *memoryStore) Close() error { return nil }

// Record returns the content of a message.
func (m *memoryStore) Record(seq uint64) (*record, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.messages[seq].record, nil
}
