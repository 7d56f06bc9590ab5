package leasetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/muster-scale/muster/leader"
)

// Memory is a [leader.Store] for tests and simulations: the oracle of the others. Several goroutines may use it.
type Memory struct {
	mu       sync.Mutex
	sessions map[string]leader.Session
	claims   map[string]leader.Claim
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{sessions: map[string]leader.Session{}, claims: map[string]leader.Claim{}}
}

// Beat implements [leader.Sessions].
func (m *Memory) Beat(ctx context.Context, s leader.Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	// The same session again is a write that was repeated.
	if found := m.sessions[s.ID]; found.Beat != s.Beat-1 && found != s {
		return leader.ErrEvicted
	}
	m.sessions[s.ID] = s
	return ctx.Err()
}

// Evict implements [leader.Sessions].
func (m *Memory) Evict(ctx context.Context, s leader.Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, there := m.sessions[s.ID]; !there || found.Beat != s.Beat {
		return leader.ErrEvicted
	}
	delete(m.sessions, s.ID)
	return ctx.Err()
}

// Take implements [leader.Claims].
func (m *Memory) Take(ctx context.Context, fleet string, was, to leader.Claim) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	// Terms grow, so an equal claim can only be this write, repeated.
	if found := m.claims[fleet]; found != was && found != to {
		return leader.ErrTaken
	}
	m.claims[fleet] = to
	return ctx.Err()
}

// Read implements [leader.Claims]. The lock makes it one snapshot, which is more than the contract asks for: a claim
// whose holder has no session is of a session that was evicted.
func (m *Memory) Read(ctx context.Context, claims bool) (leader.Board, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b leader.Board
	if claims {
		b.Claims = maps.Clone(m.claims)
	}
	byID := func(a, b leader.Session) int { return cmp.Compare(a.ID, b.ID) }
	b.Sessions = slices.SortedFunc(maps.Values(m.sessions), byID)
	return b, ctx.Err()
}
