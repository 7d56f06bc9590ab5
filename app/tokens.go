package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/durable"
)

// fleetTokensDir holds, for each fleet of machines that are not started from here, the token with which their workers
// report.
const fleetTokensDir = "fleet-tokens"

// FleetTokenFile is the file of a fleet's token.
func (a *App) FleetTokenFile(fleet string) string {
	return filepath.Join(a.config.Data, fleetTokensDir, fleet)
}

// keepFleetToken writes the token of a fleet whose workers report from elsewhere, readable by the owner alone, so that
// it can be put where its machines find it.
func (a *App) keepFleetToken(c config.Fleet) error {
	if facts := c.Facts(); facts.Local || !facts.Reported || a.options.Look {
		return nil
	}
	path := a.FleetTokenFile(c.Name)
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keep the token with which its workers report: %w", err)
	}
	text := a.token.Fleet(c.Name).Reveal() + "\n"
	if found, err := os.ReadFile(path); err == nil && string(found) == text {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("keep the token with which its workers report: %w", err)
	}
	if err := durable.Create(path, []byte(text)); err != nil {
		return fmt.Errorf("keep the token with which its workers report: %w", err)
	}
	return nil
}
