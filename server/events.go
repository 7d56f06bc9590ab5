package server

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-scale/muster/event"
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
	// Kind says what happened, in at most 64 bytes; it may be empty. It is for metrics and has no effect.
	Kind string `json:"kind"`
}

// EventAnswer is the answer to an accepted event.
type EventAnswer struct {
	// Fleets are the names of the woken fleets, sorted.
	Fleets []string `json:"fleets"`
	// Repeated is true when an event with the same id was accepted before. Then no fleet was woken.
	Repeated bool `json:"repeated"`
}

// maxEventKind bounds the kind in an event, in bytes.
const maxEventKind = 64

// event wakes the fleets that an event names. A repeated id is accepted without a poll. The limit applies after the
// names are checked, so that events for unknown fleets do not use it up.
func (a *api) event(w http.ResponseWriter, r *http.Request) {
	var e Event
	if err := read(r, &e); err != nil {
		unreadable(w, err)
		return
	}
	switch {
	case len(e.ID) > event.MaxID:
		fail(
			w,
			http.StatusBadRequest,
			fmt.Sprintf("read the event: its id has %d bytes, at most %d are allowed", len(e.ID), event.MaxID),
		)
		return
	case len(e.Kind) > maxEventKind:
		fail(
			w,
			http.StatusBadRequest,
			fmt.Sprintf("read the event: its kind has %d bytes, at most %d are allowed", len(e.Kind), maxEventKind),
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
		a.noFleet(w, e.Fleet)
		return
	case len(woken) == 0 && e.Queue != "":
		fail(w, http.StatusNotFound, fmt.Sprintf("no fleet serves the queue %.100q", e.Queue))
		return
	}
	if standby := a.standbys(woken); len(woken) == 0 && standby != "" {
		a.notRunning(w, standby)
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
	done := EventAnswer{Fleets: slices.Sorted(maps.Keys(woken))}
	kind, result := event.Custom, EventWoke
	if e.Kind != "" {
		kind = event.KindOf(e.Kind)
	}
	named := event.Event{ID: e.ID, Subject: event.Subject{Fleet: e.Fleet, Queue: e.Queue}}
	if !a.events.first(named.Key(), time.Now()) {
		woken, result = nil, EventRepeated
		done = EventAnswer{Fleets: []string{}, Repeated: true}
	}
	for _, f := range woken {
		f.Wake()
	}
	if a.Event != nil {
		a.Event(kind, result)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	encode(w, done)
}

// standbys removes the fleets that other controllers lead, which cannot be woken here, and returns the name of one.
func (a *api) standbys(woken map[string]Fleet) (one string) {
	for _, name := range slices.Sorted(maps.Keys(woken)) {
		if a.standing(name).Phase == Standby {
			delete(woken, name)
			one = name
		}
	}
	return one
}

// wakes returns the fleets that an event wakes, by name.
func (e Event) wakes(fleets map[string]Fleet) map[string]Fleet {
	woken := map[string]Fleet{}
	if len(e.Fleet) > event.MaxName || len(e.Queue) > event.MaxName {
		return nil
	}
	queue := e.Queue[strings.LastIndexAny(e.Queue, "/:")+1:]
	for name, f := range fleets {
		if e.Fleet == "" && e.Queue == "" || e.Fleet == name || queue != "" && serves(f, queue) {
			woken[name] = f
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

// events remembers the ids of recent events, with their fleets and queues. Any goroutine may use it.
type events struct {
	mu   sync.Mutex
	seen event.Seen
}

// first tells whether the event is new.
func (e *events) first(key string, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seen.First(key, now)
}
