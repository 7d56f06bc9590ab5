package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/channels"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/internal/lifecycle"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/notice"
)

// silent is a channel that does not answer, so that its notices wait.
type silent struct{}

func (silent) Keys() []keys.Key                         { return nil }
func (silent) Verify(*keys.Source, string)              {}
func (s silent) Open(*kind.Host, string) notice.Channel { return s }
func (silent) Send(context.Context, incident.Notice) (string, error) {
	return "", errors.New("no answer")
}

// told opens an App on a data directory, which is not run, and whose only channel is silent.
func told(t *testing.T, data string) *App {
	c, err := kinds.Parse("m.yaml", []byte("version: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	c.Data, c.Listen = data, config.Listen{Queue: "127.0.0.1:0", API: "127.0.0.1:0"}
	c.Notify = []channels.Channel{{Name: "pager", Retry: time.Hour, To: silent{}}}
	a, err := Open(t.Context(), c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// second returns a time so many seconds after the start of a test.
func second(n int) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
}

func TestAnOpenIncidentOutlivesARestartAndIsToldOnce(t *testing.T) {
	data := t.TempDir()
	a := told(t, data)
	a.faults.set(historyFault, "the history is damaged")
	for s := range 5 {
		a.incidents.step(second(s))
	}
	a.incidents.write()
	waiting := a.incidents.sender.Waiting()["pager"]
	if len(waiting) != 1 || waiting[0].Event != incident.Opened || waiting[0].Text == "" {
		t.Fatalf("waiting: %+v, want one opening", waiting)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	again := told(t, data)
	if got := again.incidents.sender.Waiting()["pager"]; len(got) != 1 || got[0].ID != waiting[0].ID {
		t.Fatalf("after a restart %+v wait, want the notice that waited", got)
	}
	again.faults.set(historyFault, "the history is damaged")
	for s := range 5 {
		again.incidents.step(second(100 + s))
	}
	if got := again.incidents.sender.Waiting()["pager"]; len(got) != 1 {
		t.Errorf("the incident was told anew: %+v", got)
	}
	again.faults.set(historyFault, "")
	for s := range 70 {
		again.incidents.step(second(200 + s))
	}
	got := again.incidents.sender.Waiting()["pager"]
	if len(got) != 2 || got[1].Event != incident.Ended || got[1].Incident.ID != waiting[0].Incident.ID {
		t.Errorf("found %+v, want the end of the same incident", got)
	}
	if all := again.incidents.served(); len(all.Open) != 0 || len(all.Recent) != 1 || len(all.Channels) != 1 ||
		all.Channels[0].Waiting != 2 {
		t.Errorf("served %+v", all)
	}
}

func TestAnIncidentsFileThatCannotBeReadIsReplaced(t *testing.T) {
	data := t.TempDir()
	path := filepath.Join(data, incidentsFile)
	if err := os.WriteFile(path, []byte(`{"incidents": {"standing": [{"id"`), 0o600); err != nil {
		t.Fatal(err)
	}
	a := told(t, data)
	a.faults.set(queueFault, "disk full")
	a.incidents.step(second(0))
	a.incidents.write()
	kept, err := readIncidents(path)
	if err != nil || len(kept.Tracker.Open()) != 1 || len(kept.Waiting["pager"]) != 1 {
		t.Errorf("kept %+v, %v", kept, err)
	}
}

// TestAFleetsStepsAreSeen holds that outcomes reach the incidents: an action that fails is told after half a minute.
func TestAFleetsStepsAreSeen(t *testing.T) {
	a := told(t, t.TempDir())
	o := controller.Outcome{Ready: true, Observation: muster.Observation{Fleet: "thumbs", At: second(0),
		Capacity: muster.Capacity{Known: true}},
		Effects: []controller.Effect{controller.SetDesired{Order: muster.Order{ID: "e1"}}}}
	a.fleets.phases = []lifecycle.Fleet[config.Fleet]{{Name: "thumbs", Phase: lifecycle.Running}}
	a.fleets.all["thumbs"] = &ownFleet{opened: &opened{serves: stepped{outcome: o}}}
	a.incidents.see(o)
	o.Effects, o.Records = nil, []muster.Record{{Kind: muster.Resulted, At: second(0),
		Body: []byte(`{"effect":"e1","failure":"AccessDenied"}`)}}
	a.incidents.see(o)
	for s := range 29 {
		a.incidents.step(second(s))
	}
	if open := a.incidents.served().Open; len(open) != 0 {
		t.Fatalf("open after 29 s: %+v", open)
	}
	for s := range 5 {
		a.incidents.step(second(29 + s))
	}
	if open := a.incidents.served().Open; len(open) != 1 || open[0].Kind != incident.ActionFailed {
		t.Errorf("open %+v, want the failed action", open)
	}
}

// stepped is a fleet after a step.
type stepped struct {
	absent
	outcome controller.Outcome
}

func (s stepped) Last() (controller.Outcome, bool) { return s.outcome, true }
