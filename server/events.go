package server

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Event is the body of POST /v1/events. It carries no number: an event only triggers a poll.
type Event struct {
	// Fleet is the fleet to wake. Queue is the queue whose fleets to wake: its name, its URL or its ARN. At most one of
	// them is set; without either, all fleets wake.
	Fleet string `json:"fleet"`
	Queue string `json:"queue"`
	// ID makes a repeated event harmless; it may be empty. It has at most 256 bytes and is unique within its fleet or
	// queue.
	ID string `json:"id"`
}

const (
	// maxEventName bounds the names in an event, in bytes.
	maxEventName = 1024
	maxEventID   = 256
)

// event wakes the fleets that an event names. A repeated id is accepted without a poll. The limit applies after the
// names are checked, so that events for unknown fleets do not use it up.
func (a *api) event(w http.ResponseWriter, r *http.Request) {
	var e Event
	if err := read(r, &e); err != nil {
		unreadable(w, err)
		return
	}
	switch {
	case len(e.ID) > maxEventID:
		fail(
			w,
			http.StatusBadRequest,
			fmt.Sprintf("read the event: its id has %d bytes, at most %d are allowed", len(e.ID), maxEventID),
		)
		return
	case e.Fleet != "" && e.Queue != "":
		fail(
			w,
			http.StatusBadRequest,
			"read the event: found a fleet and a queue, allowed is one of them, or neither for all fleets",
		)
		return
	}
	woken := e.wakes(a.Fleets())
	switch {
	case len(woken) == 0 && e.Fleet != "":
		fail(w, http.StatusNotFound, fmt.Sprintf("there is no fleet %.100q", e.Fleet))
		return
	case len(woken) == 0 && e.Queue != "":
		fail(w, http.StatusNotFound, fmt.Sprintf("no fleet serves the queue %.100q", e.Queue))
		return
	}
	if !a.limit.Allow() {
		w.Header().Set("Retry-After", "1")
		fail(
			w,
			http.StatusTooManyRequests,
			fmt.Sprintf("more than %d events a second; the next poll sees what they would have shown", eventsPerSecond),
		)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	if e.ID != "" && !a.events.first(e.Fleet+"\x00"+e.Queue+"\x00"+e.ID, time.Now()) {
		return
	}
	for _, f := range woken {
		f.Wake()
	}
}

// wakes returns the fleets that an event wakes.
func (e Event) wakes(fleets map[string]Fleet) (woken []Fleet) {
	if len(e.Fleet) > maxEventName || len(e.Queue) > maxEventName {
		return nil
	}
	queue := e.Queue[strings.LastIndexAny(e.Queue, "/:")+1:]
	for name, f := range fleets {
		if e.Fleet == "" && e.Queue == "" || e.Fleet == name || queue != "" && serves(f, queue) {
			woken = append(woken, f)
		}
	}
	return woken
}

// serves tells whether a fleet serves the queue. A fleet without an observation yet may.
func serves(f Fleet, queue string) bool {
	o, ok := f.Last()
	if !ok {
		return true
	}
	for _, q := range o.Observation.Queues {
		if q.Queue == queue {
			return true
		}
	}
	return false
}

// events remembers the ids of the events of the last quarter of an hour, with their fleets and queues.
type events struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

const (
	// eventMemory is how long the id of an event is remembered. A later repetition costs one poll.
	eventMemory = 15 * time.Minute
	// maxEvents bounds the number of remembered ids.
	maxEvents = 10_000
)

func newEvents() *events { return &events{seen: map[string]time.Time{}} }

// first tells whether the event is new.
func (e *events) first(id string, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if at, ok := e.seen[id]; ok && now.Sub(at) < eventMemory {
		return false
	}
	if len(e.seen) >= maxEvents {
		for old, at := range e.seen {
			if now.Sub(at) >= eventMemory {
				delete(e.seen, old)
			}
		}
		if len(e.seen) >= maxEvents {
			clear(e.seen) // repeated events then cost a poll each, but memory stays bounded
		}
	}
	e.seen[id] = now
	return true
}
