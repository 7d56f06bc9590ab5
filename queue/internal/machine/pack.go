package machine

import (
	"encoding/binary"
	"slices"
)

// Sighting is what is kept of a cold message: its sequence, and when it was
// sent in Unix milliseconds.
type Sighting struct {
	Seq  uint64
	Sent int64
}

// PackSize is how many sightings are packed together. A search unpacks one
// pack, which takes some microseconds.
const PackSize = 512

// pack is up to packSize sightings, of which neither sequences nor times go
// back. Each takes two bytes when messages came without a gap. A pack is never
// changed, so that it may be shared.
type pack struct {
	First, Last Sighting
	N           int
	Steps       []byte // for each but the first: how far sequence and time went on
}

// Packed packs what is not empty.
func Packed(all []Sighting) pack {
	p := pack{First: all[0], Last: all[len(all)-1], N: len(all)}
	var buf [PackSize * 2 * binary.MaxVarintLen64]byte
	steps := buf[:0]
	for i := 1; i < len(all); i++ {
		steps = binary.AppendUvarint(steps, all[i].Seq-all[i-1].Seq)
		steps = binary.AppendUvarint(steps, uint64(all[i].Sent-all[i-1].Sent))
	}
	p.Steps = slices.Clone(steps)
	return p
}

// Unpack appends what p holds to out.
func (p *pack) Unpack(out []Sighting) []Sighting {
	at := p.First
	out = append(out, at)
	for steps := p.Steps; len(steps) > 0; {
		gap, n := binary.Uvarint(steps)
		later, m := binary.Uvarint(steps[n:])
		steps = steps[n+m:]
		at.Seq, at.Sent = at.Seq+gap, at.Sent+int64(later)
		out = append(out, at)
	}
	return out
}
