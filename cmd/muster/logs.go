package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/logs"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/internal/joblog"
)

// logsCommand is muster logs with its flags. since is parsed when the command runs, because a duration counts back from
// then.
type logsCommand struct {
	g *command.Global
	// since is the text of --since; all shows repeated lines one by one.
	since string
	all   bool
	o     logs.Options
}

// newLogs makes muster logs. It reads the log files of the data directory, so it works while muster up runs and after
// it has ended. It needs a valid configuration, to tell a remote fleet, whose output is elsewhere, from a name that
// does not exist.
func newLogs(g *command.Global) *cobra.Command {
	r := &logsCommand{g: g}
	cmd := &cobra.Command{
		Use: "logs [FLEET]", Short: "Show what the jobs of a local fleet printed, and why attempts failed",
		Long: fmt.Sprintf(`Logs shows the log of a fleet of local processes, oldest records first: what its jobs printed on
standard output and error, which attempts failed and why, and what its workers logged (workers.log in the
configuration). The log is in the data directory. It needs no running muster up, outlives the workers and keeps
the newest %d MiB.

Repeated lines are folded into one with a count, unless --all is given. A message is shown by the beginning of its
id, which --message accepts too. With -o json each record is an object on a line of its own, as docs/logs.md
describes.`, joblog.Files*joblog.FileMegabytes),
		Example: `  muster logs thumbnails --follow
  muster logs thumbnails --failed --since 1h
  muster logs thumbnails --message 6f9619ff`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: completeLogs(g),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.run(cmd.Context(), append(args, "")[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	// In other programs -f follows a log. Here it names the configuration, so "muster logs -f" lacks its value.
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if strings.HasSuffix(err.Error(), "'f' in -f") {
			err = fmt.Errorf("%w: -f names the configuration; -F, or --follow, goes on with new records", err)
		}
		return cmd.Parent().FlagErrorFunc()(cmd, err)
	})
	f := cmd.Flags()
	f.BoolVarP(&r.o.Follow, "follow", "F", false, "wait for new records and show them, until interrupted")
	f.BoolVar(&r.o.Failed, "failed", false, "show only failed attempts, each with the end of its output")
	f.StringVar(&r.o.Message, "message", "", "show only the records of one message: its id, or the beginning of it")
	f.StringVar(&r.since, "since", "", "show only records since then: a duration such as 10m, or a time such as "+
		"2026-01-02T15:04")
	f.IntVar(&r.o.Tail, "tail", 0, "show only the last N records; 0 shows all")
	f.BoolVar(&r.all, "all", false, "show repeated lines one by one")
	cmd.RegisterFlagCompletionFunc("message", cobra.NoFileCompletions)
	spans := cobra.FixedCompletions([]string{"10m", "1h", "24h"}, cobra.ShellCompDirectiveNoFileComp)
	cmd.RegisterFlagCompletionFunc("since", spans)
	cmd.RegisterFlagCompletionFunc("tail", cobra.NoFileCompletions)
	return cmd
}

// completeLogs returns what completes the name of a local fleet. A fault in the configuration completes nothing: a
// completion cannot show an error.
func completeLogs(g *command.Global) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		c, err := g.Load()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return logs.Fleets(c), cobra.ShellCompDirectiveNoFileComp
	}
}

// run shows the selected records. A log without one is no failure: a line on standard error says so, with the
// selection, and the exit code is 0.
func (r *logsCommand) run(ctx context.Context, fleet string, out, errOut io.Writer) (err error) {
	if r.o.Since, err = logs.Since(r.since, time.Now()); err != nil {
		return err
	}
	if r.o.Tail < 0 || r.o.Tail > logs.MaxTail {
		return command.Usage(fmt.Errorf("--tail: found %d, allowed is 0, for all, to %d", r.o.Tail, logs.MaxTail))
	}
	c, err := r.g.Load()
	if err != nil {
		return err
	}
	if fleet, err = logs.FleetOf(c, fleet); err != nil {
		return err
	}
	// Times of today are printed without a date.
	show := logs.NewPrinter(out, time.Now(), r.o.Failed, r.all)
	if r.g.JSON() {
		// One record per line, so that jq and grep work on a log that is followed.
		lines := json.NewEncoder(out)
		lines.SetEscapeHTML(false)
		show = jsonLines{lines}
	}
	shown, err := logs.Read(ctx, app.LogsDir(c.Data), fleet, r.o, show)
	if err == nil && shown == 0 && !r.o.Follow && !r.g.JSON() {
		fmt.Fprintf(errOut, "the log of %s has no record%s\n", fleet, r.selectionText())
	}
	return err
}

// jsonLines prints each record as a line of JSON, unlike the indented JSON of other commands: records come one by one,
// without an end when the log is followed.
type jsonLines struct{ to *json.Encoder }

// Show implements [logs.Printer].
func (l jsonLines) Show(r joblog.Record) error { return l.to.Encode(r) }

// Pause implements [logs.Printer]. JSON lines fold nothing, so nothing is pending.
func (l jsonLines) Pause(bool) error { return nil }

// selectionText describes the selection, for a log without a selected record.
func (r *logsCommand) selectionText() string {
	text := ""
	if r.o.Failed {
		text += " of a failed attempt"
	}
	if r.o.Message != "" {
		text += fmt.Sprintf(" of message %.100s", r.o.Message)
	}
	if r.since != "" {
		text += " since " + r.o.Since.Local().Format("2006-01-02 15:04:05")
	}
	return text
}
