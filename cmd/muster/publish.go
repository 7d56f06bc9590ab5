package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/policy"
)

// published is one fleet in the answer of muster publish.
type published struct {
	Fleet string `json:"fleet"`
	// Target is what AWS tracks; absent where nothing is delegated or it is not known.
	Target float64 `json:"target,omitzero"`
	// Backlog is absent where it is unknown; Unknown then says why.
	Backlog *float64 `json:"backlog,omitempty"`
	Unknown string   `json:"unknown,omitzero"`
	// InService and Slots are members in service and their slots.
	InService int `json:"in_service"`
	Slots     int `json:"slots"`
	// Failure says why something was not published; empty otherwise.
	Failure string `json:"failure,omitzero"`
}

func newPublish(g *global) *cobra.Command {
	lines := false
	cmd := &cobra.Command{
		Use:   "publish -f FILE [FLEET...]",
		Short: "Publish the metrics of fleets once, for cron",
		Long: `Publish looks once at the queues and the members of fleets, publishes backlog per worker, acceptable backlog per
worker, mean processing duration, workers and utilization to CloudWatch, and ends. For a fleet with delegate it also
sees to the scaling policy and its target, when that differs by more than delegate.change. It sets no size.

It sees through the running muster up; when none runs, it looks itself. With --emf the metrics are written to
standard output as lines in the embedded metric format, for CloudWatch Logs, and not sent. A cron line for each minute:

  * * * * * muster publish -f /etc/muster.yaml`,
		Example: "  muster publish -f muster.yaml\n  muster publish -f muster.yaml --emf thumbnails",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := g.needFile("publish"); err != nil {
				return err
			}
			c, err := g.load()
			if err != nil {
				return err
			}
			var out io.Writer
			if lines {
				out = cmd.OutOrStdout()
			}
			all, err := publish(cmd, g, c, args, out)
			if err != nil {
				return err
			}
			return showPublished(cmd, g, all, lines)
		},
	}
	cmd.Flags().BoolVar(&lines, "emf", false, "write the metrics as lines in the embedded metric format, in place of sending them")
	return cmd
}

// publish does one round for the named fleets, or for all.
func publish(cmd *cobra.Command, g *global, c *config.Config, names []string, lines io.Writer) ([]published, error) {
	fleets := map[string]config.Fleet{}
	for _, f := range c.Fleets {
		fleets[f.Name] = f
	}
	plans, err := plan(cmd.Context(), g, c)
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		var some []planned
		for _, name := range names {
			one, err := planOf(plans, name)
			if err != nil {
				return nil, usage(err)
			}
			some = append(some, one...)
		}
		plans = some
	}
	aws := app.NewAWS(c.AWS)
	all := []published{}
	for _, p := range plans {
		h := muster.HandoverOf("publish", p.Observation, policy.TargetOf(p.Decision))
		one := published{Fleet: p.Fleet, Target: h.Target, InService: h.Capacity.InService(), Slots: h.Capacity.Slots}
		if one.Unknown = h.Capacity.Reason; h.Backlog.Known {
			one.Backlog = &h.Backlog.Value
		} else {
			one.Unknown = h.Backlog.Reason
		}
		if err := handOnce(cmd.Context(), aws, fleets[p.Fleet], h, lines); err != nil {
			one.Failure = err.Error()
		}
		all = append(all, one)
	}
	return all, nil
}

// handOnce publishes what is known of a fleet, and sees to its scaling policy where it has one.
func handOnce(ctx context.Context, aws *app.AWS, f config.Fleet, h muster.Handover, lines io.Writer) error {
	if f.Delegate != nil {
		d, err := aws.Delegate(ctx, f, lines)
		if err != nil {
			return err
		}
		return d.HandOver(ctx, h)
	}
	p, err := aws.Publisher(ctx, f, lines)
	if err != nil {
		return err
	}
	return p.Publish(ctx, h)
}

func showPublished(cmd *cobra.Command, g *global, all []published, lines bool) error {
	out := cmd.OutOrStdout()
	if lines {
		out = cmd.ErrOrStderr() // standard output has the metrics
	}
	failed := 0
	for _, p := range all {
		backlog := "unknown backlog"
		if p.Backlog != nil {
			backlog = "backlog " + muster.Number(*p.Backlog)
		}
		target := ""
		if p.Target > 0 {
			target = ", target " + muster.Number(p.Target)
		}
		if p.Failure != "" {
			failed++
		}
		if g.json() {
			continue
		}
		fmt.Fprintf(out, "%s: %s, %d in service with %s%s\n", p.Fleet, backlog, p.InService, muster.Plural(p.Slots, "slot"), target)
		if p.Unknown != "" {
			fmt.Fprintf(out, "  unknown: %s\n", p.Unknown)
		}
		if p.Failure != "" {
			fmt.Fprintf(out, "  failed: %s\n", p.Failure)
		}
	}
	if g.json() {
		if err := printJSON(out, map[string]any{"fleets": all}); err != nil {
			return err
		}
	}
	if failed > 0 {
		return &exitError{exitFailed, fmt.Errorf("publish: %s of %d failed", muster.Plural(failed, "fleet"), len(all))}
	}
	return nil
}
