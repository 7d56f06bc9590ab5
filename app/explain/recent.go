package explain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/sharing"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/server"
)

// SpecOf returns the policy that a fleet of the running program uses. It is the policy in force, which may be older
// than the configuration file.
func SpecOf(f server.FleetStatus) (spec policy.Spec, err error) {
	if err := json.Unmarshal(f.Policy, &spec); err != nil {
		return spec, fmt.Errorf("fleet %s: read the policy in force: %w; is the running muster up of this version?",
			f.Name, err)
	}
	return spec, nil
}

// RecentOf reads from the history what a fleet's policy would remember now; nothing without a history.
func RecentOf(ctx context.Context, c *config.Config, fleet string, spec policy.Spec) (muster.Recent, error) {
	path := filepath.Join(c.Data, app.HistoryFile)
	h, err := sharing.OpenPast(ctx, c, path)
	if errors.Is(err, sharing.ErrNoPast) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer h.Close()
	var recent muster.Recent
	var failure error
	// Two minutes more, because a hold is recorded only once a minute.
	err = h.Read(ctx, fleet, time.Now().Add(-spec.Memory()-2*time.Minute), func(r muster.Record) bool {
		if _, lost := controller.Unencodable(r); r.Kind == muster.Decided && !lost {
			var d muster.Decision
			d, _, failure = audit.Recompute(r, nil)
			recent = recent.With(d, spec.Memory())
		}
		return failure == nil
	})
	return recent, errors.Join(err, failure)
}
