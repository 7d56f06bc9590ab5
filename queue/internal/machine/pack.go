package machine

import (
	"encoding/binary"
	"slices"
)

// PackedMessage is what is kept of a packed message: sequence, and time of sending in Unix milliseconds.
type PackedMessage struct {
	Seq  uint64
	Sent int64
}

// PackSize is the number of messages in one pack. A search unpacks one pack, which takes some microseconds.
const PackSize = 512

// pack is up to PackSize messages in which neither sequences nor times decrease. The differences are stored as
// varints: two bytes a message if no gap is large. A pack is never changed, so it may be shared.
type pack struct {
	First, Last PackedMessage
	N           int
	Steps       []byte // for each message but the first: differences of sequence and time
}

// NewPack packs all, which must not be empty.
func NewPack(all []PackedMessage) pack {
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

// Unpack appends the messages of p to out.
func (p *pack) Unpack(out []PackedMessage) []PackedMessage {
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
