package publish

import (
	"context"
	"fmt"
	"io"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/plan"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/policy"
)

// Fleet is one fleet in the output of muster publish -o json.
type Fleet struct {
	Name string `json:"fleet"`
	// Target is the target that AWS tracks; absent when nothing is delegated or when it is unknown.
	Target float64 `json:"target,omitzero"`
	// Backlog is absent where it is unknown; Unknown then says why.
	Backlog *float64 `json:"backlog,omitempty"`
	Unknown string   `json:"unknown,omitzero"`
	// InService is the number of members in service, Slots the number of their slots.
	InService int `json:"in_service"`
	Slots     int `json:"slots"`
	// Failure says why something was not published; empty otherwise.
	Failure string `json:"failure,omitzero"`
}

// Once publishes the metrics of the named fleets, or of all when names is empty, and maintains their scaling policies.
// If lines is not nil, it writes the metrics there in the embedded metric format and does not send them. A failure of a
// fleet is in its [Fleet].Failure.
func Once(ctx context.Context, c *config.Config, names []string, lines io.Writer) ([]Fleet, error) {
	fleets := map[string]config.Fleet{}
	for _, f := range c.Fleets {
		fleets[f.Name] = f
	}
	// Publishing reads the same state as a plan, so it needs no code of its own.
	plans, err := plan.Make(ctx, c, nil)
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		var some []plan.Fleet
		for _, name := range names {
			one, err := plan.Of(plans, name)
			if err != nil {
				return nil, err
			}
			some = append(some, one...)
		}
		plans = some
	}
	host := kind.NewHost(kind.HostOptions{AWS: c.AWS})
	all := []Fleet{}
	for _, p := range plans {
		// The plan is only observed: its desired count goes nowhere.
		h := muster.HandoverOf("publish", p.Observation, policy.TargetOf(p.Decision))
		one := Fleet{Name: p.Name, Target: h.Target, InService: h.Capacity.InService(), Slots: h.Capacity.Slots}
		if one.Unknown = h.Capacity.Reason; h.Backlog.Known {
			one.Backlog = &h.Backlog.Value
		} else {
			one.Unknown = h.Backlog.Reason
		}
		if err := handOnce(ctx, host, fleets[p.Name], h, lines); err != nil {
			one.Failure = err.Error()
		}
		all = append(all, one)
	}
	return all, nil
}

// handOnce publishes the metrics of a fleet, and maintains its scaling policy if it has one.
func handOnce(ctx context.Context, host *kind.Host, f config.Fleet, h muster.Handover, lines io.Writer) error {
	if sizer := kind.SizerOf(f); sizer != nil {
		d, err := sizer.Open(ctx, host, f, lines)
		if err != nil {
			return err
		}
		return d.HandOver(ctx, h)
	}
	p, err := kinds.Table().Publisher(ctx, host, f, lines)
	if err != nil {
		return err
	}
	return p.Publish(ctx, h)
}

// Print prints a line for the fleet, and one for each unknown value or failure.
func (p Fleet) Print(w io.Writer) {
	backlog := "unknown backlog"
	if p.Backlog != nil {
		backlog = "backlog " + render.Number(*p.Backlog)
	}
	target := ""
	if p.Target > 0 {
		target = ", target " + render.Number(p.Target)
	}
	fmt.Fprintf(w, "%s: %s, %d in service with %s%s\n", p.Name, backlog, p.InService, render.Plural(p.Slots, "slot"),
		target)
	if p.Unknown != "" {
		fmt.Fprintf(w, "  unknown: %s\n", p.Unknown)
	}
	if p.Failure != "" {
		fmt.Fprintf(w, "  failed: %s\n", p.Failure)
	}
}

// Failed returns an error when something was not published.
func Failed(all []Fleet) error {
	failed := 0
	for _, p := range all {
		if p.Failure != "" {
			failed++
		}
	}
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("publish: %s of %d failed", render.Plural(failed, "fleet"), len(all))
}
