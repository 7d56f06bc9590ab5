package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/sim/internal/kernel"
	"github.com/muster-scale/muster/worker/protocol"
)

// These are the constants of the production runner.
const (
	// reportPatience is how long a worker waits for the answer to a report before it sends the next one, and
	// reportTimeout how long before it ignores the answer.
	reportPatience = 5 * time.Second
	reportTimeout  = 80 * time.Second
	never          = int64(1)<<62 - 1
)

// shell drives controller.Shell in virtual time, as package controller/loop drives it in real time. What is due, and
// what a step or a report leads to, is decided there; here are only the events.
type shell struct {
	controller.Shell[call]
	spare  spare
	stepAt int64 // when the earliest planned step is due; never when none is
	down   bool
	life   uint64 // grows when the controller starts again, so that events of the controller before it are void
}

// call is a report that waits for its answer.
type call struct {
	member     int32
	generation uint32
	report     protocol.Report
}

// begin starts a controller from a restored state.
func (s *shell) begin(st controller.State) {
	*s = shell{Shell: controller.NewShell[call](st), spare: s.spare, stepAt: never, life: s.life + 1}
}

// spare keeps inputs that a step has seen, to be used again: a step keeps nothing of its inputs, so a
// long run needs no new memory for each report.
type spare struct {
	reports  []*controller.Reported
	listings [][]muster.Member
}

// report returns a report as an input.
func (s *spare) report(r *protocol.Report) *controller.Reported {
	n := len(s.reports)
	if n == 0 {
		return &controller.Reported{Report: *r}
	}
	in := s.reports[n-1]
	s.reports = s.reports[:n-1]
	in.Report = *r
	return in
}

// listing returns an empty listing with room for n members.
func (s *spare) listing(n int) []muster.Member {
	if k := len(s.listings); k > 0 {
		l := s.listings[k-1]
		s.listings = s.listings[:k-1]
		return slices.Grow(l, n)
	}
	return make([]muster.Member, 0, n)
}

// keep takes back the inputs that a step has seen.
func (s *spare) keep(inputs []controller.Input) {
	for _, in := range inputs {
		switch x := in.(type) {
		case *controller.Reported:
			s.reports = append(s.reports, x)
		case controller.Listed:
			if cap(x.Members) > 0 {
				s.listings = append(s.listings, x.Members[:0])
			}
		}
	}
}

// poll starts a poll of the queue and the fleet if now is true.
func (r *run) poll(now bool) {
	if now {
		r.after(r.world.API.Next(r.chance.API), evPolled, kernel.None, r.shell.life)
	}
}

// polled gathers what a poll read.
func (r *run) polled() {
	r.poll(r.shell.Looked(r.observe()...))
	r.plan()
}

// plan makes the step that is due, or plans an event for the time when one will be due.
func (r *run) plan() {
	s := &r.shell
	next, due := s.Next(time.Duration(r.now))
	switch at := int64(next); {
	case !due:
	case at <= r.now:
		r.step()
	case at < s.stepAt:
		s.stepAt = at
		r.events.Add(at, evStep, kernel.None, s.life)
	}
}

// step makes one step of the controller. Its records are appended before any worker is answered and before any effect
// is executed, as in production: what is not recorded must not happen.
func (r *run) step() {
	s := &r.shell
	s.stepAt = never
	in := s.Begin(time.Duration(r.now))
	o := r.settings.Advance(*s.State(), r.time(), in)
	r.steps++
	if len(o.Records) > 0 {
		at, ok := r.history.append(s.State().Position, o.Records)
		if !ok {
			r.fault("the history refused a controller that was not replaced")
			return
		}
		o.Next.Position = at
	}
	s.spare.keep(in)
	waiting := s.Done(&o)
	r.decided(o)
	r.stepped(o)
	for i := range waiting {
		c := &waiting[i]
		r.answer(c, o.Next.Directive(c.report.Member, c.report.Worker))
	}
	for _, e := range o.Effects {
		r.execute(e)
	}
}

