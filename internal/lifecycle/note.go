package lifecycle

import (
	"fmt"
	"time"
)

// Happening is the kind of a [Note].
type Happening string

// What may happen to a fleet.
const (
	// IsNew: it is new in the configuration.
	IsNew Happening = "new"
	// HasChanged: its configuration changes without a stop.
	HasChanged Happening = "changed"
	// BeginsAnew: it stops, and restarts with the other configuration once its workers have ended.
	BeginsAnew Happening = "begins anew"
	// Ends: it is no longer wanted.
	Ends Happening = "ends"
	// WantedAgain: it is wanted again before it has ended.
	WantedAgain Happening = "wanted again"
	// StartsAnew: its workers have ended, and it starts with the configuration that is wanted now.
	StartsAnew Happening = "starts anew"
	// HasEnded: its workers have ended, and it is removed.
	HasEnded Happening = "ended"
	// DoesNotRun: it failed.
	DoesNotRun Happening = "failed"
	// ChangeFailed: it runs, but could not be changed.
	ChangeFailed Happening = "change failed"
	// RunsAgain: it runs after a failure.
	RunsAgain Happening = "runs again"
)

// Note tells the user what happened to a fleet.
type Note struct {
	Fleet string
	What  Happening
	// Failure and RetryAt are set for DoesNotRun and ChangeFailed. RetryAt is zero if there is no
	// automatic retry.
	Failure string
	RetryAt time.Time
	// Again says that the failure follows another one.
	Again bool
}

// String returns the note as a sentence.
func (n Note) String() string {
	const workers = "once its workers have finished their messages"
	switch n.What {
	case IsNew:
		return "fleet " + n.Fleet + " is new"
	case HasChanged:
		return "fleet " + n.Fleet + " has changed"
	case BeginsAnew:
		return "fleet " + n.Fleet + " has changed and restarts " + workers
	case Ends:
		return "fleet " + n.Fleet + " ends " + workers
	case WantedAgain:
		return "fleet " + n.Fleet + " is wanted again and restarts " + workers
	case StartsAnew:
		return "fleet " + n.Fleet + " restarts: its workers have finished"
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

// next says when the next attempt is.
func (n Note) next() string {
	if n.RetryAt.IsZero() {
		return ", and is not retried automatically: change its configuration, or send a hang-up signal"
	}
	return ", next try at " + n.RetryAt.Local().Format("15:04:05")
}
