package leader

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
)

// Memory is a [Store] for tests and simulations: the oracle of the others.
type Memory struct {
	mu       sync.Mutex
	sessions map[string]Session
	claims   map[string]Claim
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{sessions: map[string]Session{}, claims: map[string]Claim{}} }

// Beat implements [Sessions].
func (m *Memory) Beat(ctx context.Context, s Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	// The same session again is a write that was repeated.
	if found := m.sessions[s.ID]; found.Beat != s.Beat-1 && found != s {
		return ErrEvicted
	}
	m.sessions[s.ID] = s
	return ctx.Err()
}

// Evict implements [Sessions].
func (m *Memory) Evict(ctx context.Context, s Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, there := m.sessions[s.ID]; !there || found.Beat != s.Beat {
		return ErrEvicted
	}
	delete(m.sessions, s.ID)
	return ctx.Err()
}

// Take implements [Claims].
func (m *Memory) Take(ctx context.Context, fleet string, was, to Claim) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found := m.claims[fleet]; found != was && found != to {
		return ErrTaken
	}
	m.claims[fleet] = to
	return ctx.Err()
}

// Read implements [Claims].
func (m *Memory) Read(ctx context.Context, claims bool) (Board, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b Board
	if claims {
		b.Claims = maps.Clone(m.claims)
	}
	b.Sessions = slices.SortedFunc(maps.Values(m.sessions), func(a, b Session) int { return cmp.Compare(a.ID, b.ID) })
	return b, ctx.Err()
}
