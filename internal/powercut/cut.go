package powercut

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// sector is what a disk writes in one piece, if all goes well.
const sector = 512

// fate is what becomes of a change that was not synced.
type fate uint8

const (
	keep fate = iota
	drop
	torn    // one half is written
	zeroed  // the room is there, the bytes are not
	garbled // some bits are wrong
)

// damage decides the fates of one power cut. Each cut has a character of its own: purely random fates would almost
// never keep a long row of writes whole, or lose all of them.
type damage struct {
	chance      *rand.Rand
	uniform     bool // all that follows has the same fate
	uniformFate fate
	switchAfter int // after so many changes the fate changes; negative is never
	rate        int // of the random fates, those out of 100 that keep
}

func newDamage(seed uint64) *damage {
	d := &damage{chance: rand.New(rand.NewPCG(seed, 0x706f776572)), switchAfter: -1, rate: 50}
	switch d.chance.IntN(6) {
	case 0:
		d.uniform, d.uniformFate = true, drop
	case 1:
		d.uniform, d.uniformFate = true, keep
	case 2: // the first ones arrive
		d.uniform, d.uniformFate, d.switchAfter = true, keep, d.chance.IntN(60)
	case 3: // the last ones arrive
		d.uniform, d.uniformFate, d.switchAfter = true, drop, d.chance.IntN(60)
	case 4:
		d.rate = 90
	}
	return d
}

func (d *damage) fate() fate {
	if d.switchAfter == 0 && d.uniform {
		d.uniformFate = drop - d.uniformFate // between keep and drop
	}
	d.switchAfter--
	switch {
	case d.uniform:
		return d.uniformFate
	case d.chance.IntN(100) < d.rate:
		return keep
	}
	return drop + fate(d.chance.IntN(4))
}

// piece is what arrives of a write within one sector; nil is nothing.
func (d *damage) piece(b []byte) []byte {
	switch d.fate() {
	case keep:
		return b
	case torn:
		return b[:(len(b)+1)/2]
	case zeroed:
		return make([]byte, len(b))
	case garbled:
		b = slices.Clone(b)
		for range 1 + d.chance.IntN(8) {
			b[d.chance.IntN(len(b))] ^= 1 << d.chance.IntN(8)
		}
		return b
	}
	return nil
}

// Cut returns the disk as it may be after losing its power at this moment. Whatever was synced is there. Of what was
// not, each sector is kept, dropped, half written, zeroed or garbled, independently of the order of writing; and each
// change of the directory is made or not. The seed selects among the possibilities. The disk itself goes on.
func (d *Disk) Cut(seed uint64) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	fates := newDamage(seed)
	names := maps.Clone(d.kept)
	for _, m := range d.moves {
		if fates.fate() == keep {
			m.apply(names)
		}
	}
	after := New()
	seen := map[*file]*file{}
	for _, name := range slices.Sorted(maps.Keys(names)) { // sorted, so that the seed decides all
		f := names[name]
		if seen[f] == nil {
			b := f.after(fates)
			seen[f] = &file{content: b, synced: slices.Clone(b)}
		}
		after.names[name] = seen[f]
	}
	after.kept = maps.Clone(after.names)
	return after
}
