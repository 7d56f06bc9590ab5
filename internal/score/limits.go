package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/limit"
	"github.com/muster-scale/muster/sim/trace"
)

// limitRevision is part of every key: whoever changes what package limit computes raises it.
const limitRevision = 1

// limitFile keeps computed limits from one time to the next, because those of long traces take minutes. The keys are made
// of the messages and the circumstances, so what was computed for others is never taken. It may be used by several
// goroutines.
type limitFile struct {
	path string
	// compute computes what is not kept.
	compute func(*contest.Prepared) error
	lock    sync.Mutex
	kept    map[string]limit.Bounds
	// computed and taken count where the limits of this run came from.
	computed, taken int
}

func openLimits(path string) (*limitFile, error) {
	f := &limitFile{path: path, compute: (*contest.Prepared).Limit, kept: map[string]limit.Bounds{}}
	if path == "" {
		return f, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &f.kept)
	}
	if err != nil {
		return nil, fmt.Errorf("read the limits that were computed before: %w; remove %s or give another -cache", err, path)
	}
	return f, nil
}

// write keeps what was computed, beside what others wrote meanwhile.
func (f *limitFile) write() error {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.path == "" || f.computed == 0 {
		return nil
	}
	now, err := openLimits(f.path)
	if err != nil {
		return err
	}
	maps.Copy(f.kept, now.kept)
	text, err := json.Marshal(f.kept)
	if err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(f.path), filepath.Base(f.path)+".*")
	if err != nil {
		return err
	}
	_, err = part.Write(text)
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), f.path)
	}
	if err != nil {
		os.Remove(part.Name())
	}
	return err
}

// of returns the limits of a prepared event, computed now or before.
func (f *limitFile) of(p contest.Prepared) (limit.Bounds, error) {
	key, err := fingerprint(p)
	if err != nil {
		return limit.Bounds{}, err
	}
	f.lock.Lock()
	b, ok := f.kept[key]
	if ok {
		f.taken++
	}
	f.lock.Unlock()
	if ok {
		return b, nil
	}
	if err := f.compute(&p); err != nil {
		return limit.Bounds{}, err
	}
	b = p.Limits
	b.Prescient.Certificate, b.Causal.Certificate = nil, nil // they are long, and nobody asks for them here
	f.lock.Lock()
	defer f.lock.Unlock()
	f.computed++
	f.kept[key] = b
	return b, nil
}

// fingerprint is a hash of all that a limit depends on.
func fingerprint(p contest.Prepared) (string, error) {
	h := sha256.New()
	e := p.Event
	fmt.Fprintf(h, "%d %v %v %v %v %v %d %d %d", limitRevision, e.Objective.Latency, e.Objective.Quantile, e.World.Boot.Least(), e.World.Warm.Size > 0,
		e.World.Warm.Boot.Least(), max(1, e.World.Slots), e.Limits.Min, e.Limits.Max)
	err := p.Trace.Each(func(m trace.Message) bool {
		addMessage(h, m)
		return true
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

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
