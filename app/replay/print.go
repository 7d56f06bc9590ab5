package replay

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
)

// Print prints a replay as a table, with its notes and the text to copy.
func Print(w io.Writer, f Found) error {
	fmt.Fprintf(w, "%s: %s from %s to %s, %s %% within %s\n\n", f.Fleet, render.Plural(int(f.Messages), "message"),
		instant(f.From), instant(f.To), render.Number(100*f.Quantile),
		render.Seconds(f.ObjectiveSeconds))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "POLICY\t\tIN TIME\tP50\tP95\tP99\tWORKER-HOURS\tCOST\tPEAK\tLAUNCHES\tCHANGES OF SIZE")
	for _, r := range f.Runs {
		if r.Failure != "" {
			fmt.Fprintf(t, "%s\t%s\t%s\n", r.Name, r.Kind, terminal.Escape(r.Failure, ""))
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, kindOf(r), known(r.InTime, percent),
			known(r.P50, render.Seconds), known(r.P95, render.Seconds), known(r.P99, render.Seconds),
			known(r.WorkerHours, hours), known(r.Cost, hours), known(r.PeakWorkers, strconv.Itoa),
			known(r.Launches, strconv.Itoa), known(r.ScaleEvents, strconv.Itoa))
	}
	if b := f.Bound; b != nil {
		fmt.Fprintf(t, "(lower bound)\t\t\t\t\t\t%s\t%s\n", hours(b.WorkerHours), known(b.Cost, hours))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if f.Bound != nil && f.Bound.Unreachable {
		fmt.Fprintln(w, "\nno scheduler meets the objective on this work with the limits of the present fleet")
	}
	fmt.Fprintln(w)
	for _, note := range f.Notes {
		fmt.Fprintf(w, "  %s\n", note)
	}
	if f.YAML != "" {
		fmt.Fprintf(w, "\nthe changed fleet, for the configuration:\n\n%s", f.YAML)
	}
	return nil
}

// instant renders in UTC, as the notes do.
func instant(t time.Time) string { return t.UTC().Format(time.DateTime) + "Z" }

// percent renders a share, rounded down to tenths: 99.96 must not read as 100.
func percent(share float64) string { return render.Number(math.Floor(1000*share+1e-9)/10) + "%" }

// hours renders to hundredths.
func hours(v float64) string { return render.Number(math.Round(100*v) / 100) }

// known renders a figure; an unknown one is a dash.
func known[T any](v *T, text func(T) string) string {
	if v == nil {
		return "-"
	}
	return text(*v)
}

// kindOf renders the kind of a run.
func kindOf(r Run) string {
	if r.Kind == "recorded" {
		return "" // its name says it
	}
	return r.Kind
}
