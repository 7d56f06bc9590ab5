package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

// This file has the rules of pruning, without any database: how long records are kept, and how learned records of one
// hour become one. Forecasts read weeks of learned records, but need them no finer than an hour.

// How long records are kept.
const (
	// DefaultKeep is the default of Prune; MinKeep and MaxKeep are the bounds.
	DefaultKeep = 7 * 24 * time.Hour
	MinKeep     = time.Hour
	MaxKeep     = 400 * 24 * time.Hour
	// KeepLearned is the minimum for learned records: one season of a forecast, and a day to spare.
	KeepLearned = series.SeasonLength + 24*time.Hour
	// FineFor is how long learned records stay as appended; older ones are folded into one per hour.
	FineFor = 24 * time.Hour
)

// PruneRows bounds the records of one Prune, so that appends do not wait long for it.
const PruneRows = 5000

// Pruned is the result of one Prune.
type Pruned struct {
	// Removed counts old records, Folded those merged into another, Shared the shared contents without a record.
	Removed int `json:"removed"`
	Folded  int `json:"folded"`
	Shared  int `json:"shared"`
	// More is true when another call has work left.
	More bool `json:"more"`
}

// Cutoff holds times in nanoseconds: learned records before Learned are removed, other ones before Others, and learned
// ones before Fold are folded.
type Cutoff struct{ Learned, Others, Fold int64 }

// Old tells whether a record of a kind and time is old enough to be removed, unless it is the newest of its kind.
func (c Cutoff) Old(kind muster.RecordKind, at int64) bool {
	if kind == muster.Learned {
		return at < c.Learned
	}
	return at < c.Others
}

// Cutoffs returns the boundaries for records to keep for a while. The boundary of folding is the end of a full hour, so
// that no hour is folded while records of it may still come.
func Cutoffs(now time.Time, keep time.Duration) (Cutoff, error) {
	if keep == 0 {
		keep = DefaultKeep
	}
	if keep < MinKeep || keep > MaxKeep {
		return Cutoff{}, fmt.Errorf("prune the history: found %s to keep, allowed are %s to %s", keep, MinKeep, MaxKeep)
	}
	if now.IsZero() {
		return Cutoff{}, errors.New("prune the history: found no instant")
	}
	return Cutoff{
		Learned: Nanoseconds(now.Add(-max(keep, KeepLearned))), Others: Nanoseconds(now.Add(-keep)),
		Fold: Nanoseconds(now.Add(-FineFor)) / hour * hour,
	}, nil
}

const hour = int64(time.Hour)

// Lesson is a learned record, for folding: its sequence number, its time in nanoseconds and its body.
type Lesson struct {
	Seq, At int64
	Body    []byte
}

// content is the body of a learned record, as far as it is merged. The controller writes it; folding loses the fields
// that this type lacks.
type content struct {
	Processing series.Durations `json:"processing,omitzero"`
	Boots      series.Durations `json:"boots,omitzero"`
	WarmBoots  series.Durations `json:"warm_boots,omitzero"`
	// These only tell what was: advice reads them over days, and no decision does.
	Ended  float64        `json:"ended,omitzero"`
	InTime float64        `json:"in_time,omitzero"`
	Usage  protocol.Usage `json:"usage,omitzero"`
	// Came is when messages arrived, in a folded record. An unfolded one has Arrived messages since Since instead;
	// Counted says that no more arrived until its own time. A folded record has both if some arrived while nobody
	// looked for so long that [series.CameIn] does not tell when.
	Came    []series.Came `json:"came,omitzero"`
	Arrived float64       `json:"arrived,omitzero"`
	Since   time.Time     `json:"since,omitzero"`
	Counted bool          `json:"counted,omitzero"`
}

// add returns l merged with the content of a record of the time at.
func (l content) add(at int64, o content) content {
	came, sometime, since := o.Came, l.Arrived, l.Since
	if len(came) == 0 {
		came = series.CameIn(o.Since, Instant(at), o.Arrived, o.Counted)
	}
	if o.Arrived > 0 && (len(o.Came) > 0 || len(came) == 0) {
		if sometime == 0 || o.Since.Before(since) {
			since = o.Since
		}
		sometime += o.Arrived
	}
	return content{
		Processing: series.Merge(l.Processing, o.Processing), Boots: series.Merge(l.Boots, o.Boots),
		WarmBoots: series.Merge(l.WarmBoots, o.WarmBoots), Came: series.MergeCame(l.Came, came),
		Ended: l.Ended + o.Ended, InTime: l.InTime + o.InTime, Usage: protocol.MergeUsage(l.Usage, o.Usage),
		Arrived: sometime, Since: since,
	}
}

// valid tells whether all parts can be merged. A record of a newer or damaged version may not be.
func (l content) valid() bool {
	return series.Valid(l.Processing) && series.Valid(l.Boots) && series.Valid(l.WarmBoots) &&
		series.ValidCame(l.Came) && (l.Usage.Calls == 0 || l.Usage.Valid())
}

// Folding is the result of folding learned records.
type Folding struct {
	// Bodies are the new bodies by sequence number; Gone are the records merged into them.
	Bodies map[int64][]byte
	Gone   []int64
	// Until is the time before which everything is folded, in nanoseconds.
	Until int64
}

// FoldHours merges the learned records of each hour into the newest of that hour. The rows are sorted by time and lie
// before boundary, the end of an hour; more says that later rows were left out. Unreadable records stay as they are.
func FoldHours(rows []Lesson, boundary int64, more bool) Folding {
	f := Folding{Bodies: map[int64][]byte{}, Until: boundary}
	for i := 0; i < len(rows); {
		start := rows[i].At / hour * hour
		end := i + 1
		for end < len(rows) && rows[end].At/hour*hour == start {
			end++
		}
		open := more && end == len(rows) // rows of this hour may have been left out
		if open && i > 0 {
			f.Until = start
			return f
		}
		merged := f.merge(rows[i:end])
		if open && merged {
			f.Until = start
		} else if open {
			f.Until = start + hour // no row here can be merged: go on to the next hour
		}
		i = end
	}
	return f
}

// merge folds the records of one hour into the newest of them, and tells whether there were at least two. The newest by
// sequence number keeps its place, so the order of the stream stays the order of appends.
func (f *Folding) merge(rows []Lesson) bool {
	var sum content
	var readable []int64
	for _, r := range rows {
		var l content
		if json.Unmarshal(r.Body, &l) != nil || !l.valid() {
			continue
		}
		sum = sum.add(r.At, l)
		readable = append(readable, r.Seq)
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
	f.Bodies[readable[newest]] = body
	f.Gone = append(f.Gone, readable[:newest]...)
	return true
}
