package powercut

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// sector is the unit in which a disk writes, in bytes.
const sector = 512

// fate is the outcome of a change that was not synced.
type fate uint8

const (
	keep fate = iota
	drop
	torn    // only the first half is written
	zeroed  // the size is there, the bytes are zeros
	garbled // some bits are wrong
)

// damage decides the fates of one power cut. Each cut has a character of its own: independent random
// fates would almost never keep, or lose, a long row of writes as a whole, which are the most
// instructive cases.
type damage struct {
	chance      *rand.Rand
	uniform     bool // all changes have the same fate
	uniformFate fate
	switchAfter int // number of changes after which uniformFate flips; negative is never
	rate        int // percentage of changes to keep, if the fates are random
}

// newDamage draws the character of a cut from its seed.
func newDamage(seed uint64) *damage {
	d := &damage{chance: rand.New(rand.NewPCG(seed, 0x706f776572)), switchAfter: -1, rate: 50}
	switch d.chance.IntN(6) {
	// Everything that was not synced is lost.
	case 0:
		d.uniform, d.uniformFate = true, drop
	// Everything arrived.
	case 1:
		d.uniform, d.uniformFate = true, keep
	case 2: // the first ones arrive
		d.uniform, d.uniformFate, d.switchAfter = true, keep, d.chance.IntN(60)
	case 3: // the last ones arrive
		d.uniform, d.uniformFate, d.switchAfter = true, drop, d.chance.IntN(60)
	// Most arrived, some is lost or damaged. In the remaining case each change has an even chance.
	case 4:
		d.rate = 90
	}
	return d
}

// fate returns the fate of the next change.
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

// piece returns what arrives of a write within one sector; nil if nothing does.
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

// Cut returns the disk as it may be after losing its power now. All synced data is there. Of other
// writes, each sector is kept, dropped, half written, zeroed or garbled, independently of the order of
// writing, and each change of the directory is made or not. The seed chooses among the possibilities. d
// itself continues unchanged.
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
