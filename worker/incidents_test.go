package worker_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/protocol"
)

// incidentsOf runs a worker for a while and returns the incidents that it reported last.
func incidentsOf(t *testing.T, o worker.Options, during time.Duration) map[protocol.IncidentKind]protocol.Incident {
	t.Helper()
	c := &fakeController{rule: keepWorking}
	o.Reporter = c
	r := run(t, o)
	after(during)
	r.told()
	after(time.Hour)
	r.left(time.Minute)
	found := map[protocol.IncidentKind]protocol.Incident{}
	for _, i := range c.last().Incidents {
		if strings.Contains(i.Text, "secret") {
			t.Errorf("a message's body was reported: %q", i.Text)
		}
		found[i.Kind] = i
	}
	return found
}

func TestRunReportsWhatWentWrong(t *testing.T) {
	for _, row := range []struct {
		name string
		o    func(t *testing.T) worker.Options
		kind protocol.IncidentKind
		text string
	}{
		{"a hold that could not be extended", func(*testing.T) worker.Options {
			q := newFakeQueue("m1")
			q.changeFault = func(int) error { return errAway }
			return worker.Options{Queue: q, Do: takes(time.Hour), Visibility: 10 * time.Second}
		}, protocol.LeaseLost, "message m1: its lease was lost after "},
		{"a message that could not be deleted", func(*testing.T) worker.Options {
			q := newFakeQueue("m1")
			q.deleteFault = func(int) error { return errAway }
			return worker.Options{Queue: q, Do: takes(time.Second)}
		}, protocol.DeleteFailed, "message m1: connection refused"},
		{"a protection that could not be renewed", func(t *testing.T) worker.Options {
			a := mustertest.NewECSAgent(time.Now)
			o := protectedOptions(a, guarded(t, a, "m1"), time.Second)
			time.AfterFunc(time.Minute, func() { a.Refuse("ServerException", 500) })
			time.AfterFunc(6*time.Minute, func() { a.Refuse("", 0) })
			return o
		}, protocol.ProtectionFailed, "protect the task: ServerException"},
		{"a report that was not taken", func(*testing.T) worker.Options {
			sink := &fakeSink{fault: func(int) error { return errors.New("Throttling") }}
			return worker.Options{Queue: newFakeQueue(), Do: takes(0),
				Destinations: []worker.Destination{{Sink: sink, Name: "metrics", Every: time.Minute}}}
		}, protocol.ReportFailed, "metrics: Throttling"},
		{"a machine that could not be kept", func(*testing.T) worker.Options {
			s := mustertest.NewIMDS(time.Now)
			h := &fakeHook{timeout: time.Minute, fault: func(call int) error {
				if call == 1 {
					return errors.New("AccessDenied")
				}
				return nil
			}}
			time.AfterFunc(time.Minute, func() { s.Target("Terminated") })
			return worker.Options{Queue: newFakeQueue("m1"), Do: takes(5 * time.Minute), Notices: onEC2(s), Hook: h}
		}, protocol.HookFailed, "AccessDenied"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				found := incidentsOf(t, row.o(t), 10*time.Minute)
				got := found[row.kind]
				if len(found) != 1 || got.Count < 1 || !strings.Contains(got.Text, row.text) {
					t.Errorf("found %+v, want one of the kind %s that says %q", found, row.kind, row.text)
				}
			})
		})
	}
}

func TestRunWithoutFaultsReportsNoIncident(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if found := incidentsOf(t, worker.Options{Queue: newFakeQueue("a", "b"), Do: takes(time.Minute)},
			5*time.Minute); len(found) > 0 {
			t.Errorf("found %+v", found)
		}
	})
}

// What keeps work from beginning is told once each time: who looks at the fleet would see messages wait and nothing
// else.
func TestWhatKeepsWorkFromBeginningIsAnIncident(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeController{rule: keepWorking}
		g := &hinderedGate{gate: gate{changed: make(chan struct{}, 1)}}
		r := run(t, worker.Options{Queue: newFakeQueue("a"), Readiness: g, Reporter: c, Do: takes(time.Second)})
		incidents := func() int64 {
			for _, i := range c.last().Incidents {
				if i.Kind == protocol.EndpointDown && i.Text == "nobody listens" {
					return i.Count
				}
			}
			return 0
		}
		for _, step := range []struct {
			hindered bool
			want     int64
		}{{false, 0}, {true, 1}, {true, 1}, {false, 1}, {true, 2}, {false, 2}} {
			g.hinder(step.hindered)
			if after(10 * time.Second); incidents() != step.want {
				t.Errorf("hindered %v: found %d incidents, want %d", step.hindered, incidents(), step.want)
			}
		}
		r.told()
		r.left(30 * time.Second)
	})
}

// hinderedGate is a gate that can say why it is not open.
type hinderedGate struct {
	gate
	hindered bool
}

func (g *hinderedGate) hinder(hindered bool) {
	g.mu.Lock()
	g.hindered = hindered
	g.mu.Unlock()
	g.changed <- struct{}{}
}

// Hindered implements [worker.Hindered].
func (g *hinderedGate) Hindered() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.hindered {
		return errors.New("nobody listens")
	}
	return nil
}
