package worlds

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/trace"
)

// Digest returns a hash of everything that an outcome depends on except the code: the drawn figures, the circumstances,
// the seed and every message. p is the prepared world.
func (w World) Digest(p contest.Prepared) (string, error) {
	h := sha256.New()
	e := p.Event
	type figures World // without the method String, which rounds
	drawn := figures(w)
	drawn.Event = contest.Event{} // a trace is a function, whose address has no meaning
	text := fmt.Sprintf(
		"%+v %d %+v %+v %+v %v %v %v %v %v",
		drawn,
		p.Seed,
		e.Objective,
		e.Limits,
		e.World,
		e.Prior,
		e.BootPrior,
		e.TellMean,
		e.TellBoot,
		e.Poll,
	)
	// No drawn fleet is delegated. The field would change the digests that results were kept under.
	io.WriteString(h, strings.ReplaceAll(text, " Tracking:<nil>", "")) // a hash never fails
	err := p.Trace.Each(func(m trace.Message) bool {
		addMessage(h, m)
		return true
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// addMessage adds a message and its children to a hash.
func addMessage(h hash.Hash, m trace.Message) {
	var numbers []byte
	for _, n := range []int{int(m.Arrival), int(m.Service), len(m.Class), len(m.Group), len(m.Children)} {
		numbers = binary.LittleEndian.AppendUint64(numbers, uint64(n))
	}
	h.Write(append(append(numbers, m.Class...), m.Group...))
	for _, c := range m.Children {
		addMessage(h, c)
	}
}
