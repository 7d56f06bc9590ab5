package advise

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muster-scale/muster/advice"
	"github.com/muster-scale/muster/internal/render"
)

// Print prints the result for a person. An error is that of w.
func (f Found) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s to %s: %s\n", f.Fleet, minute(f.From), minute(f.To), f.Figures.line())
	if f.NoFigures() {
		b.WriteString("\nnothing was recorded in this window; run muster up, or choose another one with --window\n")
	}
	if len(f.Advice) > 0 {
		b.WriteString("\nworth changing\n")
	}
	for _, a := range f.Advice {
		a.print(&b)
	}
	if f.Together != nil {
		fmt.Fprintf(&b, "  all simulated changes together\n    %s\n", f.Together.line())
	}
	if len(f.Declined) > 0 {
		b.WriteString("\nnot worth changing, by the simulation\n")
	}
	for _, a := range f.Declined {
		a.print(&b)
	}
	if len(f.Fits) > 0 {
		fmt.Fprintf(&b, "\nfits: %s\n", strings.Join(f.Fits, ", "))
	}
	if len(f.Unjudged) > 0 {
		b.WriteString("\ncould not be judged\n")
	}
	for _, u := range f.Unjudged {
		fmt.Fprintf(&b, "  %s: %s\n    needed: %s\n", u.Rule, u.Why, u.Needed)
	}
	if len(f.Replayed) > 0 {
		b.WriteString("\nreplayed\n")
	}
	for _, note := range f.Replayed {
		fmt.Fprintf(&b, "  %s\n", note)
	}
	b.WriteString("\nNothing was changed.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// print prints one advice.
func (a Advised) print(b *strings.Builder) {
	fmt.Fprintf(b, "  %s: %s -> %s\n", a.where(), a.Old, a.New)
	fmt.Fprintf(b, "    %s\n", a.Why)
	fmt.Fprintf(b, "    confidence: %s, %s\n", a.Confidence, render.Plural(int(a.Samples), "sample"))
	if a.Effect != nil {
		fmt.Fprintf(b, "    %s\n", a.Effect.line())
	} else {
		fmt.Fprintf(b, "    effect unknown: %s\n", a.NotSimulated)
	}
}

// line renders a change in one line.
func (c Change) line() string {
	text := fmt.Sprintf("effect, simulated: in time %s -> %s, worker-hours %s -> %s", percent(c.Before.InTime),
		percent(c.After.InTime), hours(c.Before), hours(c.After))
	if c.Before.Cost > 0 || c.After.Cost > 0 {
		text += fmt.Sprintf(", cost %.2f -> %.2f", c.Before.Cost, c.After.Cost)
	}
	return text
}

// hours renders the worker-hours of a run.
func hours(e advice.Effect) string {
	if e.WorkerHours < 0.1 {
		return fmt.Sprintf("%.4f", e.WorkerHours)
	}
	return fmt.Sprintf("%.1f", e.WorkerHours)
}

// line renders the figures in one line; unknown ones are left out.
func (x Figures) line() string {
	parts := []string{render.Plural(int(x.Messages), "message"), percent(x.Covered) + " of the time recorded"}
	add := func(known bool, format string, args ...any) {
		if known {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(x.ProcessingMean > 0, "a message takes %s (p95 %s)", render.Seconds(x.ProcessingMean),
		render.Seconds(x.ProcessingP95))
	add(x.BootMean > 0, "a boot %s", render.Seconds(x.BootMean))
	if x.InTime != nil {
		parts = append(parts, "in time "+percent(*x.InTime))
	}
	if x.Utilization != nil {
		parts = append(parts, "worker utilization "+percent(*x.Utilization))
	}
	if x.CoresPerCall != nil {
		parts = append(parts, fmt.Sprintf("a call uses %s of %s cores", render.Number(*x.CoresPerCall),
			render.Number(x.Cores)))
	}
	if x.CPU != nil {
		parts = append(parts, "CPUUtilization "+percent(*x.CPU))
	}
	return strings.Join(parts, ", ")
}

// percent renders a share.
func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// minute renders an instant in UTC.
func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }
