package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/internal/render"
)

// Verified is what came of recomputing the recorded decisions of a fleet.
type Verified struct {
	Fleet    string `json:"fleet"`
	Verified int    `json:"verified"`
	// Skipped could not be checked: what their policy remembered was removed with old records, or it has another
	// revision now.
	Skipped int    `json:"skipped"`
	Failure string `json:"failure,omitzero"`
}

// Verify recomputes every recorded decision of the fleets, tells what came of each fleet, and returns all; never nil
// without an error to read the history. The error names the fleets of which a decision is another one now.
func Verify(ctx context.Context, h *history.Reader, fleets []string, tell func(Verified)) ([]Verified, error) {
	results := []Verified{}
	var failures []error
	for _, fleet := range fleets {
		var records []muster.Record
		if err := h.Read(ctx, fleet, time.Time{}, func(r muster.Record) bool {
			records = append(records, r)
			return true
		}); err != nil {
			return nil, err
		}
		n, skipped, err := audit.Verify(records)
		r := Verified{Fleet: fleet, Verified: n, Skipped: skipped}
		if err != nil {
			r.Failure = err.Error()
			failures = append(failures, fmt.Errorf("fleet %s: %w", fleet, err))
		}
		tell(r)
		results = append(results, r)
	}
	return results, errors.Join(failures...)
}

// Print says how many decisions were verified; nothing of a fleet that failed.
func (r Verified) Print(w io.Writer) {
	if r.Failure != "" {
		return
	}
	fmt.Fprintf(w, "%s: all %s recompute to the same bytes\n", r.Fleet, render.Plural(r.Verified, "recorded decision"))
	if r.Skipped > 0 {
		fmt.Fprintf(w, "%s: %d more could not be checked, because what they remembered was removed with old records, "+
			"or their policy had another revision\n", r.Fleet, r.Skipped)
	}
}
