package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/sharing"
	"github.com/muster-scale/muster/app/status"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/internal/render"
)

// ErrNoDecision means that the history does not hold the requested decision.
var ErrNoDecision = errors.New("the history holds no such decision")

// Explained is the explanation of a decision, with the incidents at workers around that time, as muster explain -o
// json prints it.
type Explained struct {
	audit.Explanation
	// Recorded is the last recorded decision. It is set when the explained one is the current decision of a running
	// muster up, which has no position in the history.
	Recorded  *Recorded `json:"recorded,omitzero"`
	Incidents Incidents `json:"incidents,omitzero"`
}

// Find explains a recorded decision of a fleet: the one in force at a time, or the one with a sequence number, or the
// last one when both are zero. The error matches [ErrNoDecision] when the history holds none. It reads the history from
// its beginning, because the policy's memory and the last change of size may be far back.
func Find(ctx context.Context, h sharing.Past, fleet string, at time.Time, seq int64) (Explained, error) {
	var found *muster.Record
	var incidents Incidents
	// recent is what the policy remembers after each record, before what it remembered at the found one.
	var recent, before muster.Recent
	var failure error
	change := ""
	err := h.Read(ctx, fleet, time.Time{}, func(r muster.Record) bool {
		if r.Kind != muster.Decided {
			failure = incidents.see(r)
			return failure == nil
		}
		if (!at.IsZero() && r.At.After(at)) || (seq > 0 && r.Position.Seq > seq) {
			return false
		}
		// Such a record keeps its place in the history, but nothing can be said about it.
		if _, lost := controller.Unencodable(r); lost && r.Position.Seq != seq {
			return true // it was a hold, of which only the position is left
		}
		recorded, _, err := audit.Recompute(r, recent)
		if err != nil {
			failure = err
			return false
		}
		found, before = &r, recent
		// This is the last change before the explained decision, if that one is a hold.
		if recorded.Verdict == muster.Apply {
			change = r.At.Local().Format("15:04:05") + " " + recorded.Sentence()
		}
		recent = recent.With(recorded, 25*time.Hour)
		return true
	})
	switch {
	case err != nil || failure != nil:
		return Explained{}, errors.Join(err, failure)
	case found == nil || seq > 0 && found.Position.Seq != seq:
		return Explained{}, fmt.Errorf("fleet %s: %w", fleet, ErrNoDecision)
	}
	explanation, err := audit.Explain(*found, before)
	e := Explained{Explanation: explanation, Incidents: incidents.around(found.At)}
	if e.Decision.Verdict == muster.Hold {
		e.LastChange = change
	}
	return e, err
}

// Print prints the explanation of a decision.
func Print(w io.Writer, e audit.Explanation) {
	d := e.Decision
	what := "now"
	// A current decision has no position, because it may never be recorded.
	if e.Position != (muster.Position{}) {
		what = fmt.Sprintf("decision %d.%d", e.Position.Epoch, e.Position.Seq)
	}
	fmt.Fprintf(w, "%s at %s (%s, %s)\n\n", d.Fleet, d.At.Local().Format("2006-01-02 15:04:05.000"), what, d.Policy)
	fmt.Fprintf(w, "  %s\n", e.Why)
	if e.LastChange != "" {
		fmt.Fprintf(w, "  last decision that changed it: %s\n", e.LastChange)
	}
	// Without a listing every decrease is held, so the reason belongs near the top.
	if c := e.Observation.Capacity; !c.Known && c.Reason != "" {
		fmt.Fprintf(w, "  members: %s\n", c.Reason)
	}
	for _, note := range e.Observation.Notes {
		fmt.Fprintf(w, "  note: %s\n", note)
	}
	status.PrintProgress(w, e.Observation, false)
	fmt.Fprintf(w, "\nwhy this number\n")
	for _, t := range d.Trail {
		fmt.Fprintf(w, "  %-22s %s = %d\n", t.Rule, values(t.In), t.Out)
		if t.Why != "" {
			fmt.Fprintf(w, "  %-22s %s\n", "", t.Why)
		}
	}
	if line := status.Classes(e.Observation); line != "" {
		fmt.Fprintf(w, "  classes: %s\n", line)
	}
	if line := status.Crowds(e.Observation); line != "" {
		fmt.Fprintf(w, "  durations by messages in progress: %s\n", line)
	}
	fmt.Fprintf(w, "\nwhy not more\n  %s\n\nwhat would change it\n", e.WhyNotMore)
	for _, c := range e.Changes {
		fmt.Fprintf(w, "  %s\n", c.Sentence)
	}
	if len(e.Changes) == 0 {
		fmt.Fprintln(w, "  no other backlog would have, at that time")
	}
	// Those that act are terms of the decision.
	for _, o := range e.Observation.Overrides {
		if !o.ActiveAt(d.At) {
			fmt.Fprintf(w, "  override %s: %s\n", o.ID, o.Text(d.At))
		}
	}
}

// values renders the inputs of a step of the arithmetic.
func values(in []muster.Value) string {
	var parts []string
	for _, v := range in {
		parts = append(parts, v.Name+" "+render.Number(v.Value))
	}
	return strings.Join(parts, ", ")
}

// Print prints the explanation, then the last recorded decision and the incidents, if there are any.
func (e Explained) Print(w io.Writer) {
	Print(w, e.Explanation)
	e.printRecorded(w)
	e.Incidents.print(w)
}
