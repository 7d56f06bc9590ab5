package controller_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/worker/protocol"
)

// balanceOf is what a look finds of a queue that does not count what is sent.
func (w *world) balanceOf(backlog, inFlight float64) controller.Input {
	at := func(n float64) muster.Sample { return muster.Measured(w.now, n) }
	return controller.Measured{QueueObservation: muster.QueueObservation{Queue: "q", Backlog: at(backlog),
		InFlight: at(inFlight), Delayed: at(0),
		Sent: muster.Unknown(w.now, "not counted"), OldestAge: muster.Unknown(w.now, "not told")}}
}

func TestWhatIsThereAndWhatWasFinishedMustHaveBeenSent(t *testing.T) {
	type look struct {
		what              string
		backlog, inFlight float64
		finished          int
		sent              float64
	}
	for _, x := range []struct {
		name  string
		looks []look
	}{
		{"what is finished was sent before", []look{
			{"at first", 10, 0, 0, 10}, {"some are in work", 8, 2, 0, 10}, {"two are finished", 8, 0, 2, 10},
			{"another two, and three came", 9, 0, 2, 13},
		}},
		{"a count that falls for no reason brings nothing back", []look{
			{"at first", 10, 0, 0, 10}, {"too few", 7, 0, 0, 10}, {"right again", 10, 0, 0, 10},
			{"one came", 11, 0, 0, 11},
		}},
		{"an empty queue is exact again", []look{
			{"at first", 10, 0, 0, 10}, {"too many", 14, 0, 0, 14}, {"all are finished", 0, 0, 10, 10},
			{"three came", 3, 0, 0, 13},
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			for _, restarts := range []bool{false, true} {
				w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 1))
				w.members = []*worker{{id: "m", at: w.now, state: protocol.Receiving}}
				for _, l := range x.looks {
					w.now = w.now.Add(10 * time.Second)
					listed := controller.Listed{Listing: muster.Listing{At: w.now,
						Members: []muster.Member{{ID: "m", LaunchedAt: t0}}}}
					w.stepOn(listed, w.say(w.members[0],
						l.finished)) // what is reported counts from the next step on, when it is in the history
					w.now = w.now.Add(5 * time.Second)
					o := w.stepOn(listed, w.balanceOf(l.backlog, l.inFlight))
					if got := o.Observation.Queues[0].Sent; !got.Known || got.Value != l.sent {
						t.Errorf("%s, restarts %t: found %v sent, want %v", l.what, restarts, got, l.sent)
					}
					if restarts {
						w.restart()
					}
				}
			}
		})
	}
}

func TestOfSeveralQueuesNobodyKnowsWhatWasSent(t *testing.T) {
	s := settings(t, policy.Spec{Name: "exact"}, 1)
	s.Queues = []string{"p", "q"}
	w := newWorld(t, s)
	if o := w.stepOn(w.balanceOf(10, 0)); o.Observation.Queues[0].Sent.Known {
		t.Errorf("found %v sent, want it unknown: a worker does not say from which queue it finished a message",
			o.Observation.Queues[0].Sent)
	}
}

func TestALookThatIsShownAgainCountsOnce(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 1))
	w.members = []*worker{{id: "m", at: w.now, state: protocol.Receiving}}
	listed := func() controller.Listed {
		return controller.Listed{Listing: muster.Listing{At: w.now,
			Members: []muster.Member{{ID: "m", LaunchedAt: t0}}}}
	}
	w.now = w.now.Add(10 * time.Second)
	look := w.balanceOf(10, 0)
	w.stepOn(listed(), look)
	for range 3 { // the source looks rarely, and two messages are finished meanwhile
		w.now = w.now.Add(700 * time.Millisecond)
		w.stepOn(listed(), w.say(w.members[0], 2))
		w.now = w.now.Add(700 * time.Millisecond)
		if got := w.stepOn(listed(), look).Observation.Queues[0].Sent; got.Value != 10 {
			t.Errorf("found %v sent, want the 10 of the look that is shown again", got)
		}
	}
	w.now = w.now.Add(6 * time.Second)
	w.stepOn(listed(), w.say(w.members[0], 0)) // what is finished is recorded every few seconds
	w.now = w.now.Add(time.Second)
	if got := w.stepOn(listed(), w.balanceOf(5, 0)).Observation.Queues[0].Sent; got.Value != 11 {
		t.Errorf("found %v sent, want 11: six were finished, five are there", got)
	}
}
