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
	"github.com/muster-scale/muster/internal/joblog"
)

// reading is muster logs with its flags.
type reading struct {
	g     *global
	since string
	all   bool
	o     logs.Options
}

func newLogs(g *global) *cobra.Command {
	r := &reading{g: g}
	cmd := &cobra.Command{
		Use: "logs [FLEET]", Short: "Show what the jobs of a local fleet printed, and why attempts failed",
		Long: fmt.Sprintf(`Logs shows the log of a fleet of local processes, the oldest records first: what its jobs printed on
standard output and error, which attempts failed and why, and what its workers logged (workers.log in the
configuration). The log is in the data directory, needs no running muster up, outlives the workers, and keeps the
newest %d MiB.

Lines that repeat are folded into one with a count, unless --all is given. Messages are shown by the beginnings of
their ids, which --message takes, too. With -o json each record is an object on a line of its own; docs/logs.md
describes them.`, joblog.Files*joblog.FileMegabytes),
		Example: `  muster logs thumbnails --follow
  muster logs thumbnails --failed --since 1h
  muster logs thumbnails --message 6f9619ff`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: g.completeLogs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.run(cmd.Context(), append(args, "")[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if strings.HasSuffix(err.Error(), "'f' in -f") { // as other programs have it
			err = fmt.Errorf("%w: -f names the configuration; -F, or --follow, goes on with new records", err)
		}
		return cmd.Parent().FlagErrorFunc()(cmd, err)
	})
	f := cmd.Flags()
	f.BoolVarP(&r.o.Follow, "follow", "F", false, "go on with new records as they come")
	f.BoolVar(&r.o.Failed, "failed", false, "failed attempts alone, each with the end of its output")
	f.StringVar(&r.o.Message, "message", "", "the records of one message: its id, or the beginning of that")
	f.StringVar(&r.since, "since", "", "leave out what is older: a duration such as 10m, or a time such as "+
		"2026-01-02T15:04")
	f.IntVar(&r.o.Tail, "tail", 0, "the last so many records alone; 0 is all")
	f.BoolVar(&r.all, "all", false, "show every repeated line")
	cmd.RegisterFlagCompletionFunc("message", cobra.NoFileCompletions)
	spans := cobra.FixedCompletions([]string{"10m", "1h", "24h"}, cobra.ShellCompDirectiveNoFileComp)
	cmd.RegisterFlagCompletionFunc("since", spans)
	cmd.RegisterFlagCompletionFunc("tail", cobra.NoFileCompletions)
	return cmd
}

// completeLogs completes the name of a local fleet.
func (g *global) completeLogs(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	c, err := g.load()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return logs.Fleets(c), cobra.ShellCompDirectiveNoFileComp
}

// run shows the selected records.
func (r *reading) run(ctx context.Context, fleet string, out, errOut io.Writer) (err error) {
	if r.o.Since, err = logs.Since(r.since, time.Now()); err != nil {
		return err
	}
	if r.o.Tail < 0 || r.o.Tail > logs.MaxTail {
		return usage(fmt.Errorf("--tail: found %d, allowed is 0, for all, to %d", r.o.Tail, logs.MaxTail))
	}
	c, err := r.g.load()
	if err != nil {
		return err
	}
	if fleet, err = logs.FleetOf(c, fleet); err != nil {
		return err
	}
	show := logs.NewPrinter(out, time.Now(), r.o.Failed, r.all)
	if r.g.json() {
		lines := json.NewEncoder(out)
		lines.SetEscapeHTML(false)
		show = jsonLines{lines}
	}
	shown, err := logs.Read(ctx, app.LogsDir(c.Data), fleet, r.o, show)
	if err == nil && shown == 0 && !r.o.Follow && !r.g.json() {
		fmt.Fprintf(errOut, "the log of %s has no record%s\n", fleet, r.narrowed())
	}
	return err
}

// jsonLines prints each record as a line of JSON.
type jsonLines struct{ to *json.Encoder }

// Show implements [logs.Printer].
func (l jsonLines) Show(r joblog.Record) error { return l.to.Encode(r) }

// Pause implements [logs.Printer].
func (l jsonLines) Pause(bool) error { return nil }

// narrowed describes the selection, for a log without a selected record.
func (r *reading) narrowed() string {
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
