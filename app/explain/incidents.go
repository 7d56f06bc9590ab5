package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// incidentAge is how long before a decision an incident is still shown; maxIncidents bounds how many are shown.
	incidentAge  = time.Hour
	maxIncidents = 10
)

// Incident is a problem that a worker reported, as the history holds it.
type Incident struct {
	At     time.Time `json:"at"`
	Member string    `json:"member"`
	Worker string    `json:"worker"`
	protocol.Incident
}

// Incidents are the newest incidents while a history is read from its beginning.
type Incidents []Incident

// see adds a record, if it holds an incident.
func (p *Incidents) see(r muster.Record) error {
	if r.Kind != muster.Changed {
		return nil
	}
	// A record of a change may be about a member instead.
	var c controller.Changed
	if err := json.Unmarshal(r.Body, &c); err != nil {
		return fmt.Errorf("read record %d of the history: %w", r.Position.Seq, err)
	}
	if c.Incident == nil {
		return nil
	}
	// The oldest gives way: a history may hold thousands.
	if len(*p) == maxIncidents {
		*p = slices.Delete(*p, 0, 1)
	}
	*p = append(*p, Incident{r.At, c.Member, c.Worker, *c.Incident})
	return nil
}

// around returns the incidents from an hour before at on.
func (p Incidents) around(at time.Time) Incidents {
	return slices.DeleteFunc(slices.Clone(p), func(i Incident) bool { return at.Sub(i.At) > incidentAge })
}

// print prints a line for each incident, the oldest first.
func (p Incidents) print(w io.Writer) {
	if len(p) == 0 {
		return
	}
	fmt.Fprintf(w, "\nwhat went wrong at workers within the hour before\n")
	for _, i := range p {
		fmt.Fprintf(w, "  %s %s: %s (%d so far): %s\n", i.At.Local().Format("15:04:05"), i.Member, i.Kind, i.Count,
			i.Text)
	}
}
