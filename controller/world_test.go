package controller_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a queue and a fleet that the tests move by hand, one instant after the other.
type world struct {
	t        testing.TB
	settings controller.Settings
	state    controller.State
	now      time.Time
	records  []muster.Record
	last     controller.Outcome

	backlog, inFlight int
	// sent are the instants of the messages that were ever sent; the queue tells of them where it counts.
	sent    []time.Time
	counts  bool
	blind   bool // the queue does not answer
	members []*worker
	ended   []muster.Member
}

// worker is a member of the world with the one worker on it.
type worker struct {
	id    string
	at    time.Time
	epoch int64
	seq   int64
	state protocol.WorkerState
	cause protocol.Cause
	busy  int
	token string
}

func settings(t testing.TB, spec policy.Spec, most int) controller.Settings {
	s, err := controller.NewSettings(controller.Settings{
		Fleet: "f", Queues: []string{"q"}, Spec: spec, Objective: muster.Objective{Latency: 30 * time.Second,
			Quantile: 0.99},
		Limits: muster.Limits{Max: most, LaunchesPerHour: 1000}, BootPrior: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newWorld(t testing.TB, s controller.Settings) *world {
	w := &world{t: t, settings: s, now: t0}
	w.restart()
	return w
}

// restart is a crash of the controller: what it knew is gone, but for the history.
func (w *world) restart() {
	state, err := w.settings.Restore(muster.Position{Epoch: w.state.Position.Epoch + 1, Seq: int64(len(w.records))},
		w.records)
	if err != nil {
		w.t.Fatal(err)
	}
	w.state = state
}

// look is what the controller sees at a poll.
func (w *world) look() []controller.Input {
	q := muster.QueueObservation{Queue: "q", Backlog: muster.Measured(w.now, float64(w.backlog)),
		InFlight: muster.Measured(w.now, float64(w.inFlight))}
	if w.counts {
		age := 0.0
		if w.backlog > 0 {
			age = w.now.Sub(w.sent[len(w.sent)-w.backlog]).Seconds()
		}
		q.Sent, q.OldestAge = muster.Measured(w.now, float64(len(w.sent))), muster.Measured(w.now, age)
	}
	if w.blind {
		lost := muster.Unknown(w.now, "no answer")
		q = muster.QueueObservation{Queue: "q", Backlog: lost, InFlight: lost}
	}
	l := muster.Listing{At: w.now, Members: slices.Clone(w.ended)}
	for _, m := range w.members {
		l.Members = append(l.Members, muster.Member{ID: m.id, LaunchedAt: m.at})
	}
	return []controller.Input{controller.Measured{QueueObservation: q}, controller.Listed{Listing: l}}
}

// step polls and steps, so much later, with further inputs.
func (w *world) step(later time.Duration, in ...controller.Input) controller.Outcome {
	w.now = w.now.Add(later)
	return w.stepOn(append(w.look(), in...)...)
}

func (w *world) stepOn(in ...controller.Input) controller.Outcome {
	o := w.settings.Step(w.state, w.now, in)
	for i, r := range o.Records {
		r.Position = muster.Position{Epoch: w.state.Position.Epoch, Seq: w.state.Position.Seq + int64(i) + 1}
		w.records = append(w.records, r)
	}
	w.state, w.last = o.Next, o
	return o
}

// obey carries out the effects of the last step, as a fleet would.
func (w *world) obey() {
	for _, e := range w.last.Effects {
		if order, ok := e.(controller.SetDesired); ok {
			for _, id := range order.Launch {
				w.members = append(w.members, &worker{id: id, at: w.now, state: protocol.Starting})
			}
		}
		w.stepOn(controller.Resulted{At: w.now, Effect: e.EffectID()})
	}
}

func (w *world) say(m *worker, finished int) controller.Input {
	m.seq++
	r := protocol.Report{Fleet: "f", Member: m.id, Worker: m.id, Epoch: m.epoch, Seq: m.seq, At: w.now, State: m.state,
		Cause: m.cause, Slots: 1, Busy: m.busy, Token: m.token,
		Challenge: w.state.Directive(m.id, m.id).Challenge}
	for range finished {
		r.Finished++
		r.Processing = series.Add(r.Processing, 2*time.Second)
	}
	return controller.Reported{Report: r}
}

// everybody returns a report of every worker.
func (w *world) everybody() (in []controller.Input) {
	for _, m := range w.members {
		in = append(in, w.say(m, 0))
	}
	return in
}

func (w *world) receiving(busy ...int) []controller.Input {
	for i, m := range w.members {
		m.state, m.busy, m.token, m.cause = protocol.Receiving, 0, "", ""
		if i < len(busy) {
			m.busy = busy[i]
		}
	}
	return w.everybody()
}

func (w *world) offer(m *worker) controller.Input {
	m.state, m.cause, m.token = protocol.Idle, protocol.IdleTooLong, fmt.Sprintf("token-%s-%d", m.id, m.epoch)
	return w.say(m, 0)
}

func (w *world) ask(m *worker) protocol.Ask { return w.state.Directive(m.id, m.id).Ask }

func (w *world) asks() (asks []protocol.Ask) {
	for _, m := range w.members {
		asks = append(asks, w.ask(m))
	}
	return asks
}

func (w *world) gone(m *worker, failure string) {
	w.members = slices.DeleteFunc(w.members, func(x *worker) bool { return x == m })
	w.ended = append(w.ended, muster.Member{ID: m.id, LaunchedAt: m.at, Ended: true, Failure: failure})
}

func launched(o controller.Outcome) int {
	n := 0
	for _, e := range o.Effects {
		if order, ok := e.(controller.SetDesired); ok {
			n += len(order.Launch)
		}
	}
	return n
}
