package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster/series"
)

// How long records are kept.
const (
	// DefaultKeep is how long when Prune is not told; MinKeep and MaxKeep are the bounds.
	DefaultKeep = 7 * 24 * time.Hour
	MinKeep     = time.Hour
	MaxKeep     = 400 * 24 * time.Hour
	// KeepLearned is how long learned records are kept at the least: forecasts learn from weeks.
	KeepLearned = series.SeasonLength + 24*time.Hour
	// FineFor is how long learned records stay as they were appended; older ones are folded into one an hour.
	FineFor = 24 * time.Hour
)

// pruneRows bounds the records that one Prune touches, so that appends do not wait long for it.
const pruneRows = 5000

// Pruned says what one Prune did.
type Pruned struct {
	// Removed counts records that were too old, Folded those merged into another, Shared the shared contents that no
	// record refers to any more.
	Removed int `json:"removed"`
	Folded  int `json:"folded"`
	Shared  int `json:"shared"`
	// More is true when there is work left for another call.
	More bool `json:"more"`
}

// cutoff are the instants, in nanoseconds, before which learned records are removed, and others, and learned ones
// folded.
type cutoff struct{ learned, others, fold int64 }

func cutoffs(now time.Time, keep time.Duration) (cutoff, error) {
	if keep == 0 {
		keep = DefaultKeep
	}
	if keep < MinKeep || keep > MaxKeep {
		return cutoff{}, fmt.Errorf("prune the history: found %s to keep, allowed are %s to %s", keep, MinKeep, MaxKeep)
	}
	if now.IsZero() {
		return cutoff{}, errors.New("prune the history: found no instant")
	}
	return cutoff{
		learned: nanoseconds(now.Add(-max(keep, KeepLearned))), others: nanoseconds(now.Add(-keep)),
		fold: nanoseconds(now.Add(-FineFor)) / hour * hour,
	}, nil
}

const hour = int64(time.Hour)

// learned is a learned record as folding sees it.
type learned struct {
	seq, at int64
	body    []byte
}

// lesson is the body of a learned record.
type lesson struct {
	Processing series.Durations `json:"processing,omitzero"`
	Boots      series.Durations `json:"boots,omitzero"`
	WarmBoots  series.Durations `json:"warm_boots,omitzero"`
	// Came is when messages came, in a folded record. One that is not folded has the others: so many came since an
	// instant, and whether it was known, at the record's own, that no more did.
	Came    []series.Came `json:"came,omitzero"`
	Arrived float64       `json:"arrived,omitzero"`
	Since   time.Time     `json:"since,omitzero"`
	Counted bool          `json:"counted,omitzero"`
}

// add returns l with what another lesson says, of a record of the given instant.
func (l lesson) add(at int64, o lesson) lesson {
	came := o.Came
	if len(came) == 0 {
		came = series.CameIn(o.Since, instant(at), o.Arrived, o.Counted)
	}
	return lesson{
		Processing: series.Merge(l.Processing, o.Processing), Boots: series.Merge(l.Boots, o.Boots),
		WarmBoots: series.Merge(l.WarmBoots, o.WarmBoots), Came: series.MergeCame(l.Came, came),
	}
}

func (l lesson) valid() bool {
	return series.Valid(l.Processing) && series.Valid(l.Boots) && series.Valid(l.WarmBoots) && series.ValidCame(l.Came)
}

// folding is what becomes of learned records.
type folding struct {
	// bodies are the new bodies by sequence number, gone the records that were merged into them.
	bodies map[int64][]byte
	gone   []int64
	// until is the instant before which everything is folded.
	until int64
}

// foldHours merges the learned records of each hour into the newest of that hour. The rows lie before the end of an
// hour given by boundary and are sorted by instant; more says that rows of later instants were left out. Records that
// cannot be read as durations stay as they are.
func foldHours(rows []learned, boundary int64, more bool) folding {
	f := folding{bodies: map[int64][]byte{}, until: boundary}
	for i := 0; i < len(rows); {
		start := rows[i].at / hour * hour
		end := i + 1
		for end < len(rows) && rows[end].at/hour*hour == start {
			end++
		}
		open := more && end == len(rows) // the hour may go on in the rows left out
		if open && i > 0 {
			f.until = start
			return f
		}
		merged := f.merge(rows[i:end])
		if open && merged {
			f.until = start
		} else if open {
			f.until = start + hour // nothing here can ever be merged: do not stay for it
		}
		i = end
	}
	return f
}

// merge folds the records of one hour into the newest of them, and tells whether there was anything to fold.
func (f *folding) merge(rows []learned) bool {
	var sum lesson
	var readable []int64
	for _, r := range rows {
		var l lesson
		if json.Unmarshal(r.body, &l) != nil || !l.valid() {
			continue
		}
		sum = sum.add(r.at, l)
		readable = append(readable, r.seq)
	}
	if len(readable) < 2 || !sum.valid() {
		return false
	}
	body, err := json.Marshal(sum)
	if err != nil {
		return false
	}
	slices.Sort(readable)
	newest := len(readable) - 1
	f.bodies[readable[newest]] = body
	f.gone = append(f.gone, readable[:newest]...)
	return true
}
