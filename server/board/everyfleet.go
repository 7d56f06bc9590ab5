package board

import (
	"context"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/muster-scale/muster"
)

// maxMerged bounds the records that are read for one list of decisions over all fleets.
const maxMerged = 10_000

// everyDecision answers with the decisions of all fleets that a filter selects, newest first. Their sequence numbers do
// not compare, so a list is continued from a time on: an answer has either all decisions of one instant or none.
func (l *Live) everyDecision(w http.ResponseWriter, r *http.Request) {
	limit, ok := limitOf(w, r, "limit", 50, maxDecisions)
	if !ok {
		return
	}
	f, ok := filterOf(w, r)
	if !ok {
		return
	}
	before, ok := timeOf(w, r, "before", time.Time{})
	if !ok {
		return
	}
	names := slices.Sorted(maps.Keys(l.o.Fleets()))
	m := merged{history: l.o.History, left: maxMerged, page: min(pageOf, max(4, 2*limit/max(1, len(names))))}
	for _, name := range names {
		m.lanes = append(m.lanes, lane{fleet: name, before: math.MaxInt64})
	}
	a := Decisions{Decisions: []Short{}}
	last := time.Time{}
	for {
		rec, fleet, at, err := m.next(r.Context())
		if err != nil {
			fail(w, http.StatusInternalServerError, "%v", err)
			return
		}
		if a.Cut = fleet == "" && m.left <= 0; fleet == "" || at.Before(f.since) {
			break
		}
		if len(a.Decisions) >= limit && at.Before(last) {
			a.Next = last.Format(time.RFC3339Nano)
			break
		}
		if !before.IsZero() && !at.Before(before) {
			continue
		}
		if d, ok := decisionIn(rec); ok {
			if s := shortOf(decisionID(fleet, rec.Position), d); f.selects(s) {
				a.Decisions, last = append(a.Decisions, s), at
			}
		}
	}
	answer(w, a)
}

// merged reads the decisions of several fleets as one list, newest first.
type merged struct {
	history History
	lanes   []lane
	// page is how many records of a fleet are read at a time, and left how many may still be read.
	page, left int
}

// lane is the part of one fleet.
type lane struct {
	fleet  string
	before int64
	read   []muster.Record
	// at is the time of the first record in read. After a clock was set back, a record counts at the time of the later
	// one, so that times fall within a lane.
	at    time.Time
	ended bool
}

// next returns the next record with its fleet and its time. The fleet is empty at the end, or when left is used up.
func (m *merged) next(ctx context.Context) (rec muster.Record, fleet string, at time.Time, err error) {
	newest := -1
	for i := range m.lanes {
		x := &m.lanes[i]
		if len(x.read) == 0 && !x.ended {
			if err := m.fill(ctx, x); err != nil {
				return rec, "", at, err
			}
			if m.left <= 0 && !x.ended {
				return rec, "", at, nil // without the records of this fleet the order is unknown
			}
		}
		if len(x.read) > 0 && (newest < 0 || x.at.After(m.lanes[newest].at)) {
			newest = i
		}
	}
	if newest < 0 {
		return rec, "", at, nil
	}
	x := &m.lanes[newest]
	rec, fleet, at = x.read[0], x.fleet, x.at
	if x.read = x.read[1:]; len(x.read) > 0 && x.read[0].At.Before(x.at) {
		x.at = x.read[0].At
	}
	return rec, fleet, at, nil
}

// fill reads the next records of a fleet, if any may still be read.
func (m *merged) fill(ctx context.Context, x *lane) (err error) {
	if m.left <= 0 {
		return nil
	}
	if x.read, err = m.history.Before(ctx, x.fleet, x.before, m.page, muster.Decided); err != nil {
		return err
	}
	m.left -= max(1, len(x.read))
	x.ended = len(x.read) < m.page
	if len(x.read) == 0 {
		return nil
	}
	if at := x.read[0].At; x.at.IsZero() || at.Before(x.at) {
		x.at = at
	}
	x.before = x.read[len(x.read)-1].Position.Seq
	return nil
}
