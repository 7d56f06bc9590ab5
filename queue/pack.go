package queue

import (
	"encoding/binary"
	"slices"
)

// sighting is what is kept of a cold message: its sequence, and when it was
// sent in Unix milliseconds.
type sighting struct {
	seq  uint64
	sent int64
}

// packSize is how many sightings are packed together. A search unpacks one
// pack, which takes some microseconds.
const packSize = 512

// pack is up to packSize sightings, of which neither sequences nor times go
// back. Each takes two bytes when messages came without a gap. A pack is never
// changed, so that it may be shared.
type pack struct {
	first, last sighting
	n           int
	steps       []byte // for each but the first: how far sequence and time went on
}

// packed packs what is not empty.
func packed(all []sighting) pack {
	p := pack{first: all[0], last: all[len(all)-1], n: len(all)}
	var buf [packSize * 2 * binary.MaxVarintLen64]byte
	steps := buf[:0]
	for i := 1; i < len(all); i++ {
		steps = binary.AppendUvarint(steps, all[i].seq-all[i-1].seq)
		steps = binary.AppendUvarint(steps, uint64(all[i].sent-all[i-1].sent))
	}
	p.steps = slices.Clone(steps)
	return p
}

// unpack appends what p holds to out.
func (p *pack) unpack(out []sighting) []sighting {
	at := p.first
	out = append(out, at)
	for steps := p.steps; len(steps) > 0; {
		gap, n := binary.Uvarint(steps)
		later, m := binary.Uvarint(steps[n:])
		steps = steps[n+m:]
		at.seq, at.sent = at.seq+gap, at.sent+int64(later)
		out = append(out, at)
	}
	return out
}
