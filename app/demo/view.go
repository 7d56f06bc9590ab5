package demo

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/roster"
)

// View shows the demo while it runs. On a terminal it redraws a table in place, with the decisions scrolling above;
// elsewhere it prints lines.
type View struct {
	mu      sync.Mutex
	out     io.Writer
	errors  io.Writer
	inPlace bool
	width   int
	drawn   int // lines of the table on the screen
	// shown is when the table was drawn last. reasons holds the last reason of each fleet, so that a hold is shown
	// once. over is true after finish: a late step must not print below the results.
	shown   time.Time
	reasons map[string]muster.Reason
	over    bool
}

// NewView returns a view on out and prints what the demo will run. A quiet view uses errOut, because out is then for
// the result alone. Warnings go to errOut.
func NewView(out io.Writer, quiet bool, errOut io.Writer) *View {
	v := &View{out: out, errors: errOut, reasons: map[string]muster.Reason{}, width: 120}
	if quiet {
		v.out = errOut
	}
	v.inPlace = terminal.Is(v.out)
	if f, ok := v.out.(*os.File); ok && v.inPlace {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			v.width = width
		}
	}
	fmt.Fprintf(v.out, "Two published tests at 1:%d: %d messages of %s, then of %s; to be finished within %s; a "+
		"worker boots in %s.\n",
		scale, Messages, tests()[0].Duration, tests()[1].Duration, render.Seconds(latency.Seconds()), Boot)
	fmt.Fprintf(v.out, "Each runs under three policies, on six queues with up to %d worker processes each, all on "+
		"this machine.\n\n", Max)
	return v
}

// link shows the address of the dashboard. Its page moves while the demo runs.
func (v *View) link(url string) { fmt.Fprintf(v.out, "Watch it in a browser: %s\n\n", url) }

// begin shows that the messages are sent.
func (v *View) begin() { v.event(0, "", "the messages are sent") }

// outcome shows a decision that sets a desired count or that holds for a new reason.
func (v *View) outcome(o controller.Outcome, started time.Time) {
	d := o.Decision
	v.mu.Lock()
	before := v.reasons[d.Fleet]
	v.reasons[d.Fleet] = d.Reason
	v.mu.Unlock()
	// Decisions before the messages are sent are those of empty queues.
	if started.IsZero() {
		return
	}
	who := strings.Replace(d.Fleet, ".", " ", 1)
	if d.Verdict != muster.Hold || (d.Reason != muster.Steady && d.Reason != before) {
		v.event(d.At.Sub(started), who, d.Sentence())
	}
	// Under exact workers stop by themselves when idle, which is no decision.
	left, remain := 0, 0
	for _, c := range o.Changes {
		if c.What == roster.Left {
			left, remain = left+1, c.Desired
		}
	}
	if left > 0 {
		v.event(d.At.Sub(started), who, fmt.Sprintf("%s left: no message came within %s; %d remain",
			render.Plural(left, "worker"), idle, remain))
	}
}

// event prints a line above the table: the time since the messages were sent, the fleet, and what happened.
func (v *View) event(at time.Duration, who, what string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return
	}
	v.clear()
	line := fmt.Sprintf("%5.1fs %-22s %s", max(0, at.Seconds()), who, what)
	fmt.Fprintln(v.out, line)
}

// finish removes the table and ends the view.
func (v *View) finish(what string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	v.over = true
	fmt.Fprintf(v.out, "       %s\n\n", what)
}

// clear removes the table from the screen, so that lines can be printed above it.
func (v *View) clear() {
	if v.drawn > 0 {
		fmt.Fprintf(v.out, "\x1b[%dA\x1b[J", v.drawn)
		v.drawn = 0
	}
}

// draw redraws the table. Elsewhere than on a terminal it prints a line for each run every three seconds.
func (v *View) draw(now time.Time, a *app.App, runs []Run, tally *Tally) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over || (!v.inPlace && now.Sub(v.shown) < 3*time.Second) {
		return
	}
	v.shown = now
	lines := []string{fmt.Sprintf("%5.1fs %-8s %-16s %8s %8s %10s %8s %11s %5s  %s", now.Sub(tally.started()).Seconds(),
		"TEST", "POLICY", "FINISHED",
		"BACKLOG", "IN FLIGHT", "DESIRED", "IN SERVICE", "BUSY", "OLDEST AGE OF "+render.Seconds(latency.Seconds()))}
	for _, r := range runs {
		o, ok := a.Fleets()[r.Fleet.Name].Last()
		if !ok {
			continue
		}
		// The queue is read directly: the last observation may be a poll old.
		c := o.Observation.Capacity
		q, err := a.Queues().Counts(r.Queue())
		if err != nil {
			continue
		}
		oldest := 0.0
		if !q.OldestSent.IsZero() {
			oldest = now.Sub(q.OldestSent).Seconds()
		}
		lines = append(lines, fmt.Sprintf("       %-8s %-16s %8s %8s %10s %8d %11d %5d  %s", r.Test.Name,
			r.Fleet.Policy.Name,
			fmt.Sprintf("%d/%d", tally.Processed(r), Messages), strconv.Itoa(q.Visible), strconv.Itoa(q.InFlight),
			c.Desired, c.InService(), c.Busy, ageBar(oldest)))
	}
	v.clear()
	for _, line := range lines {
		if v.inPlace && len(line) > v.width-1 {
			line = line[:v.width-1] // a wrapped line could not be cleared
		}
		fmt.Fprintln(v.out, line)
	}
	if v.inPlace {
		v.drawn = len(lines)
	}
}

// ageBar draws an age as a share of the objective, and says "late" beyond it.
func ageBar(seconds float64) string {
	const width = 15
	seconds = max(0, seconds) // the message may be newer than the tick
	full := int(seconds / latency.Seconds() * width)
	if full > width {
		return fmt.Sprintf("[%s] %.1fs, late", strings.Repeat("!", width), seconds)
	}
	return fmt.Sprintf("[%s%s] %.1fs", strings.Repeat("#", full), strings.Repeat(".", width-full), seconds)
}
