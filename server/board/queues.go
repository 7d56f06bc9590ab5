package board

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/muster-scale/muster/queue"
)

// Moves is the answer of GET /v1/queues/NAME/moves, newest first, and of a redrive.
type Moves struct {
	Moves []Move `json:"moves"`
}

// Move is one move of messages out of a dead-letter queue.
type Move struct {
	ID string `json:"id"`
	// To is empty when each message goes back to the queue that it came from.
	To string `json:"to"`
	// Status is running, completed, cancelled or failed; Failure says why it failed.
	Status  string    `json:"status"`
	Failure string    `json:"failure"`
	Started time.Time `json:"started"`
	Moved   int       `json:"moved"`
	ToMove  int       `json:"to_move"`
}

// failQueue answers with the error of a queue.
func failQueue(w http.ResponseWriter, name string, err error) {
	switch {
	case errors.Is(err, queue.ErrQueueNotFound):
		fail(w, http.StatusNotFound, "there is no queue %.100q", name)
	case errors.Is(err, queue.ErrStorageFull), errors.Is(err, queue.ErrStorageBusy), errors.Is(err, queue.ErrClosed):
		fail(w, http.StatusServiceUnavailable, "%v", err)
	default:
		fail(w, http.StatusBadRequest, "%v", err)
	}
}

// embedded tells whether there are embedded queues, and answers if not.
func (l *Live) embedded(w http.ResponseWriter) bool {
	if l.o.Queues == nil {
		fail(w, http.StatusNotFound, "this API serves no embedded queues")
	}
	return l.o.Queues != nil
}

// purge removes all messages of a queue.
func (l *Live) purge(w http.ResponseWriter, r *http.Request) {
	if !l.embedded(w) {
		return
	}
	name := r.PathValue("queue")
	if err := l.o.Queues.Purge(r.Context(), name); err != nil {
		failQueue(w, name, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// redrive starts to move the messages of a dead-letter queue. The move goes on by itself.
func (l *Live) redrive(w http.ResponseWriter, r *http.Request) {
	if !l.embedded(w) {
		return
	}
	var given struct {
		To        string `json:"to"`
		PerSecond int    `json:"per_second"`
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&given); err != nil {
		fail(w, http.StatusBadRequest, "read the request: %v", err)
		return
	}
	if given.PerSecond < 0 || given.PerSecond > queue.MaxMoveRate {
		fail(w, http.StatusBadRequest, "per_second: found %d, allowed is 1 to %d, or 0 for no limit", given.PerSecond,
			queue.MaxMoveRate)
		return
	}
	name := r.PathValue("queue")
	if _, err := l.o.Queues.Counts(name); err != nil {
		failQueue(w, name, err)
		return
	}
	if _, err := l.o.Queues.StartMove(r.Context(), name, given.To, given.PerSecond); err != nil {
		failQueue(w, name, err)
		return
	}
	l.moves(w, r)
}

// moves answers with the last moves out of a queue.
func (l *Live) moves(w http.ResponseWriter, r *http.Request) {
	if !l.embedded(w) {
		return
	}
	name := r.PathValue("queue")
	found, err := l.o.Queues.Moves(name)
	if err != nil {
		failQueue(w, name, err)
		return
	}
	a := Moves{Moves: []Move{}}
	for _, m := range found {
		a.Moves = append(a.Moves, Move{ID: m.ID, To: m.Destination, Status: strings.ToLower(string(m.Status)),
			Failure: m.Failure, Started: m.Started.UTC(), Moved: m.Moved, ToMove: m.ToMove})
	}
	answer(w, a)
}
