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
	// Failure says why the fleet is not sized or, while it runs, why its configuration could not be changed. For a
	// standby it says why this controller cannot take the fleet over.
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
	case s.Phase == Standby:
		return "this controller cannot take the fleet over: " + s.Failure
	case s.Phase == string(lifecycle.Running):
		return "the fleet runs with an earlier configuration, because the change failed: " + s.Failure + next
	case s.Phase == string(lifecycle.Starting):
		next = "; it is being retried"
	}
	return "the fleet is not sized" + since + ": " + s.Failure + next
}

// Elsewhere says of a fleet that this controller does not lead who can answer for it.
func (s Standing) Elsewhere(fleet string) string {
	switch {
	case s.Failure != "":
		return fmt.Sprintf("who leads fleet %s is unknown, because %s", fleet, s.Failure)
	case s.Leader == "":
		return fmt.Sprintf("fleet %s has no leader now; ask again in a few seconds", fleet)
	}
	return fmt.Sprintf("fleet %s is led by the controller %s, and this one is a standby; ask %s", fleet, s.Leader,
		s.Leader)
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

// readiness counts the fleets by what a health check must know of them.
type readiness struct {
	sized, troubled int
	// starting were not read yet, and are not late with that.
	starting int
	// standby are led by other controllers, leaderless by none.
	standby, leaderless int
}

// readiness counts the fleets at a time.
func (a *api) readiness(now time.Time) (n readiness) {
	for name, f := range a.Fleets() {
		s := a.standing(name)
		o, seen := f.Last()
		switch {
		case s.stopping():
		case troubleOf(s, o) != "":
			n.troubled++
		case s.Phase == Standby && s.Leader == "":
			n.leaderless++
		case s.Phase == Standby:
			n.standby++
		case seen && o.Ready:
			n.sized++
		case now.Sub(s.Since) > seenWithin && !s.Since.IsZero():
			n.troubled++
		default:
			n.starting++
		}
	}
	return n
}

// ready answers whether the fleets are sized. If some are not, the answer is degraded but still a success: a load
// balancer that took this program out of service would cut off the workers of all others. For the same reason a fleet
// that is added, or taken over, while this program serves does not make it unready.
func (a *api) ready(w http.ResponseWriter, _ *http.Request) {
	n := a.readiness(time.Now())
	all := n.sized + n.troubled + n.starting
	switch {
	case n.starting > 0 && !a.settled.Load():
		fail(w, http.StatusServiceUnavailable, "not every fleet was read yet")
		return
	case n.troubled > 0 && n.sized+n.starting == 0:
		fail(w, http.StatusServiceUnavailable, "degraded: no fleet is sized; muster status says why")
		return
	case n.troubled > 0:
		fmt.Fprintf(w, "degraded: %d of %d fleets are not sized as configured; muster status says why\n",
			n.troubled, all)
	case n.starting > 0:
		fmt.Fprintf(w, "starting: %d of %d fleets were not read yet; each is sized after its first reading\n",
			n.starting, all)
	case n.sized > 0:
		fmt.Fprintln(w, "ready")
	case n.leaderless > 0:
		fmt.Fprintf(w, "standby: no controller leads %d of %d fleets; one takes over within seconds\n", n.leaderless,
			n.leaderless+n.standby)
	case n.standby > 0:
		fmt.Fprintln(w, "standby: other controllers lead the fleets")
	default:
		fmt.Fprintln(w, "ready")
	}
	a.settled.Store(true)
}
