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
	dedup    map[dedupID]dedupRow
	moves    map[uint64]moveRow
	secret   []byte
	epoch    uint64
}

type dedupID struct {
	queue uint32
	key   string
}

// size is what a row costs in memory, roughly.
func (d *dedupRow) size() int64 { return recordOverhead + 2*int64(len(d.key)) }

type memoryRow struct {
	row
	*record
}

func newMemoryStore(limit int64, secret []byte) *memoryStore {
	return &memoryStore{
		limit: limit, secret: secret, messages: map[uint64]memoryRow{}, queues: map[uint32]queueRow{},
		dedup: map[dedupID]dedupRow{}, moves: map[uint64]moveRow{},
	}
}

// Commit applies ops. It is all or nothing because only inserts can be refused.
func (m *memoryStore) Commit(ops []op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var more int64
	for i := range ops {
		switch ops[i].kind {
		case opInsert:
			more += ops[i].record.size()
		case opPutDedup:
			more += ops[i].dedup.size()
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
		maps.DeleteFunc(m.moves, func(_ uint64, r moveRow) bool { return r.queue == o.queue.id })
	case opPutMove:
		m.moves[o.move.id] = *o.move
	case opDropMove:
		delete(m.moves, o.move.id)
	case opPutDedup, opDropDedup:
		m.applyDedup(o)
	}
}

func (m *memoryStore) applyDedup(o *op) {
	id := dedupID{o.dedup.queue, o.dedup.key}
	old, ok := m.dedup[id]
	if o.kind == opDropDedup && (!ok || old.seq != o.dedup.seq) {
		return
	}
	if ok {
		delete(m.dedup, id)
		m.used -= old.size()
	}
	if o.kind == opPutDedup {
		m.dedup[id] = *o.dedup
		m.used += o.dedup.size()
	}
}

// Load visits the messages in order and counts the opening.
func (m *memoryStore) Load(begin func(saved) error, visit func(row, label) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.epoch++
	if err := begin(m.saved()); err != nil {
		return err
	}
	for _, seq := range slices.Sorted(maps.Keys(m.messages)) {
		r := m.messages[seq]
		if err := visit(r.row, label{r.group, r.source}); err != nil {
			return err
		}
	}
	return nil
}

func (m *memoryStore) saved() saved {
	kept := saved{secret: m.secret, epoch: m.epoch}
	for _, id := range slices.Sorted(maps.Keys(m.queues)) {
		kept.queues = append(kept.queues, m.queues[id])
	}
	for _, id := range slices.Sorted(maps.Keys(m.moves)) {
		kept.moves = append(kept.moves, m.moves[id])
	}
	for _, d := range m.dedup {
		kept.dedup = append(kept.dedup, d)
	}
	return kept
}

// Close does nothing.
func (m *memoryStore) Close() error { return nil }

// Record returns the content of a message.
func (m *memoryStore) Record(seq uint64) (*record, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.messages[seq].record, nil
}
