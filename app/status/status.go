package status

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/logs"
	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/internal/lifecycle"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/server"
)

// Print prints the fleets of a running Muster. failed returns the recent failures of a fleet, or an empty text, as
// [FailedLately] does.
func Print(w io.Writer, s server.Status, failed func(fleet string) string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FLEET\tBACKLOG\tWORKING\tRETRYING\tOLDEST\tOBJECTIVE\tIN TIME"+
		"\tDESIRED\tIN SERVICE\tBUSY\tPENDING\tDRAINING\tSILENT")
	for _, f := range s.Fleets {
		if !f.Sized() {
			// the last observation is out of date
			f.Observation = muster.Observation{Objective: f.Observation.Objective}
		}
		o, c := f.Observation, f.Observation.Capacity
		// In service, busy, pending, draining and silent, in the order of the columns.
		members := []string{"?", "?", "?", "?", "?"}
		if f.Ready && c.Known {
			for i, n := range []int{c.InService(), c.Busy, o.Pending(), c.Draining + c.Released, c.Lost} {
				members[i] = strconv.Itoa(n)
			}
		}
		desired := "?"
		if f.Ready {
			desired = strconv.Itoa(f.Decision.Desired)
		}
		p := o.Progress.Value()
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Name, count(o.Backlog()), atWorkers(o),
			count(p.Retrying),
			age(o.Oldest()), objective(o.Objective), shareInTime(p.InTime), desired, strings.Join(members, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, fault := range s.Faults {
		fmt.Fprintf(w, "\n%s\n", fault)
	}
	printNotices(w, s)
	for _, f := range s.Fleets {
		if !f.Sized() {
			fmt.Fprintf(w, "\n%s: %s\n", f.Name, cmp.Or(f.Trouble, Lifeline(f)))
			continue
		}
		fmt.Fprintf(w, "\n%s: %s\n", f.Name, f.Sentence)
		if f.CostPerHour > 0 {
			fmt.Fprintf(w, "  it costs %s an hour\n", render.Number(f.CostPerHour))
		}
		if line := Classes(f.Observation); line != "" {
			fmt.Fprintf(w, "  classes: %s\n", line)
		}
		if f.Trouble != "" {
			fmt.Fprintf(w, "  %s\n", f.Trouble)
		}
		if !f.Observation.Capacity.Known && f.Observation.Capacity.Reason != "" {
			fmt.Fprintf(w, "  members: %s\n", f.Observation.Capacity.Reason)
		}
		for _, o := range f.Observation.Overrides {
			fmt.Fprintf(w, "  override %s: %s\n", o.ID, o.Text(s.At))
		}
		for _, note := range f.Observation.Notes {
			fmt.Fprintf(w, "  note: %s\n", note)
		}
		// The log of a local fleet knows more about failures than the reports of its workers; the same failures are not
		// printed twice.
		text := failed(f.Name)
		PrintProgress(w, f.Observation, text != "")
		if text != "" {
			fmt.Fprintf(w, "  %s\n", text)
		}
		printIncidents(w, f, s.At)
		// A queue whose backlog is unknown stops every decrease, so its reason is shown.
		for _, q := range f.Observation.Queues {
			if !q.Backlog.Known {
				fmt.Fprintf(w, "  queue %s: %s\n", q.Queue, q.Backlog)
			}
		}
	}
	// An SQS endpoint alone is a valid use, so this is only a hint.
	if len(s.Fleets) == 0 {
		fmt.Fprintln(w, "muster up runs without fleets: give it a configuration with -f")
	}
	return nil
}

// maxBusy bounds the busy members that are listed when a fleet stops.
const maxBusy = 20

// Lifeline describes the phase of a fleet that is not sized and has not failed. While it stops, it names the busy
// workers: they are what the fleet waits for.
func Lifeline(f server.FleetStatus) string {
	if f.Phase == server.Standby {
		return "led by the controller " + cmp.Or(f.Leader, "that takes it over next")
	}
	if f.Phase != string(lifecycle.Stopping) {
		return f.Phase + ": the fleet is not sized yet"
	}
	text, separator := "stopping: its workers finish their messages in progress", ": "
	told := 0
	for _, m := range f.Members {
		if m.Busy > 0 && told < maxBusy {
			told++
			text += fmt.Sprintf("%s%s has worked on %s for %s", separator, m.ID, render.Plural(m.Busy, "message"),
				render.Seconds(math.Round(m.HeldSeconds)))
			separator = ", "
		}
	}
	return text
}

// objective renders a latency objective, which is unknown until the fleet was read once.
func objective(o muster.Objective) string {
	if o.Latency == 0 {
		return "?"
	}
	return render.Seconds(o.Latency.Seconds())
}

// count and age render an unknown value as a question mark, never as zero.
func count(s muster.Sample) string {
	if !s.Known {
		return "?"
	}
	return render.Number(s.Value)
}

// age renders a time in seconds.
func age(s muster.Sample) string {
	if !s.Known {
		return "?"
	}
	return render.Seconds(s.Value)
}

// lately is how far back status shows failures.
const lately = 5 * time.Minute

// FailedLately says what failed in the last five minutes at a local fleet, from its log in the data directory; empty if
// nothing did.
func FailedLately(ctx context.Context, data, fleet string, now time.Time) string {
	// A missing or unreadable log is no failure: status has other sources.
	recent, err := joblog.Recent(ctx, app.LogsDir(data), fleet, now.Add(-lately))
	if err != nil || recent.Last == nil {
		return ""
	}
	return fmt.Sprintf("%s failed in the last %d minutes, the last %s ago: %s; see muster logs %s --failed",
		render.Plural(recent.Failed, "attempt"),
		int(lately.Minutes()), render.Seconds(max(0, now.Sub(recent.Last.At).Seconds())), logs.Failure(recent.Last),
		fleet)
}

// Classes describes the classes of messages on one line; empty for a fleet without classes.
func Classes(o muster.Observation) string {
	all := make([]string, 0, len(o.Classes))
	for _, c := range o.Classes {
		all = append(all, fmt.Sprintf("%s %s %% taking %s", cmp.Or(c.Name, "(none)"),
			render.Number(math.Round(1000*c.Share)/10), render.Seconds(c.Processing.MeanSeconds)))
	}
	return strings.Join(all, ", ")
}

// Crowds says how the processing time depends on the messages in progress, for members that share a machine. It is
// empty unless at least two such numbers were measured.
func Crowds(o muster.Observation) string {
	if o.Sharing == nil || len(o.Sharing.Crowds) < 2 {
		return ""
	}
	all := make([]string, 0, len(o.Sharing.Crowds))
	for _, c := range o.Sharing.Crowds {
		all = append(all, fmt.Sprintf("%s with %s", render.Seconds(c.MeanSeconds),
			render.Number(math.Round(10*c.Busy)/10)))
	}
	return strings.Join(all, ", ") + fmt.Sprintf(" (on %s)", render.Plural(o.Sharing.Cores, "core"))
}

const (
	// incidentAge is how long an incident is shown; maxIncidents bounds how many are shown of a fleet.
	incidentAge  = time.Hour
	maxIncidents = 10
)

// printIncidents prints the recent incidents at the workers of a fleet, the newest first.
func printIncidents(w io.Writer, f server.FleetStatus, now time.Time) {
	// The incidents of all members are sorted together.
	type line struct {
		member string
		server.IncidentStatus
	}
	var lines []line
	for _, m := range f.Members {
		for _, i := range m.Incidents {
			if now.Sub(i.At) <= incidentAge {
				lines = append(lines, line{m.ID, i})
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return b.At.Compare(a.At) })
	for _, l := range lines[:min(len(lines), maxIncidents)] {
		fmt.Fprintf(w, "  incident %s ago on %s: %s (%d so far): %s\n", render.Seconds(max(0, now.Sub(l.At).Seconds())),
			l.member, l.Kind, l.Count, l.Text)
	}
	if more := len(lines) - maxIncidents; more > 0 {
		fmt.Fprintf(w, "  and %d more incidents within the hour\n", more)
	}
}

// printNotices prints how many incidents are open, and the channels of notices that could not deliver.
func printNotices(w io.Writer, s server.Status) {
	if s.OpenIncidents > 0 {
		fmt.Fprintf(w, "\n%s open; see muster incidents\n", isOrAre(s.OpenIncidents, "incident"))
	}
	for _, c := range s.Notices {
		fmt.Fprintf(w, "\nnotices to %s: %d wait, %d were given up, %d were dropped", c.Channel, c.Waiting, c.Lost,
			c.Dropped)
		if c.LastError != "" {
			fmt.Fprintf(w, "; the last attempt failed: %s", terminal.Escape(c.LastError, ""))
		}
		fmt.Fprintln(w)
	}
}

// isOrAre counts a noun and adds the verb.
func isOrAre(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return render.Plural(n, noun) + " are"
}
