package controller

import (
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/roster"
)

// aim is what is remembered of writing to the fleet's own service.
type aim struct {
	// changedAt is when an effect last ended: what was listed before says nothing of it.
	changedAt time.Time
	// statedAt is when the service was last told its size without a launch, protectedAt when members were last
	// protected.
	statedAt, protectedAt time.Time
	// trimmedAt is when machines were last ended.
	trimmedAt time.Time
	// stated is the size that was last stated without a launch.
	stated int
	// set is the size that the service was seen with last, or that an effect gave it; known is false where an effect
	// may have changed it to something else. seenAt is the listing that was looked at for that.
	set    int
	known  bool
	seenAt time.Time
	// open are the effects without a result, issued at openAt. It is replaced, never changed.
	open   []string
	openAt time.Time
}

const (
	// stateEvery is how often a size is stated again that somebody else has changed.
	stateEvery = time.Minute
	// protectEvery is how often protection is asked for again.
	protectEvery = 15 * time.Second
	// trimEvery is how often machines without members are ended.
	trimEvery = 15 * time.Second
	// settles is how long after an effect a service may still be seen with the size from before.
	settles = 10 * time.Second
)

func (a *aim) resulted(x Resulted) {
	if x.At.After(a.changedAt) {
		a.changedAt = x.At
	}
}

func (x *seen) named(all ...roster.Naming) {
	for _, n := range all {
		x.changes = append(x.changes, Changed{Member: n.Ordered, What: roster.Named, As: n.Member, Why: "is " +
			n.Member})
	}
}

// service returns what the newest listing says of the fleet's own service; nil where there is none, and where the
// listing is from before the last write.
func (w *write) service() *muster.Service {
	l := w.state.listed
	if l.Failure != "" || l.At.Before(w.state.aim.changedAt) {
		return nil
	}
	return l.Service
}

// total is how many members there shall be with n more; zero for a fleet without a service.
func (w *write) total(c muster.Capacity, n int) int {
	if w.state.listed.Service == nil {
		return 0
	}
	return c.Live() + n
}

// restate tells the fleet's own service how many members there are and are on their way, when it aims at another
// number: because somebody else has set it, or because what was launched never came and is not wanted any more. It
// launches nothing that was not ordered, and it ends nothing, because every member that exists is counted.
func (w *write) restate() {
	s := w.service()
	if s == nil || w.state.order != nil || !w.out.Observation.Capacity.Known || len(w.out.Effects) > 0 {
		return
	}
	c := w.state.roster.Capacity(w.now(), w.rules, w.settings.Slots)
	total := w.total(c, 0)
	if w.settings.Unreported {
		total -= max(0, c.Active()-w.state.desired)
	}
	if s.Desired == total {
		return
	}
	more := s.Desired < total && (c.Ordered > 0 || w.settings.Unreported)
	again := total == w.state.aim.stated && w.now().Sub(w.state.aim.statedAt) < stateEvery
	if s.Desired < total && !more || again || !w.settings.Unreported && w.now().Sub(w.state.aim.statedAt) < stateEvery {
		return
	}
	w.state.aim.statedAt, w.state.aim.stated = w.now(), total
	e := SetDesired{muster.Order{ID: w.id(), Desired: w.state.desired, Total: total, Shrink: w.settings.Unreported}}
	w.state.order, w.state.orderAt = &e, w.now()
	w.record(muster.Intended, Intended{SetDesired: &e})
	w.out.Effects = append(w.out.Effects, e)
}

// protect has members protected that the fleet's own service could end.
func (w *write) protect() {
	if !w.settings.Protect || w.service() == nil || w.now().Sub(w.state.aim.protectedAt) < protectEvery {
		return
	}
	exposed := w.state.roster.Exposed()
	if len(exposed) == 0 {
		return
	}
	w.state.aim.protectedAt = w.now()
	e := Protect{ID: w.id(), Members: slices.Clip(exposed[:min(len(exposed), maxMoves)])}
	w.record(muster.Intended, Intended{Protect: &e})
	w.out.Effects = append(w.out.Effects, e)
}

// trim has machines ended that hold no member and are not needed. While members are ordered, or orders are on their
// way, they may be.
func (w *write) trim() {
	s := w.service()
	if s == nil || s.Spare == 0 || w.state.order != nil || len(w.out.Effects) > 0 ||
		w.now().Sub(w.state.aim.trimmedAt) < trimEvery {
		return
	}
	if c := w.state.roster.Capacity(w.now(), w.rules, w.settings.Slots); !w.out.Observation.Capacity.Known ||
		c.Ordered > 0 || c.Active() < w.state.desired {
		return
	}
	w.state.aim.trimmedAt = w.now()
	e := Trim{ID: w.id()}
	w.record(muster.Intended, Intended{Trim: &e})
	w.out.Effects = append(w.out.Effects, e)
}
