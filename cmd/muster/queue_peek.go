package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
)

func newQueuePeek(g *global) *cobra.Command {
	q := server.PeekQuery{}
	body := ""
	cmd := &cobra.Command{
		Use: "peek NAME", Short: "Show messages of a queue without receiving them", Args: cobra.ExactArgs(1),
		Long: `Peek shows messages in the order in which they were sent. Nothing is received: no receive is counted, and
nobody waits for a message that was looked at. It asks the running muster up; when none runs, it looks into
the data directory itself.`,
		Example:           "  muster queue peek thumbnails-dead\n  muster queue peek thumbnails --from in-flight --limit 100 -o json",
		ValidArgsFunction: g.completeQueues,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := g.ownQueueName(args[0])
			if err != nil {
				return err
			}
			if q.Limit < 1 || q.Limit > queue.MaxPeek {
				return usage(fmt.Errorf("--limit: found %d, allowed is 1 to %d", q.Limit, queue.MaxPeek))
			}
			if err := q.Check(); err != nil {
				return usage(fmt.Errorf("--%w", err))
			}
			if body == "" {
				body = "short"
				if g.json() {
					body = "full"
				}
			}
			if body != "short" && body != "full" {
				return usage(fmt.Errorf("--body: found %q, allowed is full or short", body))
			}
			q.Short = body == "short"
			return g.withQueue(cmd.Context(), name, func(o *openedQueues) error {
				a, err := o.peek(cmd.Context(), name, q)
				if err != nil {
					return err
				}
				if g.json() {
					return printJSON(cmd.OutOrStdout(), a)
				}
				return printPeek(cmd.OutOrStdout(), a, q)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&q.Limit, "limit", 10, fmt.Sprintf("how many messages, 1 to %d", queue.MaxPeek))
	f.StringVar(&q.From, "from", "", "only those that are waiting, in-flight, delayed or damaged")
	f.StringVar(&body, "body", "", "full or short (default short, but full with -o json)")
	cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions([]string{"waiting", "in-flight", "delayed", "damaged"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("body", cobra.FixedCompletions([]string{"full", "short"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func printPeek(w io.Writer, a server.PeekAnswer, q server.PeekQuery) error {
	var err error
	switch {
	case len(a.Messages) == 0:
		_, err = fmt.Fprintf(w, "%s holds no message%s\n", a.Queue, map[string]string{"waiting": " that waits", "in-flight": " in flight", "delayed": " that is delayed",
			"damaged": " that is known to be damaged"}[q.From])
	case q.Short:
		err = printPeekTable(w, a.Messages)
	default:
		err = printPeekBlocks(w, a.Messages)
	}
	if err == nil && a.LastErrorsUnknown != "" {
		_, err = fmt.Fprintf(w, "why messages failed is not known: %s\n", a.LastErrorsUnknown)
	}
	if err == nil && a.Cut {
		_, err = fmt.Fprintln(w, "there are more, which would make the answer too large; muster queue export takes them all")
	}
	return err
}

// tableBody is how many characters of a body a line has room for.
const tableBody = 60

func printPeekTable(w io.Writer, messages []server.PeekedMessage) error {
	failed := slices.ContainsFunc(messages, func(m server.PeekedMessage) bool { return m.LastError != nil })
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	heading := "ID\tSTATE\tAGE\tRECEIVES\tGROUP\tATTRIBUTES\tBODY"
	if failed {
		heading = "ID\tSTATE\tAGE\tRECEIVES\tGROUP\tATTRIBUTES\tLAST ERROR\tBODY"
	}
	fmt.Fprintln(t, heading)
	for _, m := range messages {
		body, cut := clipped(m.Body, tableBody)
		if cut || m.BodyCut {
			body += fmt.Sprintf("... (%d bytes)", m.BodyBytes)
		}
		var attributes []string
		for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
			attributes = append(attributes, name+"="+attributeText(m.Attributes[name], tableBody/3))
		}
		all, cut := clipped(strings.Join(attributes, " "), tableBody)
		if cut {
			all += "..."
		}
		if m.Damaged != "" {
			body = escaped(m.Damaged, "")
		}
		if failed {
			all = cmp.Or(all, "-") + "\t" + lastErrorCell(m.LastError)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", cmp.Or(m.ID, "-"), m.State, muster.Seconds(m.AgeSeconds), m.Receives,
			escaped(cmp.Or(m.Group, "-"), ""), cmp.Or(all, "-"), body)
	}
	return t.Flush()
}

func printPeekBlocks(w io.Writer, messages []server.PeekedMessage) error {
	for i, m := range messages {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "message %s\n  %s, sent %s ago (%s), receives: %d\n", cmp.Or(m.ID, "-"), m.State, muster.Seconds(m.AgeSeconds), m.Sent.Local().Format("2006-01-02 15:04:05"), m.Receives)
		for _, line := range [][2]string{{"dead-lettered from", m.Source}, {"group", m.Group}, {"deduplication id", m.DeduplicationID},
			{"sequence number", m.SequenceNumber}, {"trace", m.Trace}} {
			if line[1] != "" {
				fmt.Fprintf(w, "  %s: %s\n", line[0], escaped(line[1], ""))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
			a := m.Attributes[name]
			fmt.Fprintf(w, "  attribute %s: %s (%s)\n", name, attributeText(a, 0), escaped(a.Type, ""))
		}
		printLastError(w, m.LastError)
		if m.Damaged != "" {
			fmt.Fprintf(w, "  %s\n", escaped(m.Damaged, ""))
			continue
		}
		if _, err := fmt.Fprintf(w, "  body, %d bytes:\n%s\n", m.BodyBytes, escaped(m.Body, "\n\t")); err != nil {
			return err
		}
	}
	return nil
}

// lastErrorCell says in a table why a message failed last.
func lastErrorCell(f *joblog.Failure) string {
	if f == nil {
		return "-"
	}
	return failureText(f)
}

// printLastError says why a message failed last, with the end of what its job printed.
func printLastError(w io.Writer, f *joblog.Failure) {
	if f == nil {
		return
	}
	fmt.Fprintf(w, "  last error, %s at %s: %s\n", f.At.Local().Format("2006-01-02 15:04:05"), escaped(cmp.Or(f.Member, "a worker"), ""), howItFailed(f))
	for line := range strings.Lines(f.Output) {
		fmt.Fprintf(w, "    | %s\n", escaped(strings.TrimRight(line, "\r\n"), "\t"))
	}
}

// attributeText renders an attribute, with at most so many characters; 0 means all.
func attributeText(a server.PeekedAttribute, most int) string {
	if a.Binary != nil {
		return strconv.Itoa(len(a.Binary)) + " bytes"
	}
	if most == 0 {
		return escaped(a.Value, "")
	}
	text, cut := clipped(a.Value, most)
	if cut {
		text += "..."
	}
	return text
}

// clipped returns the first characters of a text on one line, and whether there are more.
func clipped(text string, most int) (string, bool) {
	n := 0
	for i := range text {
		if n == most {
			return escaped(text[:i], ""), true
		}
		n++
	}
	return escaped(text, ""), false
}
