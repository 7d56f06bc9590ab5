package server

import (
	"net/http"

	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/internal/exposition"
	"github.com/muster-scale/muster/notice"
)

// Incidents is the answer of GET /v1/incidents. Fields may be added; readers ignore unknown ones.
type Incidents struct {
	// Open are the open incidents, by fleet, kind and subject. Recent are those that have ended, newest first.
	Open   []incident.Incident `json:"open"`
	Recent []incident.Incident `json:"recent"`
	// Channels are the states of the channels of notices, in the order of the configuration.
	Channels []notice.Status `json:"channels"`
}

// incidents answers with the incidents.
func (a *api) incidents(w http.ResponseWriter, _ *http.Request) {
	if a.Incidents == nil {
		answer(w, Incidents{Open: []incident.Incident{}, Recent: []incident.Incident{}, Channels: []notice.Status{}})
		return
	}
	answer(w, a.Incidents())
}

// addIncidents adds the number of open incidents to a status, and the channels that could not deliver.
func (a *api) addIncidents(s *Status) {
	if a.Incidents == nil {
		return
	}
	all := a.Incidents()
	s.OpenIncidents = len(all.Open)
	for _, c := range all.Channels {
		if c.LastError != "" || c.Dropped > 0 || c.Lost > 0 {
			s.Notices = append(s.Notices, c)
		}
	}
}

// CollectIncidents adds the metrics of incidents and notices to a page. It may be called from any goroutine.
func CollectIncidents(p *exposition.Page, all Incidents) {
	open := map[[2]string]float64{}
	for _, i := range all.Open {
		open[[2]string{i.Fleet, string(i.Kind)}]++
	}
	for of, n := range open {
		p.Add(exposition.Gauge, desc("muster_incidents_open", "Open incidents, by fleet and kind. muster incidents "+
			"lists them.", "fleet", "kind"), n, of[0], of[1])
	}
	for _, c := range all.Channels {
		sent := desc("muster_notices_sent_total", "Notices of incidents, by channel and result: delivered ones are "+
			"sent, failed counts attempts, lost notices were refused or tried for too long, dropped ones did not fit "+
			"into the queue.", "channel", "result")
		for _, r := range []struct {
			result string
			n      int64
		}{{"sent", c.Sent}, {"failed", c.Failed}, {"lost", c.Lost}, {"dropped", c.Dropped}} {
			p.Add(exposition.Counter, sent, float64(r.n), c.Channel, r.result)
		}
		p.Add(exposition.Gauge, desc("muster_notices_waiting", "Notices that wait for their delivery.", "channel"),
			float64(c.Waiting), c.Channel)
	}
}
