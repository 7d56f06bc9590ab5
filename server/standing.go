package server

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/lifecycle"
)

// Standing is where a fleet stands in its life. The zero value is a fleet that runs.
type Standing struct {
	// Phase is waiting, starting, running, failed or stopping; empty is running.
	Phase string
	// Since is when the phase began; zero when that is not known.
	Since time.Time
	// Failure says why the fleet is not sized or, while it runs, why it could not be changed; empty for neither.
	Failure string
	// RetryAt is when that is tried again; zero when it is not tried again by itself.
	RetryAt time.Time
}

// seenWithin is how long a fleet may take from its start until it was seen once. A fleet that takes longer has failed,
// as far as the readiness of the whole goes: one queue that nobody can look at makes no other wait.
const seenWithin = time.Minute

// stopping tells whether the fleet is about to end.
func (s Standing) stopping() bool { return s.Phase == string(lifecycle.Stopping) }

// trouble says what is wrong with the fleet; empty for nothing.
func (s Standing) trouble() string {
	since := ""
	if !s.Since.IsZero() {
		since = " since " + s.Since.UTC().Format(time.RFC3339)
	}
	next := "; it is not tried again by itself: change the configuration of the fleet, or send muster up a hang-up " +
		"signal"
	if !s.RetryAt.IsZero() {
		next = "; next try at " + s.RetryAt.UTC().Format(time.RFC3339)
	}
	switch {
	case s.Phase == string(lifecycle.Waiting):
		return "the fleet is not sized" + since + ": it starts once the fleet that sizes the same group has ended"
	case s.stopping():
		return ""
	case s.Failure == "":
		return ""
	case s.Phase == string(lifecycle.Running):
		return "the fleet runs with an earlier configuration, because the change failed: " + s.Failure + next
	case s.Phase == string(lifecycle.Starting):
		next = "; it is being tried again"
	}
	return "the fleet is not sized" + since + ": " + s.Failure + next
}

// troubleOf says why a fleet is not sized, or not as configured, after the outcome of its last step; empty where it is.
func troubleOf(s Standing, o controller.Outcome) string {
	contested := ""
	if o.Decision.Reason == muster.Contested {
		contested = "the fleet is not sized: " + o.Observation.Drift.String()
	}
	return cmp.Or(s.trouble(), o.Unrecorded, contested)
}

// standing returns where the named fleet stands.
func (o Options) standing(name string) Standing {
	if o.Standing == nil {
		return Standing{}
	}
	return o.Standing()[name]
}

// ready says whether the fleets are sized. One that is not makes the whole degraded, which is still an answer of
// success: a load balancer that took this program out of service would cut off the workers of all others.
func (a *api) ready(w http.ResponseWriter, _ *http.Request) {
	now := time.Now()
	sized, troubled := 0, 0
	for name, f := range a.Fleets() {
		s := a.standing(name)
		o, seen := f.Last()
		seen = seen && o.Ready
		switch {
		case s.stopping():
		case troubleOf(s, o) != "":
			troubled++
		case seen:
			sized++
		case now.Sub(s.Since) > seenWithin && !s.Since.IsZero() || a.settled.Load():
			troubled++
		default:
			fail(w, http.StatusServiceUnavailable, "not every fleet was seen yet")
			return
		}
	}
	switch {
	case troubled > 0 && sized == 0:
		fail(w, http.StatusServiceUnavailable, "degraded: no fleet is sized; muster status says why")
		return
	case troubled > 0:
		fmt.Fprintf(
			w,
			"degraded: %d of %d fleets are not sized as configured; muster status says why\n",
			troubled,
			troubled+sized,
		)
	default:
		fmt.Fprintln(w, "ready")
	}
	a.settled.Store(true)
}
