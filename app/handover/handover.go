// Package handover gives the numbers of one fleet to AWS: it publishes the metrics and sets the target of the scaling
// policy.
//
//	result := handover.Once(ctx, table, host, fleet, handover.All, observation, decision, nil)
//
// muster publish and the Lambda functions publish-metric and set-target call it with what they observed. A running
// muster up hands its fleets over by itself: see package fleet/delegate.
package handover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/policy"
)

// Part is what of a handover is done.
type Part int

// The parts.
const (
	// All publishes the metrics, and sets the target of a fleet with a scaling policy.
	All Part = iota
	// Metrics only publishes the metrics.
	Metrics
	// Target only sets the target. It fails for a fleet without delegate.
	Target
)

// Fleet is the result for one fleet, as muster publish -o json prints it.
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

// Once hands the part over for the fleet f, from an observation and the decision that was made from it. The decision is
// not carried out. If lines is not nil, metrics are written there in the embedded metric format and not sent. A failure
// is in the result.
func Once(ctx context.Context, table kind.Table, host *kind.Host, f config.Fleet, part Part, o muster.Observation,
	d muster.Decision, lines io.Writer) Fleet {
	h := muster.HandoverOf("publish", o, policy.TargetOf(d))
	one := Fleet{Name: f.Name, Target: h.Target, InService: h.Capacity.InService(), Slots: h.Capacity.Slots}
	if one.Unknown = h.Capacity.Reason; h.Backlog.Known {
		one.Backlog = &h.Backlog.Value
	} else {
		one.Unknown = h.Backlog.Reason
	}
	if part == Target && h.Target == 0 {
		one.Unknown = cmp.Or(one.Unknown, "the target cannot be computed yet; the present one stays")
	}
	if err := hand(ctx, table, host, f, part, h, lines); err != nil {
		one.Failure = err.Error()
	}
	return one
}

// tracker sets the target of a scaling policy and publishes nothing.
type tracker interface {
	Track(ctx context.Context, h muster.Handover, initial bool) error
}

// hand publishes the metrics of a fleet, and maintains its scaling policy if it has one.
func hand(ctx context.Context, table kind.Table, host *kind.Host, f config.Fleet, part Part, h muster.Handover,
	lines io.Writer) error {
	sizer := kind.SizerOf(f)
	if sizer == nil {
		if part == Target {
			return fmt.Errorf("set the target of the fleet %s: it has no scaling policy; configure delegate", f.Name)
		}
		p, err := table.Publisher(ctx, host, f, lines)
		if err != nil {
			return err
		}
		return p.Publish(ctx, h)
	}
	d, err := sizer.Open(ctx, host, f, lines)
	if err != nil {
		return err
	}
	publisher, canPublish := d.(kind.Publisher)
	t, canTrack := d.(tracker)
	if !canPublish || !canTrack {
		return d.HandOver(ctx, h)
	}
	var failures []error
	if part != Target {
		failures = append(failures, publisher.Publish(ctx, h))
	}
	if part != Metrics {
		failures = append(failures, t.Track(ctx, h, f.Policy.Initial(h)))
	}
	return errors.Join(failures...)
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
