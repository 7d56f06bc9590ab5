package status

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/server"
)

const (
	// incidentAge is how long an incident is shown; maxIncidents bounds how many are shown of a fleet.
	incidentAge  = time.Hour
	maxIncidents = 10
)

// printIncidents prints the recent incidents at the workers of a fleet, the newest first.
func printIncidents(w io.Writer, f server.FleetStatus, now time.Time) {
	type line struct {
		member string
		server.IncidentStatus
	}
	var lines []line
	for _, m := range f.Members {
		for _, i := range m.Incidents {
			if now.Sub(i.At) <= incidentAge {
				lines = append(lines, line{m.ID, i})
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return b.At.Compare(a.At) })
	for _, l := range lines[:min(len(lines), maxIncidents)] {
		fmt.Fprintf(w, "  incident %s ago on %s: %s (%d so far): %s\n", render.Seconds(max(0, now.Sub(l.At).Seconds())),
			l.member, l.Kind, l.Count, l.Text)
	}
	if more := len(lines) - maxIncidents; more > 0 {
		fmt.Fprintf(w, "  and %d more incidents within the hour\n", more)
	}
}
