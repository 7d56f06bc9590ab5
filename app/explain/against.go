package explain

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/sharing"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/internal/render"
)

// shownDifferences bounds the differences that are printed.
const shownDifferences = 40

// Against compares the size that another system gave a fleet with what Muster would have set. It is an error when the
// fleet never ran in shadow mode. A fleet in shadow mode records both sizes, so nothing is simulated for it.
func Against(ctx context.Context, h sharing.Past, fleet string) (audit.Contrast, error) {
	var records []muster.Record
	if err := h.Read(ctx, fleet, time.Time{}, func(r muster.Record) bool {
		if r.Kind == muster.Decided {
			// The whole history is needed: a difference lasts until the next decision.
			records = append(records, r)
		}
		return true
	}); err != nil {
		return audit.Contrast{}, err
	}
	c, some, err := audit.Against(records)
	if err != nil {
		return c, fmt.Errorf("fleet %s: %w", fleet, err)
	}
	if !some {
		return c, fmt.Errorf("the history has no decision of the fleet %s in shadow mode; run muster up --shadow, "+
			"or set shadow: true in the fleet's configuration", fleet)
	}
	return c, nil
}

// PrintContrast prints the differences, or only the last ones if there are many.
func PrintContrast(w io.Writer, c audit.Contrast) error {
	const clock = "2006-01-02 15:04:05"
	fmt.Fprintf(w, "%s was in shadow mode for %s, from %s to %s\n\n", c.Fleet, render.Seconds(c.Seconds),
		c.From.Local().Format(clock), c.To.Local().Format(clock))
	// A fleet with a single record has no duration yet.
	share := 0.0
	if c.Seconds > 0 {
		share = 100 * c.Differed / c.Seconds
	}
	fmt.Fprintf(w, "  the fleet had          %s worker-seconds\n", render.Number(c.FleetSeconds))
	fmt.Fprintf(w, "  Muster would have had  %s worker-seconds\n", render.Number(c.MusterSeconds))
	fmt.Fprintf(w, "  they differed for %s (%s %% of the time), by %d more and %d fewer at most\n",
		render.Seconds(c.Differed), render.Number(share), c.More, c.Fewer)
	if len(c.Differences) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  FROM\tFOR\tFLEET\tMUSTER\tWHY")
	// The latest differences matter most.
	shown := c.Differences[max(0, len(c.Differences)-shownDifferences):]
	for _, d := range shown {
		fmt.Fprintf(t, "  %s\t%s\t%d\t%d\t%s\n", d.From.Local().Format(clock),
			render.Seconds(d.To.Sub(d.From).Seconds()), d.Size, d.Desired, d.Why)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if before := len(c.Differences) - len(shown) + c.Earlier; before > 0 {
		fmt.Fprintf(w, "  and %d before; -o json shows more of them\n", before)
	}
	return nil
}
