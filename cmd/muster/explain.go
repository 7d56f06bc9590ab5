package main

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/explain"
	"github.com/muster-scale/muster/app/sharing"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
)

// explainCommand is muster explain with its flags. at and seq select a recorded decision; at most one of the three
// modes (one decision, verify, against) applies.
type explainCommand struct {
	at              string
	seq             int64
	verify, against bool
}

// newExplain makes muster explain. It reads the history of the data directory, which needs no running muster up, and
// opens it read-only, so that it never waits for the writer.
func newExplain(g *command.Global) *cobra.Command {
	var x explainCommand
	cmd := &cobra.Command{
		Use:   "explain [FLEET]",
		Short: "Say why a fleet has its size, why not more, and what would change it",
		Long: `Explain says why the current decision of the running muster up has its number, why it is no larger and what would
change it. It also shows the last recorded decision: a hold is recorded once a minute.

If no muster up runs, and with --at or --seq, it explains a decision from the history. With --verify it recomputes every
recorded decision from its recorded inputs and compares the result byte for byte. With --against it shows, for a fleet
in shadow mode (muster up --shadow), when its size differed from what Muster would have set.`,
		Example: "  muster explain thumbnails\n  muster explain thumbnails --at 12:03:10\n  muster explain " +
			"--verify\n  muster explain thumbnails --against",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return x.run(cmd, g, args) },
	}
	cmd.Flags().StringVar(&x.at, "at", "",
		"the decision in force at that time: 15:04:05 today, or 2006-01-02T15:04:05Z")
	cmd.Flags().Int64Var(&x.seq, "seq", 0, "the decision with that sequence number")
	cmd.Flags().BoolVar(&x.against, "against", false,
		"show when the other system had set another size than Muster would have")
	cmd.Flags().BoolVar(&x.verify, "verify", false, "recompute every recorded decision and compare")
	return cmd
}

// run explains one decision, or does what --verify or --against ask. The recorded decision is found first, because the
// explanation of the current one also shows the last recorded one; [explain.Explained.Present] then replaces it by the
// current decision if muster up runs and the user chose none.
func (x explainCommand) run(cmd *cobra.Command, g *command.Global, args []string) error {
	if x.against && (x.verify || x.at != "" || x.seq != 0) {
		return command.Usage(errors.New("--against shows all times at once; leave out --at, --seq and --verify"))
	}
	c, err := g.Place()
	if err != nil {
		return err
	}
	g.PrintFault(cmd.ErrOrStderr())
	path := filepath.Join(c.Data, app.HistoryFile)
	// Several controllers share one history; a controller alone keeps it in a file.
	h, err := sharing.OpenPast(cmd.Context(), c, path)
	if err != nil {
		return err
	}
	defer h.Close()
	fleets, err := h.Fleets(cmd.Context())
	if err != nil {
		return err
	}
	if x.verify {
		return verifyAll(cmd, g, h, fleets)
	}
	fleet, err := explain.FleetOf(fleets, args)
	if err != nil {
		return err
	}
	when, err := explain.Time(x.at)
	if err != nil {
		return err
	}
	if x.against {
		return showAgainst(cmd, g, h, fleet)
	}
	e, err := explain.Find(cmd.Context(), h, fleet, when, x.seq)
	// The user chose no decision, so the current one counts, if there is one.
	if err == nil && when.IsZero() && x.seq == 0 {
		e, err = e.Present(cmd.Context(), c, fleet)
	}
	if err != nil {
		return err
	}
	if g.JSON() {
		return command.PrintJSON(cmd.OutOrStdout(), e)
	}
	e.Print(cmd.OutOrStdout())
	return nil
}

// showAgainst shows when a fleet had another size than Muster would have set.
func showAgainst(cmd *cobra.Command, g *command.Global, h sharing.Past, fleet string) error {
	c, err := explain.Against(cmd.Context(), h, fleet)
	if err != nil {
		return err
	}
	if g.JSON() {
		return command.PrintJSON(cmd.OutOrStdout(), c)
	}
	return explain.PrintContrast(cmd.OutOrStdout(), c)
}

// verifyAll recomputes the recorded decisions of all fleets, and prints the results. The exit code is 1 when a decision
// differs from its record. Decisions that cannot be recomputed are counted and change nothing.
func verifyAll(cmd *cobra.Command, g *command.Global, h sharing.Past, fleets []string) error {
	out := cmd.OutOrStdout()
	all, err := explain.Verify(cmd.Context(), h, fleets, func(v explain.Verified) {
		if !g.JSON() {
			v.Print(out)
		}
	})
	if all != nil && g.JSON() {
		if err := command.PrintJSON(out, all); err != nil {
			return err
		}
	}
	return err
}
