package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/server"
)

// planned is one fleet in the answer of muster plan.
type planned struct {
	Fleet string `json:"fleet"`
	// Current is the size asked for now, Desired what the configuration would ask for.
	Current int  `json:"current"`
	Desired int  `json:"desired"`
	Changes bool `json:"changes"`
	// Outlook is what one worker fewer than desired, that many, and one more would make of the objective.
	Outlook []prospect `json:"outlook"`
	controller.Explanation
}

func newPlan(g *global) *cobra.Command {
	var detailed bool
	cmd := &cobra.Command{
		Use:   "plan -f FILE [FLEET]",
		Short: "Show what a configuration would set now, with the arithmetic",
		Long: `Plan applies the configuration to what is seen now and shows the decision, without doing anything. It sees
through the running muster up, so that a changed configuration can be tried before it is put in force; when
none runs, it opens the data itself. While the file has a fault it plans with the configuration in force. A table says what the objective has to expect of that size, of one worker fewer
and of one more.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := g.needFile("plan"); err != nil {
				return err
			}
			c, err := g.place()
			if err != nil {
				return err
			}
			plans, err := plan(cmd.Context(), g, c)
			if err != nil {
				return err
			}
			g.noted(cmd.ErrOrStderr())
			if len(args) == 1 {
				if plans, err = planOf(plans, args[0]); err != nil {
					return usage(err)
				}
			}
			return showPlans(cmd.OutOrStdout(), g, plans, detailed)
		},
	}
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "end with 3 when the plan changes a size")
	return cmd
}

func planOf(plans []planned, fleet string) ([]planned, error) {
	var names []string
	for _, p := range plans {
		if p.Fleet == fleet {
			return []planned{p}, nil
		}
		names = append(names, p.Fleet)
	}
	return nil, fmt.Errorf("there is no fleet %q in the configuration; there is %s", fleet, orNone(names))
}

func showPlans(out io.Writer, g *global, plans []planned, detailed bool) error {
	changes := false
	for _, p := range plans {
		changes = changes || p.Changes
		if !g.json() {
			fmt.Fprintf(out, "%s: now %d, would be %d\n\n", p.Fleet, p.Current, p.Desired)
			printExplanation(out, p.Explanation)
			if err := printOutlook(out, p.Outlook); err != nil {
				return err
			}
		}
	}
	if g.json() {
		if err := printJSON(out, map[string]any{"fleets": plans}); err != nil {
			return err
		}
	}
	if changes && detailed {
		return &exitError{code: exitChanges}
	}
	return nil
}

// plan decides for every fleet on what is seen now.
func plan(ctx context.Context, g *global, c *config.Config) ([]planned, error) {
	var s server.Status
	err := g.get(ctx, c, "/v1/status", &s)
	switch {
	case errors.Is(err, errNotRunning) && g.fault != nil:
		return nil, usage(g.fault)
	case errors.Is(err, errNotRunning):
		return planHere(ctx, c)
	case err != nil:
		return nil, err
	case g.fault != nil:
		return planInForce(ctx, c, s)
	}
	seen := map[string]muster.Observation{}
	for _, f := range s.Fleets {
		if f.Ready {
			seen[f.Name] = f.Observation
		}
	}
	plans := []planned{}
	for _, f := range c.Fleets {
		o, ok := seen[f.Name]
		if !ok {
			return nil, fmt.Errorf("the running muster up has not seen a fleet %q; start it with this configuration, or stop it to plan from the data alone", f.Name)
		}
		o.Objective, o.Limits = f.Objective, f.Limits
		one, err := planWith(ctx, c, f.Policy, o)
		if err != nil {
			return nil, err
		}
		plans = append(plans, one)
	}
	return plans, nil
}

// planInForce decides for every fleet of the running program with the policy that it was last seen to have.
func planInForce(ctx context.Context, c *config.Config, s server.Status) ([]planned, error) {
	plans := []planned{}
	for _, f := range s.Fleets {
		if !f.Ready || !f.Sized() {
			continue
		}
		spec, err := specOf(f)
		if err != nil {
			return nil, err
		}
		one, err := planWith(ctx, c, spec, f.Observation)
		if err != nil {
			return nil, err
		}
		plans = append(plans, one)
	}
	return plans, nil
}

// planWith decides with a policy on what was seen of a fleet.
func planWith(ctx context.Context, c *config.Config, spec policy.Spec, o muster.Observation) (planned, error) {
	recent, err := recentOf(ctx, c, o.Fleet, spec)
	if err != nil {
		return planned{}, err
	}
	p, err := policy.New(spec)
	if err != nil {
		return planned{}, err
	}
	return planned1(o.Fleet, spec, controller.ExplainDecision(p, o, recent, p.Decide(o, recent))), nil
}

// specOf is the policy in force of a fleet of the running program.
func specOf(f server.FleetStatus) (spec policy.Spec, err error) {
	if err := json.Unmarshal(f.Policy, &spec); err != nil {
		return spec, fmt.Errorf("fleet %s: read the policy in force: %w; is the running muster up of this version?", f.Name, err)
	}
	return spec, nil
}

func planned1(fleet string, spec policy.Spec, e controller.Explanation) planned {
	d := e.Decision
	return planned{Fleet: fleet, Current: d.Previous, Desired: d.Desired, Changes: d.Desired != d.Previous,
		Outlook: prospects(e.Observation, d.Desired, spec.PricePerHour), Explanation: e}
}

// recentOf reads what the fleet's policy would remember.
func recentOf(ctx context.Context, c *config.Config, fleet string, spec policy.Spec) (muster.Recent, error) {
	path := filepath.Join(c.Data, app.HistoryFile)
	if _, err := os.Stat(path); err != nil {
		return nil, nil
	}
	h, err := history.OpenReadOnly(path)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	var recent muster.Recent
	var failure error
	err = h.Read(ctx, fleet, time.Now().Add(-spec.Memory()-2*time.Minute), func(r muster.Record) bool {
		if _, lost := controller.Unencodable(r); r.Kind == muster.Decided && !lost {
			var d muster.Decision
			d, _, failure = controller.Recompute(r, nil)
			recent = recent.With(d, spec.Memory())
		}
		return failure == nil
	})
	return recent, errors.Join(err, failure)
}

// planHere opens the data as muster up would, looks once, and steps without executing anything.
func planHere(ctx context.Context, c *config.Config) ([]planned, error) {
	c.Listen = config.Listen{Queue: "127.0.0.1:0", API: "127.0.0.1:0"} // nothing is served
	o := app.Options{Logger: slog.New(slog.DiscardHandler), Look: true}
	if _, err := os.Stat(c.Data); errors.Is(err, os.ErrNotExist) {
		// Nothing ran here yet: the plan is for an empty set-up, and leaves nothing behind.
		dir, err := os.MkdirTemp("", "muster-plan-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		c.Data, o.Ephemeral, o.Look = dir, true, false
	}
	a, err := app.Open(ctx, c, o)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	plans := []planned{}
	for _, f := range c.Fleets {
		o, err := a.Preview(ctx, f)
		if err != nil {
			return nil, err
		}
		p, err := policy.New(o.Spec)
		if err != nil {
			return nil, err
		}
		plans = append(plans, planned1(f.Name, o.Spec, controller.ExplainDecision(p, o.Observation, o.Recent, o.Decision)))
	}
	return plans, nil
}
