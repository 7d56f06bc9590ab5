package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/muster-scale/muster"
)

// attempt is an append, as its writer knows it: each record says which one it belongs to.
type attempt struct {
	fleet   string
	after   muster.Position
	records int
	acked   bool
	refused bool // by another writer having come
}

// journal is what the writers of one history asked and were answered.
type journal struct {
	mu       sync.Mutex
	attempts []attempt
	epochs   map[string]int64 // the newest acknowledged
}

func (j *journal) view() *journal {
	j.mu.Lock()
	defer j.mu.Unlock()
	v := &journal{attempts: append([]attempt(nil), j.attempts...), epochs: map[string]int64{}}
	for fleet, epoch := range j.epochs {
		v.epochs[fleet] = epoch
	}
	return v
}

func (j *journal) trying(a attempt) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.attempts = append(j.attempts, a)
	return len(j.attempts) - 1
}

func (j *journal) answered(n int, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.attempts[n].acked, j.attempts[n].refused = err == nil, errors.Is(err, muster.ErrConflict)
}

func (j *journal) begun(fleet string, epoch int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.epochs[fleet] = max(j.epochs[fleet], epoch)
}

// mark is the body of a record: which attempt it belongs to, and its place in it.
type mark struct{ Attempt, Place int }

// writer appends to the stream of a fleet until it did so often; another one may take the stream over meanwhile.
type writer struct {
	h      *History
	j      *journal
	chance *rand.Rand
}

func (w *writer) run(ctx context.Context, fleet string, steps int) error {
	var at muster.Position
	for range steps {
		var err error
		if at, err = w.step(ctx, fleet, at); err != nil {
			return err
		}
	}
	return nil
}

// step does one random thing with the stream of a fleet that is at the given position, and returns the next one.
func (w *writer) step(ctx context.Context, fleet string, at muster.Position) (muster.Position, error) {
	switch n := w.chance.IntN(20); {
	case at.Epoch == 0 || n == 0:
		next, err := w.h.Begin(ctx, fleet)
		if err == nil {
			w.j.begun(fleet, next.Epoch)
		}
		return next, err
	case n == 1:
		_, err := w.h.Prune(ctx, dawn.Add(time.Hour), 0)
		return at, err
	default:
		return w.append(ctx, fleet, at)
	}
}

func (w *writer) append(ctx context.Context, fleet string, at muster.Position) (muster.Position, error) {
	n := 1 + w.chance.IntN(5)
	if w.chance.IntN(20) == 0 {
		n = 40
	}
	number := w.j.trying(attempt{fleet: fleet, after: at, records: n})
	records := make([]muster.Record, n)
	for i := range records {
		body, err := json.Marshal(mark{number, i})
		if err != nil {
			return at, err
		}
		records[i] = muster.Record{At: dawn, Kind: muster.Decided, Body: body}
		if w.chance.IntN(3) == 0 {
			records[i].Shared = fmt.Appendf(nil, `"%0*d"`, 1+w.chance.IntN(2000), w.chance.IntN(4))
		}
	}
	next, err := w.h.Append(ctx, fleet, at, records...)
	w.j.answered(number, err)
	if errors.Is(err, muster.ErrConflict) {
		return muster.Position{}, nil
	}
	return next, err
}
