package loop

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/muster-scale/muster/controller"
)

const (
	// eventReadings is how many fresh readings events may cause in a second, after a burst of eventBurst. An event in a
	// burst is followed at once, and a flood of events costs no more than a poll every second.
	eventReadings = 1
	eventBurst    = 10
)

// events limits the fresh readings that events cause.
type events struct {
	mu    sync.Mutex
	limit *rate.Limiter
	// pending is true while a reading waits for its time: it follows the events until then too. lastAt is the time of
	// the last one.
	pending bool
	lastAt  time.Time
}

// wait returns how long the reading for an event must wait; follows is false if a pending one follows it. Readings are
// [controller.Gather] apart, as steps are, so that a burst within milliseconds does not use up the limit.
func (e *events) wait(now time.Time) (wait time.Duration, follows bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pending {
		return 0, false
	}
	wait = max(e.limit.ReserveN(now, 1).DelayFrom(now), e.lastAt.Add(controller.Gather).Sub(now), 0)
	e.pending, e.lastAt = wait > 0, now.Add(wait)
	return wait, true
}

// due ends the wait of a reading. A later event needs another one.
func (e *events) due() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pending = false
}

// Wake makes the loop poll and step soon, with fresh readings of sources that poll rarely. It never blocks, and many
// calls may cause one step: after a burst of 10, fresh readings are a second apart.
func (l *Loop) Wake() {
	switch wait, follows := l.events.wait(time.Now()); {
	case !follows:
	case wait == 0:
		l.expect()
		l.signalWake()
	default:
		time.AfterFunc(wait, func() {
			l.events.due()
			l.expect()
			l.signalWake()
		})
	}
}
