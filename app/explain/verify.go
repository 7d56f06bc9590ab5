package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/sharing"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/internal/render"
)

// Verified is the result of recomputing the recorded decisions of a fleet.
type Verified struct {
	Fleet    string `json:"fleet"`
	Verified int    `json:"verified"`
	// Skipped counts decisions that cannot be recomputed: earlier records which the policy needs were removed, or the
	// policy has another revision now.
	Skipped int    `json:"skipped"`
	Failure string `json:"failure,omitzero"`
}

// Verify recomputes every recorded decision of the fleets, calls tell with the result of each fleet, and returns all
// results. They are nil only when the history cannot be read. The error names the fleets with a different decision.
// Every decision is computed by the policy as it is now, from the inputs in the record, and compared byte for byte.
func Verify(ctx context.Context, h sharing.Past, fleets []string, tell func(Verified)) ([]Verified, error) {
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
		// Each fleet is reported when it is done: a long history takes a while.
		tell(r)
		results = append(results, r)
	}
	return results, errors.Join(failures...)
}

// Print prints how many decisions were verified, or nothing for a fleet that failed.
func (r Verified) Print(w io.Writer) {
	if r.Failure != "" {
		return
	}
	fmt.Fprintf(w, "%s: all %s recompute to the same bytes\n", r.Fleet, render.Plural(r.Verified, "recorded decision"))
	if r.Skipped > 0 {
		fmt.Fprintf(w, "%s: %d more could not be checked, because earlier records that they need were removed, or "+
			"their policy had another revision\n", r.Fleet, r.Skipped)
	}
}
