package sim

import (
	"time"

	"github.com/muster-scale/muster"
)

// record is the simulated history of one fleet, with the rule by which history refuses a replaced controller: records
// are appended after a known position, and each start begins a new epoch. It counts all records, and keeps them only in
// a world whose controller crashes.
type record struct {
	position muster.Position
	keep     bool
	kept     []muster.Record
	count    int64
	bytes    int64
	anyone   bool // planted bug: it accepts records after any position
}

// append adds records after the given position; false when another controller has written since, and nothing is added.
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

// begin begins a new epoch. It returns the position and the records that a controller restores from: those since the
// given instant, and the newest decision before it. Older records are dropped.
func (h *record) begin(since time.Time) (muster.Position, []muster.Record) {
	h.position.Epoch++
	from := 0
	for k, x := range h.kept {
		// This decision may still hold at since: the newest one does.
		if x.At.Before(since) && x.Kind == muster.Decided {
			from = k
		}
	}
	h.kept = append([]muster.Record(nil), h.kept[from:]...)
	return h.position, h.kept
}
