package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/demo"
	"github.com/muster-scale/muster/app/validate"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
)

// newValidate makes muster validate, which is hidden: it is for work on the simulator. It needs an idle machine,
// because real processes share its cores with everything else. Exit code 1 means that the simulator disagrees with
// reality by more than allowed.
func newValidate(g *command.Global) *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use: "validate", Hidden: true, Args: cobra.NoArgs,
		Short: "Compare the simulator with reality: the demo and a steady run, for real and simulated",
		Long: `Validate runs the demo several times with real queues and worker processes. It simulates each run with the boot
and processing times that were measured in it, and compares worker-seconds and the 95th percentile of the time from sent
to finished. It fails if the median difference exceeds --within.

Then it sends messages of 20 ms at an even rate to workers that take seconds to start, and compares the peak of workers,
the launches, the worker-seconds and the share in time with those of the simulator. It fails if they differ by more than
the table allows, or if the peak exceeds the load by more than a few workers.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return command.Usage(err)
			}
			return runValidate(cmd, g, o)
		},
	}
	cmd.Flags().IntVar(&o.repetitions, "repetitions", 5, "how often the demo is run; 0 leaves it out")
	cmd.Flags().Float64Var(&o.within, "within", 0.05, "the largest difference in the demo, as a share")
	cmd.Flags().DurationVar(&o.steady, "steady", 2*time.Minute,
		"how long messages are sent in the steady run; 0 leaves it out")
	cmd.AddCommand(newSleepLines())
	return cmd
}

// validateOptions are the flags of validate.
type validateOptions struct {
	// repetitions is how often the demo runs; within is the largest allowed difference, as a share; steady is how long
	// the steady run sends messages. 0 leaves out the demo or the steady run.
	repetitions int
	within      float64
	steady      time.Duration
}

// check checks the values of the flags.
func (o validateOptions) check() error {
	switch {
	case o.repetitions < 0 || o.repetitions > 100:
		return fmt.Errorf("--repetitions: found %d, allowed is 0 to 100", o.repetitions)
	case !(o.within > 0 && o.within < 1):
		return fmt.Errorf("--within: found %v, allowed is a share above 0 and below 1, such as 0.05", o.within)
	case o.steady != 0 && (o.steady < 10*time.Second || o.steady > 10*time.Minute):
		return fmt.Errorf("--steady: found %s, allowed is 0 for none, or 10s to 10m", o.steady)
	case o.steady == 0 && o.repetitions == 0:
		return errors.New("--repetitions and --steady: found 0 for both, which leaves nothing to compare; give one " +
			"of them")
	}
	return nil
}

// runValidate makes the requested runs, prints them and returns disagreements. A disagreement in the demo does not skip
// the steady run: its figures may show why.
func runValidate(cmd *cobra.Command, g *command.Global, o validateOptions) error {
	out := cmd.OutOrStdout()
	var rows []validate.Figure
	var steady *validate.Steady
	var err error
	if o.repetitions > 0 {
		if rows, err = validate.Demo(cmd.Context(), o.repetitions, cmd.ErrOrStderr()); err != nil {
			return err
		}
		if !g.JSON() {
			err = validate.PrintDemo(out, rows, o.repetitions)
		}
		err = errors.Join(err, validate.Disagreement(rows, o.within))
	}
	if o.steady > 0 {
		// A failed run has no result to print, unlike a run that disagrees with the simulator.
		var failed error
		if steady, failed = validate.CompareSteady(cmd.Context(), o.steady, cmd.ErrOrStderr()); failed != nil {
			return errors.Join(err, failed)
		}
		if !g.JSON() {
			err = errors.Join(err, steady.Print(out))
		}
		err = errors.Join(err, steady.Disagreement())
	}
	if g.JSON() {
		err = errors.Join(command.PrintJSON(out, map[string]any{"demo": rows, "steady": steady}), err)
	}
	return err
}

// newSleepLines is the program of the workers in the steady run of validate: it speaks JSON lines, as
// docs/worker-protocol.md specifies them.
func newSleepLines() *cobra.Command {
	var start time.Duration
	cmd := &cobra.Command{
		Use: "sleep-lines", Hidden: true, Args: cobra.NoArgs,
		Short: "Speak JSON lines, and sleep for the duration that each message holds",
		Long: `Sleep-lines is a program for muster work --json-lines. It takes as long to start as --start says. With
MUSTER_DONE_LOG set it adds a line to that file for each message, as muster sleep-body does.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var log io.Writer
			if path := os.Getenv(demo.DoneVariable); path != "" {
				f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
				if err != nil {
					return err
				}
				defer f.Close()
				log = f
			}
			// This stands for a slow boot: the worker is not ready before.
			time.Sleep(start)
			return validate.SleepLines(cmd.InOrStdin(), cmd.OutOrStdout(), log, os.Getppid())
		},
	}
	cmd.Flags().DurationVar(&start, "start", 0, "how long it takes to start")
	return cmd
}
