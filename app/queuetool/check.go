package queuetool

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/queue/check"
)

// maxCheckShown bounds the printed lines of each kind.
const maxCheckShown = 20

// PrintCheckup prints the result of a check of queue files. It ends with what to do next: where the damaged files are
// after a repair, or the command that repairs.
func PrintCheckup(w io.Writer, c *check.Result) error {
	if c.Whole() {
		// Here the damage was repaired by an earlier run that was cut short.
		if c.Kept != "" {
			fmt.Fprintf(w, "ended the repair that was cut short; the damaged files are in %s\n", c.Kept)
		}
		_, err := fmt.Fprintf(w, "checked %s: nothing is damaged, %s\n", c.Dir, render.Plural(c.Messages, "message"))
		return err
	}
	fmt.Fprintf(w, "checked %s: %s found\n", c.Dir, render.Plural(len(c.Findings), "problem"))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	listed(t, c.Findings, func(f check.Finding) string { return f.File + "\t" + f.Found })
	if err := t.Flush(); err != nil {
		return err
	}
	if len(c.Damaged) > 0 {
		fmt.Fprintf(w, "\n%s with damaged content, which no worker gets:\n", render.Plural(len(c.Damaged), "message"))
		listed(w, c.Damaged, func(m check.Message) string {
			return fmt.Sprintf("queue %s, sent %s, id %s, number %d", m.Queue, moment(m.Sent), m.ID, m.Sequence)
		})
	}
	if len(c.Missing) > 0 {
		fmt.Fprintln(w, "\nsome messages that were sent may be missing")
		listed(w, c.Missing, gapText)
	}
	fmt.Fprintf(w, "\n%s\n", balance(c))
	var err error
	if c.Kept != "" {
		_, err = fmt.Fprintf(w, "repaired: new files hold the messages that are whole; the damaged files and "+
			"report.json are in %s\n", c.Kept)
	} else {
		_, err = fmt.Fprintln(w, "nothing was changed; restore all files of the directory from a backup, or go on "+
			"with what is whole:\n  muster queue check --repair --data "+terminal.ShellWord(c.Dir))
	}
	return err
}

// listed writes a line for each of all, up to maxCheckShown. A broken disk may damage thousands.
func listed[T any](w io.Writer, all []T, line func(T) string) {
	for _, one := range all[:min(len(all), maxCheckShown)] {
		fmt.Fprintf(w, "  %s\n", line(one))
	}
	if more := len(all) - maxCheckShown; more > 0 {
		fmt.Fprintf(w, "  and %d more; -o json names up to 1000\n", more)
	}
}

// balance says how many messages are whole and how many are missing. When gaps have no numbers, the number of missing
// messages is unknown.
func balance(c *check.Result) string {
	text := render.Plural(c.Messages, "message") + " whole"
	if c.Lost > 0 {
		return fmt.Sprintf("%s, at least %s missing", text, render.Plural(c.Lost, "message"))
	}
	if len(c.Missing) > 0 {
		return text + "; how many are missing is unknown"
	}
	return text + ", none missing"
}

// gapText says when the messages of a gap were sent.
func gapText(g check.Gap) string {
	var parts []string
	switch {
	case g.After.IsZero() && g.Before.IsZero():
		parts = append(parts, "at any time")
	case g.Before.IsZero():
		parts = append(parts, "at "+moment(g.After)+" or later")
	case g.After.IsZero():
		parts = append(parts, "at "+moment(g.Before)+" or earlier")
	default:
		parts = append(parts, "from "+moment(g.After)+" to "+moment(g.Before))
	}
	switch {
	// Messages of a queue are numbered in the order of their sending; 0 means unknown.
	case g.To != 0 && g.To == g.From:
		parts = append(parts, fmt.Sprintf("number %d", g.From))
	case g.To != 0:
		parts = append(parts, fmt.Sprintf("numbers %d to %d", g.From, g.To))
	case g.From != 0:
		parts = append(parts, "numbers from "+strconv.FormatUint(g.From, 10))
	}
	return strings.Join(parts, ", ") + ": " + g.Why
}

// moment renders a time with milliseconds, so that it can be found in logs.
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") }
