package controller_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

func TestIncidentsAreRecordedAndOutliveARestart(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.backlog = 1
	w.step(0)
	w.obey()
	w.step(time.Second, w.receiving(1)...)
	m := w.members[0]
	with := func(n int64) controller.Input {
		r := w.say(m, 0).(controller.Reported)
		r.Incidents = []protocol.Incident{{Kind: protocol.LeaseLost, Count: n, Text: "message 7"}}
		return r
	}
	o := w.step(time.Second, with(2))
	want := controller.Changed{Member: m.id, What: roster.HadIncident, Why: "lease_lost, 2 times so far: message 7",
		Desired: 1,
		Worker:  m.id, Incident: &protocol.Incident{Kind: protocol.LeaseLost, Count: 2, Text: "message 7"}}
	if diff := cmp.Diff([]controller.Changed{want}, o.Changes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if o.Incidents[protocol.LeaseLost] != 2 {
		t.Errorf("counted %v, want 2", o.Incidents)
	}
	if o := w.step(time.Second, with(2)); len(o.Changes) > 0 || len(o.Incidents) > 0 {
		t.Errorf("told again: %+v", o.Changes)
	}
	w.restart()
	o = w.step(time.Second, with(2))
	if len(o.Changes) > 0 || len(o.Incidents) > 0 {
		t.Errorf("told again after a restart: %+v", o.Changes)
	}
	views := o.Members(w.now)
	if len(views) != 1 || len(views[0].Incidents) != 1 || views[0].Incidents[0].Count != 2 {
		t.Errorf("after a restart the members are %+v", views)
	}
	w.now = w.now.Add(time.Minute)
	o = w.step(time.Second, with(3))
	if len(o.Changes) != 1 || o.Incidents[protocol.LeaseLost] != 1 {
		t.Errorf("a further one: %+v, counted %v", o.Changes, o.Incidents)
	}
}
