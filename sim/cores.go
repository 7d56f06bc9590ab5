package sim

import (
	"time"

	"github.com/muster-scale/muster/sim/internal/kernel"
	"github.com/muster-scale/muster/sim/internal/messages"
)

// share begins a work on the cores that all members share.
func (r *run) share(i int32, ref int32, number uint32) {
	r.cores.Begin(r.now, r.queue.At(ref).Service, kernel.Work{Number: number, Member: i, Ref: ref})
	r.planShared()
}

// unshare takes the works of a member that died from the cores.
func (r *run) unshare(i int32) {
	r.cores.Remove(r.now, i)
	r.planShared()
}

// planShared plans the end of the work that ends first, as fast as all go now. An end that was planned before is void:
// evShared carries the number of its plan.
func (r *run) planShared() {
	r.sharedPlan++
	if at, any := r.cores.NextEnd(r.now); any {
		r.events.Add(at, evShared, kernel.None, r.sharedPlan)
	}
}

// sharedEnded ends the works that are done. Each is handed over as it would be without the others.
func (r *run) sharedEnded() {
	for w, done := r.cores.End(r.now); done; w, done = r.cores.End(r.now) {
		x := r.queue.At(w.Ref)
		x.Took = r.now - x.Since
		r.after(r.world.Handover, evFinished, w.Member, uint64(w.Number))
	}
	r.planShared()
}

// took is how long the work on a message took that has just ended.
func (r *run) took(x *messages.Message) time.Duration {
	if r.world.Cores > 0 {
		return time.Duration(x.Took)
	}
	return time.Duration(x.Service)
}
