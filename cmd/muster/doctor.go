package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/doctor"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/server"
)

func newDoctor(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor -f FILE",
		Short: "Check, without changing anything, whether a configuration can work",
		Long: `Doctor checks what can be known before the first write: whether there are credentials and a region, whether the
queues, groups, clusters and services exist and may be read, who else sizes them, and what each source and fleet can do.
It changes nothing. It names what only a write could show.

It ends with exit code 1 when it finds a problem.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := g.needFile("doctor"); err != nil {
				return err
			}
			c, err := g.load()
			if err != nil {
				return err
			}
			found := append(doctor.Examine(cmd.Context(), c), running(cmd.Context(), g, c)...)
			return showFindings(cmd.OutOrStdout(), g, found)
		},
	}
}

// running asks the running muster up, if there is one, for its problems.
func running(ctx context.Context, g *global, c *config.Config) []doctor.Finding {
	var s server.Status
	switch err := client.Get(ctx, c, "/v1/status", &s); {
	case errors.Is(err, client.ErrNotRunning):
		return doctor.NotRunning(nil)
	case err != nil:
		return doctor.NotRunning(err)
	}
	return doctor.Running(s)
}

func showFindings(out io.Writer, g *global, all []doctor.Finding) error {
	wrong := doctor.CountWrong(all)
	if g.json() {
		if err := printJSON(out, map[string]any{"findings": all, "wrong": wrong}); err != nil {
			return err
		}
	} else {
		fmt.Fprint(out, doctor.Lines(all))
	}
	if wrong > 0 {
		return &exitError{exitFailed, fmt.Errorf("doctor: %s found", render.Plural(wrong, "problem"))}
	}
	return nil
}
