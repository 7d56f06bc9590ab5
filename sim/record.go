package sim

import (
	"time"

	"github.com/muster-scale/muster"
)

// record is the simulated history of one fleet. It keeps what a controller that starts again reads, and nothing at all
// when none ever does.
type record struct {
	position muster.Position
	keep     bool
	kept     []muster.Record
	count    int64
	bytes    int64
	anyone   bool // planted fault: takes what anyone writes
}

// append adds records after the given position; false when somebody else has written since.
func (h *record) append(after muster.Position, records []muster.Record) (muster.Position, bool) {
	if after != h.position && !h.anyone {
		return h.position, false
	}
	for _, x := range records {
		h.position.Seq++
		h.count++
		h.bytes += int64(len(x.Body))
		if h.keep {
			x.Position = h.position
			h.kept = append(h.kept, x)
		}
	}
	return h.position, true
}

// begin opens a new epoch and returns the records that count at since.
func (h *record) begin(since time.Time) (muster.Position, []muster.Record) {
	h.position.Epoch++
	from := 0
	for k, x := range h.kept {
		// The newest decision before since still holds then.
		if x.At.Before(since) && x.Kind == muster.Decided {
			from = k
		}
	}
	h.kept = append([]muster.Record(nil), h.kept[from:]...)
	return h.position, h.kept
}
