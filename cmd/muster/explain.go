package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/history"
)

func newExplain(g *global) *cobra.Command {
	var (
		at      string
		seq     int64
		verify  bool
		against bool
	)
	cmd := &cobra.Command{
		Use:   "explain [FLEET]",
		Short: "Say why a fleet has its size, why not more, and what would change it",
		Long: `Explain says why the present decision of the running muster up has its number, why it is no larger and what would
change it, and which decision was recorded last: a hold is recorded once a minute. When none runs, and with --at or
--seq, it reads a decision back from the history. With --verify it recomputes every recorded decision from its
recorded inputs and compares the result byte for byte. With --against it shows, for a fleet that is sized by
another system and watched (muster up --shadow), when its size differed from what Muster would have asked for.`,
		Example: "  muster explain thumbnails\n  muster explain thumbnails --at 12:03:10\n  muster explain --verify\n  muster explain thumbnails --against",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if against && (verify || at != "" || seq != 0) {
				return usage(errors.New("--against shows all times at once; leave out --at, --seq and --verify"))
			}
			c, err := g.place()
			if err != nil {
				return err
			}
			g.noted(cmd.ErrOrStderr())
			path := filepath.Join(c.Data, app.HistoryFile)
			if _, err := os.Stat(path); err != nil {
				return fmt.Errorf("there is no history in %s yet; muster up keeps it there", c.Data)
			}
			h, err := history.OpenReadOnly(path)
			if err != nil {
				return err
			}
			defer h.Close()
			fleets, err := h.Fleets(cmd.Context())
			if err != nil {
				return err
			}
			if verify {
				return verifyAll(cmd.Context(), g, h, fleets, cmd.OutOrStdout())
			}
			fleet, err := oneOf(fleets, args)
			if err != nil {
				return usage(err)
			}
			when, err := parseAt(at)
			if err != nil {
				return usage(err)
			}
			if against {
				return showAgainst(cmd.Context(), g, h, fleet, cmd.OutOrStdout())
			}
			e, err := explain(cmd.Context(), h, fleet, when, seq)
			if err != nil {
				return err
			}
			if when.IsZero() && seq == 0 {
				if e, err = e.present(cmd.Context(), g, c, fleet); err != nil {
					return err
				}
			}
			if g.json() {
				return printJSON(cmd.OutOrStdout(), e)
			}
			printExplanation(cmd.OutOrStdout(), e.Explanation)
			e.printRecorded(cmd.OutOrStdout())
			e.Incidents.print(cmd.OutOrStdout())
			return nil
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "the decision in force at that time: 15:04:05 today, or 2006-01-02T15:04:05Z")
	cmd.Flags().Int64Var(&seq, "seq", 0, "the decision with that sequence number")
	cmd.Flags().BoolVar(&against, "against", false, "show when the system in charge had another size than Muster would have asked for")
	cmd.Flags().BoolVar(&verify, "verify", false, "recompute every recorded decision and compare")
	return cmd
}

// oneOf returns the fleet that was named, or the only one there is.
func oneOf(fleets, args []string) (string, error) {
	switch {
	case len(args) == 1 && slices.Contains(fleets, args[0]):
		return args[0], nil
	case len(args) == 1:
		return "", fmt.Errorf("there is no fleet %q in the history; there is %s", args[0], orNone(fleets))
	case len(fleets) == 1:
		return fleets[0], nil
	}
	return "", fmt.Errorf("name a fleet; there is %s", orNone(fleets))
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none yet"
	}
	return strings.Join(names, ", ")
}

func parseAt(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at, nil
	}
	now := time.Now()
	at, err := time.ParseInLocation("2006-01-02 15:04:05", now.Format("2006-01-02 ")+text, time.Local)
	if err != nil {
		return at, fmt.Errorf("--at: found %q, allowed is a time of today such as 12:03:10, or 2026-03-01T12:03:10Z", text)
	}
	return at, nil
}

// errNoDecision means that the history holds no decision that was asked for.
var errNoDecision = errors.New("the history holds no such decision")

// explained is the explanation of a decision, with what went wrong at workers about that time.
type explained struct {
	controller.Explanation
	// Recorded is the decision that was recorded last, where the one that is explained is the present one of the running program,
	// which has no position.
	Recorded  *recordedDecision `json:"recorded,omitzero"`
	Incidents pastIncidents     `json:"incidents,omitzero"`
}

