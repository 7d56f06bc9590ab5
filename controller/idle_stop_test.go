package controller_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

// told returns the idle stop in the answer to a worker.
func (w *world) told(m *worker) time.Duration { return w.state.Directive(m.id, m.id).IdleStop }

// seldomPolled are the settings of a fleet with a poll a minute.
func seldomPolled(t *testing.T) controller.Settings {
	s, err := controller.NewSettings(controller.Settings{
		Fleet: "f", Queues: []string{"q"}, Spec: policy.Spec{Name: "deadline", Processing: 2 * time.Second},
		Objective: muster.Objective{Latency: 5 * time.Minute, Quantile: 0.99}, Poll: time.Minute,
		Limits: muster.Limits{Max: 10, LaunchesPerHour: 1000}, BootPrior: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The controller tells a busy worker that it is not needed after its message. The worker then says itself that it is
// ready to stop, and leaves with the next step. Otherwise it would wait for a poll, a stop request and one more report.
func TestAWorkerThatIsNotNeededIsToldSoWhileItIsBusy(t *testing.T) {
	w := newWorld(t, seldomPolled(t))
	w.backlog = 1
	w.step(0)
	w.obey()
	m := w.members[0]
	if got := w.told(m); got != 0 {
		t.Errorf("a worker that was just launched is told an idle stop of %s", got)
	}
	w.backlog, w.inFlight = 0, 1
	w.step(5*time.Second, w.receiving(1)...)
	if got := w.told(m); got != time.Second {
		t.Fatalf("a busy worker, and nothing waits: told an idle stop of %s, want 1s\n%s", got,
			w.last.Decision.Sentence())
	}
	w.inFlight, m.busy = 0, 0
	o := w.step(2*time.Second, w.offer(m))
	if got := w.ask(m); got != protocol.Leave {
		t.Errorf("it says that it is ready to stop, and is told %s, want %s\n%s", got, protocol.Leave,
			o.Decision.Sentence())
	}
	if w.told(m) != 0 {
		t.Error("a worker that may leave is told an idle stop")
	}
	left := false
	for _, c := range o.Changes {
		left = left || c.Member == m.id && c.What == roster.Left
	}
	w.gone(m, "")
	if after := w.step(time.Second); !left || launched(after) > 0 || after.Decision.Desired != 0 {
		t.Errorf("changes %+v, then %s; want that it left, and that nothing takes its place", o.Changes,
			after.Decision.Sentence())
	}
}

func TestNoWorkerIsToldToStopByItself(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(w *world) []controller.Input
	}{
		{"while the queue has not answered for long", func(w *world) []controller.Input {
			w.blind = true
			w.now = w.now.Add(5 * time.Minute)
			return w.receiving(1)
		}},
		{"before the first step after a restart", func(w *world) []controller.Input {
			w.restart()
			return nil
		}},
		{"that shares a member with others, which may be busy", func(w *world) []controller.Input {
			m := w.members[0]
			r := w.say(m, 0).(controller.Reported)
			r.Report.Worker = "second"
			return []controller.Input{r}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, seldomPolled(t))
			w.backlog = 1
			w.step(0)
			w.obey()
			w.backlog, w.inFlight = 0, 1
			w.step(5*time.Second, w.receiving(1)...)
			if w.told(w.members[0]) == 0 {
				t.Fatal("nothing was told before")
			}
			if in := row.change(w); in != nil {
				w.step(time.Second, in...)
			}
			if got := w.told(w.members[0]); got != 0 {
				t.Errorf("told an idle stop of %s, want none; %s", got, w.last.Decision.Sentence())
			}
		})
	}
}
