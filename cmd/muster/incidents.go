package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/server"
)

const (
	// incidentAge is how long an incident is shown, maxIncidents how many are shown of a fleet.
	incidentAge  = time.Hour
	maxIncidents = 10
)

// printIncidents prints what went wrong lately at the workers of a fleet, newest first.
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
		fmt.Fprintf(w, "  incident %s ago on %s: %s (%d so far): %s\n", muster.Seconds(max(0, now.Sub(l.At).Seconds())), l.member, l.Kind, l.Count, l.Text)
	}
	if more := len(lines) - maxIncidents; more > 0 {
		fmt.Fprintf(w, "  and %d more incidents within the hour\n", more)
	}
}

// pastIncident is what went wrong at a worker, as the history has it.
type pastIncident struct {
	At     time.Time `json:"at"`
	Member string    `json:"member"`
	Worker string    `json:"worker"`
	muster.Incident
}

// pastIncidents are the newest incidents of a history that is read from its beginning.
type pastIncidents []pastIncident

// see takes in a record, if it is of an incident.
func (p *pastIncidents) see(r muster.Record) error {
	if r.Kind != muster.Changed {
		return nil
	}
	var c controller.Changed
	if err := json.Unmarshal(r.Body, &c); err != nil {
		return fmt.Errorf("read record %d of the history: %w", r.Position.Seq, err)
	}
	if c.Incident == nil {
		return nil
	}
	if len(*p) == maxIncidents {
		*p = slices.Delete(*p, 0, 1)
	}
	*p = append(*p, pastIncident{r.At, c.Member, c.Worker, *c.Incident})
	return nil
}

// around returns those of the hour before the instant at, and those after it.
func (p pastIncidents) around(at time.Time) pastIncidents {
	return slices.DeleteFunc(slices.Clone(p), func(i pastIncident) bool { return at.Sub(i.At) > incidentAge })
}

func (p pastIncidents) print(w io.Writer) {
	if len(p) == 0 {
		return
	}
	fmt.Fprintf(w, "\nwhat went wrong at workers within the hour before\n")
	for _, i := range p {
		fmt.Fprintf(w, "  %s %s: %s (%d so far): %s\n", i.At.Local().Format("15:04:05"), i.Member, i.Kind, i.Count, i.Text)
	}
}