// explain finds the decision and what its policy remembered.
func explain(ctx context.Context, h *history.Reader, fleet string, at time.Time, seq int64) (explained, error) {
	var found *muster.Record
	var incidents pastIncidents
	var recent, before muster.Recent
	var failure error
	change := ""
	err := h.Read(ctx, fleet, time.Time{}, func(r muster.Record) bool {
		if r.Kind != muster.Decided {
			failure = incidents.see(r)
			return failure == nil
		}
		if (!at.IsZero() && r.At.After(at)) || (seq > 0 && r.Position.Seq > seq) {
			return false
		}
		if _, lost := controller.Unencodable(r); lost && r.Position.Seq != seq {
			return true // it was a hold, and says nothing more
		}
		recorded, _, err := controller.Recompute(r, recent)
		if err != nil {
			failure = err
			return false
		}
		found, before = &r, recent
		if recorded.Verdict == muster.Apply {
			change = r.At.Local().Format("15:04:05") + " " + recorded.Sentence()
		}
		recent = recent.With(recorded, 25*time.Hour)
		return true
	})
	switch {
	case err != nil || failure != nil:
		return explained{}, errors.Join(err, failure)
	case found == nil || seq > 0 && found.Position.Seq != seq:
		return explained{}, fmt.Errorf("fleet %s: %w", fleet, errNoDecision)
	}
	explanation, err := controller.Explain(*found, before)
	e := explained{Explanation: explanation, Incidents: incidents.around(found.At)}
	if e.Decision.Verdict == muster.Hold {
		e.LastChange = change
	}
	return e, err
}

func printExplanation(w io.Writer, e controller.Explanation) {
	d := e.Decision
	what := "now"
	if e.Position != (muster.Position{}) {
		what = fmt.Sprintf("decision %d.%d", e.Position.Epoch, e.Position.Seq)
	}
	fmt.Fprintf(w, "%s at %s (%s, %s)\n\n", d.Fleet, d.At.Local().Format("2006-01-02 15:04:05.000"), what, d.Policy)
	fmt.Fprintf(w, "  %s\n", e.Why)
	if e.LastChange != "" {
		fmt.Fprintf(w, "  last decision that changed it: %s\n", e.LastChange)
	}
	if c := e.Observation.Capacity; !c.Known && c.Reason != "" {
		fmt.Fprintf(w, "  members: %s\n", c.Reason)
	}
	for _, note := range e.Observation.Notes {
		fmt.Fprintf(w, "  note: %s\n", note)
	}
	printProgress(w, e.Observation, false)
	fmt.Fprintf(w, "\nwhy this number\n")
	for _, t := range d.Trail {
		fmt.Fprintf(w, "  %-22s %s = %d\n", t.Rule, values(t.In), t.Out)
		if t.Why != "" {
			fmt.Fprintf(w, "  %-22s %s\n", "", t.Why)
		}
	}
	if line := classesLine(e.Observation); line != "" {
		fmt.Fprintf(w, "  classes: %s\n", line)
	}
	if line := crowdsLine(e.Observation); line != "" {
		fmt.Fprintf(w, "  durations by messages in progress: %s\n", line)
	}
	fmt.Fprintf(w, "\nwhy not more\n  %s\n\nwhat would change it\n", e.WhyNotMore)
	for _, c := range e.Changes {
		fmt.Fprintf(w, "  %s\n", c.Sentence)
	}
	if len(e.Changes) == 0 {
		fmt.Fprintln(w, "  no other backlog would have, at that instant")
	}
}

func values(in []muster.Value) string {
	var parts []string
	for _, v := range in {
		parts = append(parts, v.Name+" "+muster.Number(v.Value))
	}
	return strings.Join(parts, ", ")
}

func verifyAll(ctx context.Context, g *global, h *history.Reader, fleets []string, out io.Writer) error {
	type result struct {
		Fleet    string `json:"fleet"`
		Verified int    `json:"verified"`
		// Skipped could not be checked: what their policy remembered was removed with old records, or it has another revision now.
		Skipped int    `json:"skipped"`
		Failure string `json:"failure,omitzero"`
	}
	results := []result{}
	var failures []error
	for _, fleet := range fleets {
		var records []muster.Record
		if err := h.Read(ctx, fleet, time.Time{}, func(r muster.Record) bool { records = append(records, r); return true }); err != nil {
			return err
		}
		n, skipped, err := controller.Verify(records)
		r := result{Fleet: fleet, Verified: n, Skipped: skipped}
		if err != nil {
			r.Failure = err.Error()
			failures = append(failures, fmt.Errorf("fleet %s: %w", fleet, err))
		} else if !g.json() {
			fmt.Fprintf(out, "%s: all %s recompute to the same bytes\n", fleet, muster.Plural(n, "recorded decision"))
			if skipped > 0 {
				fmt.Fprintf(out, "%s: %d more could not be checked, because what they remembered was removed with old records, or their policy had another revision\n", fleet, skipped)
			}
		}
		results = append(results, r)
	}
	if g.json() {
		if err := printJSON(out, results); err != nil {
			return err
		}
	}
	return errors.Join(failures...)
}
