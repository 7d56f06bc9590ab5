package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/server"
)

// Recorded is the last recorded decision of a fleet, beside a current one.
type Recorded struct {
	Position muster.Position `json:"position"`
	At       time.Time       `json:"at"`
	Desired  int             `json:"desired"`
	Sentence string          `json:"sentence"`
}

// Present explains the current decision of the muster up that runs with the configuration, in place of the last
// recorded one. It returns e unchanged when none runs.
func (e Explained) Present(ctx context.Context, c *config.Config, fleet string) (Explained, error) {
	var s server.Status
	if err := client.Get(ctx, c, "/v1/status", &s); err != nil {
		if errors.Is(err, client.ErrNotRunning) {
			err = nil
		}
		return e, err
	}
	i := slices.IndexFunc(s.Fleets, func(f server.FleetStatus) bool { return f.Name == fleet })
	// Then the running program does not size the fleet, or it has decided nothing since the record.
	if i < 0 || !s.Fleets[i].Ready || !s.Fleets[i].Sized() || s.Fleets[i].Decision.At.Before(e.Decision.At) {
		return e, nil
	}
	f := s.Fleets[i]
	spec, err := SpecOf(f)
	if err != nil {
		return e, err
	}
	p, err := policy.New(spec)
	if err != nil {
		return e, err
	}
	// The policy needs its memory to say what another backlog would change.
	recent, err := RecentOf(ctx, c, fleet, spec)
	if err != nil {
		return e, err
	}
	now := Explained{Explanation: audit.ExplainDecision(p, f.Observation, recent, f.Decision),
		Incidents: e.Incidents}
	// The record that was found becomes a line below the current decision.
	now.Recorded = &Recorded{e.Position, e.Decision.At, e.Decision.Desired, e.Decision.Sentence()}
	if now.LastChange = e.LastChange; e.Decision.Verdict == muster.Apply {
		now.LastChange = e.Decision.At.Local().Format("15:04:05") + " " + e.Decision.Sentence()
	}
	return now, nil
}

// printRecorded prints the last recorded decision, after the current one.
func (e Explained) printRecorded(w io.Writer) {
	if r := e.Recorded; r != nil {
		fmt.Fprintf(
			w,
			"\nrecorded last\n  %s (decision %d.%d): %s\n",
			r.At.Local().Format("2006-01-02 15:04:05.000"),
			r.Position.Epoch,
			r.Position.Seq,
			r.Sentence,
		)
	}
}
