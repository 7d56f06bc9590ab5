package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/joblog"
)

// reading is muster logs with its flags.
type reading struct {
	g      *global
	follow bool
	since  string
	tail   int
	all    bool
	q      joblog.Query
}

// maxTail bounds --tail, whose records are kept in memory.
const maxTail = 100_000

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
	f := cmd.Flags()
	f.BoolVarP(&r.follow, "follow", "F", false, "go on with new records as they come")
	f.BoolVar(&r.q.Failed, "failed", false, "failed attempts alone, each with the end of its output")
	f.StringVar(&r.q.Message, "message", "", "the records of one message: its id, or the beginning of that")
	f.StringVar(&r.since, "since", "", "leave out what is older: a duration such as 10m, or a time such as 2026-01-02T15:04")
	f.IntVar(&r.tail, "tail", 0, "the last so many records alone; 0 is all")
	f.BoolVar(&r.all, "all", false, "show every repeated line")
	cmd.RegisterFlagCompletionFunc("message", cobra.NoFileCompletions)
	spans := cobra.FixedCompletions([]string{"10m", "1h", "24h"}, cobra.ShellCompDirectiveNoFileComp)
	cmd.RegisterFlagCompletionFunc("since", spans)
	cmd.RegisterFlagCompletionFunc("tail", cobra.NoFileCompletions)
	return cmd
}

// completeLogs completes the name of a fleet that has, or may have, a log.
func (g *global) completeLogs(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	c, err := g.load()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return logged(c), cobra.ShellCompDirectiveNoFileComp
}

// logged returns the names of the fleets of local processes that are stated or have a log, sorted.
func logged(c *config.Config) []string {
	names := joblog.Fleets(app.LogsDir(c.Data))
	for _, f := range c.Fleets {
		if !f.Away() {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// fleetOfLog returns the fleet that is meant: the named one, or the only one.
func fleetOfLog(c *config.Config, name string) (string, error) {
	names := logged(c)
	for _, f := range c.Fleets {
		if f.Name == name && f.Away() {
			return "", fmt.Errorf("the workers of fleet %s run on AWS and not on this machine: what their jobs print is where "+
				"they run, for instance in CloudWatch Logs", name)
		}
	}
	switch {
	case slices.Contains(names, name):
		return name, nil
	case name == "" && len(names) == 1:
		return names[0], nil
	case name == "" && len(names) > 1:
		return "", fmt.Errorf("there are logs of several fleets, name one: %s", strings.Join(names, ", "))
	}
	text := fmt.Sprintf("there is no log of a fleet %.100q; there is %s", name, orNone(names[:min(maxNamed, len(names))]))
	if name == "" {
		text = fmt.Sprintf("there is no log in %s, and no fleet in the configuration: name it with -f FILE", c.Data)
	}
	if near := config.Suggest(name, names); near != "" {
		text += "; " + near
	}
	return "", errors.New(text)
}

// sinceWhen reads --since.
func sinceWhen(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since: found %.100q, allowed is a duration such as 10m, or a time such as "+
		"2026-01-02T15:04:05Z or 2026-01-02T15:04", text)
}

// run shows the records that are selected.
func (r *reading) run(ctx context.Context, fleet string, out, errOut io.Writer) (err error) {
	if r.q.Since, err = sinceWhen(r.since, time.Now()); err != nil {
		return usage(err)
	}
	if r.tail < 0 || r.tail > maxTail {
		return usage(fmt.Errorf("--tail: found %d, allowed is 0, for all, to %d", r.tail, maxTail))
	}
	c, err := r.g.load()
	if err != nil {
		return err
	}
	if fleet, err = fleetOfLog(c, fleet); err != nil {
		return usage(err)
	}
	show, end := r.printer(out)
	shown, dir := 0, app.LogsDir(c.Data)
	visit := func(record joblog.Record) error {
		shown++
		return show(record)
	}
	last := &lastRecords{most: r.tail, visit: visit}
	if r.follow {
		idle := func() error { return errors.Join(last.flush(), end(false)) }
		err = joblog.Follow(ctx, dir, fleet, r.q, last.take, idle)
		if errors.Is(err, context.Canceled) {
			err = nil // the end of following is an interrupt
		}
		return errors.Join(err, end(true))
	}
	err = errors.Join(joblog.Read(ctx, dir, fleet, r.q, last.take), last.flush(), end(true))
	if err == nil && shown == 0 && !r.g.json() {
		fmt.Fprintf(errOut, "the log of %s has no record%s\n", fleet, r.narrowed())
	}
	return err
}

// narrowed says by what records were left out.
func (r *reading) narrowed() string {
	text := ""
	if r.q.Failed {
		text += " of a failed attempt"
	}
	if r.q.Message != "" {
		text += fmt.Sprintf(" of message %.100s", r.q.Message)
	}
	if r.since != "" {
		text += " since " + r.q.Since.Local().Format("2006-01-02 15:04:05")
	}
	return text
}

// printer returns what shows a record, and what is called when there is none for the moment, or for good.
func (r *reading) printer(out io.Writer) (show func(joblog.Record) error, end func(last bool) error) {
	if r.g.json() {
		lines := json.NewEncoder(out)
		lines.SetEscapeHTML(false)
		return func(record joblog.Record) error { return lines.Encode(record) }, func(bool) error { return nil }
	}
	p := &logPrinter{out: out, failed: r.q.Failed, today: time.Now().Local().Format(time.DateOnly)}
	if r.all {
		return p.print, func(bool) error { return p.err }
	}
	f := &folding{printer: p}
	return f.take, func(last bool) error {
		if last || f.idle() {
			f.end()
		}
		return p.err
	}
}

// lastRecords passes on the last records of a log alone, until it is flushed, and then every one.
type lastRecords struct {
	most    int
	visit   func(joblog.Record) error
	ring    []joblog.Record
	flushed bool
}

func (l *lastRecords) take(r joblog.Record) error {
	if l.most == 0 || l.flushed {
		return l.visit(r)
	}
	if l.ring = append(l.ring, r); len(l.ring) >= 2*l.most {
		l.ring = append(l.ring[:0], l.ring[len(l.ring)-l.most:]...)
	}
	return nil
}

func (l *lastRecords) flush() error {
	if l.flushed {
		return nil
	}
	l.flushed = true
	for _, r := range l.ring[max(0, len(l.ring)-l.most):] {
		if err := l.visit(r); err != nil {
			return err
		}
	}
	l.ring = nil
	return nil
}
