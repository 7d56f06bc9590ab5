package roster

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// incidentEvery is the shortest interval between two notifications of one kind of incident of a worker.
	incidentEvery = time.Minute
	// maxTold bounds the incidents remembered for one member.
	maxTold = 64
)

// Incident is an incident of a worker, as it was last notified.
type Incident struct {
	Worker string
	protocol.Incident
	// At is when the controller received it.
	At time.Time
}

// checkIncidents returns what is wrong with the incidents of a report, or nil.
func checkIncidents(r *protocol.Report) error {
	if len(r.Incidents) > protocol.MaxIncidents {
		return fmt.Errorf("worker report of %s: found %d kinds of incidents, at most %d are allowed", r.Worker,
			len(r.Incidents), protocol.MaxIncidents)
	}
	for i, x := range r.Incidents {
		hidden := func(c rune) bool { return !unicode.IsGraphic(c) }
		switch {
		case x.Kind == "" || len(x.Kind) > protocol.MaxIncidentKind || strings.ContainsFunc(string(x.Kind), hidden):
			return fmt.Errorf("worker report of %s: found an incident of the kind %.40q, allowed are 1 to %d visible "+
				"characters", r.Worker, x.Kind, protocol.MaxIncidentKind)
		case i > 0 && r.Incidents[i-1].Kind >= x.Kind:
			return fmt.Errorf("worker report of %s: found incidents of the kind %.40q after %.40q, allowed is each "+
				"kind once, sorted", r.Worker, x.Kind, r.Incidents[i-1].Kind)
		case x.Count < 1 || x.Count > maxCount:
			return fmt.Errorf("worker report of %s: found %d incidents of the kind %s, allowed is 1 to %d", r.Worker,
				x.Count, x.Kind, maxCount)
		case len(x.Text) > protocol.MaxIncidentText || strings.ContainsFunc(x.Text, hidden):
			return fmt.Errorf("worker report of %s: found an incident with %d bytes of text, allowed is one line of "+
				"at most %d", r.Worker, len(x.Text), protocol.MaxIncidentText)
		}
	}
	return nil
}

// incidents processes the incidents of a report. tell are those to notify now, at most one a minute for each kind of a
// worker, with their counts since the worker started. more counts the new ones by kind.
func (m *Member) incidents(rep *protocol.Report) (tell []Incident, more map[protocol.IncidentKind]int64) {
	f := m.Facts
	for _, x := range rep.Incidents {
		i := slices.IndexFunc(f.told, func(t told) bool { return t.Worker == rep.Worker && t.Kind == x.Kind })
		switch {
		case i < 0 && len(f.told) >= maxTold:
			continue
		case i < 0:
			f = m.change()
			f.told = append(slices.Clip(f.told),
				told{Incident: Incident{Worker: rep.Worker, Incident: protocol.Incident{Kind: x.Kind}}})
			i = len(f.told) - 1
		default:
			if t := &f.told[i]; t.counted == x.Count && t.Count == x.Count && t.Text == x.Text {
				continue // the usual case
			}
			f = m.change()
			f.told = slices.Clone(f.told) // clones of the roster share it
		}
		t := &f.told[i]
		if x.Count < t.counted {
			t.counted, t.Count = 0, 0 // the worker was restarted
		}
		if n := x.Count - t.counted; n > 0 {
			if more == nil {
				more = map[protocol.IncidentKind]int64{}
			}
			more[x.Kind] += n
			t.counted = x.Count
		}
		if x.Count > t.Count && rep.At.Sub(t.At) >= incidentEvery {
			t.Incident = Incident{Worker: rep.Worker, Incident: x, At: rep.At}
			tell = append(tell, t.Incident)
		}
	}
	return tell, more
}

// told is an incident that was notified, with the count so far. The count since then may be higher than the notified
// one.
type told struct {
	Incident
	counted int64
}

// RecallIncident restores a recorded incident of a member, so that it is not notified again.
func (r *Roster) RecallIncident(member string, x Incident) {
	k, ok := r.find(member)
	if !ok {
		return
	}
	m := r.members[k].change()
	i := slices.IndexFunc(m.told, func(t told) bool { return t.Worker == x.Worker && t.Kind == x.Kind })
	recalled := told{x, x.Count}
	if m.told = slices.Clone(m.told); i >= 0 {
		m.told[i] = recalled
	} else if len(m.told) < maxTold {
		m.told = append(m.told, recalled)
	}
}

// Incidents returns the last notified incidents of a member, in the order of their first occurrence.
func (m *Member) Incidents() []Incident {
	var all []Incident
	for _, t := range m.told {
		if t.Count > 0 {
			all = append(all, t.Incident)
		}
	}
	return all
}
