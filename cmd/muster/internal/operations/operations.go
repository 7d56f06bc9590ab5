package operations

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/operate"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/server"
)

// adding makes a command that adds an override of a kind, and returns the request for further flags. length is the
// default of --for: an instruction without an end would be forgotten.
func adding(g *command.Global, k override.Kind, cmd *cobra.Command, length time.Duration) (*cobra.Command,
	*operate.Request) {
	x := &operate.Request{Kind: k, Min: -1, Max: -1}
	cmd.Args, cmd.ValidArgsFunction = cobra.ExactArgs(1), completeFleets(g)
	f := cmd.Flags()
	f.DurationVar(&x.For, "for", length, "how long it lasts, at most 720h")
	f.StringVar(&x.Reason, "reason", "", "why; every decision and list shows it")
	f.StringVar(&x.At, "at", "", "when it begins: a time of day such as 14:00, or 2026-11-24T14:00:00Z (default: now)")
	f.BoolVar(&x.Plan, "plan", false, "change nothing, and print what would change")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := g.Place()
		if err != nil {
			return err
		}
		x.Fleet = args[0]
		a, err := operate.Add(cmd.Context(), c, *x, time.Now())
		if err != nil {
			return err
		}
		return answered(g, cmd, x.Fleet, a, false)
	}
	return cmd, x
}

// answered prints the answer to a request.
func answered(g *command.Global, cmd *cobra.Command, fleet string, a server.OverrideAnswer, cancelled bool) error {
	if g.JSON() {
		return command.PrintJSON(cmd.OutOrStdout(), a)
	}
	operate.PrintAnswer(cmd.OutOrStdout(), fleet, a, cancelled, time.Now())
	return nil
}

// cancelling adds --cancel to a command, which then ends the override with that id.
func cancelling(g *command.Global, cmd *cobra.Command) *cobra.Command {
	id, otherwise := "", cmd.RunE
	cmd.Flags().StringVar(&id, "cancel", "", "end the override with this id")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if id == "" {
			return otherwise(cmd, args)
		}
		plan, _ := cmd.Flags().GetBool("plan")
		c, err := g.Place()
		if err != nil {
			return err
		}
		a, err := operate.Cancel(cmd.Context(), c, args[0], id, plan)
		if err != nil {
			return err
		}
		return answered(g, cmd, args[0], a, true)
	}
	return cmd
}

// completeFleets completes the name of a fleet of the configuration.
func completeFleets(g *command.Global) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		if c, err := g.Load(); err == nil && len(args) == 0 {
			for _, f := range c.Fleets {
				names = append(names, f.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// NewReserve makes muster reserve.
func NewReserve(g *command.Global) *cobra.Command {
	cmd, x := adding(g, override.Reserve, &cobra.Command{
		Use: "reserve FLEET --workers N", Short: "Have workers in service at a time, before the work comes",
		Long: `Reserve keeps at least that many workers in service from its begin to its end, within the maximum, the budget
and the launches of an hour. It launches them one slow boot ahead, and prints how many are granted and when they are in
service. It ends early once all of them were busy: from then on demand alone sizes the fleet. See docs/overrides.md.`,
		Example: `  muster reserve thumbs --workers 40 --at 14:00 --for 30m --reason newsletter
  muster reserve thumbs --cancel reserve-4711`,
	}, 30*time.Minute)
	cmd.Flags().IntVar(&x.Workers, "workers", 0, "how many workers must be in service, those that work included")
	return cancelling(g, cmd)
}

// NewPause makes muster pause. An hour is the default, because a pause that no operator ends must end by itself.
func NewPause(g *command.Global) *cobra.Command {
	cmd, _ := adding(g, override.Pause, &cobra.Command{
		Use: "pause FLEET", Short: "Hold the size of a fleet for a time",
		Example: `  muster pause thumbs --for 20m --reason "database migration"`,
	}, time.Hour)
	return cmd
}

// NewLimits makes muster limits.
func NewLimits(g *command.Global) *cobra.Command {
	cmd, x := adding(g, override.Limits, &cobra.Command{
		Use: "limits FLEET", Short: "Narrow the limits of a fleet for a time",
		Example: `  muster limits thumbs --max 20 --for 1h --reason "slow database"`,
	}, time.Hour)
	cmd.Flags().IntVar(&x.Min, "min", -1, "the fewest workers; -1 keeps the configured minimum")
	cmd.Flags().IntVar(&x.Max, "max", -1, "the most workers; -1 keeps the configured maximum")
	return cmd
}

// NewHold makes muster hold. Launches go on during a hold, so that new work is not late.
func NewHold(g *command.Global) *cobra.Command {
	cmd, _ := adding(g, override.HoldScaleIn, &cobra.Command{
		Use: "hold FLEET", Short: "Hold the scale-in of a fleet for a time, as during a rollout",
		Example: `  muster hold thumbs --for 30m --reason rollout`,
	}, 30*time.Minute)
	return cmd
}

// NewRelease makes muster release. It is no override and has no end: a worker that has gone does not come back, so the
// request is neither listed nor cancelled. The reason may be empty, because scripts that see a broken host need none;
// the page of the dashboard asks people for one.
func NewRelease(g *command.Global) *cobra.Command {
	reason, plan := "", false
	cmd := &cobra.Command{
		Use: "release FLEET WORKER", Short: "Let one worker finish its messages and go",
		Long: `Release asks a worker to take no more messages, to finish those that it has, and to go. A busy worker
is never stopped. It is replaced if the work needs it. The request cannot be taken back. muster status -o json
and muster logs have the names of the workers. See docs/overrides.md.`,
		Example: `  muster release thumbs thumbs.1.4.2 --reason "its disk is full"`,
		Args:    cobra.ExactArgs(2), ValidArgsFunction: completeFleets(g),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := g.Place()
			if err != nil {
				return err
			}
			a, err := operate.Release(cmd.Context(), c, args[0], args[1], reason, plan)
			switch {
			case err != nil:
				return err
			case g.JSON():
				return command.PrintJSON(cmd.OutOrStdout(), a)
			}
			operate.PrintRelease(cmd.OutOrStdout(), args[1], a)
			return nil
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; the decision, the history and the log keep it")
	cmd.Flags().BoolVar(&plan, "plan", false, "change nothing, and print what would change")
	return cmd
}

// NewResume makes muster resume. It ends what holds the size, and leaves reservations and limits as they are.
func NewResume(g *command.Global) *cobra.Command {
	return listing(g, "resume FLEET", "End the pauses and the holds of scale-in of a fleet",
		func(cmd *cobra.Command, c *config.Config, fleet string, plan bool) error {
			ended, err := operate.Resume(cmd.Context(), c, fleet, plan)
			if err == nil && g.JSON() {
				return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"ended": ended})
			}
			for _, a := range ended {
				operate.PrintAnswer(cmd.OutOrStdout(), fleet, a, true, time.Now())
			}
			if err == nil && len(ended) == 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "%s is neither paused nor held\n", fleet)
			}
			return err
		})
}

