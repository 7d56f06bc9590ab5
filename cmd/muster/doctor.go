package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/doctor"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/server"
)

// newDoctor makes muster doctor. It needs a valid configuration, unlike status. [doctor.Examine] reads each system
// once; a running muster up adds what it knows of itself. Exit code 1 means that at least one finding is wrong; notes
// and unchecked findings leave it at 0.
func newDoctor(g *command.Global) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor -f FILE",
		Short: "Check, without changing anything, whether a configuration can work",
		Long: `Doctor checks what can be checked without a write: credentials and region, whether the queues, groups, clusters
and services exist and may be read, which other systems size them, and what each source and fleet can do. It changes
nothing. It lists the permissions that only a write could check.

Each line begins with a level: wrong (a problem), unchecked, note or ok.

Exit codes: 0 no problem, 1 a problem was found, 2 wrong usage or configuration.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := g.NeedFile("doctor"); err != nil {
				return err
			}
			c, err := g.Load()
			if err != nil {
				return err
			}
			found := append(doctor.Examine(cmd.Context(), c), running(cmd.Context(), g, c)...)
			return showFindings(cmd.OutOrStdout(), g, found)
		},
	}
}

// running returns the problems that the running muster up reports, or a note when none runs.
func running(ctx context.Context, g *command.Global, c *config.Config) []doctor.Finding {
	var s server.Status
	switch err := client.Get(ctx, c, "/v1/status", &s); {
	// Doctor is for the time before the first start, so this is no problem.
	case errors.Is(err, client.ErrNotRunning):
		return doctor.NotRunning(nil)
	case err != nil:
		return doctor.NotRunning(err)
	}
	return doctor.Running(s)
}

// showFindings prints the findings, the gravest first, and returns an error when one is wrong. The error comes after
// the output, so that the last line on the terminal is the verdict.
func showFindings(out io.Writer, g *command.Global, all []doctor.Finding) error {
	wrong := doctor.CountWrong(all)
	if g.JSON() {
		if err := command.PrintJSON(out, map[string]any{"findings": all, "wrong": wrong}); err != nil {
			return err
		}
	} else {
		fmt.Fprint(out, doctor.Lines(all))
	}
	// With -o json the number of problems is part of the result too.
	if wrong > 0 {
		return &command.Exit{Code: command.ExitFailed,
			Err: fmt.Errorf("doctor: %s found", render.Plural(wrong, "problem"))}
	}
	return nil
}
