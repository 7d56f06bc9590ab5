package lifecycle

import (
	"fmt"
	"time"
)

// Happening is what a [Note] tells.
type Happening string

// What may happen to a fleet.
const (
	// IsNew: it is in the configuration for the first time.
	IsNew Happening = "new"
	// HasChanged: it has another configuration, without a stop.
	HasChanged Happening = "changed"
	// BeginsAnew: it stops, and starts with the other configuration once its workers have ended.
	BeginsAnew Happening = "begins anew"
	// Ends: it is no longer wanted.
	Ends Happening = "ends"
	// WantedAgain: it is wanted again before it has ended.
	WantedAgain Happening = "wanted again"
	// StartsAnew: its workers have ended, and it starts with the configuration that is wanted by now.
	StartsAnew Happening = "starts anew"
	// HasEnded: its workers have ended, and it is gone.
	HasEnded Happening = "ended"
	// DoesNotRun: it failed.
	DoesNotRun Happening = "failed"
	// ChangeFailed: it runs, and could not be changed.
	ChangeFailed Happening = "change failed"
	// RunsAgain: it runs after it had failed.
	RunsAgain Happening = "runs again"
)

// Note says what happened to a fleet, for a person.
type Note struct {
	Fleet string
	What  Happening
	// Failure and RetryAt are set for DoesNotRun and ChangeFailed. RetryAt is zero when nothing is tried again by
	// itself.
	Failure string
	RetryAt time.Time
	// Again is true for a failure that follows another one.
	Again bool
}

// String says the note in words.
func (n Note) String() string {
	const workers = "once its workers have finished what they hold"
	switch n.What {
	case IsNew:
		return "fleet " + n.Fleet + " is new"
	case HasChanged:
		return "fleet " + n.Fleet + " has changed"
	case BeginsAnew:
		return "fleet " + n.Fleet + " has changed and begins anew " + workers
	case Ends:
		return "fleet " + n.Fleet + " ends " + workers
	case WantedAgain:
		return "fleet " + n.Fleet + " is wanted again and begins anew " + workers
	case StartsAnew:
		return "fleet " + n.Fleet + " begins anew: its workers have finished"
	case HasEnded:
		return "fleet " + n.Fleet + " has ended: its workers have finished"
	case RunsAgain:
		return "fleet " + n.Fleet + " runs again"
	case ChangeFailed:
		return fmt.Sprintf(
			"fleet %s runs with its earlier configuration, because the change failed%s: %s",
			n.Fleet,
			n.next(),
			n.Failure,
		)
	}
	return fmt.Sprintf("fleet %s does not run%s: %s", n.Fleet, n.next(), n.Failure)
}

// next says when it is tried again.
func (n Note) next() string {
	if n.RetryAt.IsZero() {
		return ", and is not started again by itself: change its configuration, or send a hang-up signal"
	}
	return ", next try at " + n.RetryAt.Local().Format("15:04:05")
}
