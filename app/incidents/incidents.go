// Package incidents is what muster incidents does: [Print] shows the incidents of a running Muster, and [Test] sends a
// test notice to each channel of a configuration. Both return values that -o json prints unchanged.
//
// The package decides nothing about incidents (package incident does) and delivers nothing itself (package notice
// does).
package incidents

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/notice"
	"github.com/muster-scale/muster/server"
)

// maxPrinted bounds the ended incidents that are printed; -o json has all.
const maxPrinted = 20

// Print prints the open incidents, then those that have ended, newest first, then the channels. Times are those of the
// zone of now.
func Print(w io.Writer, all server.Incidents, now time.Time) {
	if len(all.Open) == 0 {
		fmt.Fprintln(w, "no incident is open")
	}
	for _, i := range all.Open {
		fmt.Fprintf(w, "open since %s: %s\n", moment(i.BeganAt, now), terminal.Escape(i.Sentence, ""))
		printEvidence(w, i)
	}
	if len(all.Recent) > 0 {
		fmt.Fprintln(w, "\nended:")
	}
	// The server sends them newest first.
	for _, i := range all.Recent[:min(len(all.Recent), maxPrinted)] {
		lasted := render.Rounded(i.EndedAt.Sub(i.BeganAt))
		fmt.Fprintf(w, "%s to %s (%s): %s\n", moment(i.BeganAt, now), moment(i.EndedAt, now), lasted,
			terminal.Escape(i.Sentence, ""))
	}
	if more := len(all.Recent) - maxPrinted; more > 0 {
		fmt.Fprintf(w, "and %d earlier; -o json lists all\n", more)
	}
	// Without a channel the list is all there is, which a reader may not expect.
	if len(all.Channels) == 0 {
		fmt.Fprintln(w, "\nno channel is told: the configuration has no notify (docs/notices.md)")
		return
	}
	fmt.Fprintln(w, "\nchannels:")
	for _, c := range all.Channels {
		fmt.Fprintf(w, "%s: %d sent, %d waiting, %d given up, %d dropped\n", c.Channel, c.Sent, c.Waiting, c.Lost,
			c.Dropped)
		if c.LastError != "" {
			fmt.Fprintf(w, "  the last attempt, at %s, failed: %s\n", moment(c.LastErrorAt, now),
				terminal.Escape(c.LastError, ""))
		}
	}
}

// printEvidence prints the numbers behind an incident and the command that shows more.
func printEvidence(w io.Writer, i incident.Incident) {
	// The kind is shown because only: in the configuration takes it.
	text := "  " + string(i.Kind)
	for _, v := range i.Evidence {
		text += fmt.Sprintf(", %s %s", v.Name, render.Number(v.Value))
	}
	if i.Command != "" {
		text += "; see " + i.Command
	}
	fmt.Fprintln(w, terminal.Escape(text, ""))
}

// moment renders a time, without the date on the day of now.
func moment(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// Test sends a test notice once to each channel of c and returns what each answered, in the order of the configuration.
// It needs no running muster up.
func Test(ctx context.Context, c *config.Config, now time.Time) []notice.Answer {
	host, _ := os.Hostname() // the name is for people, and may be unknown
	to := kind.ChannelsOf(kind.NewHost(kind.HostOptions{AWS: c.AWS}), c)
	return notice.Try(ctx, to, incident.NewTest(now).From(host))
}

// PrintAnswers prints what the channels answered.
func PrintAnswers(w io.Writer, answers []notice.Answer) {
	for _, a := range answers {
		if a.Error != "" {
			fmt.Fprintf(w, "%s: failed: %s\n", a.Channel, terminal.Escape(a.Error, ""))
			continue
		}
		fmt.Fprintf(w, "%s: delivered: %s\n", a.Channel, terminal.Escape(a.Answer, ""))
	}
}

// Failed returns an error that counts the channels that did not deliver; nil if all did.
func Failed(answers []notice.Answer) error {
	failed := 0
	for _, a := range answers {
		if a.Error != "" {
			failed++
		}
	}
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("test the channels: %d of %s failed", failed, render.Plural(len(answers), "channel"))
}
