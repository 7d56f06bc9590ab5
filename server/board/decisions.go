package board

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/server"
)

const (
	// maxDecisions bounds the decisions in one answer. maxScanned bounds the records that are read for one: a filter
	// that nothing matches must not read the whole history. pageOf is how many are read at a time.
	maxDecisions = 500
	maxScanned   = 5000
	pageOf       = 250
	// notedEvery is the longest time between two records of a decision that stays the same.
	notedEvery = 2 * time.Minute
)

// filter selects decisions.
type filter struct {
	verdict, reason, policy, text string
	// changes selects the decisions that changed the size, or would have.
	changes      bool
	since, until time.Time
}

// filterOf reads a filter from the query of a request, and answers an invalid one.
func filterOf(w http.ResponseWriter, r *http.Request) (f filter, ok bool) {
	q := r.URL.Query()
	f = filter{verdict: q.Get("verdict"), reason: q.Get("reason"), policy: q.Get("policy"),
		text: strings.ToLower(q.Get("q")), changes: q.Get("changes") == "1"}
	if f.since, ok = timeOf(w, r, "since", time.Time{}); !ok {
		return f, false
	}
	f.until, ok = timeOf(w, r, "until", time.Time{})
	return f, ok
}

// selects tells whether a decision is selected.
func (f filter) selects(s Short) bool {
	return (f.verdict == "" || string(s.Verdict) == f.verdict) && (f.reason == "" || string(s.Reason) == f.reason) &&
		(f.policy == "" || s.Policy == f.policy || strings.HasPrefix(s.Policy, f.policy+"/")) &&
		(!f.changes || s.Desired != s.Previous) && !s.At.Before(f.since) &&
		(f.until.IsZero() || s.At.Before(f.until)) &&
		(f.text == "" || strings.Contains(strings.ToLower(s.Sentence), f.text))
}

// decisions answers with the decisions of a fleet that a filter selects, newest first.
func (l *Live) decisions(w http.ResponseWriter, r *http.Request) {
	_, name, ok := l.known(w, r)
	if !ok {
		return
	}
	limit, ok := limitOf(w, r, "limit", 50, maxDecisions)
	if !ok {
		return
	}
	f, ok := filterOf(w, r)
	if !ok {
		return
	}
	before := int64(math.MaxInt64)
	if text := r.URL.Query().Get("before"); text != "" {
		p, err := positionOf(text)
		if err != nil {
			fail(w, http.StatusBadRequest, "before: %v", err)
			return
		}
		before = p.Seq
	}
	a := Decisions{Decisions: []Short{}}
	for scanned := 0; len(a.Decisions) < limit; scanned += pageOf {
		records, err := l.o.History.Before(r.Context(), name, before, pageOf, muster.Decided)
		if err != nil {
			fail(w, http.StatusInternalServerError, "%v", err)
			return
		}
		for _, rec := range records {
			before, a.Next = rec.Position.Seq, positionText(rec.Position)
			if d, ok := decisionIn(rec); ok {
				if s := shortOf(decisionID(name, rec.Position), d); f.selects(s) {
					a.Decisions = append(a.Decisions, s)
				}
			}
			if len(a.Decisions) == limit {
				break
			}
		}
		if done := len(records) < pageOf && len(a.Decisions) < limit; done ||
			len(records) > 0 && records[len(records)-1].At.Before(f.since) {
			a.Next = ""
			break
		}
		if scanned+pageOf >= maxScanned {
			break
		}
	}
	answer(w, a)
}

// decisionIn returns the decision of a record; false if it holds none that can be read.
func decisionIn(r muster.Record) (muster.Decision, bool) {
	var body struct {
		Decision muster.Decision `json:"decision"`
	}
	if !controller.Decides(r) || json.Unmarshal(r.Body, &body) != nil {
		return muster.Decision{}, false
	}
	return body.Decision, true
}

// positionOf parses EPOCH.SEQ.
func positionOf(text string) (p muster.Position, err error) {
	epoch, seq, _ := strings.Cut(text, ".")
	if p.Epoch, err = strconv.ParseInt(epoch, 10, 64); err == nil {
		p.Seq, err = strconv.ParseInt(seq, 10, 64)
	}
	if err != nil || p.Seq < 1 {
		return p, fmt.Errorf("found %.40q, allowed is the position of a decision such as 3.118", text)
	}
	return p, nil
}

func positionText(p muster.Position) string { return fmt.Sprintf("%d.%d", p.Epoch, p.Seq) }

// decision answers with one recorded decision and its explanation.
func (l *Live) decision(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("fleet")
	p, err := positionOf(r.PathValue("position"))
	if err != nil {
		fail(w, http.StatusBadRequest, "%v", err)
		return
	}
	found, err := l.o.History.Before(r.Context(), name, p.Seq+1, 1, muster.Decided)
	if err != nil {
		fail(w, http.StatusInternalServerError, "%v", err)
		return
	}
	if len(found) == 0 || found[0].Position != p {
		fail(w, http.StatusNotFound, "the history of fleet %.100q has no decision %s: it was never made, or is older "+
			"than the history keeps", name, positionText(p))
		return
	}
	a, err := l.explained(r, name, found[0])
	if err != nil {
		fail(w, http.StatusInternalServerError, "%v", err)
		return
	}
	answer(w, a)
}

// explained explains a record, given what its policy remembered.
func (l *Live) explained(r *http.Request, fleet string, rec muster.Record) (a OneDecision, err error) {
	var spec policy.Spec
	var body controller.Decided
	if err := json.Unmarshal(rec.Body, &body); err != nil {
		return a, fmt.Errorf("read decision %d: %w", rec.Position.Seq, err)
	}
	if err := json.Unmarshal(rec.Shared, &spec); err != nil {
		return a, fmt.Errorf("read the policy of decision %d: %w", rec.Position.Seq, err)
	}
	var recent muster.Recent
	err = l.o.History.Read(r.Context(), fleet, rec.At.Add(-spec.Memory()-notedEvery), func(old muster.Record) bool {
		if old.Position.Seq >= rec.Position.Seq {
			return false
		}
		if d, ok := decisionIn(old); ok {
			recent = recent.With(d, spec.Memory())
		}
		return true
	})
	if err != nil {
		return a, err
	}
	a = OneDecision{ID: decisionID(fleet, rec.Position), Record: server.DecisionRecord{Position: rec.Position,
		Observation: body.Observation, Decision: body.Decision, Sentence: body.Decision.Sentence()}}
	e, err := audit.Explain(rec, recent)
	a.Explanation = explanationOf(e)
	return a, err
}
