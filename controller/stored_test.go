package controller_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

// keep has workers keep reports, which the next step reads.
func (w *world) keep(state protocol.WorkerState, change func(*protocol.Report),
	members ...*worker) (in []controller.Input) {
	for _, m := range members {
		m.seq++
		r := protocol.Report{Fleet: "f", Member: m.id, Worker: m.id, Seq: m.seq, At: w.now, State: state, Slots: 1}
		change(&r)
		in = append(in, controller.Stored{Report: r})
	}
	return in
}

// unanswered is a fleet of three whose workers nobody answers, at work.
func unanswered(t *testing.T) *world {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.backlog = 3
	w.step(0)
	w.obey()
	w.step(time.Second)
	w.backlog, w.inFlight = 0, 3
	w.step(time.Second, w.keep(protocol.Receiving, func(r *protocol.Report) { r.Busy = 1 }, w.members...)...)
	if c := w.last.Observation.Capacity; len(w.members) != 3 || c.Busy != 3 {
		t.Fatalf("%d members are there, the capacity is %+v; want three busy ones", len(w.members), c)
	}
	return w
}

func TestStoredReportsTellWhatWorkersDo(t *testing.T) {
	w := unanswered(t)
	durations := series.Add(series.Durations{}, 4*time.Second, 6*time.Second)
	o := w.step(time.Second, w.keep(protocol.Receiving, func(r *protocol.Report) {
		r.Finished, r.Failed, r.Processing = 1, 1, durations
		r.Incidents = []protocol.Incident{{Kind: protocol.LeaseLost, Count: 1, Text: "message 7"}}
	}, w.members[0])...)
	if o.Finished != 1 || o.Failed != 1 || o.Incidents[protocol.LeaseLost] != 1 {
		t.Errorf("counted %d finished, %d failed and %v, want one of each", o.Finished, o.Failed, o.Incidents)
	}
	w.step(6 * time.Second)
	if p := w.step(time.Second).Observation.Processing; !p.Known || p.Prior || p.MeanSeconds != 5 {
		t.Errorf("found %+v, want a mean of 5 s", p)
	}
}

func TestAStoredReportGrantsNothing(t *testing.T) {
	w := unanswered(t)
	w.inFlight = 0
	for range 30 {
		o := w.step(10*time.Second, w.keep(protocol.Idle, func(r *protocol.Report) {
			r.Token, r.Cause, r.Challenge = "t", protocol.IdleTooLong, t0.Add(2*time.Second).UnixMicro()
		}, w.members...)...)
		for _, e := range o.Effects {
			if _, ends := e.(controller.End); ends {
				t.Fatalf("members were ended: %+v", e)
			}
		}
		for _, c := range o.Changes {
			if c.What == roster.Left || c.What == roster.ReleaseGranted || c.What == roster.AskedToDrain {
				t.Fatalf("%s: %s", c.Member, c.What)
			}
		}
	}
}

func TestWhoeverLeavesUnaskedIsNotReplaced(t *testing.T) {
	for _, row := range []struct {
		name    string
		says    bool // it keeps a last report, in time
		failure string
		needed  int // messages that wait
		desired int
	}{
		{"it says so", true, "", 0, 2},
		{"it is seen to have ended in order", false, "", 0, 2},
		{"it failed", false, "exit status 1", 0, 3},
		{"it is needed", true, "", 3, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := unanswered(t)
			w.inFlight, w.backlog = 0, row.needed
			gone := w.members[0]
			var in []controller.Input
			if row.says {
				in = w.keep(protocol.Leaving, func(r *protocol.Report) { r.Cause = protocol.IdleTooLong }, gone)
			} else {
				w.gone(gone, row.failure)
			}
			w.step(time.Second, in...)
			if row.says { // and then it is seen, which is no news
				w.gone(gone, "")
			}
			o := w.step(time.Second, w.keep(protocol.Receiving, func(*protocol.Report) {}, w.members...)...)
			if o.Decision.Desired != row.desired {
				t.Errorf("the size asked for is %d, want %d", o.Decision.Desired, row.desired)
			}
			w.restart()
			o = w.step(time.Second, w.keep(protocol.Receiving, func(*protocol.Report) {}, w.members...)...)
			if o.Decision.Desired != row.desired {
				t.Errorf("after a restart the size asked for is %d, want %d", o.Decision.Desired, row.desired)
			}
		})
	}
}
