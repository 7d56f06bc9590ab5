package arena

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/limit"
	"github.com/muster-scale/muster/sim/trace"
)

// LimitRevision is part of every key. Raise it with any change of what package limit computes, or stale limits are
// taken from caches.
const LimitRevision = 1

// Limits keeps computed limits from one time to the next, because those of long traces take minutes. The keys are
// made of the messages and the circumstances, so what was computed for others is never taken. It may be used by several
// goroutines.
type Limits struct {
	*Store[limit.Bounds]
	// Compute computes what is not kept.
	Compute func(*contest.Prepared) error
}

// OpenLimits reads the limits in the file at path, if there is one; an empty path keeps nothing.
func OpenLimits(path string) (*Limits, error) {
	kept, err := OpenStore[limit.Bounds](path)
	if err != nil {
		return nil, err
	}
	return &Limits{Store: kept, Compute: (*contest.Prepared).Limit}, nil
}

// Of returns the limits of a prepared event, computed now or before.
func (f *Limits) Of(p contest.Prepared) (limit.Bounds, error) {
	key, err := CircumstancesOf(p)
	if err != nil {
		return limit.Bounds{}, err
	}
	return f.Get(key, func() (limit.Bounds, error) {
		if err := f.Compute(&p); err != nil {
			return limit.Bounds{}, err
		}
		b := p.Limits
		b.Prescient.Certificate, b.Causal.Certificate = nil, nil // they are long, and nobody asks for them here
		return b, nil
	})
}

// CircumstancesOf is a hash of all that a limit depends on: objective, boots, slots, limits, and every message.
func CircumstancesOf(p contest.Prepared) (string, error) {
	h := sha256.New()
	e := p.Event
	fmt.Fprintf(h, "%d %v %v %v %v %v %d %d %d", LimitRevision, e.Objective.Latency, e.Objective.Quantile,
		e.World.Boot.Least(), e.World.Warm.Size > 0,
		e.World.Warm.Boot.Least(), max(1, e.World.Slots), e.Limits.Min, e.Limits.Max)
	err := p.Trace.Each(func(m trace.Message) bool {
		addMessage(h, m)
		return true
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// addMessage adds a message with its children to a hash. The number of children keeps different trees apart.
func addMessage(h hash.Hash, m trace.Message) {
	var numbers [24]byte
	binary.LittleEndian.PutUint64(numbers[:], uint64(m.Arrival))
	binary.LittleEndian.PutUint64(numbers[8:], uint64(m.Service))
	binary.LittleEndian.PutUint64(numbers[16:], uint64(len(m.Children)))
	h.Write(numbers[:])
	for _, c := range m.Children {
		addMessage(h, c)
	}
}