// execute sends an effect to the fleet, where it arrives after the latency of the API.
func (r *run) execute(e controller.Effect) {
	k := evOrder
	if _, ends := e.(controller.End); ends {
		k = evEnd
	}
	r.after(r.world.API.Next(r.chance.API), k, kernel.None, r.dispatch(transit{effect: e, life: r.shell.life}))
}

// order carries out an effect that has arrived, and sends the result to the controller that wants it.
func (r *run) order(l transit) {
	failure := ""
	switch e := l.effect.(type) {
	case controller.SetDesired:
		switch {
		case kernel.Hit(r.chance.API, r.world.Throttle) && r.faulty():
			failure = "throttled: too many calls"
		case kernel.Hit(r.chance.API, r.world.RefuseLaunch) && r.faulty():
			failure = "the cloud refuses to launch"
		default:
			failure = r.launch(e.Order)
		}
	case controller.End:
		r.end(e.Members)
	case controller.HandOver:
		r.handedOver(e.Handover)
		return // a handover that succeeds has no result
	default:
		r.fault(fmt.Sprintf("the simulated fleet was asked for a %T, which it does not support", e))
	}
	if kernel.Hit(r.chance.API, r.world.LoseAnswers) && r.faulty() {
		// The caller cannot know whether the call was carried out, so it makes the same call again, as clients do.
		r.after(time.Second, evOrder, kernel.None, r.dispatch(l))
		return
	}
	// A controller that started since does not know the order, and reads the result from the fleet.
	if l.life != r.shell.life {
		return
	}
	result := controller.Resulted{At: r.time(), Effect: l.effect.EffectID(), Failure: failure}
	r.poll(r.shell.Result(time.Duration(r.now), result))
	r.plan()
}

// take gathers a report that has arrived, and answers it unless its answer depends on the next step.
func (r *run) take(c *call) {
	s := &r.shell
	if s.down {
		return
	}
	c.report.At = r.time()
	d, reply, poll := s.Report(time.Duration(r.now), s.spare.report(&c.report), &c.report, *c)
	if reply == controller.Answered {
		r.answer(c, d)
		return
	}
	r.poll(poll)
	r.plan()
}

// instruct passes a request of an operator to the controller.
func (r *run) instruct(q override.Request) {
	if r.shell.down {
		return
	}
	_, poll := r.shell.Instruct(time.Duration(r.now), controller.Instructed{At: r.time(), Request: q})
	r.poll(poll)
	r.plan()
}

// crash makes the controller lose its memory; a new controller starts from the history later.
func (r *run) crash() {
	s := &r.shell
	if !r.faulty() {
		return
	}
	if !s.down {
		// The replaced controller does not know that it is replaced: the history must refuse all that it writes.
		r.replaced = append(r.replaced[:0], *s.State())
		s.begin(controller.State{})
		s.down = true
		r.after(r.world.ControllerDown, evRestart, kernel.None, 0)
	}
	r.after(kernel.Wait(r.chance.Life, r.world.ControllerCrashes), evController, kernel.None, 0)
}

// restart begins a new epoch of the history and restores a controller from its records. Then it lets the replaced
// controller make one more step, whose records the history must refuse.
func (r *run) restart() error {
	at, records := r.history.begin(r.at(r.now).Add(-r.settings.RestoreFrom()))
	st, err := r.settings.Restore(at, records)
	if err != nil {
		return err
	}
	r.shell.begin(st)
	for _, old := range r.replaced {
		o := r.settings.Step(old, r.time(), nil)
		if len(o.Records) == 0 {
			continue
		}
		if _, ok := r.history.append(old.Position, o.Records); ok && !r.inject.anyWriter {
			r.fault("the history took records of a controller that was replaced")
		} else if ok {
			r.fault("two writers in one epoch")
		}
	}
	r.poll(r.shell.Wake())
	return nil
}
