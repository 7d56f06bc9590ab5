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

// Standing is the phase of a fleet's life. The zero value is a running fleet.
type Standing struct {
	// Phase is waiting, starting, running, failed, stopping or standby; empty is running.
	Phase string
	// Leader is the name of the controller that leads the fleet, where several share the fleets; empty for none.
	Leader string
	// Since is when the phase began; zero if unknown.
	Since time.Time
	// Failure says why the fleet is not sized or, while it runs, why its configuration could not be changed.
	Failure string
	// RetryAt is when the next try comes; zero if there is none.
	RetryAt time.Time
}

// Standby is the phase of a fleet that this controller does not size, because another one leads it or will.
const Standby = "standby"

// seenWithin is how long a fleet may take from its start to its first reading. A slower fleet counts as failed for the
// readiness of the API, so that one unreadable queue does not make all fleets wait.
const seenWithin = time.Minute

// stopping tells whether the fleet is about to end.
func (s Standing) stopping() bool { return s.Phase == string(lifecycle.Stopping) }

// Trouble says since when and why the fleet is not sized, or not as configured, and what comes next; empty if it is.
func (s Standing) Trouble() string {
	since := ""
	if !s.Since.IsZero() {
		since = " since " + s.Since.UTC().Format(time.RFC3339)
	}
	next := "; it is not retried automatically: change the configuration of the fleet, or send muster up a hang-up " +
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
		next = "; it is being retried"
	}
	return "the fleet is not sized" + since + ": " + s.Failure + next
}

// troubleOf says why a fleet is not sized, or not as configured, given the outcome of its last step; empty if it is.
func troubleOf(s Standing, o controller.Outcome) string {
	contested := ""
	if o.Decision.Reason == muster.Contested {
		contested = "the fleet is not sized: " + o.Observation.Drift.String()
	}
	return cmp.Or(s.Trouble(), o.Unrecorded, contested)
}

// standing returns the phase of the named fleet.
func (o Options) standing(name string) Standing {
	if o.Standing == nil {
		return Standing{}
	}
	return o.Standing()[name]
}

// ready answers whether the fleets are sized. If some are not, the answer is degraded but still a success: a load
// balancer that took this program out of service would cut off the workers of all others.
func (a *api) ready(w http.ResponseWriter, _ *http.Request) {
	now := time.Now()
	sized, troubled, standby := 0, 0, 0
	for name, f := range a.Fleets() {
		s := a.standing(name)
		o, seen := f.Last()
		seen = seen && o.Ready
		switch {
		case s.stopping():
		case s.Phase == Standby:
			standby++
		case troubleOf(s, o) != "":
			troubled++
		case seen:
			sized++
		case now.Sub(s.Since) > seenWithin && !s.Since.IsZero() || a.settled.Load():
			troubled++
		default:
			fail(w, http.StatusServiceUnavailable, "not every fleet was read yet")
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
	case standby > 0 && sized == 0:
		fmt.Fprintln(w, "standby: other controllers lead the fleets")
	default:
		fmt.Fprintln(w, "ready")
	}
	a.settled.Store(true)
}
