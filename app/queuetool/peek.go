package queuetool

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/muster-scale/muster/app/logs"
	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/server"
)

// PrintPeek prints the messages that a query found: as a table if it is short, else as a block each.
func PrintPeek(w io.Writer, a server.PeekAnswer, q server.PeekQuery) error {
	var err error
	switch {
	case len(a.Messages) == 0:
		_, err = fmt.Fprintf(w, "%s holds no message%s\n", a.Queue, map[string]string{"waiting": " that waits",
			"in-flight": " in flight", "delayed": " that is delayed",
			"damaged": " that is known to be damaged"}[q.From])
	// The API has cut the bodies already.
	case q.Short:
		err = printPeekTable(w, a.Messages)
	default:
		err = printPeekBlocks(w, a.Messages)
	}
	if err == nil && a.LastErrorsUnknown != "" {
		_, err = fmt.Fprintf(w, "why messages failed is not known: %s\n", a.LastErrorsUnknown)
	}
	if err == nil && a.Cut {
		_, err = fmt.Fprintln(w, "more messages exist, which would make the answer too large; muster queue export "+
			"writes all of them")
	}
	return err
}

// tableBody is how many characters of a body a row of the table shows.
const tableBody = 60

// printPeekTable prints a row for each message. Bodies and attributes are cut to a line, and control characters are
// escaped: a message must not be able to write to the terminal.
func printPeekTable(w io.Writer, messages []server.PeekedMessage) error {
	// The column of errors appears only when there is one: it takes much of the width.
	failed := slices.ContainsFunc(messages, func(m server.PeekedMessage) bool { return m.LastError != nil })
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	heading := "ID\tSTATE\tAGE\tRECEIVES\tGROUP\tATTRIBUTES\tBODY"
	if failed {
		heading = "ID\tSTATE\tAGE\tRECEIVES\tGROUP\tATTRIBUTES\tLAST ERROR\tBODY"
	}
	fmt.Fprintln(t, heading)
	for _, m := range messages {
		body, cut := terminal.Clip(m.Body, tableBody)
		if cut || m.BodyCut {
			body += fmt.Sprintf("... (%d bytes)", m.BodyBytes)
		}
		var attributes []string
		for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
			attributes = append(attributes, name+"="+attributeText(m.Attributes[name], tableBody/3))
		}
		// All attributes share one column.
		all, cut := terminal.Clip(strings.Join(attributes, " "), tableBody)
		if cut {
			all += "..."
		}
		// A damaged message has no body to show.
		if m.Damaged != "" {
			body = terminal.Escape(m.Damaged, "")
		}
		if failed {
			all = cmp.Or(all, "-") + "\t" + lastErrorCell(m.LastError)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", cmp.Or(m.ID, "-"), m.State, render.Seconds(m.AgeSeconds),
			m.Receives,
			terminal.Escape(cmp.Or(m.Group, "-"), ""), cmp.Or(all, "-"), body)
	}
	return t.Flush()
}

// printPeekBlocks prints each message in full, with a blank line between two.
func printPeekBlocks(w io.Writer, messages []server.PeekedMessage) error {
	for i, m := range messages {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "message %s\n  %s, sent %s ago (%s), receives: %d\n", cmp.Or(m.ID, "-"), m.State,
			render.Seconds(m.AgeSeconds), m.Sent.Local().Format("2006-01-02 15:04:05"), m.Receives)
		for _, line := range [][2]string{{"dead-lettered from", m.Source}, {"group", m.Group},
			{"deduplication id", m.DeduplicationID},
			{"sequence number", m.SequenceNumber}, {"trace", m.Trace}} {
			if line[1] != "" {
				fmt.Fprintf(w, "  %s: %s\n", line[0], terminal.Escape(line[1], ""))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
			a := m.Attributes[name]
			fmt.Fprintf(w, "  attribute %s: %s (%s)\n", name, attributeText(a, 0), terminal.Escape(a.Type, ""))
		}
		printLastError(w, m.LastError)
		if m.Damaged != "" {
			fmt.Fprintf(w, "  %s\n", terminal.Escape(m.Damaged, ""))
			continue
		}
		if _, err := fmt.Fprintf(w, "  body, %d bytes:\n%s\n", m.BodyBytes,
			terminal.Escape(m.Body, "\n\t")); err != nil {
			return err
		}
	}
	return nil
}

// lastErrorCell is the last error of a message, for a table.
func lastErrorCell(f *joblog.Failure) string {
	if f == nil {
		return "-"
	}
	return logs.Failure(f)
}

// printLastError prints the last error of a message, with the end of its job's output.
func printLastError(w io.Writer, f *joblog.Failure) {
	if f == nil {
		return
	}
	fmt.Fprintf(w, "  last error, %s at %s: %s\n", f.At.Local().Format("2006-01-02 15:04:05"),
		terminal.Escape(cmp.Or(f.Member, "a worker"), ""), logs.Attempt(f))
	for line := range strings.Lines(f.Output) {
		fmt.Fprintf(w, "    | %s\n", terminal.Escape(strings.TrimRight(line, "\r\n"), "\t"))
	}
}

// attributeText renders an attribute, cut to most characters; 0 means no cut.
func attributeText(a server.PeekedAttribute, most int) string {
	if a.Binary != nil {
		return strconv.Itoa(len(a.Binary)) + " bytes"
	}
	if most == 0 {
		return terminal.Escape(a.Value, "")
	}
	text, cut := terminal.Clip(a.Value, most)
	if cut {
		text += "..."
	}
	return text
}
