package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/explain"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/server"
)

// Fleet is one fleet in the output of muster plan -o json.
type Fleet struct {
	Name string `json:"fleet"`
	// Current is the desired count now, Desired what the configuration would set.
	Current int  `json:"current"`
	Desired int  `json:"desired"`
	Changes bool `json:"changes"`
	// Outlook says what to expect of one worker fewer than Desired, of Desired, and of one more.
	Outlook []Prospect `json:"outlook"`
	audit.Explanation
}

// Make decides for every fleet of the configuration on the current state: that of the muster up which runs with it or,
// when none runs, of the data directory. If the configuration is invalid, fault says why and c only locates muster up.
// Make then plans with the configuration in force, and returns fault when no muster up runs.
// Fleets that other controllers lead are left out, and named in others; when all are, that is an error.
func Make(ctx context.Context, c *config.Config, fault error) (plans []Fleet, others Others, err error) {
	var s server.Status
	err = client.Get(ctx, c, "/v1/status", &s)
	switch {
	case errors.Is(err, client.ErrNotRunning) && fault != nil:
		return nil, nil, misuse.Wrap(fault)
	case errors.Is(err, client.ErrNotRunning):
		plans, err = planHere(ctx, c)
		return plans, nil, err
	case err != nil:
		return nil, nil, err
	// A faulty file has no fleets to plan, but the running program has.
	case fault != nil:
		plans, err = planInForce(ctx, c, s)
		return plans, othersOf(s), err
	}
	others = othersOf(s)
	seen := map[string]muster.Observation{}
	for _, f := range s.Fleets {
		if f.Ready && f.Phase != server.Standby {
			seen[f.Name] = f.Observation
		}
	}
	plans = []Fleet{}
	for _, f := range c.Fleets {
		o, ok := seen[f.Name]
		if !ok && others[f.Name] != "" {
			continue
		}
		if !ok {
			return nil, nil, fmt.Errorf("the running muster up has not seen a fleet %q; start it with this "+
				"configuration, or stop it to plan from the data alone", f.Name)
		}
		// What was measured is kept; what the configuration states is replaced.
		o.Objective, o.Limits = f.Objective, f.Limits
		o.Limits.Min, o.Limits.Max = o.Overrides.Limits(o.At, o.Limits.Min, o.Limits.Max)
		one, err := planWith(ctx, c, f.Policy, o)
		if err != nil {
			return nil, nil, err
		}
		plans = append(plans, one)
	}
	if len(plans) == 0 {
		return plans, others, others.err()
	}
	return plans, others, nil
}

// Others are the fleets that other controllers lead, by name. Each has a sentence that names its leader, which alone
// has the state to plan with.
type Others map[string]string

// othersOf returns the fleets that the running muster up does not lead.
func othersOf(s server.Status) Others {
	others := Others{}
	for _, f := range s.Fleets {
		if f.Phase == server.Standby {
			others[f.Name] = cmp.Or(f.Trouble, server.Standing{Leader: f.Leader}.Elsewhere(f.Name))
		}
	}
	return others
}

// err returns the error that no fleet can be planned; nil if there are no others.
func (o Others) err() error {
	if len(o) == 0 {
		return nil
	}
	return errors.New(strings.Join(o.Sentences(), "\n"))
}

// Sentences returns the sentences, by the names of the fleets.
func (o Others) Sentences() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(o)) {
		all = append(all, o[name])
	}
	return all
}

// planInForce decides for every fleet of the running program with its current policy.
func planInForce(ctx context.Context, c *config.Config, s server.Status) ([]Fleet, error) {
	plans := []Fleet{}
	for _, f := range s.Fleets {
		if !f.Ready || !f.Sized() {
			continue
		}
		spec, err := explain.SpecOf(f)
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

// planWith decides with a policy on an observation of a fleet.
func planWith(ctx context.Context, c *config.Config, spec policy.Spec, o muster.Observation) (Fleet, error) {
	recent, err := explain.RecentOf(ctx, c, o.Fleet, spec)
	if err != nil {
		return Fleet{}, err
	}
	p, err := policy.New(spec)
	if err != nil {
		return Fleet{}, err
	}
	return fleetOf(o.Fleet, spec, audit.ExplainDecision(p, o, recent, p.Decide(o, recent))), nil
}

// fleetOf makes the plan of a fleet from an explained decision.
func fleetOf(fleet string, spec policy.Spec, e audit.Explanation) Fleet {
	d := e.Decision
	return Fleet{Name: fleet, Current: d.Previous, Desired: d.Desired, Changes: d.Desired != d.Previous,
		Outlook: prospects(e.Observation, d.Desired, spec.PricePerHour), Explanation: e}
}

// planHere opens the data as muster up would, reads everything once, and decides without executing anything.
func planHere(ctx context.Context, c *config.Config) ([]Fleet, error) {
	c.Listen = config.Listen{Queue: "127.0.0.1:0", API: "127.0.0.1:0"} // nothing is served
	o := app.Options{Logger: slog.New(slog.DiscardHandler), Look: true}
	if _, err := os.Stat(c.Data); errors.Is(err, os.ErrNotExist) {
		// Muster never ran here: plan for an empty data directory, and leave none behind.
		dir, err := os.MkdirTemp("", "muster-plan-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		c.Data, o.Ephemeral, o.Look = dir, true, false
	}
	// An App that does not run: its fleets read once and execute nothing.
	a, err := app.Open(ctx, c, o)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	plans := []Fleet{}
	for _, f := range c.Fleets {
		o, err := a.Preview(ctx, f)
		if err != nil {
			return nil, err
		}
		p, err := policy.New(o.Spec)
		if err != nil {
			return nil, err
		}
		plans = append(plans, fleetOf(f.Name, o.Spec, audit.ExplainDecision(p, o.Observation, o.Recent,
			o.Decision)))
	}
	return plans, nil
}

// Of returns the plan of the named fleet alone. The error is about the request.
func Of(plans []Fleet, others Others, fleet string) ([]Fleet, error) {
	if text := others[fleet]; text != "" {
		return nil, errors.New(text)
	}
	var names []string
	for _, p := range plans {
		if p.Name == fleet {
			return []Fleet{p}, nil
		}
		names = append(names, p.Name)
	}
	return nil, misuse.Errorf("there is no fleet %q in the configuration; there is %s", fleet,
		misuse.Names(names, len(names)))
}

// Print prints the plan of a fleet with its arithmetic and its outlook.
func (p Fleet) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s: now %d, would be %d\n\n", p.Name, p.Current, p.Desired)
	explain.Print(w, p.Explanation)
	return PrintOutlook(w, p.Outlook)
}