// NewOverrides makes muster overrides, which lists and cancels overrides of all kinds.
func NewOverrides(g *command.Global) *cobra.Command {
	return cancelling(g, listing(g, "overrides FLEET", "List the reservations, pauses, limits and holds of a fleet",
		func(cmd *cobra.Command, c *config.Config, fleet string, _ bool) error {
			all, err := operate.List(cmd.Context(), c, fleet)
			if err == nil && g.JSON() {
				return command.PrintJSON(cmd.OutOrStdout(), all)
			}
			if err == nil {
				operate.PrintList(cmd.OutOrStdout(), all)
			}
			return err
		}))
}

// listing makes a command about the present overrides of a fleet.
func listing(g *command.Global, use, short string,
	run func(*cobra.Command, *config.Config, string, bool) error) *cobra.Command {
	plan := false
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: completeFleets(g)}
	cmd.Flags().BoolVar(&plan, "plan", false, "change nothing, and print what would change")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := g.Place()
		if err != nil {
			return err
		}
		return run(cmd, c, args[0], plan)
	}
	return cmd
}

// NewGuard makes muster guard. Exit code 4 means busy; the judgement is printed in both cases.
func NewGuard(g *command.Global) *cobra.Command {
	var wait, hold time.Duration
	x := operate.Request{Kind: override.HoldScaleIn}
	cmd := &cobra.Command{
		Use: "guard FLEET", Short: "Say whether a fleet is quiet enough for a deployment: exit code 0, or 4 if busy",
		Long: `Guard says whether a fleet is quiet, with the evidence of each check: it is sized, its size does not change,
no worker is busy, no message waits or is in flight, and the workers of this machine wrote nothing to their log for 30
seconds. Unknown counts as busy. See docs/deployments.md.`,
		Example: `  muster guard thumbs --wait 20m --hold-scale-in 30m && ./deploy.sh`,
		Args:    cobra.ExactArgs(1), ValidArgsFunction: completeFleets(g),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := g.Place()
			if err != nil {
				return err
			}
			switch {
			case wait < 0:
				return misuse.Setting("wait", "found %s, allowed is 0s or more", wait)
			case hold < 0 || hold > override.Longest:
				return misuse.Setting("hold-scale-in", "found %s, allowed is at most %s", hold, override.Longest)
			// The hold would be over before a late answer. The deployment would then begin without it, unnoticed.
			case hold > 0 && hold <= wait:
				return misuse.Setting("hold-scale-in", "found %s, it begins before --wait %s and must last longer",
					hold, wait)
			}
			// The hold comes first, so that the fleet cannot begin to shrink after the answer.
			var held server.OverrideAnswer
			if x.Fleet, x.For = args[0], hold; hold != 0 {
				if held, err = operate.Add(cmd.Context(), c, x, time.Now()); err != nil {
					return err
				}
			}
			j, err := operate.Guard(cmd.Context(), c, args[0], wait, cmd.ErrOrStderr())
			switch {
			case err != nil:
			case g.JSON():
				err = command.PrintJSON(cmd.OutOrStdout(), j)
			default:
				err = operate.PrintJudgement(cmd.OutOrStdout(), j)
			}
			if err == nil && !j.Quiet {
				err = &command.Exit{Code: command.ExitThreshold}
			}
			// There will be no deployment, and the next try makes a hold of its own. An interrupt ends the hold too.
			if id := held.Override.ID; id != "" && !j.Quiet {
				ctx := context.WithoutCancel(cmd.Context())
				if _, failed := operate.Cancel(ctx, c, args[0], id, false); failed != nil {
					return fmt.Errorf("end the hold %s: %w", id, failed)
				}
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "ask until the fleet is quiet, for at most so long")
	cmd.Flags().DurationVar(&hold, "hold-scale-in", 0, "first hold the scale-in of the fleet for so long")
	cmd.Flags().StringVar(&x.Reason, "reason", "deployment", "why its scale-in is held")
	return cmd
}
