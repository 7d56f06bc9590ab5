package board

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history/curves"
)

const (
	// defaultWindow, leastWindow and mostWindow are the windows of a series; curves are kept for 100 days.
	defaultWindow = time.Hour
	leastWindow   = time.Second
	mostWindow    = 100 * 24 * time.Hour
	// maxMarkers bounds the decisions of a series: more markers hide the curve.
	maxMarkers = 500
	// maxCurves bounds the fleets of one request for short curves.
	maxCurves = 100
)

// Curve reads curves of the past.
type Curve interface {
	// Read returns the curves of a fleet between two times in at most points values.
	Read(ctx context.Context, fleet string, from, to, now time.Time, points int) (curves.Window, error)
}

// SampleOf returns the numbers of a row that are kept as curves.
func SampleOf(r Row) curves.Sample {
	s := curves.NewSample()
	for column, n := range map[curves.Column]Number{
		curves.Desired: r.Desired, curves.InService: r.InService, curves.Busy: r.Busy, curves.Idle: r.Idle,
		curves.Pending: r.Pending, curves.Draining: r.Draining, curves.Lost: r.Lost, curves.Min: r.Min,
		curves.Max: r.Max, curves.Backlog: r.Backlog, curves.BacklogMax: r.Backlog, curves.InFlight: r.InFlight,
		curves.Retrying: r.Retrying, curves.OldestAge: r.OldestSeconds, curves.Objective: r.ObjectiveSeconds,
		curves.P50: r.P50Seconds, curves.P95: r.P95Seconds, curves.PerWorker: r.PerWorker,
		curves.Acceptable: r.Acceptable, curves.Utilization: r.Utilization,
		curves.UtilizationTarget: r.UtilizationTarget, curves.InTime: r.InTime, curves.Late: r.Late,
		curves.Arriving: r.Arriving, curves.Finished: r.Finished, curves.Failed: r.Failed,
		curves.CostPerHour: r.CostPerHour, curves.DeadLetters: r.DeadLetters,
	} {
		if n.Known {
			s[column] = n.Value
		}
	}
	return s
}

// Samples returns the sample of every fleet at a time, by name. A fleet that is not sized has none.
func (l *Live) Samples(now time.Time) map[string]curves.Sample {
	all := map[string]curves.Sample{}
	for name := range l.o.Fleets() {
		if r, ok := l.row(name, now); ok && r.State != NotSized {
			all[name] = SampleOf(r)
		}
	}
	return all
}

// windowOf reads the window of a request: two of from=, to= and window=. The default of to is now, that of window is
// defaultWindow.
func windowOf(w http.ResponseWriter, r *http.Request, now time.Time) (from, to time.Time, ok bool) {
	length, ok := durationOf(w, r, "window", defaultWindow, leastWindow, mostWindow)
	if !ok {
		return from, to, false
	}
	if to, ok = timeOf(w, r, "to", time.Time{}); !ok {
		return from, to, false
	}
	if from, ok = timeOf(w, r, "from", time.Time{}); !ok {
		return from, to, false
	}
	window := r.URL.Query().Get("window") != ""
	switch {
	case window && !from.IsZero() && !to.IsZero():
		fail(w, http.StatusBadRequest, "from, to and window: found all three, allowed are two of them; leave one out")
		return from, to, false
	case window && !from.IsZero():
		to = from.Add(length)
	case to.IsZero():
		to = now
	}
	if from.IsZero() {
		from = to.Add(-length)
	}
	if d := to.Sub(from); d < leastWindow || d > mostWindow {
		fail(w, http.StatusBadRequest, "from and to: found %s and %s, allowed is a window from %s to %s",
			from.Format(time.RFC3339), to.Format(time.RFC3339), leastWindow, mostWindow)
		return from, to, false
	}
	return from, to, true
}

// series answers with the curves of a fleet.
func (l *Live) series(w http.ResponseWriter, r *http.Request) {
	_, name, ok := l.known(w, r)
	if !ok {
		return
	}
	now := l.clock()
	from, to, ok := windowOf(w, r, now)
	if !ok {
		return
	}
	points, ok := limitOf(w, r, "points", 600, curves.MaxPoints)
	if !ok {
		return
	}
	a := Series{Fleet: name, From: from, To: to, At: []int64{}, Columns: map[string][]Number{}, Decisions: []Short{}}
	var past curves.Window
	if l.o.Curves != nil {
		var err error
		if past, err = l.o.Curves.Read(r.Context(), name, from, to, now, points); err != nil {
			fail(w, http.StatusInternalServerError, "%v", err)
			return
		}
	}
	a.StepSeconds = past.Step.Seconds()
	for i := range past.Values {
		a.At = append(a.At, past.From.Add(time.Duration(i)*past.Step).Unix())
	}
	for _, c := range curves.Columns() {
		a.Columns[c.String()] = column(past, c)
	}
	var err error
	if a.Decisions, a.Cut, err = l.markers(r.Context(), name, from, to); err != nil {
		fail(w, http.StatusInternalServerError, "%v", err)
		return
	}
	answer(w, a)
}

// column returns the values of one column.
func column(w curves.Window, c curves.Column) []Number {
	all := make([]Number, len(w.Values))
	for i, v := range w.Values {
		all[i] = knownIf(!math.IsNaN(v[c]), v[c])
	}
	return all
}

// markers returns the decisions of a window that changed the size, oldest first.
func (l *Live) markers(ctx context.Context, fleet string, from, to time.Time) (all []Short, cut bool, err error) {
	all = []Short{}
	before := int64(math.MaxInt64)
	for scanned := 0; ; scanned += pageOf {
		if scanned >= maxScanned {
			cut = true
			break
		}
		records, err := l.o.History.Before(ctx, fleet, before, pageOf, muster.Decided)
		if err != nil {
			return nil, false, err
		}
		old := false
		for _, rec := range records {
			before, old = rec.Position.Seq, rec.At.Before(from)
			if d, ok := decisionIn(rec); ok && !old && rec.At.Before(to) && d.Desired != d.Previous {
				all = append(all, shortOf(decisionID(fleet, rec.Position), d))
			}
		}
		if cut = len(all) > maxMarkers; cut {
			all = all[:maxMarkers]
		}
		if cut || old || len(records) < pageOf {
			break
		}
	}
	slices.Reverse(all)
	return all, cut, nil
}

// curves answers with short curves of several fleets.
func (l *Live) curves(w http.ResponseWriter, r *http.Request) {
	now := l.clock()
	from, to, ok := windowOf(w, r, now)
	if !ok {
		return
	}
	points, ok := limitOf(w, r, "points", 60, 200)
	if !ok {
		return
	}
	names := strings.Split(r.URL.Query().Get("fleets"), ",")
	if len(names) > maxCurves {
		fail(w, http.StatusBadRequest, "fleets: found %d names, at most %d are allowed", len(names), maxCurves)
		return
	}
	a := Curves{From: from, Fleets: map[string]map[string][]Number{}}
	fleets := l.o.Fleets()
	for _, name := range names {
		if _, ok := fleets[name]; !ok || l.o.Curves == nil {
			continue
		}
		past, err := l.o.Curves.Read(r.Context(), name, from, to, now, points)
		if err != nil {
			fail(w, http.StatusInternalServerError, "%v", err)
			return
		}
		a.From, a.StepSeconds = past.From, past.Step.Seconds()
		one := map[string][]Number{}
		for _, c := range []curves.Column{curves.OldestAge, curves.Backlog, curves.Desired, curves.InService} {
			one[c.String()] = column(past, c)
		}
		a.Fleets[name] = one
	}
	answer(w, a)
}
